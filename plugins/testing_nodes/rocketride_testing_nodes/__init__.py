# SPDX-License-Identifier: MIT
"""rocketride_testing_nodes: an agent and a language model that follow a script, and a recorder."""

from .agent import ScriptedAgent, ScriptedAgentConfig
from .llm import ScriptedLLM, ScriptedLLMConfig
from .tap import Record, Tap, TapConfig, recording

__all__ = [
    "Record",
    "ScriptedAgent",
    "ScriptedAgentConfig",
    "ScriptedLLM",
    "ScriptedLLMConfig",
    "Tap",
    "TapConfig",
    "recording",
]
