# SPDX-License-Identifier: MIT
"""What the server records of a collection, and how a new one is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs
from weaviate import WeaviateClient
from weaviate.classes.config import Configure, StopwordsPreset, VectorDistances
from weaviate.classes.query import Filter
from weaviate.exceptions import UnexpectedStatusCodeError, WeaviateBaseError

from rocketride_store import Collection, StoreError

from .distances import distance_of, metric_of
from .layout import KEY, RECORD, properties, recorded

__all__ = ["Catalogue", "Known"]

# What RocketRide's own nodes leave in a collection: a hidden record with its vector size and model.
_CONTROL = "schema"


@attrs.frozen
class Known:
    """A collection of the server; `ours` was made by this store, `vector` names its vector, None where it has no name."""

    collection: Collection
    ours: bool
    vector: str | None


class Catalogue:
    """One collection's entry.

    Its description holds vector size and model, so that they are there as soon as the collection is.
    """

    def __init__(self, client: WeaviateClient, name: str) -> None:
        self._client, self._name = client, name
        self._seen: Known | None = None

    def read(self) -> Known | None:
        """Asks the server; None where there is no such collection."""
        chunks = self._client.collections.use(self._name)
        try:
            config = chunks.config.get()
        except UnexpectedStatusCodeError as error:
            if error.status_code != 404:
                raise
            self._seen = None
            return None
        vectors = config.vector_config or {}
        vector = next(iter(vectors), None)
        index: Any = vectors[vector].vector_index_config if vector is not None else config.vector_index_config
        names = {one.name for one in config.properties}
        record = recorded(config.description)
        ours = record is not None and KEY in names
        if record is None:
            record = _foreign(chunks, vector, "objectId" in names)
        size, model = int(record.get("vectorSize") or 0), str(record.get("modelName") or "")
        self._seen = Known(Collection(self._name, size, model, metric_of(index)), ours, vector)
        return self._seen

    def known(self) -> Known:
        """What was read last; asks where nothing was read yet."""
        found = self._seen or self.read()
        if found is None:
            raise StoreError("not-found", f"there is no collection {self._name}")
        return found

    def own(self, done: str) -> None:
        """Asks the server, and refuses what must not be changed: a collection with another program's properties, and none at all.

        A write without a collection would make Weaviate guess one.
        """
        self._seen = None
        if not self.known().ours:
            raise StoreError(
                "mismatch",
                sentence=f"The collection {self._name} was made by another program: it can be searched but not {done}; "
                "index into another collection",
            )

    def create(self, wanted: Collection) -> Collection:
        metric = distance_of(wanted.metric)
        if (existing := self.read()) is not None:
            return existing.collection
        try:
            # Compressed vectors, the default of newer servers, would give other scores than other stores.
            plain = Configure.VectorIndex.Quantizer.none()
            self._make(wanted, Configure.VectorIndex.hnsw(distance_metric=metric, quantizer=plain))
        except UnexpectedStatusCodeError as first:
            # Another was faster; or it is a cluster that allows the index `hfresh` alone.
            if self.read() is None:
                if first.status_code != 422:
                    raise
                self._make_otherwise(wanted, metric, first)
        made = self.read()
        if made is None:
            raise StoreError("not-confirmed", f"the collection {self._name} was made but is not there")
        return made.collection

    def _make(self, wanted: Collection, index: Any) -> None:
        self._client.collections.create(
            self._name,
            description=RECORD + json.dumps({"vectorSize": wanted.dimension, "modelName": wanted.model}),
            properties=properties(),
            vector_config=Configure.Vectors.self_provided(vector_index_config=index),
            inverted_index_config=Configure.inverted_index(stopwords_preset=StopwordsPreset.NONE),
        )

    def _make_otherwise(self, wanted: Collection, metric: VectorDistances, first: Exception) -> None:
        try:
            self._make(wanted, Configure.VectorIndex.hfresh(distance_metric=metric))
        except WeaviateBaseError:
            if self.read() is None:
                raise first from None


def _foreign(chunks: Any, vector: str | None, objects: bool) -> Mapping[str, Any]:
    """A collection that others made: its control record, else the size of any vector in it."""
    if objects:
        for one in chunks.query.fetch_objects(filters=Filter.by_property("objectId").equal(_CONTROL), limit=100).objects:
            if one.properties.get("objectId") == _CONTROL:
                return dict(one.properties)
    some = chunks.query.fetch_objects(limit=1, include_vector=True).objects
    return {"vectorSize": len(some[0].vector.get(vector or "default") or ())} if some else {}
