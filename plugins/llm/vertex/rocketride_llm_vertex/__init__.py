# SPDX-License-Identifier: MIT
"""rocketride_llm_vertex: Gemini models on Google Cloud (Vertex AI) as a node of rocketride-core pipelines."""

from .node import Vertex, VertexConfig

__all__ = ["Vertex", "VertexConfig"]
