# SPDX-License-Identifier: MIT
"""What a backend is: a class of about seven methods that knows one database and nothing of pipelines."""

from __future__ import annotations

import functools
import hashlib
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import attrs

from rocketride_core import Document

from .errors import StoreError, transport
from .filters import Where
from .scores import METRICS

__all__ = ["Capabilities", "Collection", "Server", "VectorStore", "chunk_id", "chunk_key", "chunk_uuid"]

_CHUNKS: Final = uuid.UUID("6f0cf2c6-33c5-5c6e-9b3a-0e6f1d2a7b54").bytes


@attrs.frozen
class Collection:
    """What a collection records of itself when it is made.

    Parameters:
        name: its name in the database.
        dimension: length of its vectors; 0 where the database does not know it yet.
        model: the embedding model they come from; "" where it was never recorded.
        metric: cosine, ip (inner product) or l2 (Euclidean distance).
    """

    name: str
    dimension: int
    model: str = ""
    metric: str = "cosine"


@attrs.frozen
class Server:
    """Who answers.

    Parameters:
        product: as it calls itself; "" where nobody says.
        version: of the server, or of the library where the database lives in this process; "" where nobody says.
    """

    product: str = ""
    version: str = ""


@attrs.frozen(kw_only=True)
class Capabilities:
    """What differs between backends and may be relied on; StoreSuite holds a backend to it.

    Parameters:
        exact: a search compares with every vector; else with an approximate index.
        persistent: what is written is there after `close()` and a new start.
        threshold: the database itself cuts at `least`, before it counts to `limit`; else the base does it afterwards.
        metrics: the metrics a collection may have.
        largest: most results that one search or select gives, offset included; 0 is as many as there are.
        minimum: the oldest version of the server that works, "1.8"; "" is any. The base refuses older ones.
        batch: most chunks of one write, 500 or fewer.
        request: most bytes of one write; 0 is any number. The base cuts, and a chunk that is larger alone comes alone. It counts texts
            and metadata as UTF-8, and `number` bytes for each number of a vector, which is 4 where it travels as float32.
    """

    exact: bool
    persistent: bool
    threshold: bool = False
    metrics: Sequence[str] = METRICS
    largest: int = 0
    minimum: str = ""
    batch: int = 500
    request: int = 0
    number: int = 4


class VectorStore(Protocol):
    """One collection of one database. Every method is safe on several threads at once.

    A chunk is a `Document` with `objectId` and `chunkId` in its metadata; its id is `chunk_uuid(document)`. Text, kind and
    metadata come back as they were given, nested values, None and integers of any size included.

    Methods let their client's exceptions out as they are, and `explain` says what they mean: the base repeats a call whose
    error is `passing`, so each must be safe to repeat. A time limit for every call is the backend's affair. A write returns
    when the database has confirmed it and everybody finds it, else it raises `StoreError("not-confirmed", why)`.

    Subclass it to inherit `about`, `ids`, `count`, `explain` and `close`; or write them too.
    """

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What differs from other backends; a class attribute will do."""
        ...

    def about(self) -> Server:
        """Who answers; asks the server each time."""
        return Server()

    @abstractmethod
    def collection(self) -> Collection | None:
        """What the collection records; None where it does not exist. Reads the database each time."""
        ...

    @abstractmethod
    def create(self, wanted: Collection, /) -> Collection:
        """Make the collection where it does not exist; the answer is what is recorded, also when another was faster.

        A collection that exists is never changed, except for a record of dimension and model that an interrupted `create`
        did not get to. The metric is one of `capabilities.metrics`.
        """
        ...

    @abstractmethod
    def upsert(self, documents: Sequence[Document], /) -> None:
        """Write chunks, replacing those with the same ids. Every document has an embedding of the collection's dimension.

        The ids within one call differ, and the call is no larger than `capabilities.batch` and `capabilities.request` say.
        """
        ...

    @abstractmethod
    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        """The `limit` nearest chunks, in any order, `score` set by `similarity()`, without embeddings.

        Parameters:
            where: never `impossible`.
            least: the least score that is wanted; given to the server through `raw_threshold()` where it can cut. A backend that
                cannot may ignore it.
        """
        ...

    @abstractmethod
    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        """Chunks whose text holds all `words` as parts of it, letter case ignored (as `str.lower`), without embeddings and score.

        The order is the same in each call, so that pages are disjoint and complete. `limit` None is everything there is.
        """
        ...

    @abstractmethod
    def delete(self, ids: Sequence[str], /) -> None:
        """Remove these chunks for good, 1 to 500; ids that are not there are no error."""
        ...

    @abstractmethod
    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        """Set `isDeleted` of these chunks, 1 to 500, and leave everything else of them as it is."""
        ...

    def ids(self, where: Where, /) -> Sequence[str]:
        """Ids of the chunks; a backend that can leaves out their contents."""
        return [chunk_uuid(document) for document in self.select(where)]

    def count(self, where: Where, /) -> int:
        """How many chunks there are, counted exactly; a backend that can does not list them."""
        return len(self.ids(where))

    def explain(self, error: Exception, /) -> StoreError | None:
        """What an exception of the client means; None for one that is a mistake of the program."""
        return transport(error)

    def close(self) -> None:
        """Close the client; called once."""
        return  # a Protocol's method with a body is inherited


def chunk_key(document: Document) -> tuple[str, int]:
    """Object id and chunk number; ("", -1) for a document that did not come from a store's collection."""
    metadata: Mapping[str, Any] = document.metadata
    number = metadata.get("chunkId")
    return str(metadata.get("objectId") or ""), number if isinstance(number, int) else -1


def chunk_uuid(document: Document) -> str:
    """The stable id of a chunk: RFC 4122 uuid5 of its object id and chunk number."""
    object_id, number = chunk_key(document)
    return chunk_id(object_id, number)


@functools.lru_cache(4096)  # asked for when a chunk is written, and when its object is complete
def chunk_id(object_id: str, number: int) -> str:
    """The id of an object's chunk of this number; the same as `uuid.uuid5`, four times as fast."""
    made = bytearray(hashlib.sha1(_CHUNKS + f"{object_id}#{number}".encode(), usedforsecurity=False).digest()[:16])
    made[6] = made[6] & 0x0F | 0x50
    made[8] = made[8] & 0x3F | 0x80
    told = made.hex()
    return f"{told[:8]}-{told[8:12]}-{told[12:16]}-{told[16:20]}-{told[20:]}"
