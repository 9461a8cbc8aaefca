# SPDX-License-Identifier: MIT
"""Chunks on their way into a store: numbered, checked, in batches; what is left of an older version goes last."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any
from weakref import WeakValueDictionary

import attrs

from rocketride_core import Document, Embedder, Entry, Instance

from .backend import VectorStore, chunk_id
from .errors import StoreError
from .filters import Where
from .keeper import Keeper
from .texts import encodes, storable, whole

__all__ = ["BATCH", "Pending", "Writer"]

BATCH = 500
SLICE = 0.05
OBJECTS = 100  # objects whose chunks are asked for at once
MOST = 2**63 - 1


@attrs.define
class Numbers:
    """The chunk numbers that one object has."""

    taken: set[int] = attrs.field(factory=set)
    highest: int = -1

    def give(self, wanted: Any) -> int:
        """The wanted number, or the next one where there is none, or it is taken: two producers may both count from 0."""
        if wanted is not None and (type(wanted) is not int or wanted < 0):
            raise ValueError(f"a document's 'chunkId' is a number from 0 on, not {wanted!r}")
        number: int = self.highest + 1 if wanted is None or wanted in self.taken else wanted
        if number > MOST:
            raise ValueError(f"a document's 'chunkId' is at most {MOST}, the largest number that databases keep, not {number}")
        self.taken.add(number)
        self.highest = max(self.highest, number)
        return number


@attrs.define
class Pending:
    """What one entry has brought: chunks that are not yet written and their bytes, and the numbers of all, by object id."""

    documents: list[Document] = attrs.field(factory=list)
    size: int = 0
    numbers: dict[str, Numbers] = attrs.field(factory=dict)

    def chunk(self, document: Document, entry: Entry) -> Document:
        """A document of this entry as the store keeps it: with what every chunk's metadata has, and a number of its object."""
        metadata: dict[str, Any] = {"parent": entry.path, "isDeleted": False, "isTable": False, "tableId": 0, **document.metadata}
        id = metadata["objectId"] = str(metadata.get("objectId") or entry.object_id)
        numbers = self.numbers.get(id)
        if numbers is None:
            if "\x00" in id or not encodes(id):
                raise ValueError(f"a document's 'objectId' has a NUL or half of a surrogate pair: {id!r}")
            numbers = self.numbers[id] = Numbers()
        metadata["chunkId"] = numbers.give(metadata.get("chunkId"))
        for key in ("tableId", "permissionId"):  # 2.0 is 2 to some databases, and to others not
            value = metadata.get(key)
            if type(value) is float and value.is_integer():
                metadata[key] = int(value)
        return Document(  # `attrs.evolve` takes five times as long
            storable(document.text), metadata, document.embedding, document.embedding_model, document.score, document.kind
        )


