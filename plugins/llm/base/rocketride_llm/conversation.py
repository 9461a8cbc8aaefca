# SPDX-License-Identifier: MIT
"""Messages and tools in the form that began with OpenAI's Chat Completions, which other vendors have taken over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rocketride_core import Message

from .wire import Offer

__all__ = ["message_json", "tool_json"]


def message_json(message: Message) -> dict[str, Any]:
    """A message with its calls, or the result of one.

    Servers read the arguments of calls back with a JSON parser, so what was broken is left out; the call's result says what was
    wrong.
    """
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if not message.calls:
        return {"role": message.role, "content": message.content}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(_plain(call.arguments), ensure_ascii=False)},
        }
        for call in message.calls
    ]
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}


def tool_json(tool: Offer) -> dict[str, Any]:
    """A tool with the schema of its arguments."""
    parameters = {"type": "object", "properties": {}} | _plain(tool.input_schema)
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": parameters}}


def _plain(value: Any) -> Any:
    """Mappings and sequences of any class as what a JSON writer takes."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
