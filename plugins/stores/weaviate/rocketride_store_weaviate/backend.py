# SPDX-License-Identifier: MIT
"""One collection of Weaviate as a `VectorStore`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, ClassVar, cast

import attrs
import numpy as np
from weaviate import WeaviateClient
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, MetadataQuery, Sort
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateInsertManyAllFailedError

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
    ranked,
    raw_threshold,
    similarities,
)

from .catalogue import Catalogue, Known
from .distances import distance, score_of
from .layout import KEY, STORED, document_of, filters, properties_of
from .wire import MINIMUM, explain

__all__ = ["WeaviateStore"]

_MOST = 10_000  # what a server gives and deletes at once, unless QUERY_MAXIMUM_RESULTS says otherwise
_PAGE, _SMALL_PAGE = 250, 2_000
_MESSAGE = 8 << 20  # bytes of one write; servers take 10 MB and more
_MARKERS = 8


class WeaviateStore(VectorStore):
    """A store over a client; closes it.

    Parameters:
        client: from `opened`.
        name: name of the collection; Weaviate makes its first letter a capital.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(exact=False, persistent=True, threshold=True, minimum=MINIMUM)

    def __init__(self, client: WeaviateClient, name: str) -> None:
        self._client, self._name = client, name
        self._chunks = client.collections.use(name)
        self._catalogue = Catalogue(client, name)

    def about(self) -> Server:
        return Server("Weaviate", str(self._client.get_meta().get("version") or ""))

    def collection(self) -> Collection | None:
        found = self._catalogue.read()
        return None if found is None else found.collection

    def create(self, wanted: Collection, /) -> Collection:
        return self._catalogue.create(wanted)

    def upsert(self, documents: Sequence[Document], /) -> None:
        self._catalogue.own("written")
        for part in _parts(documents):
            objects = [
                DataObject(
                    uuid=chunk_uuid(document),
                    properties=cast(Any, properties_of(document)),
                    vector={"default": cast(Any, document.embedding).tolist()},
                )
                for document in part
            ]
            try:
                failed = self._chunks.data.insert_many(objects).errors
            except WeaviateInsertManyAllFailedError as error:
                raise StoreError("not-confirmed", f"none of {len(part)} chunks: {error}") from error
            if failed:
                raise StoreError("not-confirmed", _failures(part, {at: one.message for at, one in failed.items()}))

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        known = self._catalogue.known()
        metric, size = known.collection.metric, limit
        while size <= _MOST:
            got = self._chunks.query.near_vector(
                near_vector=vector.tolist(),
                target_vector=known.vector,
                distance=distance(metric, raw_threshold(metric, least)),
                limit=size,
                filters=_all(filters(where) if known.ours else []),
                return_metadata=MetadataQuery(distance=True),
                return_properties=cast(Any, list(STORED) if known.ours else True),
            ).objects
            found = [
                document_of(one.properties, ours=known.ours, score=score_of(metric, one.metadata.distance or 0.0)) for one in got
            ]
            found = [document for document in found if where.accepts(document.metadata)]
            if len(found) >= limit or len(got) < size:
                return ranked(found, limit)
            size = _MOST if size < _MOST < size * 4 else size * 4
        return self._compared(known, vector, where, limit, least)

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        stop = None if limit is None else offset + limit
        size = _PAGE if stop is None else min(_PAGE, max(1, stop))
        return [document for _, document in islice(self._walk(where, words, size=size), offset, stop)]

    def ids(self, where: Where, /) -> Sequence[str]:
        return [str(one.uuid) for one, _ in self._walk(where, size=_SMALL_PAGE, content=False)]

    def delete(self, ids: Sequence[str], /) -> None:
        if not ids:
            return
        done = self._chunks.data.delete_many(where=Filter.by_id().contains_any(list(ids)), verbose=True)
        if done.failed:
            told = {str(one.error) for one in done.objects or () if not one.successful}
            raise StoreError("not-confirmed", f"{done.failed} chunks were not deleted: {'; '.join(sorted(told))}")

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        self._catalogue.own("marked")

        def one(id: str) -> None:
            try:
                self._chunks.data.update(uuid=id, properties=cast(Any, {"isDeleted": deleted}))
            except UnexpectedStatusCodeError as error:
                if error.status_code != 404:
                    raise

        # Weaviate merges one object a request.
        with ThreadPoolExecutor(min(_MARKERS, len(ids) or 1), "weaviate mark") as pool:
            for done in [pool.submit(one, id) for id in ids]:
                done.result()

    def explain(self, error: Exception, /) -> StoreError | None:
        return explain(error)

    def close(self) -> None:
        self._client.close()

    # ---- reading

    def _walk(
        self, where: Where, words: Sequence[str] = (), *, size: int, content: bool = True, vectors: bool = False
    ) -> Iterator[tuple[Any, Document]]:
        """Every chunk that fulfils the conditions and holds the words, by id: one order, without the limit of 10,000."""
        known = self._catalogue.known()
        folded = [word.lower() for word in words]
        wanted = [name for name in STORED if content or name != "content"]
        after: str | None = None
        while True:
            try:
                page = self._page(known, filters(where, words), after, size, wanted, vectors)
            except StoreError as error:
                if error.kind != "too-large" or size == 1:
                    raise
                size //= 2
                continue
            for one in page:
                document = document_of(one.properties, ours=known.ours)
                text = document.text.lower()
                if where.accepts(document.metadata) and all(word in text for word in folded):
                    yield one, document
            if len(page) < size:
                return
            after = str(page[-1].uuid)

    def _page(
        self, known: Known, terms: list[Any], after: str | None, size: int, wanted: Sequence[str], vectors: bool
    ) -> Sequence[Any]:
        if not known.ours:
            # Weaviate takes its own cursor only where nothing is filtered.
            return self._chunks.query.fetch_objects(limit=size, after=after, include_vector=vectors).objects
        beyond = [] if after is None else [Filter.by_property(KEY).greater_than(after)]
        return self._chunks.query.fetch_objects(
            limit=size,
            filters=_all([*terms, *beyond]),
            sort=Sort.by_property(KEY),
            include_vector=vectors,
            return_properties=list(wanted),
        ).objects

    def _compared(self, known: Known, vector: memoryview, where: Where, limit: int, least: float) -> Sequence[Document]:
        """What a search cannot reach: every chunk is compared here."""
        metric, found = known.collection.metric, list[Document]()
        rows = self._walk(where, size=_PAGE, vectors=True)
        while part := list(islice(rows, _PAGE)):
            matrix = np.array([one.vector[known.vector or "default"] for one, _ in part], dtype=np.float32)
            scored = zip(part, similarities(metric, matrix, vector), strict=True)
            found += [attrs.evolve(document, score=score) for (_, document), score in scored if score >= least]
            found = ranked(found, limit)
        return found


def _all(terms: list[Any]) -> Any:
    return Filter.all_of(terms) if terms else None


def _parts(documents: Sequence[Document]) -> Iterator[list[Document]]:
    """In order, each small enough for one message; a document that is too large alone stands alone."""
    part, size = list[Document](), 0
    for document in documents:
        weight = 8 * len(document.text) + 4 * len(cast(Any, document.embedding)) + 1024
        if part and size + weight > _MESSAGE:
            yield part
            part, size = [], 0
        part.append(document)
        size += weight
    if part:
        yield part


def _failures(part: Sequence[Document], told: dict[int, str]) -> str:
    first = "; ".join(f"{chunk_key(part[at])[0]}#{chunk_key(part[at])[1]}: {why}" for at, why in sorted(told.items())[:3])
    return f"{len(told)} of {len(part)} chunks: {first}{'; …' if len(told) > 3 else ''}"
