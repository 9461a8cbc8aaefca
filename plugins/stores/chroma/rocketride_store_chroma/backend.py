# SPDX-License-Identifier: MIT
"""One collection of Chroma as a `VectorStore`."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import chromadb
import numpy as np
from chromadb.errors import NotFoundError

from rocketride_core import Document
from rocketride_store import (
    Capabilities,
    Collection,
    Distances,
    Server,
    StoreError,
    VectorStore,
    Where,
    chunk_uuid,
    compared,
    flat,
    from_flat,
)

from .opening import OLDEST, Client, embedded, explain, in_memory, server

__all__ = ["ChromaStore", "embedded", "in_memory", "server"]

_KEYS = "rocketride.keys"
_FILTERED = ("nodeId", "parent", "name", "permissionId", "isDeleted", "isTable", "tableId", "rocketride.json", "rocketride.kind")
# A server takes 40 MiB in a request; vectors grow by a third on their way, and texts by their escapes.
_BYTES = 16 << 20
# Values in the lists of one filter: SQLite takes 32,766 variables in a statement, and Chroma needs some for itself. A number is two of
# them, because it is looked for as an integer and as a float.
LISTED = 32_000
# Words of one question: SQLite takes expressions 1,000 deep.
WORDS = 500
# A collection of so few chunks is compared whole: its graph, and so its ranking, depends on the order in which chunks came.
_COMPARED = 128
_PAGE = 1000  # chunks that are compared here at once
_DISTANCES = Distances(ip=1.0, squared=True)
# What RocketRide's own nodes leave in a collection: a hidden record with its vector size and model.
_CONTROL = "schema"


class ChromaStore(VectorStore):
    """A store over a client; closes it.

    Parameters:
        client: from `embedded`, `in_memory` or `server`.
        name: name of the collection.
        persistent: what is written stays when the client is closed.
    """

    def __init__(self, client: Client, name: str, *, persistent: bool = True) -> None:
        self._client, self._name = client, name
        batch = max(1, min(500, client.api.get_max_batch_size()))
        self._capabilities = Capabilities(exact=False, persistent=persistent, minimum=OLDEST, batch=batch, request=_BYTES)
        self._handle: chromadb.Collection | None = None
        self._small = True  # as far as is known; it is not asked again of one that has grown

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def about(self) -> Server:
        return Server("Chroma", self._client.api.get_version())

    def collection(self) -> Collection | None:
        try:
            return self._recorded(self._found())
        except NotFoundError:
            return None

    def create(self, wanted: Collection, /) -> Collection:
        # With fewer neighbours, the graph of a handful of like vectors often has some that no search reaches.
        index: Any = {"hnsw": {"space": wanted.metric, "max_neighbors": 32, "ef_construction": 200, "ef_search": 200}}
        # An existing collection keeps what it records: get_or_create does not touch it.
        model = self._client.api.get_or_create_collection(
            self._name,
            metadata={"vectorSize": wanted.dimension, "modelName": wanted.model},
            configuration=index,
            **self._client.place,
        )
        self._handle = chromadb.Collection(self._client.api, model, None)
        # Chroma spends seconds of CPU at the next write where a collection is first read with a batch in it, and none where it is empty.
        self._handle.count()
        return self._recorded(self._handle)

    def upsert(self, documents: Sequence[Document], /) -> None:
        ids = [chunk_uuid(document) for document in documents]
        with self._client.writing or nullcontext():
            # Only of chunks that are there must keys be removed, which takes a tenth of a write. A server is not asked: others may
            # write before the answer is here.
            there = self._chunks.get(ids=ids, include=[])["ids"] if self._client.writing else ids
            old = frozenset(there)
            self._chunks.upsert(
                ids=ids,
                embeddings=[_array(document.embedding) for document in documents],
                documents=[document.text for document in documents],
                metadatas=[_metadata(document, id in old) for id, document in zip(ids, documents, strict=True)],
            )

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        self._small = self._small and self._chunks.count() <= _COMPARED
        metric = _metric(self._chunks)
        if self._small:
            return compared(metric, vector, self._vectors(where), limit, least)
        got: Any = self._chunks.query(
            query_embeddings=[_array(vector)],
            n_results=limit,
            where=_where(where),
            include=["documents", "metadatas", "distances"],
        )
        [texts], [metadatas], [distances] = (got[part] or [[]] for part in ("documents", "metadatas", "distances"))
        found = _documents(texts, metadatas, (_DISTANCES.score(metric, distance) for distance in distances))
        # Many equal vectors cut Chroma's graph into pieces: what it does not reach is found by comparing everything.
        if len(found) < limit and len(found) < len(self.ids(where)):
            return compared(metric, vector, self._vectors(where), limit, least)
        return found

    def _vectors(self, where: Where) -> Iterator[tuple[Document, Any]]:
        for start in itertools.count(0, _PAGE):
            got: Any = self._chunks.get(
                where=_where(where), offset=start, limit=_PAGE, include=["documents", "metadatas", "embeddings"]
            )
            if got["ids"]:
                yield from zip(_documents(got["documents"], got["metadatas"]), got["embeddings"], strict=True)
            if len(got["ids"]) < _PAGE:
                return

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        got = self._chunks.get(
            where=_where(where), where_document=_words(words), offset=offset, limit=limit, include=["documents", "metadatas"]
        )
        return _documents(got["documents"], got["metadatas"])

    def ids(self, where: Where, /) -> Sequence[str]:
        return list(self._chunks.get(where=_where(where), include=[])["ids"])

    def delete(self, ids: Sequence[str], /) -> None:
        self._chunks.delete(ids=list(ids))

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        self._chunks.update(ids=list(ids), metadatas=[{"isDeleted": deleted} for _ in ids])

    def explain(self, error: Exception, /) -> StoreError | None:
        return explain(error)

    def close(self) -> None:
        self._client.close()

    @property
    def _chunks(self) -> chromadb.Collection:
        return self._handle or self._found()

    def _found(self) -> chromadb.Collection:
        self._handle = chromadb.Collection(
            self._client.api, self._client.api.get_collection(self._name, **self._client.place), None
        )
        return self._handle

    def _recorded(self, handle: chromadb.Collection) -> Collection:
        known: dict[str, Any] = dict(handle.metadata or {})
        if "vectorSize" not in known:
            known = self._foreign(handle)
        return Collection(self._name, int(known.get("vectorSize") or 0), str(known.get("modelName") or ""), _metric(handle))

    @staticmethod
    def _foreign(handle: chromadb.Collection) -> dict[str, Any]:
        """A collection that others made: its control record, else the size of any vector in it."""
        control = handle.get(where={"objectId": _CONTROL}, limit=1, include=["metadatas"])["metadatas"]
        if control:
            return dict(control[0])
        vectors = handle.get(limit=1, include=["embeddings"])["embeddings"]
        return {"vectorSize": 0 if vectors is None or not len(vectors) else len(vectors[0])}


def _metadata(document: Document, old: bool) -> dict[str, Any]:
    """Chroma mixes what is written with what was there: in an `old` chunk None removes a key that filters ask for, and a list of ours
    tells which of the other keys belong to the last write."""
    values: dict[str, Any] = dict(flat(document))
    values[_KEYS] = _listed(tuple(values))
    return dict.fromkeys(_FILTERED) | values if old else values


@functools.lru_cache
def _listed(keys: Sequence[str]) -> str:
    return json.dumps(sorted(keys), ensure_ascii=False)


def _documents(texts: Any, metadatas: Any, scores: Iterable[float] | None = None) -> list[Document]:
    rows = zip(texts or [], metadatas or [], scores if scores is not None else [None] * len(texts or []), strict=True)
    return [_document(*row) for row in rows]


def _document(text: str | None, metadata: Mapping[str, Any] | None, score: float | None) -> Document:
    values = dict(metadata or {})
    known = values.pop(_KEYS, None)
    if known:
        # A mark may have added its key since.
        keys = {*json.loads(known), "isDeleted"}
        values = {key: value for key, value in values.items() if key in keys}
    return from_flat(text or "", values, score)


def _array(vector: memoryview | None) -> Any:
    return np.asarray(vector, dtype=np.float32)


def _metric(handle: chromadb.Collection) -> str:
    index: Any = handle.configuration_json.get("hnsw") or handle.configuration_json.get("spann") or {}
    return str(index.get("space") or (handle.metadata or {}).get("hnsw:space") or "l2")


def _where(where: Where) -> Any:
    listed = sum(1 if isinstance(value, str) else 2 for c in where if c.operator == "in" for value in c.value)
    if listed > LISTED:
        told = f"Chroma takes at most {LISTED} texts, or {LISTED // 2} numbers, in the lists of a filter, and this one has more"
        raise StoreError("invalid", sentence=f"{told}; ask in several parts")
    terms = [{c.key: {_OPERATORS[c.operator]: list(c.value) if c.operator == "in" else c.value}} for c in where]
    return {"$and": terms} if len(terms) > 1 else terms[0] if terms else None


_OPERATORS = {"eq": "$eq", "ne": "$ne", "in": "$in", "ge": "$gte", "le": "$lte"}


def _words(words: Sequence[str]) -> Any:
    words = list(dict.fromkeys(words))
    if len(words) > WORDS:
        told = f"Chroma takes at most {WORDS} words in a question, and this one has {len(words)}"
        raise StoreError("invalid", sentence=f"{told}; ask with fewer, or in several parts")
    terms = [{"$regex": "(?i)" + "".join(f"\\{c}" if c in r"\.+*?()|[]{}^$#&-~/" else c for c in word)} for word in words]
    return {"$and": terms} if len(terms) > 1 else terms[0] if terms else None
