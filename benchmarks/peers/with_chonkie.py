# SPDX-License-Identifier: MIT
"""chonkie: its recursive chunker, with levels of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

NAME, NEEDS = "chonkie", "chonkie"


def splitter(size: int) -> Callable[[str], Sequence[object]]:
    from chonkie import RecursiveChunker  # type: ignore[import-not-found, unused-ignore]

    chunk: Callable[[str], Sequence[object]] = RecursiveChunker(tokenizer="character", chunk_size=size).chunk
    return chunk
