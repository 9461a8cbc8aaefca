# SPDX-License-Identifier: MIT
"""What a model asked for: the calls in the input of a tool node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages

from rocketride_core import ToolInput

__all__ = ["Call", "Turn", "read_turn"]


@attrs.frozen
class Call:
    """One call.

    Parameters:
        name: as the model wrote it.
        id: what the answer must carry.
        arguments: by name; empty where they are unreadable.
        problem: why it cannot be run at all.
    """

    name: str
    id: str
    arguments: Mapping[str, Any]
    problem: ToolInput | None = None


@attrs.frozen
class Turn:
    """All calls of one message.

    Parameters:
        state: of the graph; what injected arguments are taken from.
        listed: the input was a list of messages, so the output is one.
    """

    calls: Sequence[Call]
    state: Any
    listed: bool = False


def read_turn(given: Any, key: str) -> Turn:
    """The calls of the last message, unreadable ones last.

    Parameters:
        given: a state with messages under `key`, as a mapping or an object; a list of messages; a list of tool calls, or one with its
            state, as LangGraph's `Send` brings them.

    Raises:
        ValueError: there is no message, or the last one is not a model's, or a call has no id.
    """
    if isinstance(given, Mapping) and given.get("__type") == "tool_call_with_context":
        return Turn([_call(given["tool_call"])], given.get("state"))
    if isinstance(given, list) and given and all(isinstance(one, Mapping) and one.get("type") == "tool_call" for one in given):
        return Turn([_call(one) for one in given], {})
    listed = isinstance(given, list | tuple)
    if listed:
        messages = given
    else:
        messages = given.get(key) if isinstance(given, Mapping) else getattr(given, key, None)
    if isinstance(messages, BaseMessage):
        messages = [messages]
    if not messages:
        raise ValueError("No message found in input")
    last = convert_to_messages([messages[-1]])[0]
    if not isinstance(last, AIMessage):
        raise ValueError(f"The last message is a {type(last).__name__}, not an AIMessage: only a model asks for tools")
    return Turn([*map(_call, last.tool_calls), *_unreadable(last)], given, listed)


def _call(asked: Mapping[str, Any]) -> Call:
    name, arguments = str(asked.get("name") or ""), asked.get("args")
    if asked.get("id") is None:
        raise ValueError(f"The call of {name!r} has no id, so no message could answer it")
    if isinstance(arguments, Mapping):
        return Call(name, str(asked["id"]), arguments)
    problem = ToolInput(f"{name}: the arguments are a JSON object, not {type(arguments).__name__}", tool=name)
    return Call(name, str(asked["id"]), {}, problem)


def _unreadable(message: AIMessage) -> list[Call]:
    calls = []
    for asked in message.invalid_tool_calls:
        if asked.get("id") is None:  # nothing in the history waits for an answer
            continue
        name = asked.get("name") or ""
        why = asked.get("error") or f"got {asked.get('args')!r}"
        problem = ToolInput(f"{name}: the arguments are not a JSON object: {why}", tool=name)
        calls.append(Call(name, str(asked["id"]), {}, problem))
    return calls
