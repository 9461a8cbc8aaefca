# SPDX-License-Identifier: MIT
"""rocketride_preprocessor_langchain: cut text and tables into documents, as LangChain's text splitters do."""

from .node import LangchainPreprocessor, SplitterConfig

__all__ = ["LangchainPreprocessor", "SplitterConfig"]
