# SPDX-License-Identifier: MIT
"""What a backend is: a class of eight methods that knows one database and nothing of pipelines."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import attrs

from rocketride_core import Document

from .filters import Where

__all__ = ["METRICS", "Capabilities", "Collection", "VectorStore", "chunk_key", "chunk_uuid", "similarity"]

METRICS: Final = ("cosine", "ip", "l2")
_CHUNKS: Final = uuid.UUID("6f0cf2c6-33c5-5c6e-9b3a-0e6f1d2a7b54")


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


@attrs.frozen(kw_only=True)
class Capabilities:
    """What differs between backends and may be relied on.

    Parameters:
        exact: a search compares with every vector; else with an approximate index.
        persistent: what is written is there after `close()` and a new start.
        metrics: the metrics a collection may have.
    """

    exact: bool
    persistent: bool
    metrics: Sequence[str] = METRICS


class VectorStore(Protocol):
    """One collection of one database. Every method is safe on several threads at once.

    A chunk is a `Document` with `objectId` and `chunkId` in its metadata; its id is `chunk_uuid(document)`.
    Metadata comes back as it was given, nested values and None included. A write that the database did not
    confirm raises.
    """

    @property
    def capabilities(self) -> Capabilities: ...

    def collection(self) -> Collection | None:
        """What the collection records; None where it does not exist. Reads the database each time."""
        ...

    def create(self, wanted: Collection, /) -> Collection:
        """Make the collection where it does not exist; the answer is what is recorded, also when another was faster."""
        ...

    def upsert(self, documents: Sequence[Document], /) -> None:
        """Write chunks, replacing those with the same ids. Every document has an embedding of the collection's dimension."""
        ...

    def search(self, vector: memoryview, where: Where, limit: int, /) -> Sequence[Document]:
        """The `limit` nearest chunks, best first, `score` set by `similarity()`."""
        ...

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        """Chunks whose text holds all `words` (letter case ignored), in an order that stays the same between calls; no score."""
        ...

    def ids(self, where: Where, /) -> Sequence[str]:
        """Ids of the chunks, without their contents."""
        ...

    def delete(self, ids: Sequence[str], /) -> None:
        """Remove these chunks for good; an empty list touches nothing."""
        ...

    def close(self) -> None: ...


def chunk_key(document: Document) -> tuple[str, int]:
    """Object id and chunk number; ("", -1) for a document that did not come from a store's collection."""
    metadata: Mapping[str, Any] = document.metadata
    number = metadata.get("chunkId")
    return str(metadata.get("objectId") or ""), number if isinstance(number, int) else -1


def chunk_uuid(document: Document) -> str:
    """The stable id of a chunk: RFC 4122 uuid5 of its object id and chunk number."""
    object_id, number = chunk_key(document)
    return str(uuid.uuid5(_CHUNKS, f"{object_id}#{number}"))


def similarity(metric: str, value: float) -> float:
    """A score in [0, 1], 1 is best, comparable over backends, rounded to 6 decimals (float32 carries no more).

    Parameters:
        metric: cosine, ip or l2.
        value: the cosine, the inner product, or the Euclidean distance (not its square).

    cosine: (1 + cos) / 2. ip: 1 / (1 + e^-value). l2: 1 / (1 + value).
    """
    if metric == "cosine":
        score = (1 + value) / 2
    elif metric == "ip":
        score = 1 / (1 + math.exp(-value)) if value > -700 else 0.0
    elif metric == "l2":
        score = 1 / (1 + value)
    else:
        raise ValueError(f"unknown metric {metric!r}; a store compares by one of {', '.join(METRICS)}")
    return round(min(1.0, max(0.0, score)), 6)
