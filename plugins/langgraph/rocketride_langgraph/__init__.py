# SPDX-License-Identifier: MIT
"""rocketride_langgraph: what connects rocketride-core with LangGraph. LangGraph itself is not imported here."""

from .adapting import as_langchain
from .executor import BasicToolNode, ToolExecutor
from .jsontext import NotJson, json_text

__all__ = ["BasicToolNode", "NotJson", "ToolExecutor", "as_langchain", "json_text"]
