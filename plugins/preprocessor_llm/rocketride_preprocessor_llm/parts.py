# SPDX-License-Identifier: MIT
"""Dividing a text into parts that a model takes at once: at paragraphs, else lines, sentences, words, else anywhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["BYTES", "Span", "parts", "rows"]

Span: TypeAlias = tuple[int, int]
Count: TypeAlias = Callable[[str], int]

BYTES = 64 << 10  # of one part in UTF-8, whatever the model says it takes
_LEVELS = [re.compile(pattern) for pattern in (r"\n[^\S\n]*\n\s*", r"\n\s*", r"(?<=[.!?…。！？।])\s*(?=\S)", r"\s+")]


class _Piece(NamedTuple):
    start: int
    end: int
    tokens: int
    bytes: int


def parts(text: str, count: Count, most: int, *, most_bytes: int = BYTES) -> list[Span]:
    """The parts of a text, `text[start:end]`, without a gap; none of them is blank.

    Parameters:
        count: gives the tokens of a text; where parts are put together, their tokens are added up.
        most: the most tokens of a part; a single character may have more.
    """

    def measured(start: int, end: int) -> _Piece | None:
        size = len(text[start:end].encode("utf-8", "surrogatepass")) if end - start <= most_bytes else most_bytes + 1
        if size > most_bytes:
            return None
        tokens = count(text[start:end])
        return _Piece(start, end, tokens, size) if tokens <= most else None

    def divided(start: int, end: int, level: int) -> Iterator[_Piece]:
        if (piece := measured(start, end)) is not None:
            yield piece
        elif end - start == 1:
            yield _Piece(start, end, most, most_bytes)
        else:
            for one in _split(text, start, end, level):
                yield from divided(*one, level + 1)

    return _joined(text, divided(0, len(text), 0), most, most_bytes)


def rows(table: str, count: Count, most: int) -> list[Span]:
    """Runs of whole lines of a table with at most so many tokens; a line that has more is alone."""
    starts = [0, *(found.end() for found in re.finditer(r"\n", table))]
    lines = ((start, end) for start, end in zip(starts, [*starts[1:], len(table)], strict=True) if start < end)
    pieces = (_Piece(start, end, count(table[start:end]), 0) for start, end in lines)
    return _joined(table, pieces, most, BYTES)


def _joined(text: str, pieces: Iterator[_Piece], most: int, most_bytes: int) -> list[Span]:
    found: list[Span] = []
    start = end = tokens = size = 0
    for piece in pieces:
        if text[start:end].strip() and (tokens + piece.tokens > most or size + piece.bytes > most_bytes):
            found.append((start, end))
            start, tokens, size = end, 0, 0
        end, tokens, size = piece.end, tokens + piece.tokens, size + piece.bytes
    if text[start:end].strip():
        found.append((start, end))
    elif found:
        found[-1] = (found[-1][0], end)
    return found


def _split(text: str, start: int, end: int, level: int) -> Sequence[Span]:
    if level < len(_LEVELS):
        cuts = [found.end() for found in _LEVELS[level].finditer(text, start, end)]
    else:
        middle = (start + end) // 2
        while middle < end - 1 and unicodedata.combining(text[middle]):
            middle += 1
        cuts = [middle]
    edges = [start, *(cut for cut in cuts if start < cut < end), end]
    return [(edges[i], edges[i + 1]) for i in range(len(edges) - 1)]
