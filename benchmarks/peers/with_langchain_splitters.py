# SPDX-License-Identifier: MIT
"""LangChain's text splitters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

NAME, NEEDS = "LangChain", "langchain-text-splitters"


def splitter(size: int) -> Callable[[str], Sequence[object]]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0).split_text
