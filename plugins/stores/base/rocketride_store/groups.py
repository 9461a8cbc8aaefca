# SPDX-License-Identifier: MIT
"""BM25: which texts share the words of a query. For the filter's `useGroupRank`, and for keyword search by an agent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocketride_core import Document

from .backend import chunk_key

__all__ = ["by_group", "relevance", "words_of"]


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return re.findall(r"\w+", text.lower())


def relevance(query: str, texts: Sequence[str]) -> list[float]:
    """BM25 of each text for a query, among these texts (Lucene's variant, k1 1.5, b 0.75); 0 where no word is shared."""
    asked, cut = list(dict.fromkeys(words_of(query))), [words_of(text) for text in texts]
    known = {word for words in cut for word in words}
    if not known.intersection(asked):
        return [0.0] * len(texts)
    import bm25s  # type: ignore[import-untyped]

    index = bm25s.BM25(method="lucene")
    index.index(cut, show_progress=False)
    return [float(score) for score in index.get_scores([word for word in asked if word in known])]


def by_group(query: str, documents: Sequence[Document]) -> list[Document]:
    """The documents object by object: the object whose texts answer the query best by their words comes first.

    Within an object, and among objects that are equally good, the order stays.
    """
    groups: dict[object, list[Document]] = {}
    for document in documents:
        groups.setdefault(chunk_key(document)[0] or document.text, []).append(document)
    scores = relevance(query, ["\n".join(document.text for document in group) for group in groups.values()])
    ranked = sorted(zip(scores, groups.values(), strict=True), key=lambda pair: -pair[0])
    return [document for _, group in ranked for document in group]
