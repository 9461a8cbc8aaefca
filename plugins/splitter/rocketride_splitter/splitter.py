# SPDX-License-Identifier: MIT
"""The splitter: arguments as LangChain's, native where it can be."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from ._native import Splitter
from .lengths import EstimatedTokens
from .locating import located

SEPARATORS = ("\n\n", "\n", " ", "")
MOST_SEPARATORS = 1000  # the native code goes one call deeper for each
_KEEP = {"start": 1, "end": 2}


class Chunk(NamedTuple):
    """A chunk and where it is: `text[start:end]` of what was split.

    Without kept separators, separators that are repeated in the text stand once in the chunk; it then is shorter than its slice.
    """

    text: str
    start: int
    end: int


_chunk: Callable[[tuple[str, int, int]], Chunk] = partial(tuple.__new__, Chunk)  # `_make` is a call of Python for each


class RecursiveCharacterTextSplitter:
    """Cuts texts where LangChain's RecursiveCharacterTextSplitter cuts them.

    At the first separator that occurs; pieces that are still too long at the next one, and so on; neighbours are joined as long
    as they fit. `""` stands for a cut after any character. Without it a piece in which no separator occurs stays whole.
    Splitters hold no state: one serves any number of threads. The GIL is released while a text of 16,384 characters or more is cut.

    Parameters:
        separators: best first; None or none for `"\\n\\n"`, `"\\n"`, `" "`, `""`.
        keep_separator: True or "start": a separator begins the piece after it; "end": it ends the piece before it; False: it is left
            out, and stands once between pieces that are joined again.
        is_separator_regex: separators are regular expressions. LangChain's own splitter is used.
        chunk_size: longest chunk, at least 1, in the unit of `length_function`: characters (code points) for `len`.
        chunk_overlap: what neighbouring chunks share at most, in the same unit.
        length_function: `len` and `EstimatedTokens` are native; with any other LangChain's own splitter is used.
        strip_whitespace: white space at both ends of chunks is left out, as `str.strip` does.
        whole_characters: beyond LangChain: the separator `""` never cuts inside a visible character (accents, emoji sequences, flags,
            Hangul). One that alone is over the limit is a chunk of its own.

    Raises:
        ValueError: sizes that do not go together, or another argument that is none of these.
        TypeError: a separator that is no text, a size that is no whole number.
        ImportError: LangChain's own splitter is needed and not installed; the message has the pip line.
    """

    def __init__(
        self,
        separators: Sequence[str] | None = None,
        keep_separator: bool | Literal["start", "end"] = True,
        is_separator_regex: bool = False,
        *,
        chunk_size: int = 4000,
        chunk_overlap: int = 200,
        length_function: Callable[[str], int] = len,
        strip_whitespace: bool = True,
        whole_characters: bool = False,
    ) -> None:
        chosen = _checked_separators(separators)
        keep = _checked_keep(keep_separator)
        _check_sizes(chunk_size, chunk_overlap)
        tokens = isinstance(length_function, EstimatedTokens)
        native = not is_separator_regex and (length_function is len or (tokens and keep > 0))
        self._native: Splitter | None = None
        self._langchain: Any = None
        self._overlap = chunk_overlap if length_function is len or chunk_overlap == 0 else None  # in characters
        if native:
            ratio = length_function.bytes_per_token if isinstance(length_function, EstimatedTokens) else 0.0
            strip, whole = bool(strip_whitespace), bool(whole_characters)
            self._native = Splitter(chosen, chunk_size, min(chunk_overlap, chunk_size), keep, strip, whole, ratio)
            return
        if whole_characters:
            raise ValueError(
                "whole_characters is for literal separators and lengths in characters, or in EstimatedTokens with kept separators; "
                "leave it out, or is_separator_regex and length_function"
            )
        patterns = [separator if is_separator_regex else re.escape(separator) for separator in chosen if separator]
        self._joined = None if keep else re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
        self._langchain = _langchains(
            separators=chosen,
            keep_separator=keep_separator,
            is_separator_regex=is_separator_regex,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            length_function=length_function,
            strip_whitespace=strip_whitespace,
        )

    def split_text(self, text: str) -> list[str]:
        """The chunks of a text, in order.

        Raises:
            TypeError: `text` is no str.
        """
        _check_text(text)
        if self._native is not None:
            return self._native.texts(text)
        found: list[str] = self._langchain.split_text(text)
        return found

    def split(self, text: str) -> list[Chunk]:
        """The chunks of a text with their positions in it, in code points.

        Raises:
            TypeError: `text` is no str.
        """
        _check_text(text)
        if self._native is not None:
            return list(map(_chunk, self._native.chunks(text)))
        texts = self.split_text(text)
        places = located(text, texts, overlap=self._overlap, separator=self._joined)
        return [Chunk(chunk, *place) for chunk, place in zip(texts, places, strict=True)]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Only the positions of the chunks: `(start, end)`, in code points.

        Raises:
            TypeError: `text` is no str.
        """
        _check_text(text)
        if self._native is not None:
            return self._native.spans(text)
        return located(text, self.split_text(text), overlap=self._overlap, separator=self._joined)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"a text to split is a str, not {type(text).__name__}; decode bytes first")


def _checked_separators(separators: Sequence[str] | None) -> list[str]:
    if isinstance(separators, str):
        raise TypeError(f"separators is a list of texts, not one text; write [{separators!r}]")
    chosen = list(separators or SEPARATORS)
    wrong = next((separator for separator in chosen if not isinstance(separator, str)), None)
    if wrong is not None:
        raise TypeError(f"a separator is a str, not {type(wrong).__name__}: {wrong!r}")
    if len(chosen) > MOST_SEPARATORS:
        raise ValueError(f"{len(chosen)} separators are more than {MOST_SEPARATORS}")
    return chosen


def _checked_keep(keep: object) -> int:
    if isinstance(keep, bool):
        return int(keep)
    if isinstance(keep, str) and keep in _KEEP:
        return _KEEP[keep]
    raise ValueError(f'keep_separator is True, False, "start" or "end", not {keep!r}')


def _check_sizes(size: int, overlap: int) -> None:
    for name, value in (("chunk_size", size), ("chunk_overlap", overlap)):
        if type(value) is not int:
            raise TypeError(f"{name} is a whole number, not {value!r}")
    if size <= 0:
        raise ValueError(f"chunk_size must be > 0, got {size}")
    if overlap < 0:
        raise ValueError(f"chunk_overlap must be >= 0, got {overlap}")
    if overlap > size:
        raise ValueError(f"Got a larger chunk overlap ({overlap}) than chunk size ({size}), should be smaller.")


def _langchains(**arguments: Any) -> Any:
    try:
        from langchain_text_splitters import RecursiveCharacterTextSplitter as Theirs
    except ImportError as error:
        raise ImportError(
            "regular expressions as separators, and length functions other than len and EstimatedTokens, are LangChain's work: "
            "pip install rocketride-splitter[langchain]"
        ) from error
    return Theirs(**arguments)
