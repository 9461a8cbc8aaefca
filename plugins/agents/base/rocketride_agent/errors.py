# SPDX-License-Identifier: MIT
"""What can go wrong in an agent, and how it looks in the stack of a run."""

from __future__ import annotations

from rocketride_core import Json, RocketRideError, ToolError, ToolFailure

__all__ = ["ERROR", "GUARD", "AgentError", "ToolCallRequiredError", "entry_of", "kind_of", "text_of"]

ERROR, GUARD = "RocketRide.agent.error.v1", "RocketRide.agent.guard.v1"


class AgentError(RocketRideError):
    """An agent came to no answer."""


class ToolCallRequiredError(AgentError):
    """It answered without one real tool call, and `require_tool_call` is set."""


def text_of(error: BaseException) -> str:
    """What a chat user reads of it; not redacted yet."""
    try:
        return str(error) or f"{type(error).__name__} (no message)"
    except Exception as broken:  # noqa: BLE001 - an exception whose own text fails is still one to tell of
        return f"{type(error).__name__} (its message cannot be shown: {type(broken).__name__})"


def kind_of(error: ToolError) -> str:
    """What a model reads as the type: the tool's own exception where it raised one, else the kind of ToolError."""
    cause = error.__cause__ if isinstance(error, ToolFailure) else None
    own = isinstance(cause, Exception) and not isinstance(cause, RocketRideError)
    return type(cause if own else error).__name__


def entry_of(error: Exception, message: str) -> dict[str, Json]:
    """The entry that an error adds to the stack.

    Parameters:
        message: its text, redacted.
    """
    guard = isinstance(error, ToolCallRequiredError)
    return {
        "kind": GUARD if guard else ERROR,
        "name": "require_tool_call" if guard else "exception",
        "payload": {"type": type(error).__name__, "message": message},
    }
