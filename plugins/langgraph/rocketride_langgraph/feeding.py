# SPDX-License-Identifier: MIT
"""What goes into a whole pipeline and what comes out of it: the arguments of a call as a payload, results as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocketride_core import (
    ANSWERS,
    AUDIO,
    DOCUMENTS,
    IMAGE,
    QUESTIONS,
    TABLE,
    TAGS,
    TEXT,
    VIDEO,
    Arguments,
    Blob,
    Document,
    Json,
    Lane,
    Packet,
    Question,
    Result,
    RunError,
    ToolError,
    ToolFailure,
)

__all__ = ["FED", "LANES", "input_schema", "objects", "packet", "responses", "together"]

LANES: tuple[Lane[Any], ...] = (QUESTIONS, TEXT, DOCUMENTS, TABLE, ANSWERS, TAGS, IMAGE, AUDIO, VIDEO)
FED = LANES[:6]  # those that a text can be sent on, in the order of choice


def input_schema(lane: str) -> Arguments:
    """The JSON schema of what a whole pipeline takes: a `question`, or a `text`, by the lane that it is sent on."""
    name, said = ("question", "What to ask.") if lane == QUESTIONS.name else ("text", "The input of the pipeline.")
    text: Json = {"type": "string", "minLength": 1, "description": said}
    return {"type": "object", "properties": {name: text}, "required": [name], "additionalProperties": False}


def packet(lane: str, arguments: Arguments) -> Packet:
    """The text among such arguments, as a payload of the lane."""
    [text] = arguments.values()
    data = str(text)
    payloads: Mapping[str, Any] = {
        QUESTIONS.name: lambda: QUESTIONS(Question.of(data)),
        TEXT.name: lambda: TEXT(data),
        DOCUMENTS.name: lambda: DOCUMENTS([Document(data, {"chunkId": 0})]),
        TABLE.name: lambda: TABLE(data),
        ANSWERS.name: lambda: ANSWERS(ANSWERS.from_json(data)),
        TAGS.name: lambda: TAGS(Blob.of(data.encode(), mime_type="text/plain;charset=utf-8", name="input.txt")),
    }
    made: Packet = payloads[lane]()
    return made


def responses(result: Result) -> dict[str, Json]:
    """What was responded, by lane, as JSON. Vectors are left out: nobody reads them, and one is as long as the text of many documents.

    Raises:
        ToolFailure: the entry failed; `component` is where.
    """
    if (error := result.error) is not None:
        at, said = error.component, str(error)
        raise ToolFailure(said if at in said else f"{at}: {said}", component=at) from error
    made: dict[str, Json] = {}
    for lane in LANES:
        found: list[Json] = []
        for payload in result[lane]:
            json: Any = lane.to_json(payload)
            found += [{k: v for k, v in one.items() if k != "embedding"} for one in json] if lane == DOCUMENTS else [json]
        if found:
            made[lane.name] = found
    told = result.to_json()
    types = told.get("result_types")
    for key, name in types.items() if isinstance(types, Mapping) else ():
        if isinstance(name, str) and name not in {lane.name for lane in LANES}:
            made[name] = told[key]
    return made


def objects(result: Result) -> list[dict[str, Any]]:
    """What became of the objects that nodes made meanwhile, such as attachments, and of those that these made, in order.

    Each has a `name`, and either `responses`, by lane, or an `error`.
    """
    found: list[dict[str, Any]] = []
    for child in result.children:
        told: dict[str, Any] = {"name": child.entry.name or child.entry.object_id}
        if child.error is None:
            told["responses"] = responses(child)
        else:
            told["error"] = str(_innermost(child.error))
        found += [told, *objects(child)]
    return found


def _innermost(error: RunError) -> BaseException:
    """What the node said that failed, without what the nodes around it add."""
    found: BaseException = error
    while isinstance(found.__cause__, RunError | ToolError):
        found = found.__cause__
    return found


def together(own: Mapping[str, Json], made: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The responses of an entry with those of its objects, by lane; `errors` has those that failed.

    Raises:
        ToolFailure: all of them failed, and there is nothing else to tell.
    """
    out: dict[str, Any] = {lane: list(found) if isinstance(found, Sequence) else found for lane, found in own.items()}
    failed = []
    for one in made:
        for lane, found in one.get("responses", {}).items():
            out[lane] = [*out.get(lane, ()), *found]
        if "error" in one:
            failed.append({"object": one["name"], "error": one["error"]})
    if failed and not out:
        raise ToolFailure("; ".join(f"{one['object']}: {one['error']}" for one in failed))
    return {**out, "errors": failed} if failed else out
