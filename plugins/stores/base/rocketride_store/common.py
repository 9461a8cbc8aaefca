# SPDX-License-Identifier: MIT
"""What many backends do alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import attrs

from rocketride_core import Document

from .backend import chunk_key
from .memory import similarities

__all__ = ["compared", "page_of", "paged", "ranked", "unless"]

PAGE = 500  # chunks that are read at once


def ranked(documents: Iterable[Document], limit: int | None = None) -> list[Document]:
    """The best `limit` by their score; of equal ones those first whose object and number come first, so that all stores agree."""
    return sorted(documents, key=lambda document: (-(document.score or 0.0), chunk_key(document)))[:limit]


def compared(
    metric: str, asked: memoryview, rows: Iterable[tuple[Document, Any]], limit: int | None = None, least: float = 0.0
) -> list[Document]:
    """The best `limit` of all chunks, where a search of the database cannot reach them; no more than a page of vectors is held.

    Parameters:
        rows: chunks and their vectors.
    """
    import numpy as np

    found, rest = list[Document](), iter(rows)
    while page := list(islice(rest, PAGE)):
        scores = similarities(metric, np.array([vector for _, vector in page], dtype=np.float32), asked)
        near = zip(page, scores, strict=True)
        found = ranked([*found, *(attrs.evolve(one, score=score) for (one, _), score in near if score >= least)], limit)
    return found


def paged(documents: Iterable[Document], words: Sequence[str] = (), offset: int = 0, limit: int | None = None) -> list[Document]:
    """What `select` gives of the chunks that fulfil its conditions, where the database finds no words by itself.

    Parameters:
        documents: in the order that is the same in each call; no more of them are read than are needed.
        words, offset, limit: as `select` has them.
    """
    lowered = [word.lower() for word in words]
    if lowered:
        documents = (one for one in documents if (text := one.text.lower(), all(word in text for word in lowered))[1])
    return list(islice(documents, offset, None if limit is None else offset + limit))


def page_of(words: Sequence[str], offset: int, limit: int | None, *, most: int = PAGE) -> int:
    """How many chunks to read at once for `paged`: no more than are wanted, where all that are read will be."""
    return most if words or limit is None else max(1, min(most, offset + limit))


def unless(there: Callable[[], object], make: Callable[[], object]) -> None:
    """Makes something that another one may make at the same moment: an error counts only where it is not there afterwards."""
    try:
        make()
    except Exception:
        if not there():
            raise
