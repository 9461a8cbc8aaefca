# SPDX-License-Identifier: MIT
"""Where chunks are that another splitter has made: it gives texts, we want positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable


def located(text: str, chunks: Iterable[str], *, overlap: int | None = None, dropped: str = "") -> list[tuple[int, int]]:
    """Find chunks in the text that they were cut from.

    Chunks come in order, none starting or ending before the one before it; that decides between several places. A chunk that is no
    slice of the text is found by what it has besides white space and `dropped`: splitters join sentences with their own line ends.

    Parameters:
        overlap: characters that neighbours share at most; None where that is not known in characters.
        dropped: a separator that the splitter leaves out.

    Returns: (start, end) of each chunk, in code points. Where a chunk has more in it that the text has not (LangChain joins pieces with
        the pattern itself when a regular expression is not kept), these are the places of the longest beginning and end that the text has.
    """
    dense: _Dense | None = None
    places: list[tuple[int, int]] = []
    near = sure = (0, 0)
    for chunk in chunks:
        found = _find(text, chunk, sure, overlap)
        if found is not None:
            sure = found
            # The same text again is taken to be another place. Where that has led too far, the first possible place is right.
            near = _find(text, chunk, near, overlap, again=bool(places)) or found
        else:
            dense = dense or _Dense(text, dropped)
            near = sure = dense.find(chunk, near) or _ends(text, chunk, near[0])
        places.append(near)
    return places


def _find(text: str, chunk: str, before: tuple[int, int], overlap: int | None, *, again: bool = False) -> tuple[int, int] | None:
    """The first place of a chunk that starts and ends nowhere before `before`; with `again` not that same one if there is another."""
    start, end = before
    least = max(start, end - len(chunk), 0 if overlap is None else end - overlap)
    at = text.find(chunk, least)
    if again and (at, at + len(chunk)) == before:
        later = text.find(chunk, at + 1)
        at = later if later >= 0 else at
    return (at, at + len(chunk)) if at >= 0 else None


class _Dense:
    """A text without its white space and separators, which knows where each character was."""

    def __init__(self, text: str, dropped: str) -> None:
        self.drop = re.compile(rf"(?:{re.escape(dropped)}|\s)+" if dropped else r"\s+")
        self.text, self.dropped, at = "", dropped, 0
        self.starts: list[int] = []  # of the runs that are kept, in the text
        self.before: list[int] = []  # how much of the dense text is before each run
        kept: list[str] = []
        length = 0
        for gap in [*self.drop.finditer(text), None]:
            stop = gap.start() if gap else len(text)
            if stop > at:
                self.starts.append(at)
                self.before.append(length)
                kept.append(text[at:stop])
                length += stop - at
            at = gap.end() if gap else at
        self.text = "".join(kept)

    def place(self, at: int) -> int:
        """Where the dense text's character `at` is in the text."""
        run = bisect_right(self.before, at) - 1
        return self.starts[run] + at - self.before[run]

    def index(self, place: int) -> int:
        """How many characters of the dense text are before a place in the text."""
        run = bisect_right(self.starts, place) - 1
        if run < 0:
            return 0
        following = self.before[run + 1] if run + 1 < len(self.before) else len(self.text)
        return min(self.before[run] + place - self.starts[run], following)

    def find(self, chunk: str, before: tuple[int, int]) -> tuple[int, int] | None:
        wanted = self.drop.sub("", chunk)
        if not wanted:
            return None
        start, end = map(self.index, before)
        at = self.text.find(wanted, max(start, end - len(wanted)))
        return (self.place(at), self.place(at + len(wanted) - 1) + 1) if at >= 0 else None


def _ends(text: str, chunk: str, least: int) -> tuple[int, int]:
    head = _longest(len(chunk), lambda size: text.find(chunk[:size], least))
    start = max(text.find(chunk[:head], least), 0)
    tail = _longest(len(chunk), lambda size: text.find(chunk[len(chunk) - size :], start))
    found = text.find(chunk[len(chunk) - tail :], start)
    return start, max(found + tail, start + head)


def _longest(size: int, find: Callable[[int], int]) -> int:
    """The largest size that is found; what is shorter is found too."""
    good, bad = 0, size + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if find(middle) >= 0:
            good = middle
        else:
            bad = middle
    return good
