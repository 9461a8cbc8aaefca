# SPDX-License-Identifier: MIT
"""What the agent gets of a sub-pipeline's result: one text, by the kind of lane, whatever the response nodes are called."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rocketride_core import ANSWERS, AUDIO, DOCUMENTS, IMAGE, QUESTIONS, TABLE, TEXT, VIDEO, Answer, Document, Json, Lane, Result

__all__ = ["RETURN_TYPES", "answered_on", "extracted"]


def _text(pieces: Sequence[str]) -> str:
    return "\n\n".join(pieces)


def _first(answers: Sequence[Answer]) -> str:
    return answers[0].text


def _documents(responses: Sequence[Sequence[Document]]) -> str:
    """Vectors are left out: no agent can read them, and one is as long as the text of many documents."""
    return _json([{k: v for k, v in one.to_json().items() if k != "embedding"} for many in responses for one in many])


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# Each kind: its lane, how its payloads become one text, and what an agent is told of that text.
RETURN_TYPES: Mapping[str, tuple[Lane[Any], Callable[[Any], str], str]] = {
    "text": (TEXT, _text, "What the pipeline wrote, as plain text."),
    "answers": (ANSWERS, _first, "The answer of the pipeline's language model, as text."),
    "documents": (
        DOCUMENTS,
        _documents,
        "The documents that the pipeline gave, as JSON: a list of objects with page_content and metadata.",
    ),
    "table": (TABLE, _json, "The tables that the pipeline gave, as JSON: a list of tables."),
}


def extracted(result: Result, return_type: str) -> str | None:
    """The text of a result; None where nothing was responded on the lane of that type."""
    lane, made, _ = RETURN_TYPES[return_type]
    found = result[lane]
    return made(found) if found else None


def answered_on(result: Result) -> list[str]:
    """The names of the lanes on which something was responded."""
    lanes: tuple[Lane[Any], ...] = (TEXT, ANSWERS, DOCUMENTS, TABLE, QUESTIONS, IMAGE, AUDIO, VIDEO)
    return [lane.name for lane in lanes if result[lane]]
