# SPDX-License-Identifier: MIT
"""rocketride_store: the base of all vector stores, and `store_memory`, the exact store in memory.

To write a store: a config class on `StoreConfig`, a class with the methods of `VectorStore`, and a `StoreNode` whose
`connect` returns it. `rocketride_store.testing.StoreSuite` says whether it behaves as the others do.
"""

from .backend import Capabilities, Collection, Server, VectorStore, chunk_id, chunk_key, chunk_uuid
from .common import compared, page_of, paged, ranked, unless
from .config import StoreConfig, profile
from .errors import StoreError, by_status, transport
from .filters import Condition, Request, Where
from .memory import InMemory, similarities
from .node import StoreNode
from .patience import Patience, http_limits, within
from .patient import Patient
from .places import MEMORY, Address, Folders, engine, in_use, room
from .probing import Findings
from .records import flat, from_flat
from .scores import METRICS, Distances, raw_threshold, similarity
from .store_memory import MemoryStore

__all__ = [
    "MEMORY",
    "METRICS",
    "Address",
    "Capabilities",
    "Collection",
    "Condition",
    "Distances",
    "Findings",
    "Folders",
    "InMemory",
    "MemoryStore",
    "Patience",
    "Patient",
    "Request",
    "Server",
    "StoreConfig",
    "StoreError",
    "StoreNode",
    "VectorStore",
    "Where",
    "by_status",
    "chunk_id",
    "chunk_key",
    "chunk_uuid",
    "compared",
    "engine",
    "flat",
    "from_flat",
    "http_limits",
    "in_use",
    "page_of",
    "paged",
    "profile",
    "ranked",
    "raw_threshold",
    "room",
    "similarities",
    "similarity",
    "transport",
    "unless",
    "within",
]
