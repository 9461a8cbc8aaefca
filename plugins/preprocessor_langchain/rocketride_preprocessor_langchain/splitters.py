# SPDX-License-Identifier: MIT
"""Cutting a text into chunks, as positions.

The cuts are those of langchain-text-splitters. Literal separators are rocketride-splitter's work, which needs no LangChain;
what else there is LangChain does itself, and where its chunks are is found in the text. Every chunk is a slice of the text,
`text[start:end]`, without white space at its ends, and a hard cut never divides a visible character.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

import attrs

from rocketride_splitter import EstimatedTokens, RecursiveCharacterTextSplitter, located

from .langchains import library
from .measures import Measure, Tokens

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

    Raises:
        PluginError: LangChain is needed for regular expressions, and is not installed.
    """
    ratio = measure.bytes_per_token if isinstance(measure, Tokens) else 0.0
    if not regex:
        found = _literal(tuple(separators), limits, ratio).spans(text)
        return found if "" in separators else list(_stripped(text, found))
    library()
    hard = "" in separators
    kept = tuple(separator for separator in separators if separator)
    spans: Iterable[Span] = _pattern(kept, limits, ratio).spans(text)
    return list(_stripped(text, _shortened(text, spans, measure, limits, ratio) if hard else spans))


def character(text: str, measure: Measure, limits: Limits, separator: str = "\n\n") -> list[Span]:
    """Cut at `separator` only, which belongs to no chunk; a piece without it stays whole, however long.

    Raises:
        PluginError: LangChain is not installed.
    """
    if not separator:
        return recursive(text, measure, limits, ("",))
    ratio = measure.bytes_per_token if isinstance(measure, Tokens) else 0.0
    splitter = library().CharacterTextSplitter(
        separator=separator, chunk_size=limits.size, chunk_overlap=limits.overlap, length_function=length_of(ratio)
    )
    chunks = splitter.split_text(text)
    return list(_stripped(text, located(text, chunks, overlap=None if limits.overlap else 0, separator=separator)))


def length_of(bytes_per_token: float) -> Callable[[str], int]:
    """The length function for LangChain: of tokens, estimated, or of characters for 0."""
    return EstimatedTokens(bytes_per_token) if bytes_per_token else len


@lru_cache(maxsize=64)
def _literal(separators: tuple[str, ...], limits: Limits, ratio: float) -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(
        separators,
        chunk_size=limits.size,
        chunk_overlap=limits.overlap,
        length_function=length_of(ratio),
        whole_characters=True,
    )


@lru_cache(maxsize=64)
def _pattern(separators: tuple[str, ...], limits: Limits, ratio: float) -> RecursiveCharacterTextSplitter:
    return RecursiveCharacterTextSplitter(
        separators,
        is_separator_regex=True,
        chunk_size=limits.size,
        chunk_overlap=limits.overlap,
        length_function=length_of(ratio),
    )


def _shortened(text: str, spans: Iterable[Span], measure: Measure, limits: Limits, ratio: float) -> Iterator[Span]:
    """What is too long after the last separator, cut after any character: here, because LangChain would tear characters apart."""
    for start, end in spans:
        if measure(start, end) < limits.size:
            yield start, end
            continue
        for first, last in _literal(("",), limits, ratio).spans(text[start:end]):
            yield start + first, start + last


def _stripped(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    for start, end in spans:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        if start < end:
            yield start, end
