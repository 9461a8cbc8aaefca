# SPDX-License-Identifier: MIT
"""One collection of Milvus as a `VectorStore`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

from rocketride_core import Document
from rocketride_store import (
    METRICS,
    Capabilities,
    Collection,
    Condition,
    Server,
    StoreError,
    VectorStore,
    Where,
    chunk_key,
    compared,
    page_of,
    paged,
    raw_threshold,
    similarity,
    unless,
    within,
)

from .folder import Folder, embedded
from .kept import Kept
from .layout import READ, VECTOR, document, expression, fields, model_of, record, row
from .opening import connected, explain, pymilvus

__all__ = ["LARGEST", "OLDEST", "MilvusStore", "connected", "embedded", "explain"]

OLDEST: Final = "2.6"  # the first that changes one field of a chunk and leaves the others
LARGEST: Final = 16_384  # results of one search, by Milvus' own limit
_STRONG: Final = {"consistency_level": "Strong"}
_PAGE: Final = 5000  # ids that are read at once
_VECTORS: Final = 500  # chunks with their vectors, likewise
_REACH: Final = 128  # neighbours that an index in a folder looks at, where a question wants fewer
_REQUEST: Final = 32 << 20  # a server takes 64 MiB in one message; half of that leaves room where this counts too little
_LITE: Final = "milvus_lite-"


class MilvusStore(VectorStore):
    """A store over a client; closes it.

    Parameters:
        client: from `connected` or `embedded`.
        name: name of the collection.
        exact: compare with every vector (index FLAT); else by the index that the server chooses. For a new collection.
        timeout: of each request, in seconds.
        folder: where the client is from `embedded`; released when the store is closed.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        exact: bool = True,
        timeout: float = 60.0,
        folder: Folder | None = None,
    ) -> None:
        self._client, self._name, self._exact, self._folder, self._timeout = client, name, exact, folder, timeout
        self._kept: Kept | None = folder.kept(name) if folder else None
        self._metric, self._loaded = "", False
        self._loading = threading.Lock()
        self._capabilities = Capabilities(
            exact=exact,
            persistent=True,
            threshold=True,
            largest=LARGEST,
            minimum="" if folder else OLDEST,
            request=0 if folder else _REQUEST,
        )

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    @property
    def _options(self) -> Mapping[str, Any]:
        # The base repeats what the server puts off, and tells of it.
        return {"timeout": within(self._timeout), "retry_on_rate_limit": False}

    def about(self) -> Server:
        version = str(self._client.get_server_version(**self._options))
        lite = version.startswith(_LITE)
        return Server("Milvus Lite" if lite else "Milvus", version.removeprefix(_LITE).removeprefix("v"))

    def collection(self) -> Collection | None:
        if not self._exists():
            return None
        described = self._client.describe_collection(self._name, **self._options)
        dimension = self._dimension(described)
        metric = self._indexed()
        # Without its index, a collection is one whose maker did not get to it: `create` will.
        return Collection(self._name, dimension if metric else 0, model_of(described), metric or "cosine")

    def create(self, wanted: Collection, /) -> Collection:
        if not self._exists():
            unless(self._exists, lambda: self._make(wanted))
        if not self._indexed():
            unless(self._indexed, lambda: self._index(wanted.metric))
        self._load()
        found = self.collection()
        if found is None:
            raise StoreError("not-confirmed", f"the collection {self._name} was made, and is not there")
        return found

    def upsert(self, documents: Sequence[Document], /) -> None:
        rows = [row(document) for document in documents]
        if self._kept is None:
            self._write(rows)
        else:
            with self._kept.writing((one["id"], chunk_key(given)[0]) for one, given in zip(rows, documents, strict=True)):
                self._write(rows)

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        self._readable()
        metric = self._known_metric()
        if self._folder is None or self._exact:
            return self._hits(metric, vector, where, limit, _cut(metric, least))
        # The index of milvus-lite finds fewer than it is told to look at, and not all where many are alike.
        found = self._hits(metric, vector, where, limit, {"ef": max(_REACH, limit)})
        if len(found) < limit and len(found) < self.count(where):
            rows = self._rows(where, [*READ, VECTOR], _VECTORS)
            return compared(metric, vector, ((document(one), one[VECTOR]) for one in rows), limit, least)
        return [one for one in found if one.score is not None and one.score >= least]

    def _hits(self, metric: str, vector: memoryview, where: Where, limit: int, params: Mapping[str, float]) -> Sequence[Document]:
        [hits] = self._client.search(
            self._name,
            data=[vector.tolist()],
            filter=expression(where),
            limit=limit,
            anns_field=VECTOR,
            output_fields=list(READ),
            search_params={"metric_type": metric.upper(), "params": params},
            **_STRONG,
            **self._options,
        )
        return [document(hit["entity"], _score(metric, hit["distance"])) for hit in hits]

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        return paged((document(one) for one in self._rows(where, READ, page_of(words, offset, limit))), words, offset, limit)

    def ids(self, where: Where, /) -> Sequence[str]:
        match tuple(where):
            case [Condition("objectId", "in", objects)] if self._kept is not None:
                return self._kept.of(objects, self._of_objects)
        return [str(one["id"]) for one in self._all(where, ["id"])]

    def _of_objects(self, objects: Sequence[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for one in self._all(Where().and_in("objectId", objects), ["id", "objectId"]):
            found.setdefault(one["objectId"], []).append(str(one["id"]))
        return found

    def delete(self, ids: Sequence[str], /) -> None:
        with nullcontext() if self._kept is None else self._kept.deleting(ids):
            self._client.delete(self._name, ids=list(ids), **self._options)

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        self._load()
        # A chunk that is gone meanwhile must not come back as a row with nothing but its mark.
        there = self._client.query(self._name, ids=list(ids), output_fields=["id"], **_STRONG, **self._options)
        if there:
            self._write([{"id": found["id"], "isDeleted": deleted} for found in there], partial_update=True)

    def explain(self, error: Exception, /) -> StoreError | None:
        return explain(error)

    def close(self) -> None:
        self._client.close()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.release()

    # ---- parts

    def _write(self, rows: Sequence[Mapping[str, Any]], **options: Any) -> None:
        if self._folder is not None:
            self._folder.room()
        done = int(self._client.upsert(self._name, list(rows), **options, **self._options).get("upsert_count", 0))
        if done != len(rows):
            raise StoreError("not-confirmed", f"Milvus confirms {done} of {len(rows)} chunks in {self._name}")
        if self._folder is not None:
            self._folder.wrote(self._name, done)

    def _all(self, where: Where, wanted: Sequence[str]) -> Iterable[Mapping[str, Any]]:
        """In any order."""
        self._readable()
        found: Sequence[Mapping[str, Any]] = self._client.query(
            self._name, filter=expression(where), output_fields=list(wanted), limit=LARGEST, **_STRONG, **self._options
        )
        return found if len(found) < LARGEST else self._rows(where, wanted, _PAGE)

    def _rows(self, where: Where, wanted: Sequence[str], page: int) -> Iterator[Mapping[str, Any]]:
        """In the order of their ids, however many there are: one request ends at 16,384."""
        self._readable()
        pages = self._client.query_iterator(
            self._name,
            batch_size=page,
            filter=expression(where),
            output_fields=list(wanted),
            **_STRONG,
            **self._options,
        )
        try:
            while found := pages.next():
                yield from found
        finally:
            pages.close()

    def _make(self, wanted: Collection) -> None:
        kinds = pymilvus.DataType
        told = record(wanted.model)
        shape = self._client.create_schema(auto_id=False, enable_dynamic_field=False, description=told["description"])
        for name, kind, options in fields(wanted.dimension):
            if "element_type" in options:
                options = {**options, "element_type": kinds[options["element_type"]]}
            shape.add_field(name, kinds[kind], **options)
        with nullcontext() if self._kept is None else self._kept.lock:
            self._client.create_collection(self._name, schema=shape, properties=told["properties"], **_STRONG, **self._options)
            if self._kept is not None:
                self._kept.made()

    def _index(self, metric: str) -> None:
        params = self._client.prepare_index_params()
        params.add_index(VECTOR, index_type="FLAT" if self._exact else "AUTOINDEX", metric_type=metric.upper())
        self._client.create_index(self._name, params, sync=False, **self._options)  # loading waits for it

    def _exists(self) -> bool:
        return bool(self._client.has_collection(self._name, **self._options))

    def _indexed(self) -> str:
        """The metric of the vectors' index; "" where there is none yet."""
        for name in self._client.list_indexes(self._name, field_name=VECTOR, **self._options):
            told = self._client.describe_index(self._name, name, **self._options) or {}
            metric = str(told.get("metric_type") or "").lower()
            if metric not in METRICS:
                raise StoreError(
                    "mismatch", f"the collection {self._name} compares by {metric.upper()}, which no store here does"
                )
            self._metric = metric
            return metric
        return ""

    def _known_metric(self) -> str:
        return self._metric or self._indexed() or "cosine"

    def _dimension(self, described: Mapping[str, Any]) -> int:
        there = {field["name"]: field for field in described.get("fields", ())}
        missing = [name for name, _, _ in fields(1) if name not in there]
        if missing:
            told = f"the collection {self._name} was made by another program: it has no field {', '.join(missing)}"
            raise StoreError("mismatch", f"{told}; use another collection")
        return int(there[VECTOR]["params"]["dim"])

    def _readable(self) -> None:
        self._load()
        if self._folder is not None and self._folder.crowded(self._name):
            self._client.flush(self._name, **self._options)

    def _load(self) -> None:
        with self._loading:
            if not self._loaded:
                self._client.load_collection(self._name, **self._options)
                self._loaded = True


def _cut(metric: str, least: float) -> Mapping[str, float]:
    """Milvus gives what is better than `radius`; its distances l2 are squares."""
    edge = raw_threshold(metric, least)
    if edge is None:
        return {}
    return {"radius": edge**2 if metric == "l2" else edge}


def _score(metric: str, distance: float) -> float:
    return similarity(metric, max(0.0, distance) ** 0.5 if metric == "l2" else distance)
