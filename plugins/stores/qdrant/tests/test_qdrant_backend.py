# SPDX-License-Identifier: MIT
from pathlib import Path

from rocketride_store import VectorStore
from rocketride_store.testing import StoreSuite


class TestMemory(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        from rocketride_store_qdrant.backend import QdrantStore
        from rocketride_store_qdrant.opening import in_memory

        return QdrantStore(in_memory(), "suite", kind="memory")


class TestFolder(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        from rocketride_store_qdrant.backend import QdrantStore
        from rocketride_store_qdrant.opening import embedded

        return QdrantStore(embedded(folder), "suite", kind="folder")
