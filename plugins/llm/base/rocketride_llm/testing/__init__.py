# SPDX-License-Identifier: MIT
"""A scripted language model behind a real socket: the vendors' official clients talk to it.

from rocketride_llm.testing import Say, ScriptedServer, rate_limited

with ScriptedServer([rate_limited(0.1), Say("Paris")], rules=[("weather", Say("Rain."))]) as server:
    client = openai.OpenAI(base_url=server.base_url("openai"), api_key="any")

From the shell: `python -m rocketride_llm.testing --script FILE`. Needs the standard library and attrs only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .failures import (
    bad_key,
    content_refused,
    context_too_long,
    model_not_found,
    no_tool_support,
    overloaded,
    permission_denied,
    quota_exhausted,
    rate_limited,
    retry_after,
    server_error,
)
from .request import Call, Reply, Request
from .script import Rule, Script, load_script
from .server import ScriptedServer
from .steps import CallTools, Drop, Echo, Fail, FailMidway, Hang, Malformed, PlainStep, Say, Step, Think, Usage
from .wires import Answer, Piece, Wire, register_wire, unregister_wire

if TYPE_CHECKING:
    from .suite import LLMSuite

__all__ = [
    "LLMSuite",
    "ScriptedServer",
    "Script",
    "Rule",
    "load_script",
    "Request",
    "Step",
    "PlainStep",
    "Say",
    "Think",
    "CallTools",
    "Echo",
    "Usage",
    "Fail",
    "FailMidway",
    "Hang",
    "Drop",
    "Malformed",
    "bad_key",
    "permission_denied",
    "rate_limited",
    "retry_after",
    "quota_exhausted",
    "model_not_found",
    "context_too_long",
    "content_refused",
    "no_tool_support",
    "server_error",
    "overloaded",
    "Wire",
    "register_wire",
    "unregister_wire",
    "Answer",
    "Piece",
    "Reply",
    "Call",
]


def __getattr__(name: str) -> Any:
    if name == "LLMSuite":  # needs pytest, which who only serves a script may not have
        from .suite import LLMSuite

        return LLMSuite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
