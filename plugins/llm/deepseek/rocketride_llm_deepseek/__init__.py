# SPDX-License-Identifier: MIT
"""rocketride_llm_deepseek: the node `llm_deepseek`."""

from __future__ import annotations

from .node import DeepSeek

__all__ = ["DeepSeek"]
