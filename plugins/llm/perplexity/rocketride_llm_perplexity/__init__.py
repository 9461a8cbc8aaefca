# SPDX-License-Identifier: MIT
"""rocketride_llm_perplexity: the node `llm_perplexity`."""

from __future__ import annotations

from .node import Perplexity

__all__ = ["Perplexity"]
