# SPDX-License-Identifier: MIT
"""rocketride_agent_llamaindex: a ReAct agent on LlamaIndex's formatter and parser."""

from .node import LlamaIndexAgent

__all__ = ["LlamaIndexAgent"]
