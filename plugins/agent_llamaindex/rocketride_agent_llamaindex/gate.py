# SPDX-License-Identifier: MIT
"""Lets the answer through while a reply is still coming, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable

from .markers import first_answer, visible

__all__ = ["AnswerGate"]


class AnswerGate:
    """Opens at the answer's marker, wherever the pieces are cut. What it has let through is always how the read answer begins.

    Parameters:
        tell: takes the pieces of the answer.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._text, self._told = tell, "", 0
        self._start: int | None = None

    def __call__(self, piece: str) -> None:
        self._text += piece
        if self._start is None:
            self._start = first_answer(self._text, complete=False)
        if self._start is None or self._text.lstrip().startswith("```"):
            return
        shown = visible(self._text[self._start :], complete=False)
        if len(shown) > self._told:
            fresh, self._told = shown[self._told :], len(shown)
            self._tell(fresh)
