# SPDX-License-Identifier: MIT
"""Where chunks are that another splitter has made: it gives texts, we want positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]


def located(
    text: str, chunks: Iterable[str], *, overlap: int | None = None, separator: str | re.Pattern[str] | None = None
) -> list[Place]:
    """Find chunks in the text that they were cut from.

    Chunks come in order, none starting or ending before the one before it; that decides between several places.

    Parameters:
        overlap: characters that neighbours share at most; None where that is not known in characters.
        separator: of splitters that join pieces anew: what stands between them in text and chunks, any number of times. None: chunks are
            slices of the text.

    Returns: (start, end) of each chunk, in code points. A chunk that cannot be found so is looked for without white space and separators,
        and at last by the longest beginning and end of it that the text has.
    """
    pattern = re.escape(separator) if isinstance(separator, str) else separator.pattern if separator else ""
    whole = _Gaps(text, pattern, "\0") if pattern else _Exact(text)
    dense: _Gaps | None = None
    places: list[Place] = []
    near = sure = (0, 0)
    for chunk in chunks:
        found = whole.find(chunk, sure, overlap)
        if found is not None:
            sure = found
            # The same text again is taken to be another place. Where that has led too far, the first possible place is right.
            near = whole.find(chunk, near, overlap, again=bool(places)) or found
        else:
            dense = dense or _Gaps(text, rf"{pattern}|\s" if pattern else r"\s", "")
            near = sure = dense.find(chunk, near, overlap) or _ends(text, chunk, near[0])
        places.append(near)
    return places


class _Exact:
    """Finds slices of a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, chunk: str, before: Place, overlap: int | None, *, again: bool = False) -> Place | None:
        """The first place that starts and ends nowhere before `before`; with `again` not that same one if there is another."""
        start, end = before
        at = self.text.find(chunk, max(start, end - len(chunk), 0 if overlap is None else end - overlap))
        if again and (at, at + len(chunk)) == before:
            later = self.text.find(chunk, at + 1)
            at = later if later >= 0 else at
        return (at, at + len(chunk)) if at >= 0 else None


class _Gaps:
    """Finds chunks in a text whose gaps are all written the same, and knows where each character of that was."""

    def __init__(self, text: str, pattern: str, written: str) -> None:
        self.gap, self.written = re.compile(rf"(?:{pattern})+"), written
        self.starts: list[int] = []  # of the runs between gaps, in the text
        self.before: list[int] = []  # where each run starts in what is searched
        runs: list[str] = []
        at = length = 0
        for gap in [*self.gap.finditer(text), None]:
            stop = gap.start() if gap else len(text)
            self.starts.append(at)
            self.before.append(length)
            runs.append(text[at:stop])
            length += stop - at + len(written)
            at = gap.end() if gap else at
        self.dense = _Exact(written.join(runs))

    def find(self, chunk: str, before: Place, overlap: int | None, *, again: bool = False) -> Place | None:
        wanted = self.gap.sub(self.written, chunk)
        if not wanted:
            return None
        found = self.dense.find(wanted, (self.index(before[0]), self.index(before[1])), overlap, again=again)
        return (self.place(found[0]), self.place(found[1] - 1) + 1) if found else None

    def place(self, at: int) -> int:
        """Where character `at` of what is searched is in the text."""
        run = bisect_right(self.before, at) - 1
        return self.starts[run] + at - self.before[run]

    def index(self, place: int) -> int:
        """Where a place in the text is in what is searched."""
        run = bisect_right(self.starts, place) - 1
        if run < 0:
            return 0
        following = self.before[run + 1] if run + 1 < len(self.before) else len(self.dense.text)
        return min(self.before[run] + place - self.starts[run], following)


def _ends(text: str, chunk: str, least: int) -> Place:
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
