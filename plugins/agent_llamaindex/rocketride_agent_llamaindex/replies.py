# SPDX-License-Identifier: MIT
"""What a model's reply means: a call, an answer, or a call that cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

import attrs

from rocketride_core import Arguments, Json, Tool

from .markers import Mark, first_answer, marks, visible

__all__ = ["Reply", "Unreadable", "cleaned", "read", "arguments_of", "begins"]

FENCE = re.compile(r"\A\s*`{3}[ \t]*\w*[ \t]*\r?\n?|`{3}\s*\Z")
NO_TOOL = re.compile(
    r"\W*+(none|null|nil|n/?a|nothing|final answer|(no|not)\b[ _-]?(action|tool|further|more|need|applicable|required).*)?\W*",
    re.IGNORECASE | re.DOTALL,
)


class Unreadable(ValueError):
    """A call that cannot be read; the text tells the model what is wrong with it."""


@attrs.frozen
class Reply:
    """A reply, taken apart.

    Parameters:
        thought: why.
        action: the tool as the model named it; "" where it answers.
        input: what stands for its arguments; None where there is none.
        answer: "" where it asks for a tool.
    """

    thought: str = ""
    action: str = ""
    input: str | None = None
    answer: str = ""


def read(text: str) -> Reply:
    """A reply as it came.

    Raises:
        Unreadable: it asks for no tool by name, and has no answer either; or it is empty.
    """
    text = _unfenced(_before_observation(text))
    found = list(marks(text))
    start = first_answer(text, complete=True)
    if start is not None and (answer := visible(text[start:], complete=True)):
        return Reply(cleaned(text[:start]), answer=answer)
    action = next((mark for mark in found if mark.kind == "action"), None)
    if action is None and any(mark.kind == "input" for mark in found):
        raise Unreadable("there is an `Action Input:` and no `Action:` before it")
    if action is None:
        if start is not None:
            raise Unreadable("there is nothing after `Answer:`")
        if answer := _direct(text):
            return Reply(answer=answer)
        raise Unreadable("the reply is empty")
    return _called(text, found, action)


def _called(text: str, found: list[Mark], action: Mark) -> Reply:
    after = [mark for mark in found if mark.start > action.start]
    named = text[action.end : after[0].start if after else len(text)].strip()
    if NO_TOOL.fullmatch(named):
        answered = next((mark for mark in after if mark.kind == "answer"), None)
        if answered is not None and (answer := visible(text[answered.end :], complete=True)):
            return Reply(cleaned(text[: action.start]), answer=answer)
        raise Unreadable("`Action:` names no tool; where none is needed, write `Answer:` and the answer instead")
    # `search {"query": …}` and `search(…)` on one line.
    name = re.split(r"[\s({`'\"*]", named.lstrip("`'\"* "), maxsplit=1)[0]
    if not name:
        raise Unreadable("there is no name of a tool after `Action:`")
    rest = named[named.find(name) + len(name) :].strip(" `'\"*")
    given = next((mark for mark in after if mark.kind == "input"), None)
    if given is not None:
        return Reply(cleaned(text[: action.start]), name, text[given.end :].strip())
    return Reply(cleaned(text[: action.start]), name, rest if rest.startswith("{") else None)


def arguments_of(reply: Reply, tool: Tool | None) -> Arguments | None:
    """The arguments where they can be read without guessing; None where a more lenient reader has to try.

    Parameters:
        tool: the one that is meant, None for one that does not exist, whose arguments do not matter.

    Raises:
        Unreadable: they are missing, or what is there cannot be an object.
    """
    text = _unfenced(_value(reply.input or ""))
    if tool is None:
        return _object(text) or {}
    schema = tool.input_schema
    properties = cast("Mapping[str, Json]", schema.get("properties") or {})
    required = cast("Sequence[str]", schema.get("required") or ())
    if not text or NO_TOOL.fullmatch(text):
        if required:
            raise Unreadable("`Action Input:` is missing; write the arguments as a JSON object after it")
        return {}
    if text.startswith("{"):
        return _object(text)
    if text.startswith('"') and (made := _object("{" + text.splitlines()[0] + "}")) is not None:
        return made
    if "{" in text:
        return None
    alone = [name for name in required or properties if name in properties]
    about = properties[alone[0]] if len(alone) == 1 else None
    if isinstance(about, Mapping) and about.get("type") == "string":
        return {alone[0]: _bare(re.sub(rf"\A{re.escape(alone[0])}[ \t]*[:=][ \t]*", "", text))}
    raise Unreadable(f"`Action Input:` is no JSON object but: {text[:100]}")


def _value(text: str) -> str:
    """Without the scaffolding that follows it."""
    after = next((mark for mark in marks(text) if mark.kind != "input"), None)
    return (text[: after.start] if after is not None else text).strip()


def _object(text: str) -> Arguments | None:
    """The object that the text begins with, whatever follows it."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _bare(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) else text


def _before_observation(text: str) -> str:
    """A model that goes on after its call invents the result."""
    cut = next((mark.start for mark in marks(text) if mark.kind == "observation" and text[: mark.start].strip()), len(text))
    return text[:cut]


def _unfenced(text: str) -> str:
    """Without a code fence around all of it."""
    bare = text.strip()
    if bare.startswith("```") and bare.find("```", 3) in (-1, len(bare) - 3):
        return FENCE.sub("", bare).strip()
    return text


def _direct(text: str) -> str:
    found = list(marks(text))
    whole = text.strip()
    if found and found[0].kind == "thought" and not text[: found[0].start].strip():
        # All on one line: "Thought: I know it. Answer: 42"
        thought, answered, answer = text.partition("Answer:")
        if answered and "\n" not in thought.strip() and answer.strip():
            return answer.strip()
        return cleaned(whole)
    return cleaned(whole)


def begins(text: str) -> bool:
    """It begins with a marker, as a step does."""
    bare = _unfenced(text).lstrip()
    return any(mark.start == 0 for mark in marks(bare))


def cleaned(text: str) -> str:
    """The text without scaffolding: no markers, and nothing of a call or its result."""
    found = list(marks(text))
    pieces = [text[: found[0].start] if found else text]
    for mark, after in zip(found, [*found[1:], None], strict=False):
        if mark.kind in ("thought", "answer"):
            pieces.append(text[mark.end : after.start if after is not None else len(text)])
    return "\n".join(piece.strip() for piece in pieces if piece.strip())
