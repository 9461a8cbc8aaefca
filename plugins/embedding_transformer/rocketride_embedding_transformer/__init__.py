# SPDX-License-Identifier: MIT
"""rocketride_embedding_transformer: vectors for documents and questions, computed on this machine."""

from .encoders import Encoder
from .errors import ModelError, ModelNotFound, UnsupportedModel
from .node import EmbeddingConfig, EmbeddingTransformer

__all__ = ["EmbeddingConfig", "EmbeddingTransformer", "Encoder", "ModelError", "ModelNotFound", "UnsupportedModel"]
