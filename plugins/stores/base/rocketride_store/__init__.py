# SPDX-License-Identifier: MIT
"""rocketride_store: the base of all vector stores, and `store_memory`, the exact store in memory.

To write a store: a config class on `StoreConfig`, a class with the methods of `VectorStore`, and a `StoreNode` whose
`connect` returns it. `rocketride_store.testing.StoreSuite` says whether it behaves as the others do.
"""

from .backend import METRICS, Capabilities, Collection, VectorStore, chunk_key, chunk_uuid, similarity
from .filters import Condition, Request, Where
from .memory import InMemory, similarities
from .node import StoreConfig, StoreNode
from .records import flat, from_flat
from .store_memory import MemoryStore

__all__ = [
    "METRICS",
    "Capabilities",
    "Collection",
    "Condition",
    "InMemory",
    "MemoryStore",
    "Request",
    "StoreConfig",
    "StoreNode",
    "VectorStore",
    "Where",
    "chunk_key",
    "chunk_uuid",
    "flat",
    "from_flat",
    "similarities",
    "similarity",
]
