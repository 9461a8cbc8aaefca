# SPDX-License-Identifier: MIT
"""rocketride_store_weaviate: Weaviate as a store, over REST and gRPC. weaviate-client is imported when a pipeline opens."""

from .node import Weaviate, WeaviateConfig

__all__ = ["Weaviate", "WeaviateConfig"]
