# SPDX-License-Identifier: MIT
"""One collection of Weaviate as a `VectorStore`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, ClassVar, cast

from weaviate import WeaviateClient
from weaviate.classes.config import Configure, StopwordsPreset
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, MetadataQuery, Sort
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError, WeaviateInsertManyAllFailedError

from rocketride_core import Document
from rocketride_store import (
    Capabilities,
    Collection,
    Server,
    StoreError,
    VectorStore,
    Where,
    chunk_key,
    chunk_uuid,
    compared,
    page_of,
    paged,
    unless,
)

from .layout import DISTANCES, KEY, NAMES, STORED, Known, document_of, filters, known, properties, properties_of, record
from .wire import MINIMUM, explain, opened

__all__ = ["WeaviateStore", "explain", "opened"]

_MOST = 10_000  # what a server gives and deletes at once, unless QUERY_MAXIMUM_RESULTS says otherwise
_PAGE, _SMALL_PAGE = 250, 2_000
_WRITE = 3 << 20  # bytes; a text travels twice, and servers take 10 MB and more
_MARKERS = 8


class WeaviateStore(VectorStore):
    """A store over a client; closes it.

    Parameters:
        client: from `opened`.
        name: name of the collection; Weaviate makes its first letter a capital.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        exact=False, persistent=True, threshold=True, minimum=MINIMUM, request=_WRITE
    )

    def __init__(self, client: WeaviateClient, name: str) -> None:
        self._client, self._name = client, name
        self._chunks = client.collections.use(name)
        self._seen: Known | None = None

    def about(self) -> Server:
        return Server("Weaviate", str(self._client.get_meta().get("version") or ""))

    def collection(self) -> Collection | None:
        found = self._read()
        return None if found is None else found.collection

    def create(self, wanted: Collection, /) -> Collection:
        if self._read() is None:
            unless(self._read, lambda: self._make(wanted))
        return self._known().collection

    def upsert(self, documents: Sequence[Document], /) -> None:
        self._own("written")
        objects = [
            DataObject(
                uuid=chunk_uuid(document),
                properties=cast(Any, properties_of(document)),
                vector={"default": cast(Any, document.embedding).tolist()},
            )
            for document in documents
        ]
        try:
            failed = self._chunks.data.insert_many(objects).errors
        except WeaviateInsertManyAllFailedError as error:
            raise StoreError("not-confirmed", f"none of {len(objects)} chunks: {error}") from error
        if failed:
            named = ("#".join(map(str, chunk_key(documents[at]))) + f": {failed[at].message}" for at in sorted(failed)[:3])
            told = f"{len(failed)} of {len(objects)} chunks: {'; '.join(named)}{'; …' if len(failed) > 3 else ''}"
            raise StoreError("not-confirmed", told)

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        seen = self._known()
        metric, size = seen.collection.metric, limit
        while size <= _MOST:
            got = self._chunks.query.near_vector(
                near_vector=vector.tolist(),
                target_vector=seen.vector,
                distance=DISTANCES.greatest(metric, least),
                limit=size,
                filters=_all(filters(where)) if seen.ours else None,
                return_metadata=MetadataQuery(distance=True),
                return_properties=cast(Any, list(STORED) if seen.ours else True),
            ).objects
            scored = ((one.properties, DISTANCES.score(metric, one.metadata.distance or 0.0)) for one in got)
            chunks = (document_of(kept, ours=seen.ours, score=score) for kept, score in scored)
            found = [chunk for chunk in chunks if where.accepts(chunk.metadata)]
            if len(found) >= limit or len(got) < size:
                return found
            size = _MOST if size < _MOST < size * 4 else size * 4
        # What a search cannot reach: every chunk is compared here.
        rows = ((chunk, one.vector[seen.vector or "default"]) for one, chunk in self._walk(where, size=_PAGE, vectors=True))
        return compared(metric, vector, rows, limit, least)

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        # The server finds words too, so that a small page is not read again and again for the few that have them.
        rows = self._walk(where, words, size=page_of((), offset, limit, most=_PAGE))
        return paged((chunk for _, chunk in rows), words, offset, limit)

    def ids(self, where: Where, /) -> Sequence[str]:
        return [str(one.uuid) for one, _ in self._walk(where, size=_SMALL_PAGE, content=False)]

    def delete(self, ids: Sequence[str], /) -> None:
        done = self._chunks.data.delete_many(where=Filter.by_id().contains_any(list(ids)), verbose=True)
        if done.failed:
            told = {str(one.error) for one in done.objects or () if not one.successful}
            raise StoreError("not-confirmed", f"{done.failed} chunks were not deleted: {'; '.join(sorted(told))}")

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        self._own("marked")

        def one(id: str) -> None:
            try:
                self._chunks.data.update(uuid=id, properties=cast(Any, {"isDeleted": deleted}))
            except UnexpectedStatusCodeError as error:
                if error.status_code != 404:
                    raise

        # Weaviate merges one object a request.
        with ThreadPoolExecutor(min(_MARKERS, len(ids)), "weaviate mark") as pool:
            for done in [pool.submit(copy_context().run, one, id) for id in ids]:
                done.result()

    def explain(self, error: Exception, /) -> StoreError | None:
        return explain(error)

    def close(self) -> None:
        self._client.close()

    # ---- the collection

    def _read(self) -> Known | None:
        try:
            found = known(self._chunks, self._name, self._chunks.config.get())
        except UnexpectedStatusCodeError as error:
            if error.status_code != 404:
                raise
            found = None
        self._seen = found
        return found

    def _known(self, *, again: bool = False) -> Known:
        """What was read last; asks where nothing was read yet."""
        found = (None if again else self._seen) or self._read()
        if found is None:
            raise StoreError("not-found", f"there is no collection {self._name}")
        return found

    def _own(self, done: str) -> None:
        """Asks the server, and refuses what must not be changed: a collection with another program's properties, and none at all.

        A write without a collection would make Weaviate guess one.
        """
        if not self._known(again=True).ours:
            said = f"The collection {self._name} was made by another program: it can be searched but not {done}"
            raise StoreError("mismatch", sentence=f"{said}; index into another collection")

    def _make(self, wanted: Collection) -> None:
        metric, kinds = NAMES[wanted.metric], Configure.VectorIndex
        try:
            # Compressed vectors, the default of newer servers, would give other scores than other stores.
            self._make_with(wanted, kinds.hnsw(distance_metric=metric, quantizer=kinds.Quantizer.none()))
        except UnexpectedStatusCodeError as first:
            # Another was faster; or it is a cluster that allows the index `hfresh` alone.
            if first.status_code != 422 or self._read() is not None:
                raise
            try:
                self._make_with(wanted, kinds.hfresh(distance_metric=metric))
            except WeaviateBaseError:
                raise first from None

    def _make_with(self, wanted: Collection, index: Any) -> None:
        self._client.collections.create(
            self._name,
            description=record(wanted),
            properties=properties(),
            vector_config=Configure.Vectors.self_provided(vector_index_config=index),
            inverted_index_config=Configure.inverted_index(stopwords_preset=StopwordsPreset.NONE),
        )

    # ---- reading

    def _walk(
        self, where: Where, words: Sequence[str] = (), *, size: int, content: bool = True, vectors: bool = False
    ) -> Iterator[tuple[Any, Document]]:
        """Every chunk that fulfils the conditions, and may hold the words, by id: one order, without the limit of 10,000."""
        seen = self._known()
        terms = filters(where, words)
        wanted = [name for name in STORED if content or name != "content"]
        after: str | None = None
        while True:
            try:
                page = self._page(seen, terms, after, size, wanted, vectors)
            except StoreError as error:
                if error.kind != "too-large" or size == 1:
                    raise
                size //= 2
                continue
            for one in page:
                chunk = document_of(one.properties, ours=seen.ours)
                if where.accepts(chunk.metadata):
                    yield one, chunk
            if len(page) < size:
                return
            after = str(page[-1].uuid)

    def _page(
        self, seen: Known, terms: list[Any], after: str | None, size: int, wanted: list[str], vectors: bool
    ) -> Sequence[Any]:
        if not seen.ours:
            # Weaviate takes its own cursor only where nothing is filtered.
            return self._chunks.query.fetch_objects(limit=size, after=after, include_vector=vectors).objects
        beyond = [] if after is None else [Filter.by_property(KEY).greater_than(after)]
        return self._chunks.query.fetch_objects(
            limit=size,
            filters=_all([*terms, *beyond]),
            sort=Sort.by_property(KEY),
            include_vector=vectors,
            return_properties=wanted,
        ).objects


def _all(terms: list[Any]) -> Any:
    return Filter.all_of(terms) if terms else None
