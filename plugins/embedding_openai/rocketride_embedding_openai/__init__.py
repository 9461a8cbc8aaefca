# SPDX-License-Identifier: MIT
"""rocketride_embedding_openai: the node `embedding_openai`."""

from __future__ import annotations

from .node import EmbeddingOpenAI, OpenAIEmbeddingConfig

__all__ = ["EmbeddingOpenAI", "OpenAIEmbeddingConfig"]