@attrs.frozen(kw_only=True)
class Writer:
    """Writes for one entry.

    Parameters:
        largest: bytes of one write: texts, metadata and vectors.
        embedder: embeds what comes without a vector; None refuses it.
        component: the store's id, for messages.
        instance: whose end ends a wait for another writer.
    """

    store: VectorStore
    keeper: Keeper
    collection: str
    largest: int
    embedder: Embedder | None
    component: str
    instance: Instance
    pending: Pending

    def add(self, documents: Sequence[Document]) -> None:
        """Take documents, and write whatever fills a batch."""
        pending, entry = self.pending, self.instance.entry
        for document in self._embedded(documents):
            chunk = pending.chunk(document, entry)
            try:
                size = _bytes(chunk)
            except UnicodeEncodeError:  # a file's name that is not UTF-8, for one
                chunk = attrs.evolve(chunk, metadata=whole(chunk.metadata))
                size = _bytes(chunk)
            if pending.documents and (len(pending.documents) >= BATCH or pending.size + size > self.largest):
                self.write()
            pending.documents.append(chunk)
            pending.size += size

    def write(self) -> None:
        """Write what is pending, after a check of all of it."""
        pending = self.pending
        if pending.documents:
            self.keeper.for_documents(pending.documents)
            self.store.upsert(pending.documents)
            pending.documents, pending.size = [], 0

    def finish(self) -> int:
        """Write the rest, then remove what older versions of these objects have beyond; the number of their chunks.

        New chunks first: an object can be found at every moment, and what a killed process leaves is put right by the next
        one that stores the object, because the ids are the same again.
        """
        numbers = self.pending.numbers
        with _one_at_a_time([f"{self.collection}/{id}" for id in numbers], self.instance):
            self.write()
            for some in batched(numbers, OBJECTS):
                where = Where().and_in("objectId", some)
                if self.store.count(where) == sum(len(numbers[id].taken) for id in some):
                    continue  # those that have been written, and no others
                current = {chunk_id(id, number) for id in some for number in numbers[id].taken}
                there = self.store.ids(where)
                self.store.delete([one for one in there if one not in current])
        return sum(len(told.taken) for told in numbers.values())

    def _embedded(self, documents: Sequence[Document]) -> Sequence[Document]:
        bare = [storable(document.text) for document in documents if document.embedding is None]
        if not bare:
            return documents
        embedder = self.embedder
        if embedder is None:
            raise ValueError(
                "You must run your documents through an embedding filter: wire them through an embedding node before "
                f"{self.component}, or bind one to it (control `embedding`, or a block `embedding` in its config)"
            )
        self.keeper.for_embedder(embedder.dimension, embedder.model)
        vectors = iter(embedder.embed(bare))
        model = embedder.model
        return [
            document if document.embedding is not None else attrs.evolve(document, embedding=next(vectors), embedding_model=model)
            for document in documents
        ]


def _bytes(document: Document) -> int:
    embedding, text = document.embedding, document.text
    metadata: Mapping[str, Any] = document.metadata
    size = len(text) if text.isascii() else len(text.encode())
    if embedding is not None:
        size += embedding.nbytes
    for value in metadata.values():
        kind = type(value)
        if kind is str:
            size += len(value) if value.isascii() else len(value.encode())
        elif kind not in _PLAIN:
            size += _weight(value)
    return size + sum(map(_key, metadata)) + 12 * len(metadata)


_PLAIN = (int, bool, float, type(None))


def _weight(value: Any) -> int:
    """About the bytes of a JSON value, for a tenth of the time that writing it takes."""
    if type(value) in _PLAIN:
        return 8
    if isinstance(value, str):
        return len(value) + 2 if value.isascii() else len(value.encode()) + 2
    if isinstance(value, Mapping):
        return sum(_key(key) + 2 + _weight(one) for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return sum(2 + _weight(one) for one in value)
    if isinstance(value, (int, float)):  # of a class of its own
        return 8
    raise _not_json(value)


def _key(key: Any) -> int:
    if not isinstance(key, str):
        raise _not_json(key)
    return _weight(key)


def _not_json(value: Any) -> ValueError:
    # Each database makes something else of it, or an error of its own.
    told = f"a document's metadata has {value!r:.60} of type {type(value).__name__}, which JSON does not have"
    return ValueError(f"{told}; write a text, a number, a list or an object with texts as keys")


def batched(keys: Iterable[str], size: int) -> Iterator[list[str]]:
    """The keys in lists of at most `size`."""
    rest = iter(keys)
    while some := list(islice(rest, size)):
        yield some


_writers: WeakValueDictionary[str, Any] = WeakValueDictionary()
_guard = threading.Lock()


@contextmanager
def _one_at_a_time(keys: Sequence[str], instance: Instance) -> Iterator[None]:
    """One writer of an object at a time in this process: two versions at once must not take each other's chunks for stale."""
    with ExitStack() as held:
        for key in sorted(keys):
            with _guard:
                lock = _writers.get(key)
                if lock is None:
                    lock = _writers[key] = threading.Lock()
            while not lock.acquire(timeout=SLICE):
                if instance.cancelled:
                    raise StoreError("timeout", "another entry was writing the same object")
            held.callback(lock.release)
        yield
