# SPDX-License-Identifier: MIT
"""rocketride_preprocessor_llm: a language model says where texts are cut into documents, and what is in them."""

from .node import LLMPreprocessor, LLMPreprocessorConfig

__all__ = ["LLMPreprocessor", "LLMPreprocessorConfig"]
