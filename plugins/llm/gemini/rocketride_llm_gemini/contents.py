# SPDX-License-Identifier: MIT
"""A conversation as generateContent wants it: system apart, results right behind their calls, calls signed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from rocketride_core import Message
from rocketride_llm import Request

__all__ = ["Sent", "sent"]

OPENING = "(The conversation so far begins with the assistant.)"
MOST_STOPS = 5
LONGEST = 64  # characters of a tool's name
UNSIGNED = re.compile(r"(.*/)?(gemini-[12]\b.*|(?!gemini-).*)")
# Google's word for a call of which there is no signature, because another model made it, or another run.
NO_SIGNATURE = b"skip_thought_signature_validator"


@attrs.frozen
class Sent:
    """The arguments of the client's `generate_content`, all but the model, and the tools' names by what they are called there."""

    contents: Sequence[Mapping[str, Any]]
    config: dict[str, Any]
    names: Mapping[str, str]


def sent(request: Request, model: str, signatures: Mapping[str, bytes]) -> Sent:
    """What is sent for a request.

    Parameters:
        signatures: of earlier calls, by their ids.
    """
    system = "\n\n".join(m.content for m in request.messages if m.role == "system" and m.content.strip())
    turns = list(_turns([m for m in request.messages if m.role != "system"], signatures))
    if not turns and system:  # there must be a turn of the user
        turns, system = [{"role": "user", "parts": [{"text": system}]}], ""
    if turns and turns[0]["role"] == "model":
        turns.insert(0, {"role": "user", "parts": [{"text": OPENING}]})
    if not UNSIGNED.fullmatch(model):
        for turn in turns:
            calls = [part for part in turn["parts"] if "function_call" in part]
            if calls:
                calls[0].setdefault("thought_signature", NO_SIGNATURE)
    config: dict[str, Any] = {
        "max_output_tokens": request.max_tokens,
        "automatic_function_calling": {"disable": True},
        "stop_sequences": [word for word in request.stop if word.strip()][:MOST_STOPS] or None,  # the base cuts at the others
        "temperature": request.temperature,
        "system_instruction": {"parts": [{"text": system}]} if system else None,
    }
    if request.tools:
        functions = [
            {"name": _name(t.name), "description": t.description, "parameters_json_schema": {"type": "object", **t.input_schema}}
            for t in request.tools
        ]
        config["tools"] = [{"function_declarations": functions}]
    return Sent(turns, config, {_name(offer.name): offer.name for offer in request.tools})


def _turns(messages: Sequence[Message], signatures: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    """Neighbours of one kind are one turn; results are one of their own."""
    turn: dict[str, Any] = {}
    kind, called = "", dict[str, str]()
    for message in messages:
        called |= {call.id: _name(call.name) for call in message.calls}
        result = message.role == "tool" and message.call_id in called
        parts = [_result(message, called)] if result else list(_parts(message, signatures))
        if not parts:
            continue
        own = "tool" if result else "model" if message.role == "assistant" else "user"
        if own == kind:
            turn["parts"] += parts
            continue
        if turn:
            yield turn
        kind, turn = own, {"role": "model" if own == "model" else "user", "parts": parts}
    if turn:
        yield turn


def _parts(message: Message, signatures: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    if message.content.strip():
        yield {"text": message.content}
    for call in message.calls:
        part: dict[str, Any] = {"function_call": {"id": call.id, "name": _name(call.name), "args": dict(call.arguments)}}
        if call.id in signatures:
            part["thought_signature"] = signatures[call.id]
        yield part


def _result(message: Message, called: Mapping[str, str]) -> dict[str, Any]:
    response = {"id": message.call_id, "name": called[message.call_id], "response": {"output": message.content}}
    return {"function_response": response}


def _name(name: str) -> str:
    """Here a name begins with a letter or an underscore."""
    return name if name[:1].isalpha() or name.startswith("_") else f"_{name}"[:LONGEST]
