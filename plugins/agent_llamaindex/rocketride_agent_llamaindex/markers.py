# SPDX-License-Identifier: MIT
"""The words at the beginning of a line that structure a ReAct reply, in all the ways that models write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

__all__ = ["HEAD", "Fences", "Mark", "after_mark", "first_answer", "mark_of", "marks", "may_become", "meant", "unwrapped"]

WORDS = {
    "thought": "thought",
    "action": "action",
    "actioninput": "input",
    "observation": "observation",
    "answer": "answer",
    "finalanswer": "answer",
}
HEAD = 256  # characters; no marker is longer, blanks included
# `Action:`, `**Action:**`, `### action :`, `> Action:`, `1. Action:`, `Action：`; a bullet before it makes it a list of the answer.
MARK = re.compile(
    r"[ \t]{0,40}+(?P<lead>#{1,6}(?=[ \t])|>|\d{1,2}[.)](?=[ \t]))?[ \t]{0,40}+"
    r"(?:<tool_call>|(?P<bold>[*_`]{0,3})[ \t]{0,40}+"
    r"(?P<word>thought|action[ _]?input|action|observation|final answer|answer)"
    r"[ \t]{0,40}+(?P<bold2>[*_`]{0,3})[ \t]{0,40}+[:：])",
    re.IGNORECASE,
)
DRESS = re.compile(r"[*_`#> \t0-9.)]+")
FENCE = re.compile(r"[ \t>]*+(?:[-*+][ \t]++|\d{1,3}[.)][ \t]++)?(`{3,}+(?=[^`]*$)|~{3,}+)")


@attrs.frozen
class Mark:
    """One marker.

    Parameters:
        kind: what it announces.
        start, end: where it begins, with its line, and ends.
        lead: what makes its line a heading, a quotation or an item of a list; "" where nothing does.
        closing: emphasis that was opened before the word and may yet be closed right after `end`.
    """

    kind: str
    start: int
    end: int
    lead: str = ""
    closing: str = ""


def mark_of(line: str, start: int = 0) -> Mark | None:
    """The marker that a line begins with; of a line that still grows, it stays the same but for its emphasis."""
    head = line[:HEAD]
    found = MARK.match(head) if ":" in head or "：" in head or "<" in head else None
    if found is None:
        return None
    lead = "1" if (found["lead"] or "")[:1].isdigit() else found["lead"] or ""
    if found["word"] is None:
        return Mark("tool", start, start + found.end(), lead)
    bold, end = found["bold"] if not found["bold2"] else "", found.end()
    closed = len(bold) if bold and line.startswith((bold, bold[::-1]), end) else 0
    kind = WORDS[re.sub(r"[ _]", "", found["word"].lower())]
    return Mark(kind, start, start + end + closed, lead, bold if not closed else "")


def after_mark(line: str) -> str:
    """The line without its marker, where it has one; a code fence may begin there."""
    mark = mark_of(line)
    return line[mark.end :] if mark is not None else line


def may_become(head: str) -> bool:
    """A line that begins so may still turn out to have a marker."""
    bare = DRESS.sub("", head.lower())
    return len(head) < HEAD and any(word.startswith(bare) for word in (*WORDS, "<toolcall"))


class Fences:
    """Whether a line is within a code fence. What is within one is content, whatever it looks like."""

    def __init__(self) -> None:
        self.open = ""

    def passed(self, line: str, *, marked: bool = True) -> bool:
        """Takes the lines one after the other. True: it is within a fence, or its last line.

        Parameters:
            marked: a fence may begin after the line's marker.
        """
        if self.open:
            bare = line.strip(" \t\r>")
            if len(bare) >= len(self.open) and not bare.strip(self.open[0]):
                self.open = ""
            return True
        found = FENCE.match(after_mark(line) if marked else line) if "```" in line or "~~~" in line else None
        self.open = found[1] if found is not None else ""
        return False


def marks(text: str) -> list[Mark]:
    """The markers of a reply that structure it: outside of code fences, and not such as are headings or items of its prose."""
    fences, start, found = Fences(), 0, list[Mark]()
    for line in text.split("\n"):
        mark = None if fences.open else mark_of(line, start)
        fences.passed(line)
        found += [mark] if mark is not None else []
        start += len(line) + 1
    style = _style(text, found)
    return [mark for mark in found if meant(mark, style)]


def _style(text: str, found: Sequence[Mark]) -> str:
    """How a reply that begins with a marker writes them."""
    if not found or text[: found[0].start].strip():
        return ""
    first = found[0]
    # A list of answers or of actions is one; a numbered step has a thought, or a call that is whole.
    numbered = first.kind == "thought" or (first.kind == "action" and any((m.kind, m.lead) == ("input", "1") for m in found))
    return first.lead if first.lead != "1" or numbered else ""


def meant(mark: Mark, style: str) -> bool:
    """A heading `Thought: …` in a text that does not write its markers so is one of its headings."""
    stepping = mark.lead not in ("", "1") and mark.kind in ("action", "input", "answer")
    return not mark.lead or mark.lead == style or stepping


def first_answer(text: str, found: Sequence[Mark]) -> Mark | None:
    """The marker that the answer is after. None: there is none, or a tool is asked for before.

    Of several after prose without a thought none is: they are part of the prose, as in a list of questions and answers.
    """
    thought = not (found and text[: found[0].start].strip())
    for mark in found:
        if mark.kind == "answer":
            several = sum(other.kind == "answer" for other in found) > 1
            return mark if thought or not several else None
        if mark.kind != "thought":
            return None
        thought = True
    return None


def unwrapped(text: str) -> str:
    """Without the code fence around a whole step, or around its call."""
    lines, fences, before = text.split("\n"), Fences(), list[Mark]()
    wraps: list[list[int]] = []
    for n, line in enumerate(lines):
        mark = None if fences.open else mark_of(line, n)
        before += [mark] if mark is not None else []
        within = fences.passed(line)
        if fences.open and not within:
            wraps.append([n, len(lines), mark is None])
        elif within and not fences.open:
            wraps[-1][1] = n
    last = next((n for n in range(len(lines) - 1, -1, -1) if lines[n].strip("`~ \t\r")), -1)
    while len(wraps) > 1 and wraps[-1][0] > last:
        wraps.pop()  # the end of an outer fence whose inner one seemed to be its end
    if not wraps or not wraps[-1][2]:
        return text
    start, end, _ = wraps[-1]
    inner = next((mark_of(line) for line in lines[start + 1 : end] if line.strip()), None)
    earlier = [mark for mark in before if mark.start < start]
    step = not any(line.strip() for line in lines[: earlier[0].start if earlier else start])
    wrapping = inner is not None and inner.kind != "observation" and (step or inner.kind in ("action", "tool"))
    if not wrapping or last > end or any(mark.kind == "answer" for mark in earlier):
        return text
    return "\n".join([*lines[:start], *lines[start + 1 : end]])
