# SPDX-License-Identifier: MIT
"""An answer without the scaffolding that a model writes after it, whole or while it comes."""

from __future__ import annotations

from .markers import Fences, Mark, after_mark, mark_of, may_become

__all__ = ["AnswerText", "visible"]


class AnswerText:
    """Takes the text after an answer's marker, in any pieces, and gives what its reader may see as soon as that is settled.

    What may turn out to be scaffolding, and blanks at the end, are held back. The time it takes is linear in the length.

    Parameters:
        lead: of the answer's marker: markers that are written in another way are content, as a heading `Thought: a history`.
    """

    def __init__(self, lead: str = "") -> None:
        self._lead, self._fences = lead, Fences()
        self._begun = self._over = False
        self._blank: list[str] = []
        self._line: list[str] = []
        # Of the current line: None unsettled, "" content, else its marker's. The first is the line of the answer's own marker.
        self._kind: str | None = ""
        self._first = True
        # Since an `Action:` that is no call unless an `Action Input:` comes in the next line that is not empty.
        self._held: list[str] | None = None
        self._lines = 0

    def feed(self, text: str) -> str:
        """What is settled by this piece."""
        said: list[str] = []
        first, *more = text.split("\n")
        self._grow(first, said)
        for part in more:
            self._close("\n", said)
            self._grow(part, said)
        return "".join(said)

    def finish(self) -> str:
        """What was held back, where nothing follows."""
        said: list[str] = []
        self._close("", said)
        self._release(said)
        return "".join(said)

    def _grow(self, part: str, said: list[str]) -> None:
        if self._over or not part:
            return
        self._line.append(part)
        if self._kind is None:
            fresh = "".join(self._line)
            mark = None if self._fences.open else mark_of(fresh)
            if mark is not None and mark.lead in ("", self._lead):
                self._marked(mark, said)
            elif self._fences.open or mark is not None or not may_become(fresh):
                self._kind = ""
            if self._kind is None or self._over:
                return
            part = fresh
        if self._held is None:
            self._say(part, said)
        elif not self._kind and self._lines and part.strip():
            self._release(said)
            self._say("".join(self._line), said)

    def _marked(self, mark: Mark, said: list[str]) -> None:
        if mark.kind == "input" and self._held is not None:
            self._over, self._held = True, None  # what was held was the beginning of a call
            return
        self._release(said)
        self._kind = mark.kind if mark.kind in ("action", "answer") else None
        self._over = self._kind is None
        if mark.kind == "action":
            self._held, self._lines = [], 0

    def _close(self, newline: str, said: list[str]) -> None:
        """The end of a line."""
        if self._over:
            return
        line = "".join(self._line)
        fresh, rest = self._kind is None, line if self._first else after_mark(line)
        self._fences.passed(line, marked=not self._first)
        self._line, self._kind, self._first = [], None, False
        if self._held is None:
            self._say((line if fresh else "") + newline, said)
            return
        self._held.append(line + newline)
        self._lines += bool(rest.strip())
        if self._lines > 1:
            self._release(said)

    def _release(self, said: list[str]) -> None:
        held, self._held = self._held, None
        if held:
            self._say("".join(held), said)

    def _say(self, text: str, said: list[str]) -> None:
        text = text if self._begun else text.lstrip()
        bare = text.rstrip()
        if bare:
            said += [*self._blank, bare]
            self._blank, self._begun = [], True
        if len(bare) < len(text):
            self._blank.append(text[len(bare) :])


def visible(text: str, lead: str = "") -> str:
    """The part of a whole answer that is meant for its reader; see `AnswerText`."""
    answer = AnswerText(lead)
    return answer.feed(text) + answer.finish()
