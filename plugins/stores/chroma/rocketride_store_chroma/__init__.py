# SPDX-License-Identifier: MIT
"""rocketride_store_chroma: Chroma as a store, embedded in the process or by HTTP. chromadb is imported when a pipeline opens."""

from .node import Chroma, ChromaConfig

__all__ = ["Chroma", "ChromaConfig"]
