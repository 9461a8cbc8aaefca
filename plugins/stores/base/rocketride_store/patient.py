# SPDX-License-Identifier: MIT
"""A backend with what all of them have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rocketride_core import Document, Instance

from .backend import Capabilities, Collection, Server, VectorStore
from .common import ranked
from .errors import StoreError, transport
from .filters import Where
from .patience import Patience

__all__ = ["Patient"]

R = TypeVar("R")
IDS = 500  # that are removed or marked in one call of a backend


class Patient(VectorStore):
    """A backend with what all of them have in common, seen through a `Patience`, for one entry or for none.

    It asks for no metric that the backend does not have, and for no more results than it gives; writes, ids and marks come to it in
    parts that it takes, none of them empty; what it found is ranked.

    Parameters:
        backend: the store itself; it stays open when this object goes, and closes with `close()`.
    """

    def __init__(self, backend: VectorStore, patience: Patience, instance: Instance | None = None) -> None:
        self._backend, self._patience, self._instance = backend, patience, instance

    def within(self, instance: Instance) -> Patient:
        """The same store for one entry, whose end ends its waits."""
        return Patient(self._backend, self._patience, instance)

    @property
    def capabilities(self) -> Capabilities:
        return self._backend.capabilities

    def _do(self, call: Callable[[], R]) -> R:
        return self._patience.do(self._explain, call, self._instance)

    def _explain(self, error: Exception) -> StoreError | None:
        return self._backend.explain(error) or transport(error)

    def about(self) -> Server:
        return self._do(self._backend.about)

    def collection(self) -> Collection | None:
        return self._do(self._backend.collection)

    def create(self, wanted: Collection, /) -> Collection:
        metrics = self.capabilities.metrics
        if wanted.metric not in metrics:
            raise ValueError(f"{self._patience.store} has no metric {wanted.metric!r}; it compares by {', '.join(metrics)}")
        return self._do(lambda: self._backend.create(wanted))

    def upsert(self, documents: Sequence[Document], /) -> None:
        for part in _parts(documents, self.capabilities):
            self._do(functools.partial(self._backend.upsert, part))

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        self._fits(limit)
        return ranked(self._do(lambda: self._backend.search(vector, where, limit, least=least)), limit)

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        self._fits(offset + (limit or 0))
        return self._do(lambda: self._backend.select(where, words=words, offset=offset, limit=limit))

    def ids(self, where: Where, /) -> Sequence[str]:
        return self._do(lambda: self._backend.ids(where))

    def count(self, where: Where, /) -> int:
        return self._do(lambda: self._backend.count(where))

    def delete(self, ids: Sequence[str], /) -> None:
        for part in _some(ids):
            self._do(functools.partial(self._backend.delete, part))

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        for part in _some(ids):
            self._do(functools.partial(self._backend.mark, part, deleted))

    def explain(self, error: Exception, /) -> StoreError | None:
        return self._backend.explain(error)

    def close(self) -> None:
        self._backend.close()

    def _fits(self, results: int) -> None:
        largest = self.capabilities.largest
        if largest and results > largest:
            told = StoreError(
                "invalid", sentence=f"{self._patience.store} gives at most {largest} results at once, offset included"
            )
            told.detail = f"offset and limit of the question's filter make {results}"
            raise self._patience.placed(told)


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + IDS] for start in range(0, len(ids), IDS))


def _parts(documents: Sequence[Document], able: Capabilities) -> Iterator[Sequence[Document]]:
    """The documents in writes that a backend takes; one that is too large alone stands alone."""
    if documents and not able.request and len(documents) <= able.batch:
        yield documents
        return
    start = size = 0
    for at, one in enumerate(documents):
        vector = 0 if one.embedding is None else len(one.embedding)
        own = len(one.text.encode()) + len(str(one.metadata)) + able.number * vector + 200
        if at > start and (at - start == able.batch or (able.request and size + own > able.request)):
            yield documents[start:at]
            start, size = at, 0
        size += own
    if start < len(documents):
        yield documents[start:]
