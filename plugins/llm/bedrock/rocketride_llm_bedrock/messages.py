# SPDX-License-Identifier: MIT
"""A conversation as Converse wants it: system apart, roles in turn, no blank text, tools declared."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from rocketride_core import Message
from rocketride_llm import Offer, Request

__all__ = ["arguments_of"]

UNFIT = re.compile(r"[^a-zA-Z0-9_.:-]")
LONGEST_ID = 64  # characters of the id of a call
OPENING = "(The conversation so far begins with the assistant.)"


def arguments_of(request: Request, model: str, *, limit: int | None = None, without: Collection[str] = ()) -> dict[str, Any]:
    """The arguments of the client's `converse` and `converse_stream`.

    Parameters:
        limit: the most tokens of an answer that the model lets itself be asked for, where it has said so.
        without: the settings that the model does not take, of `temperature` and `stopSequences`.
    """
    system = [m.content for m in request.messages if m.role == "system" and m.content.strip()]
    turns = _turns([m for m in request.messages if m.role != "system"])
    if not turns and system:  # there must be a turn of the user
        turns, system = [{"role": "user", "content": [{"text": text} for text in system]}], []
    inference: dict[str, Any] = {"maxTokens": min(request.max_tokens, limit or request.max_tokens)}
    stops = [word for word in request.stop if word.strip()]  # blank ones are refused; the base cuts at them
    if stops and "stopSequences" not in without:
        inference["stopSequences"] = stops
    if request.temperature is not None and "temperature" not in without:
        inference["temperature"] = request.temperature
    made: dict[str, Any] = {"modelId": model, "messages": turns, "inferenceConfig": inference}
    if system:
        made["system"] = [{"text": text} for text in system]
    if tools := _tools(request):
        made["toolConfig"] = {"tools": tools}
    return made


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if blocks and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"text": OPENING}]})
    for turn in turns:  # results stand before any text of their turn
        turn["content"].sort(key=lambda block: turn["role"] == "user" and "toolResult" not in block)
    last = turns[-1] if turns else None
    if last and last["role"] == "assistant" and "text" in last["content"][-1]:
        last["content"][-1]["text"] = last["content"][-1]["text"].rstrip()
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    text = [{"text": message.content}] if message.content.strip() else []
    if message.role == "tool":
        return [{"toolResult": {"toolUseId": _id(message.call_id), "content": text}}]
    uses = [{"toolUseId": _id(call.id), "name": call.name, "input": dict(call.arguments)} for call in message.calls]
    return [*text, *({"toolUse": use} for use in uses)]


def _tools(request: Request) -> list[dict[str, Any]]:
    """Those that may be called; where there are none, those that were: calls of tools that are not declared are refused."""
    offers = {offer.name: offer for offer in request.tools}
    if not offers:
        offers = {c.name: Offer(c.name, "", {"type": "object"}) for message in request.messages for c in message.calls}
    tools = []
    for offer in offers.values():
        spec: dict[str, Any] = {"name": offer.name, "inputSchema": {"json": {**offer.input_schema, "type": "object"}}}
        tools.append({"toolSpec": spec | ({"description": offer.description} if offer.description else {})})
    return tools


def _id(call: str) -> str:
    """Calls that another vendor's model made may have ids that Bedrock refuses."""
    return UNFIT.sub("_", call)[-LONGEST_ID:] or "call"
