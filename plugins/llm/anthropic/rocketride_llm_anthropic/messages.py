# SPDX-License-Identifier: MIT
"""A conversation as Anthropic's Messages API wants it: system apart, roles in turn, no empty text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rocketride_core import Message
from rocketride_llm import Offer, Request

__all__ = ["arguments_of"]

UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
OPENING = "(The conversation so far begins with the assistant.)"


def arguments_of(request: Request, model: str) -> dict[str, Any]:
    """The arguments of the client's `messages.create`, all but `stream` and the temperature."""
    system = "\n\n".join(m.content for m in request.messages if m.role == "system" and m.content.strip())
    turns = _turns([m for m in request.messages if m.role != "system"])
    if not turns and system:  # an API call needs a turn of the user
        turns, system = [{"role": "user", "content": [_text(system)]}], ""
    made: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": turns}
    if system:
        made["system"] = system
    if request.tools:
        made["tools"] = [_tool(offer) for offer in request.tools]
    stops = [word for word in request.stop if word.strip()]  # the API refuses blank ones; the base cuts at them
    if stops:
        made["stop_sequences"] = stops
    return made


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [_text(OPENING)]})
    for turn in turns:  # results stand before any text of their turn
        if turn["role"] == "user":
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    last = turns[-1] if turns else None
    if last and last["role"] == "assistant" and last["content"][-1]["type"] == "text":
        last["content"][-1]["text"] = last["content"][-1]["text"].rstrip()
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(message.call_id)}
        if message.content.strip():
            result["content"] = message.content
        return [result]
    blocks = [_text(message.content)] if message.content.strip() else []
    uses = [{"type": "tool_use", "id": _id(call.id), "name": call.name, "input": dict(call.arguments)} for call in message.calls]
    return blocks + uses


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _id(call: str) -> str:
    """Calls that another vendor's model made may have ids that Anthropic refuses."""
    return UNFIT.sub("_", call) or "call"


def _tool(offer: Offer) -> dict[str, Any]:
    made = {"name": offer.name, "input_schema": {"type": "object", **offer.input_schema}}
    return {**made, "description": offer.description} if offer.description else made
