# SPDX-License-Identifier: MIT
"""The node around the store in memory."""

from __future__ import annotations

from rocketride_core import NodeSpec, Profile

from .backend import VectorStore
from .config import StoreConfig
from .memory import InMemory
from .node import StoreNode

__all__ = ["MemoryStore"]


class MemoryStore(StoreNode[StoreConfig]):
    """A store that lives as long as its pipeline: for tests, examples and small things."""

    spec = NodeSpec(
        "store_memory",
        title="In-memory store",
        description="Exact vector search in memory; gone when the pipeline closes.",
        profiles=[Profile("default", {}, title="In memory")],
    )

    def connect(self) -> VectorStore:
        return InMemory(self.config.collection)
