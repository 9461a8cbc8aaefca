# SPDX-License-Identifier: MIT
"""rocketride_llm_openai_api: the node `llm_openai_api`, and what other vendors with an OpenAI-compatible API build on.

Such a vendor subclasses `CompatibleNode` and says where its server is; see `rocketride_llm_openai` for one.
"""

from __future__ import annotations

from .backend import ChatCompletions
from .client import client_for
from .explaining import explain, read_error
from .node import CompatibleConfig, CompatibleNode, OpenAIAPI

__all__ = ["ChatCompletions", "CompatibleConfig", "CompatibleNode", "OpenAIAPI", "client_for", "explain", "read_error"]
