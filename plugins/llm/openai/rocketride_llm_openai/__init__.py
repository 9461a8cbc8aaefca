# SPDX-License-Identifier: MIT
"""rocketride_llm_openai: the node `llm_openai`."""

from __future__ import annotations

from .encodings import count, encoding_of, head
from .node import OpenAI

__all__ = ["OpenAI", "count", "encoding_of", "head"]
