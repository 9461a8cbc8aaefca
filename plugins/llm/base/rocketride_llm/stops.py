# SPDX-License-Identifier: MIT
"""Words found in a text that comes in pieces, in time that grows with the text alone (Aho and Corasick, CACM 1975)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

__all__ = ["Stops"]


class Stops:
    """Knows how much of a text's end may be the beginning of a word.

    Parameters:
        words: none of them empty.

    Attributes:
        pending: characters at the end of the text so far that begin a word.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._depth, self._back, self._found = [0], [0], [0]
        for word in words:
            self._add(word)
        self._link()
        firsts = "".join(map(re.escape, self._next[0]))
        self._first = re.compile(f"[{firsts}]") if firsts else None
        self._state = 0

    @property
    def pending(self) -> int:
        return self._depth[self._state]

    def find(self, piece: str) -> int | None:
        """Where the first word to be complete begins, counted from the piece's start (below 0 in what came before); None for no word."""
        if self._first is None:
            return None
        state, at = self._state, 0
        while at < len(piece):
            if not state:  # nothing begun: on to where something may begin
                place = self._first.search(piece, at)
                if place is None:
                    break
                at = place.start()
            while state and piece[at] not in self._next[state]:
                state = self._back[state]
            state = self._next[state].get(piece[at], 0)
            at += 1
            if self._found[state]:
                return at - self._found[state]
        self._state = state
        return None

    def _add(self, word: str) -> None:
        state = 0
        for letter in word:
            if letter not in self._next[state]:
                self._next[state][letter] = len(self._next)
                self._next.append({})
                self._depth.append(self._depth[state] + 1)
                self._back.append(0)
                self._found.append(0)
            state = self._next[state][letter]
        self._found[state] = len(word)

    def _link(self) -> None:
        waiting = deque(self._next[0].values())
        while waiting:
            state = waiting.popleft()
            for letter, child in self._next[state].items():
                waiting.append(child)
                back = self._back[state]
                while back and letter not in self._next[back]:
                    back = self._back[back]
                self._back[child] = self._next[back].get(letter, 0)
            self._found[state] = self._found[state] or self._found[self._back[state]]
