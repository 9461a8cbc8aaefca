# SPDX-License-Identifier: MIT
"""rocketride_agent: what every agent node shares. See README.md, "Write your own agent"."""

from .config import AgentConfig
from .endings import STOPPED, UNREADABLE
from .errors import ERROR, GUARD, AgentError, ToolCallRequiredError
from .finalanswer import finished, read_json
from .native import by_mode, native_model, solve_natively
from .node import NEEDS, PROFILES, AgentNode
from .observations import READ, rendered
from .prompts import LAST_STEP, conversation, instructed
from .run import AgentRun, Outcome
from .runagent import CONTEXT
from .toolview import ToolView, resolve

__all__ = [
    "CONTEXT",
    "ERROR",
    "GUARD",
    "LAST_STEP",
    "NEEDS",
    "PROFILES",
    "READ",
    "STOPPED",
    "UNREADABLE",
    "AgentConfig",
    "AgentError",
    "AgentNode",
    "AgentRun",
    "Outcome",
    "ToolCallRequiredError",
    "ToolView",
    "by_mode",
    "conversation",
    "finished",
    "instructed",
    "native_model",
    "read_json",
    "rendered",
    "resolve",
    "solve_natively",
]
