# SPDX-License-Identifier: MIT
"""What Mistral's servers refuse about a chat: they take only the fields they know, and turns only in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..request import Request
from . import text_of

__all__ = ["mistral_complaint"]

FIELDS = {
    "frequency_penalty",
    "guardrails",
    "max_tokens",
    "messages",
    "metadata",
    "min_tokens",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_mode",
    "random_seed",
    "reasoning_effort",
    "response_format",
    "safe_prompt",
    "service_tier",
    "stop",
    "stream",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
}
# Whom each may follow.
AFTER = {
    "system": (None, "system", "user"),
    "user": (None, "system", "user", "assistant"),
    "assistant": (None, "system", "user", "assistant", "tool"),
    "tool": ("assistant", "tool"),
}
CALL_ID = re.compile(r"[a-zA-Z0-9]{9}")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
HOTTEST = 1.5


def mistral_complaint(request: Request) -> str | None:
    """Fields, their bounds, order and content of the turns, ids of calls, that each is answered, names of tools."""
    if request.operation != "chat":
        return None
    body = request.body
    if not isinstance(body, Mapping) or not body.get("model"):
        return "Field required: model"
    if unknown := sorted(body.keys() - FIELDS):
        return f"Extra inputs are not permitted: {unknown[0]}"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "Conversation must have at least one message"
    if not 0 <= (body.get("temperature") or 0) <= HOTTEST:
        return f"temperature: Input should be between 0 and {HOTTEST}"
    if body.get("max_tokens") is not None and body["max_tokens"] < 0:
        return "max_tokens: Input should be greater than or equal to 0"
    for tool in body.get("tools") or ():
        name = (tool.get("function") or {}).get("name", "")
        if not NAME.fullmatch(name):
            return f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64."
    return _turns(messages)


def _turns(messages: Sequence[Mapping[str, Any]]) -> str | None:
    before: str | None = None
    called: list[str] = []
    for message in messages:
        role = str(message.get("role"))
        if role not in AFTER:
            return f"messages.role: Input should be 'system', 'user', 'assistant' or 'tool', not {role!r}"
        if before not in AFTER[role]:
            return f"Unexpected role '{role}' after role '{before}'"
        if role == "tool":
            if message.get("tool_call_id") not in called:
                return f"Unexpected tool call id {message.get('tool_call_id')} in tool results"
            called.remove(str(message["tool_call_id"]))
        elif called:
            break
        calls = message.get("tool_calls") or ()
        if role == "assistant" and not calls and not text_of(message.get("content")):
            return "Assistant message must have either content or tool_calls, but not none."
        for call in calls:
            if not CALL_ID.fullmatch(str(call.get("id"))):
                return f"Tool call id was {call.get('id')} but must be a-z, A-Z, 0-9, with a length of 9."
        called += [str(call["id"]) for call in calls]
        before = role
    if called:
        return "Not the same number of function calls and responses"
    if before not in ("user", "tool") and not messages[-1].get("prefix"):
        return f"Expected last role User or Tool (or Assistant with prefix True) for serving but got {before}"
    return None
