# SPDX-License-Identifier: MIT
"""rocketride_embedding: the base of nodes that embed documents and questions.

A distribution subclasses `EmbeddingNode` and writes `model`, `dimension` and `encode`; lanes, batches across objects, the control
`embedding` and what is not embedded are here. `rocketride_embedding.testing` has the suite that every embedding node passes.
"""

from __future__ import annotations

from .node import Embedded, EmbeddingNode

__all__ = ["Embedded", "EmbeddingNode"]
