# SPDX-License-Identifier: MIT
"""One collection of Qdrant as a `VectorStore`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import attrs
from qdrant_client import models

from rocketride_core import Document
from rocketride_store import (
    Capabilities,
    Collection,
    Server,
    StoreError,
    VectorStore,
    Where,
    page_of,
    paged,
    raw_threshold,
    similarity,
)

from .folder import FolderClient
from .opening import explain, in_memory, server
from .points import CONTROL, FIELDS, FOLDER_INDEXES, INDEXES, control, document, filtered, point, struct, whole

__all__ = ["OLDEST", "FolderClient", "QdrantStore", "explain", "in_memory", "server"]

OLDEST = "1.10"  # the first with the universal query
# A server takes 32 MiB in one request as it comes; half of that leaves room where this counts too little.
_REQUEST: Final = 16 << 20
_DIGITS: Final = 22  # bytes of a number of a vector in JSON
_DISTANCES: Final[Mapping[str, models.Distance]] = {
    "cosine": models.Distance.COSINE,
    "ip": models.Distance.DOT,
    "l2": models.Distance.EUCLID,
}
_METRICS = {distance: metric for metric, distance in _DISTANCES.items()}
_PAGE = 5000  # ids that are read at once
_ANOTHERS = 1.0  # seconds in which another process completes the record of a collection that it has just made


class QdrantStore(VectorStore):
    """A store over a client; closes it.

    Parameters:
        client: from `server` or `in_memory`, or a `FolderClient`.
        name: name of the collection.
        kind: where it lives.
        exact: compare with every vector; else by the index.
        whole_words: find keywords by the full-text index.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        kind: Literal["server", "folder", "memory"],
        exact: bool = True,
        whole_words: bool = False,
    ) -> None:
        self._client, self._name, self._kind = client, name, kind
        self._exact, self._whole_words = exact or kind == "memory", whole_words
        self._make = client.point if kind == "folder" else struct
        self._metric = ""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            exact=self._exact,
            persistent=self._kind != "memory",
            threshold=True,
            minimum=OLDEST if self._kind == "server" else "",
            # In this process no request is too large.
            request=_REQUEST if self._kind == "server" else 0,
            number=_DIGITS,
        )

    def about(self) -> Server:
        told = self._client.info()
        return Server("Qdrant", str(told.version))

    def collection(self) -> Collection | None:
        if not self._client.collection_exists(self._name):
            return None
        info = self._client.get_collection(self._name)
        dimension, metric = self._shape(info)
        self._metric = metric
        found, _ = self._client.scroll(self._name, scroll_filter=CONTROL, limit=1, with_payload=["meta"])
        if found:
            return Collection(self._name, dimension, str(found[0].payload["meta"].get("modelName") or ""), metric)
        # An empty collection without its record is one whose maker did not get to it: `create` will.
        return Collection(self._name, dimension if info.points_count else 0, "", metric)

    def create(self, wanted: Collection, /) -> Collection:
        if self._made(wanted):
            self._record(wanted)
            return attrs.evolve(wanted, name=self._name)
        until = time.monotonic() + _ANOTHERS
        while not (found := self._known()).dimension and time.monotonic() < until:
            time.sleep(0.05)
        if found.dimension:
            return found
        dimension, metric = self._shape(self._client.get_collection(self._name))
        if (dimension, metric) != (wanted.dimension, wanted.metric):
            return Collection(self._name, dimension, "", metric)
        self._record(wanted)
        return self._known()

    def upsert(self, documents: Sequence[Document], /) -> None:
        points = [point(one, self._make) for one in documents]
        self._confirmed(self._client.upsert(self._name, points=points, wait=True))

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        metric = self._metric or self._known().metric
        got = self._client.query_points(
            self._name,
            query=vector.tolist(),
            query_filter=filtered(where),
            limit=limit,
            with_payload=FIELDS,
            score_threshold=raw_threshold(metric, least),
            search_params=None if self._kind == "memory" else models.SearchParams(exact=self._exact),
        )
        return [document(point.payload, similarity(metric, point.score)) for point in got.points]

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        by_index = self._whole_words and bool(words)
        chosen = filtered(where, whole(words)) if by_index else filtered(where)
        rest = () if by_index else words
        points = self._points(chosen, FIELDS, page_of(rest, offset, limit))
        return paged((document(point.payload) for point in points), rest, offset, limit)

    def ids(self, where: Where, /) -> Sequence[str]:
        return [str(point.id) for point in self._points(filtered(where), False, _PAGE)]

    def count(self, where: Where, /) -> int:
        # A server's ids come in one request, as its number would.
        if self._kind != "folder":
            return len(self.ids(where))
        return int(self._client.count(self._name, count_filter=filtered(where)))

    def delete(self, ids: Sequence[str], /) -> None:
        chosen = models.PointIdsList(points=list(ids))
        self._confirmed(self._client.delete(self._name, points_selector=chosen, wait=True))

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        # By a filter, because a server takes an id that is not there any more for an error.
        chosen = models.Filter(must=[models.HasIdCondition(has_id=list(ids))])
        done = self._client.set_payload(self._name, payload={"isDeleted": deleted}, key="meta", points=chosen, wait=True)
        self._confirmed(done)

    def explain(self, error: Exception, /) -> StoreError | None:
        return explain(error)

    def close(self) -> None:
        self._client.close()

    def _points(self, chosen: models.Filter, fields: Any, page: int) -> Iterator[Any]:
        after: Any = None
        while True:
            found, after = self._client.scroll(
                self._name, scroll_filter=chosen, limit=page, offset=after, with_payload=fields, with_vectors=False
            )
            yield from found
            if after is None:
                return

    def _known(self) -> Collection:
        found = self.collection()
        if found is None:
            raise StoreError("not-found", f"the collection {self._name} does not exist")
        return found

    def _made(self, wanted: Collection) -> bool:
        """Whether it was made by this call."""
        if self._client.collection_exists(self._name):
            return False
        shape = models.VectorParams(size=wanted.dimension, distance=_DISTANCES[wanted.metric])
        try:
            done = self._client.create_collection(self._name, vectors_config=shape)
        except Exception:
            if self._client.collection_exists(self._name):
                return False
            raise
        if not done:
            raise StoreError("not-confirmed", f"the server did not make the collection {self._name}")
        return True

    def _record(self, wanted: Collection) -> None:
        self._metric = wanted.metric
        indexes = {"server": INDEXES, "folder": FOLDER_INDEXES, "memory": {}}[self._kind]
        for key, schema in indexes.items():
            self._confirmed(self._client.create_payload_index(self._name, field_name=key, field_schema=schema, wait=True))
        # Last, so that a collection with its record is complete.
        self._confirmed(self._client.upsert(self._name, points=[control(wanted.dimension, wanted.model, self._make)], wait=True))

    def _shape(self, info: Any) -> tuple[int, str]:
        vectors = info.config.params.vectors
        if not isinstance(vectors, models.VectorParams):
            raise StoreError("mismatch", f"the collection {self._name} has named vectors; use one with a single, unnamed vector")
        metric = _METRICS.get(vectors.distance)
        if metric is None:
            kinds = ", ".join(distance.value for distance in _METRICS)
            told = f"the collection {self._name} compares by {vectors.distance.value}; use one that compares by {kinds}"
            raise StoreError("mismatch", told)
        return vectors.size, metric

    def _confirmed(self, result: Any) -> None:
        status = getattr(result.status, "value", result.status)
        if status != models.UpdateStatus.COMPLETED.value:
            raise StoreError("not-confirmed", f"Qdrant says {status}, not completed, of a write to {self._name}")
