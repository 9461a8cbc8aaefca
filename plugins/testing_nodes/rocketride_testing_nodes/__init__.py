# SPDX-License-Identifier: MIT
"""rocketride_testing_nodes: `test_llm`, a language model that needs no key, and `test_tap`, a recorder."""

from .llm import ScriptedLLM, ScriptedLLMConfig
from .tap import Record, Tap, TapConfig, recording

__all__ = ["Record", "ScriptedLLM", "ScriptedLLMConfig", "Tap", "TapConfig", "recording"]
