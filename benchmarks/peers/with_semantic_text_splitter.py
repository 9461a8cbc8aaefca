# SPDX-License-Identifier: MIT
"""semantic-text-splitter, written in Rust: cuts at the largest units that fit, sentences and words among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

NAME, NEEDS = "semantic-text-splitter", "semantic-text-splitter"


def splitter(size: int) -> Callable[[str], Sequence[object]]:
    from semantic_text_splitter import TextSplitter  # type: ignore[import-not-found, unused-ignore]

    chunks: Callable[[str], Sequence[object]] = TextSplitter(size).chunks
    return chunks
