# SPDX-License-Identifier: MIT
"""Keeps a collection to one embedding model, one dimension and one metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocketride_core import Document

from .backend import Collection, VectorStore
from .errors import StoreError

__all__ = ["Keeper", "other_metric"]


class _Known:
    """What all entries of a store have learnt."""

    collection: Collection | None = None


class Keeper:
    """Checks documents and questions against what the collection records; makes the collection at the first write.

    Parameters:
        backend: the collection's backend.
        name: its name.
        metric: what the config says; another one in the database is an error.
        placed: names the store in an error.
    """

    def __init__(self, backend: VectorStore, name: str, metric: str, placed: Callable[[StoreError], StoreError]) -> None:
        self._backend, self._name, self._metric, self._placed = backend, name, metric, placed
        self._all = _Known()

    def within(self, backend: VectorStore) -> Keeper:
        """The same for one entry: it asks through the entry's own store, whose end ends its waits."""
        made = Keeper(backend, self._name, self._metric, self._placed)
        made._all = self._all
        return made

    @property
    def seen(self) -> bool:
        """The collection exists, as far as is known without asking."""
        return self._all.collection is not None

    def known(self) -> Collection | None:
        """What the collection records; None where it does not exist yet. Another process may have made it meanwhile."""
        # No lock here: an entry must not wait for the retries of another one.
        if self._all.collection is None:
            self.accept(self._backend.collection())
        return self._all.collection

    def for_documents(self, documents: Sequence[Document]) -> None:
        """Checks embedded documents before they are written; the first ones ever decide dimension and model."""
        first = documents[0]
        model = next((document.embedding_model for document in documents if document.embedding_model), "")
        collection = self.known() or self._new(documents, Collection(self._name, _dimension(first), model, self._metric))
        self._fit(collection, documents)

    def for_embedder(self, dimension: int, model: str) -> None:
        """Checks the embedder that is bound to the store, before anything is embedded; where there is no collection, all fit."""
        collection = self.known()
        if collection is not None:
            self._check(collection, "bound embedding", dimension, model)

    def for_question(self, dimension: int, model: str) -> Collection | None:
        """Checks an embedded question; None where there is no collection to search."""
        collection = self.known()
        if collection is not None:
            self._check(collection, "question", dimension, model)
        return collection

    def _new(self, documents: Sequence[Document], wanted: Collection) -> Collection:
        if not wanted.dimension:  # it would be recorded, and no other vector would ever fit
            raise self._placed(StoreError("invalid", sentence="The document's vector is empty; look at what embeds it"))
        self._fit(wanted, documents)  # documents that do not fit each other make no collection
        return self.accept(self._backend.create(wanted)) or self._missing()

    def _fit(self, collection: Collection, documents: Sequence[Document]) -> None:
        for dimension, model in {(_dimension(one), one.embedding_model) for one in documents}:
            self._check(collection, "document", dimension, model)
        self.finite("document", *[one.embedding for one in documents if one.embedding is not None])

    def accept(self, collection: Collection | None) -> Collection | None:
        """Remember what the database says; None where it says nothing yet."""
        if collection is None or not collection.dimension:
            return None
        if misfit := other_metric(collection, self._metric):
            raise self._misfit(misfit)
        self._all.collection = collection
        return collection

    def finite(self, what: str, *vectors: memoryview) -> None:
        """Refuses vectors with NaN or an infinite number: some databases do, others keep what no search ever finds."""
        import numpy as np

        # All at once: one look costs more to begin than to make.
        if not np.isfinite(np.frombuffer(b"".join(vectors), np.float32)).all():
            raise self._placed(StoreError("invalid", sentence=f"The {what}'s vector has numbers that are not finite"))

    def _misfit(self, sentence: str) -> StoreError:
        return self._placed(StoreError("mismatch", sentence=sentence))

    def _missing(self) -> Collection:
        raise self._misfit("The collection was made but records no vector size; remove it, or use another collection")

    def _check(self, collection: Collection, what: str, dimension: int, model: str) -> None:
        if collection.model and model and collection.model != model:
            raise self._misfit(
                f"The collection uses {collection.model} but the {what} was encoded with {model}; "
                f"embed with {collection.model}, or use another collection"
            )
        if collection.dimension != dimension:
            raise self._misfit(
                f"The collection uses a vector size of {collection.dimension} but the {what} has {dimension} vector size; "
                f"embed with {collection.model or 'the model it was made with'}, or use another collection"
            )


def other_metric(collection: Collection | None, metric: str) -> str:
    """What to say where a collection compares otherwise than the config; "" where it does not."""
    if collection is None or collection.metric == metric:
        return ""
    return (
        f"The collection compares by {collection.metric} but the config says {metric}; "
        f'write "similarity": "{collection.metric}", or use another collection'
    )


def _dimension(document: Document) -> int:
    return 0 if document.embedding is None else len(document.embedding)
