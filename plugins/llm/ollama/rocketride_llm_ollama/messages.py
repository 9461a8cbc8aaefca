# SPDX-License-Identifier: MIT
"""A conversation and tools as Ollama's client takes them, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rocketride_core import Message
from rocketride_llm import Offer

__all__ = ["messages_of", "tools_of"]

# What the client sends on of a schema; it drops all else.
KEPT = frozenset({"type", "properties", "required", "items", "$defs", "description", "enum"})
NOTES = frozenset({"title", "$schema", "default", "examples", "additionalProperties"})


def messages_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The conversation; Ollama knows a result's call by the tool's name."""
    names = {call.id: call.name for message in messages for call in message.calls}
    made = []
    for message in messages:
        one: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.calls:
            one["tool_calls"] = [{"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in message.calls]
        if message.role == "tool":
            one["tool_name"] = names.get(message.call_id, message.call_id)
        made.append(one)
    return made


def tools_of(offers: Sequence[Offer]) -> list[dict[str, Any]]:
    """The tools; where the client would drop a part of a schema, all of it stands in the description too."""
    return [_tool(offer) for offer in offers]


def _tool(offer: Offer) -> dict[str, Any]:
    schema, description = offer.input_schema, offer.description
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    if _loses(schema, KEPT - {"enum"}) or any(_loses(one, KEPT - {"properties", "required", "$defs"}) for one in known.values()):
        text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
        description = f"{description}\nJSON Schema of the arguments: {text}".strip()
    parameters = {key: value for key, value in schema.items() if key in KEPT} | {"type": "object"}
    parameters["properties"] = {name: _property(one) for name, one in known.items()}
    return {"type": "function", "function": {"name": offer.name, "description": description, "parameters": parameters}}


def _loses(schema: Any, kept: frozenset[str]) -> bool:
    return not isinstance(schema, Mapping) or bool(set(schema) - kept - NOTES)


def _property(schema: Any) -> dict[str, Any]:
    return (
        {key: schema[key] for key in ("type", "items", "description", "enum") if key in schema}
        if isinstance(schema, Mapping)
        else {}
    )
