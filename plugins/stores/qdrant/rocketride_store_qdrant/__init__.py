# SPDX-License-Identifier: MIT
"""rocketride_store_qdrant: Qdrant as a store, on a server or in a folder. qdrant_client is imported when a pipeline opens."""

from .node import Qdrant, QdrantConfig

__all__ = ["Qdrant", "QdrantConfig"]
