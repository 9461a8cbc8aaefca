# SPDX-License-Identifier: MIT
"""The reference backend: exact search in memory. What it answers is what every other backend should answer."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import attrs

from rocketride_core import Document

from .backend import Capabilities, Collection, Server, VectorStore, chunk_key, chunk_uuid
from .filters import Where
from .scores import similarity

__all__ = ["InMemory", "similarities"]


def similarities(metric: str, matrix: Any, asked: memoryview) -> list[float]:
    """The scores of many vectors at once.

    Parameters:
        metric: as for `similarity`.
        matrix: numpy array, float32, shape (n, dimension).
        asked: what they are compared with, shape (dimension,).
    """
    import numpy as np

    wanted = np.asarray(asked, dtype=np.float32)
    if metric == "l2":
        values = np.linalg.norm(matrix - wanted, axis=1)
    else:
        values = matrix @ wanted
    if metric == "cosine":
        lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted)
        values = np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)
    return [similarity(metric, float(value)) for value in values]


class InMemory(VectorStore):
    """A store that lives as long as this object; nothing is shared between two of them.

    Parameters:
        name: name of the collection.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(exact=True, persistent=False, threshold=True)

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.RLock()
        self._collection: Collection | None = None
        self._chunks: dict[str, Document] = {}
        self._objects: dict[str, set[str]] = {}
        # Built at the first search after a write: the chunks in a row, and their vectors as one matrix.
        self._row: list[Document] = []
        self._matrix: Any = None

    def about(self) -> Server:
        return Server("memory")

    def collection(self) -> Collection | None:
        return self._collection

    def create(self, wanted: Collection, /) -> Collection:
        with self._lock:
            if self._collection is None:
                similarity(wanted.metric, 0.0)  # refuses a metric that does not exist
                self._collection = wanted
            return self._collection

    def upsert(self, documents: Sequence[Document], /) -> None:
        with self._lock:
            for document in documents:
                kept = attrs.evolve(document, score=None, embedding_model="")
                id = chunk_uuid(document)
                self._chunks[id] = kept
                self._objects.setdefault(chunk_key(document)[0], set()).add(id)
            self._matrix = None

    def delete(self, ids: Sequence[str], /) -> None:
        with self._lock:
            for id in ids:
                if (gone := self._chunks.pop(id, None)) is not None:
                    self._objects[chunk_key(gone)[0]].discard(id)
            self._matrix = None

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        import numpy as np

        with self._lock:
            if self._collection is None or not self._chunks:
                return []
            metric = self._collection.metric
            if self._matrix is None:
                self._row = list(self._chunks.values())
                self._matrix = np.stack([np.asarray(chunk.embedding, dtype=np.float32) for chunk in self._row])
            row, matrix = self._row, self._matrix
        scores = similarities(metric, matrix, vector)
        near = [at for at, score in enumerate(scores) if score >= least]
        best = sorted(near, key=lambda at: (-scores[at], chunk_key(row[at])))
        found = (attrs.evolve(row[at], embedding=None, score=scores[at]) for at in best if where.accepts(row[at].metadata))
        return [document for document, _ in zip(found, range(limit), strict=False)]

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        folded = [word.lower() for word in words]
        with self._lock:
            chunks = sorted((self._chunks[id] for id in self._candidates(where)), key=chunk_key)
        found = [
            attrs.evolve(chunk, embedding=None)
            for chunk in chunks
            if where.accepts(chunk.metadata) and all(word in chunk.text.lower() for word in folded)
        ]
        return found[offset : None if limit is None else offset + limit]

    def ids(self, where: Where, /) -> Sequence[str]:
        with self._lock:
            return [id for id in self._candidates(where) if where.accepts(self._chunks[id].metadata)]

    def _candidates(self, where: Where) -> Iterable[str]:
        """The ids of the objects that the conditions name, else all."""
        for condition in where:
            if condition.key == "objectId" and condition.operator == "in":
                return [id for object_id in dict.fromkeys(condition.value) for id in self._objects.get(object_id, ())]
        return self._chunks

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        with self._lock:
            for id in ids:
                if (chunk := self._chunks.get(id)) is not None:
                    self._chunks[id] = attrs.evolve(chunk, metadata={**chunk.metadata, "isDeleted": deleted})
            self._matrix = None
