# SPDX-License-Identifier: MIT
"""rocketride_llm_xai: the node `llm_xai`."""

from __future__ import annotations

from .node import XAI

__all__ = ["XAI"]
