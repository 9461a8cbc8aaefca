# SPDX-License-Identifier: MIT
"""rocketride_llm_anthropic: Anthropic's Claude models as a node of rocketride-core pipelines."""

from .node import Anthropic, AnthropicConfig

__all__ = ["Anthropic", "AnthropicConfig"]
