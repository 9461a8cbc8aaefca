# SPDX-License-Identifier: MIT
"""Cutting a text into chunks, as positions.

The cuts are those of LangChain's CharacterTextSplitter and RecursiveCharacterTextSplitter (langchain-text-splitters 1.1);
the tests compare them. But every chunk is a slice of the text, `text[start:end]`. Ours differ on purpose where theirs lose text
or tear characters apart: repeated separators inside a chunk stay, and a hard cut never divides a visible character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import attrs

from .measures import Measure, characters, divides

Span: TypeAlias = tuple[int, int]
RECURSIVE = ("\n\n", "\n", " ", "")
MARKDOWN = (r"\n#{1,6} ", r"```\n", r"\n\*\*\*+\n", r"\n---+\n", r"\n___+\n", "\n\n", "\n", " ", "")


@attrs.frozen
class Limits:
    """How long chunks may be and how much neighbours share, in the unit of the measure."""

    size: int
    overlap: int = 0


def recursive(
    text: str, measure: Measure, limits: Limits, separators: Sequence[str] = RECURSIVE, *, regex: bool = False
) -> list[Span]:
    """Cut at the first separator that occurs; pieces that are still too long at the next one, and so on.

    A separator stays at the start of the piece it opens. The separator `""` stands for a cut after any character. Without it a
    piece in which no separator occurs stays whole, however long. With `regex` separators are regular expressions.
    """
    patterns = [
        re.compile(separator if regex or separator.isspace() else re.escape(separator)) if separator else None
        for separator in separators
    ]
    return list(_stripped(text, _recurse(text, (0, len(text)), measure, limits, patterns)))


def character(text: str, measure: Measure, limits: Limits, separator: str = "\n\n") -> list[Span]:
    """Cut at `separator` only, which belongs to no chunk; a piece without it stays whole, however long."""
    if not separator:
        return list(_stripped(text, _hard(text, (0, len(text)), measure, limits)))
    pieces: list[Span] = []
    start = 0
    for found in re.finditer(re.escape(separator), text):
        pieces.append((start, found.start()))
        start = found.end()
    pieces.append((start, len(text)))
    return list(_stripped(text, _merged([piece for piece in pieces if piece[0] < piece[1]], measure, limits)))


def _recurse(
    text: str, span: Span, measure: Measure, limits: Limits, patterns: Sequence[re.Pattern[str] | None]
) -> Iterator[Span]:
    chosen, rest = patterns[-1], patterns[:0]
    for i, pattern in enumerate(patterns):
        if pattern is None or pattern.search(text, *span):
            chosen, rest = pattern, patterns[i + 1 :]
            break
    if chosen is None:
        yield from _hard(text, span, measure, limits)
        return
    if measure is characters and len(chosen.pattern) == 1 and chosen.pattern.isspace() and rest and not limits.overlap:
        for piece in _strides(text, span, chosen.pattern, limits.size):
            yield from [piece] if piece[1] - piece[0] <= limits.size else _recurse(text, piece, measure, limits, rest)
        return
    good: list[Span] = []
    for piece in _pieces(text, span, chosen):
        if measure(*piece) < limits.size:
            good.append(piece)
            continue
        yield from _merged(good, measure, limits)
        good = []
        if rest:
            yield from _recurse(text, piece, measure, limits, rest)
        else:
            yield piece
    yield from _merged(good, measure, limits)


def _pieces(text: str, span: Span, pattern: re.Pattern[str]) -> Iterator[Span]:
    start, end = span
    for found in pattern.finditer(text, start, end):
        if found.start() > start:
            yield start, found.start()
            start = found.start()
    if start < end:
        yield start, end


def _strides(text: str, span: Span, separator: str, size: int) -> Iterator[Span]:
    """What merging the pieces between single-character separators comes to, by looking back from each limit.

    Only a piece that is too long by itself comes out longer than `size`. Several times faster than piece by piece.
    """
    start, stop = span
    while stop - start > size:
        end = text.rfind(separator, start + 1, start + size + 1)
        if end < 0:
            end = text.find(separator, start + size + 1, stop)
        if end < 0:
            break
        yield start, end
        start = end
    if start < stop:
        yield start, stop


def _merged(pieces: Sequence[Span], measure: Measure, limits: Limits) -> Iterator[Span]:
    """Join neighbours as long as they fit; the next chunk starts with as many of the last pieces as the overlap holds."""
    first = 0
    for i, (_, end) in enumerate(pieces):
        if first < i and measure(pieces[first][0], end) > limits.size:
            last = pieces[i - 1][1]
            yield pieces[first][0], last
            while first < i and (
                measure(pieces[first][0], last) > limits.overlap or measure(pieces[first][0], end) > limits.size
            ):
                first += 1
    if pieces:
        yield pieces[first][0], pieces[-1][1]


def _hard(text: str, span: Span, measure: Measure, limits: Limits) -> Iterator[Span]:
    """Fill each chunk to the limit, moving a cut back to where it divides no character."""
    start, stop = span
    while start < stop:
        end = _whole(text, start, _reach(start, stop, limits.size, measure), stop)
        yield start, end
        if end == stop:
            return
        start = _back(text, start, end, limits.overlap, measure)


def _reach(start: int, stop: int, limit: int, measure: Measure) -> int:
    """The last end in (start, stop] within the limit; the first where none is."""
    good, bad = start + 1, stop + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if measure(start, middle) <= limit:
            good = middle
        else:
            bad = middle
    return good


def _back(text: str, start: int, end: int, overlap: int, measure: Measure) -> int:
    """Where the chunk after `text[start:end]` starts: after `start`, so that the two share at most `overlap`."""
    at = end
    while at - 1 > start and measure(at - 1, end) <= overlap:
        at -= 1
    while at < end and divides(text, at):
        at += 1
    return at


def _whole(text: str, start: int, end: int, stop: int) -> int:
    """`end`, moved back to where it divides no character; forward where that would leave nothing."""
    back = end
    while back > start and divides(text, back):
        back -= 1
    if back > start:
        return back
    while end < stop and divides(text, end):
        end += 1
    return end


def _stripped(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            yield start, end
