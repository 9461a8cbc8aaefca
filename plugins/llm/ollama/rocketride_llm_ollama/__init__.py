# SPDX-License-Identifier: MIT
"""rocketride_llm_ollama: models that Ollama serves as a node of rocketride-core pipelines."""

from .node import Ollama, OllamaConfig

__all__ = ["Ollama", "OllamaConfig"]
