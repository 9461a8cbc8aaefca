# SPDX-License-Identifier: MIT
"""A conversation as Mistral wants it: system first, results right behind their calls, ids of nine letters and digits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from rocketride_core import Message
from rocketride_llm import Request, message_json, tool_json

__all__ = ["arguments_of"]

CALL_ID = re.compile(r"[a-zA-Z0-9]{9}")
# Mistral lets nobody but the assistant speak after a result.
BETWEEN = "(These are the results.)"


def arguments_of(request: Request, model: str) -> dict[str, Any]:
    """What the client's `chat.complete_async` and `chat.stream_async` are called with."""
    system = "\n\n".join(m.content for m in request.messages if m.role == "system" and m.content.strip())
    turns = list(_turns([m for m in request.messages if m.role != "system"]))
    if system:  # there must be a turn of the user
        turns.insert(0, {"role": "system" if turns else "user", "content": system})
    sent: dict[str, Any] = {"model": model, "messages": turns, "max_tokens": request.max_tokens}
    if request.temperature is not None:
        sent["temperature"] = request.temperature
    if stop := [word for word in request.stop if word.strip()]:
        sent["stop"] = stop
    if request.tools:
        sent["tools"] = [tool_json(tool) for tool in request.tools]
    return sent


def _turns(messages: Sequence[Message]) -> Iterator[dict[str, Any]]:
    called: dict[str, str] = {}
    before = ""
    for message in messages:
        result = message.role == "tool" and message.call_id in called
        if not (result or message.content.strip() or message.calls):
            continue
        role = message.role if result or message.role != "tool" else "user"
        if role == "user" and before == "tool":
            yield {"role": "assistant", "content": BETWEEN}
        turn = message_json(message)
        if result:
            turn |= {"tool_call_id": _id(message.call_id), "name": called[message.call_id]}
        elif role == "user":  # the result of a call that is not in the conversation, too
            turn = {"role": "user", "content": message.content}
        for call in turn.get("tool_calls", ()):
            called[call["id"]] = call["function"]["name"]
            call["id"] = _id(call["id"])
        yield turn
        before = role


def _id(id: str) -> str:
    """The call's id; of one that another vendor's model made, its digest."""
    return id if CALL_ID.fullmatch(id) else hashlib.blake2b(id.encode(), digest_size=5).hexdigest()[:9]
