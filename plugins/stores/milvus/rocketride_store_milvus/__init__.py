# SPDX-License-Identifier: MIT
"""rocketride_store_milvus: Milvus as a store, on a server or in a folder. pymilvus is imported when a pipeline opens."""

from .node import Milvus, MilvusConfig

__all__ = ["Milvus", "MilvusConfig"]
