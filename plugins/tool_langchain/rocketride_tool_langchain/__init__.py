# SPDX-License-Identifier: MIT
"""rocketride_tool_langchain: LangChain tools as tools of our agents. LangChain is imported when a pipeline opens."""

from .node import ToolLangchain, ToolLangchainConfig

__all__ = ["ToolLangchain", "ToolLangchainConfig"]
