# SPDX-License-Identifier: MIT
"""The words at the beginning of a line that structure a ReAct reply, in all the ways that models write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

__all__ = ["Mark", "first_answer", "marks", "visible"]

WORDS = {
    "thought": "thought",
    "action": "action",
    "actioninput": "input",
    "observation": "observation",
    "answer": "answer",
    "finalanswer": "answer",
}
# Possessive blanks: a line of many of them is read once. `Action:`, `**Action:**`, `### action :`, `Action：`; a bullet before it makes it a list of the answer.
MARK = re.compile(
    r"^[ \t]*+(?:#{1,6}[ \t]++)?(?P<bold>[*_`]{0,3})[ \t]*+"
    r"(?P<word>thought|action[ _]?input|action|observation|final answer|answer)"
    r"[ \t]*+(?P<bold2>[*_`]{0,3})[ \t]*+[:：](?P<end>(?(bold)[*_`]{0,3}))",
    re.IGNORECASE | re.MULTILINE,
)


@attrs.frozen
class Mark:
    """One marker: what it announces, and where it begins and ends."""

    kind: str
    start: int
    end: int


def marks(text: str) -> Iterator[Mark]:
    for found in MARK.finditer(text):
        end = found.end()
        # Emphasis after the colon belongs to the marker only where it was opened before it.
        if not (found["bold"] or found["bold2"]):
            end = found.start("end")
        yield Mark(WORDS[re.sub(r"[ _]", "", found["word"].lower())], found.start(), end)


def first_answer(text: str, *, complete: bool) -> int | None:
    """Where the answer begins: after the first answer marker, unless a tool is asked for before. None: there is none, or not yet."""
    for mark in marks(text):
        if mark.kind in ("action", "input", "observation"):
            return None
        if mark.kind == "answer":
            settled = complete or text[mark.end :].lstrip(" \t")[:1] not in ("", "*", "_", "`")
            return mark.end if settled or mark.end < len(text.rstrip("*_`")) else None
    return None


def visible(text: str, *, complete: bool) -> str:
    """The part of an answer that is meant for its reader: up to where the model goes on with scaffolding.

    Parameters:
        text: from the answer's first character.
        complete: nothing follows; else what may turn out to be scaffolding is held back, so that the result of a shorter text is
            always the beginning of that of a longer one.
    """
    text = text.lstrip()
    found = list(marks(text))
    for mark, after in zip(found, [*found[1:], None], strict=False):
        # A line that says "Action: …" may well be part of an answer; with an input after it, it is a call.
        called = after is not None and after.kind == "input" and _next_line(text[mark.end : after.start])
        if mark.kind in ("observation", "thought", "input") or (mark.kind == "action" and called):
            return text[: mark.start].rstrip()
    if complete:
        return text.rstrip()
    return text[: _held(text, found)].rstrip()


def _next_line(between: str) -> bool:
    return len(between.strip().splitlines()) <= 1


def _held(text: str, found: list[Mark]) -> int:
    """From where on it is not settled yet what the text is."""
    line, last = text.rfind("\n") + 1, found[-1] if found else None
    bare = re.sub(r"[*_`# \t]", "", text[line:].lower()).partition(":")[0].partition("：")[0]
    begun = any(word.startswith(bare) for word in WORDS)
    if last is not None and last.kind == "action":
        # Whether it is a call is known once the line after it has begun.
        between = text[last.end : line] if begun and last.start < line else text[last.end :]
        if _next_line(between):
            return last.start
    return line if begun else len(text)
