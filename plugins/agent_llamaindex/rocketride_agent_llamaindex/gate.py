# SPDX-License-Identifier: MIT
"""Lets the answer through while a reply is still coming, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable

from .answers import AnswerText
from .markers import Fences, Mark, mark_of, may_become, meant

__all__ = ["AnswerGate"]


class AnswerGate:
    """Opens at the answer's marker, wherever the pieces are cut. What it has let through is always how the read answer begins.

    It stays shut where a call comes first, and where only the whole reply can show which marker is the answer's.

    Parameters:
        tell: takes the pieces of the answer.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._fences = tell, Fences()
        self._line: list[str] = []
        self._judged = self._shut = self._prose = self._thought = False
        self._style: str | None = None
        self._answer: AnswerText | None = None

    def __call__(self, piece: str) -> None:
        start = 0
        while start < len(piece) and not self._shut:
            if self._answer is not None:
                self._through(piece[start:])
                return
            line = piece.find("\n", start) + 1 or len(piece)
            self._before(piece[start:line])
            start = line

    def _through(self, text: str) -> None:
        if self._answer is not None and (fresh := self._answer.feed(text)):
            self._tell(fresh)

    def _before(self, part: str) -> None:
        """A part of a line before the answer."""
        self._line.append(part)
        whole = part.endswith("\n")
        if not self._judged:
            self._judge("".join(self._line), whole)
        if whole and self._answer is None:
            self._fences.passed("".join(self._line)[:-1])
            self._line, self._judged = [], False

    def _judge(self, line: str, whole: bool) -> None:
        mark = None if self._fences.open else mark_of(line)
        if mark is None:
            self._judged = whole or bool(self._fences.open) or not may_become(line)
            self._prose |= self._judged and bool(line.strip())
            return
        if self._style is None and not self._prose:
            self._style = mark.lead if mark.lead != "1" or mark.kind in ("thought", "action") else ""
        # Emphasis that is closed after the colon is part of the marker.
        rest = line[mark.end :]
        if mark.kind == "answer" and not whole and mark.closing and _may_close(mark.closing, rest):
            return
        self._judged = True
        if meant(mark, self._style or ""):
            self._marked(mark, rest)
        else:
            self._prose = True

    def _marked(self, mark: Mark, rest: str) -> None:
        if mark.kind == "thought":
            self._thought = True
        elif mark.kind == "answer" and (self._thought or not self._prose):
            self._answer = AnswerText(mark.lead)
            self._through(rest)
        else:
            self._shut = True


def _may_close(closing: str, rest: str) -> bool:
    return closing.startswith(rest) or closing[::-1].startswith(rest)
