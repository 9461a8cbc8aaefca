# SPDX-License-Identifier: MIT
"""Which lane a blob belongs on, by its mime type (RocketRide's rule)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from .blob import Blob
from .errors import RunError
from .lanes import AUDIO, IMAGE, QUESTIONS, TABLE, TAGS, TEXT, VIDEO, Lane, Packet
from .payloads import Question

__all__ = ["route"]

QUESTION_TYPE = "application/rocketride-question"
_FAMILIES: dict[str, Lane[Any]] = {"text": TEXT, "image": IMAGE, "audio": AUDIO, "video": VIDEO}


def route(blob: Blob, source: str, outs: Sequence[Lane[Any]], wants: Callable[[Lane[Any]], bool]) -> Packet:
    """The packet of a blob.

    Parameters:
        source: id of the source, for messages.
        outs: the lanes it declares.
        wants: is a lane wired?

    Raises:
        RunError: no lane that is wired takes it, or its content does not fit the lane.
    """
    mime, _, parameters = blob.mime_type.partition(";")
    mime = mime.strip().lower()
    wired = [lane for lane in outs if wants(lane)]
    lane = _lane(mime, outs)
    if lane is not None and lane in wired:
        return lane(_payload(blob, lane, parameters))
    if TAGS in wired:
        return TAGS(blob)
    takes = ", ".join(lane.name for lane in wired) or "nothing is wired to it"
    raise RunError(
        f"{source} has no lane for {blob.name or 'this'} ({mime or 'no mime type'}); wired lanes: {takes}", component=source
    )


def _lane(mime: str, outs: Sequence[Lane[Any]]) -> Lane[Any] | None:
    family, _, kind = mime.partition("/")
    if family == "lane":
        return next((lane for lane in outs if lane.name == kind), None)
    if mime.startswith(QUESTION_TYPE):
        return QUESTIONS
    return _FAMILIES.get(family)


def _payload(blob: Blob, lane: Lane[Any], parameters: str) -> Any:
    if lane.item is Blob:
        return blob
    if lane in (TEXT, TABLE):
        return _text(blob, parameters)
    try:
        data = json.loads(_text(blob, ""))
    except ValueError as error:
        if lane == QUESTIONS and not blob.mime_type.startswith(QUESTION_TYPE):
            return Question.of(_text(blob, parameters))
        raise RunError(f"{blob.name or 'the input'} is not JSON, which lane '{lane.name}' wants: {error}") from error
    try:
        return lane.from_json(data)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise RunError(f"{blob.name or 'the input'} is not a payload of lane '{lane.name}': {error}") from error


def _text(blob: Blob, parameters: str) -> str:
    charset = next(
        (p.partition("=")[2].strip(" \"'") for p in parameters.split(";") if p.strip().lower().startswith("charset=")),
        "utf-8-sig",
    )
    try:
        return blob.read().decode(charset)
    except (UnicodeDecodeError, LookupError) as error:
        hint = "name its encoding, as in text/plain;charset=cp1252, or wire a parse node to a lane 'tags'"
        raise RunError(f"{blob.name or 'the input'} is not text in {charset.removesuffix('-sig')}: {error}; {hint}") from error
