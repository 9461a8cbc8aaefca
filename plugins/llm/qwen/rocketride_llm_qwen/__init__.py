# SPDX-License-Identifier: MIT
"""rocketride_llm_qwen: the node `llm_qwen`."""

from __future__ import annotations

from .node import Qwen, QwenConfig

__all__ = ["Qwen", "QwenConfig"]
