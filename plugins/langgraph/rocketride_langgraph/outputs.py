# SPDX-License-Identifier: MIT
"""What tools answer: messages, and LangGraph's commands, put together as the update of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage, convert_to_messages
from langchain_core.messages.tool import ToolOutputMixin

from .turns import Call

__all__ = ["checked", "combined", "is_output"]

_ALL = "__remove_all__"  # LangGraph's REMOVE_ALL_MESSAGES: the history is emptied, so nothing in it waits for an answer
_PARENT = "__parent__"  # Command.PARENT


def is_output(value: object) -> bool:
    """Is it made for the graph: a ToolMessage, a Command, or a list of them?"""
    return isinstance(value, ToolOutputMixin) or (
        isinstance(value, list) and bool(value) and all(isinstance(one, ToolOutputMixin) for one in value)
    )


def checked(value: Any, call: Call, key: str, *, listed: bool) -> list[Any]:
    """The messages and commands that a tool returned itself, with the tool's name on its answer.

    Raises:
        ValueError: among them is not exactly one answer to the call, so the history would be poisoned; or a command's update does not
            fit the input.
    """
    outputs, answers, elsewhere = [], 0, False
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, ToolMessage):
            made, found = _named([one], call)
            outputs += made
        else:
            command, found, leaves = _command(one, call, key, listed=listed)
            outputs.append(command)
            elsewhere = elsewhere or leaves
        answers += found
    if answers != 1 and not (answers == 0 and elsewhere):
        raise ValueError(
            f"{call.name}: it returned {answers} messages for the call {call.id!r}, not one; every call needs one ToolMessage "
            f"with its id, in a Command as update={{{key!r}: [ToolMessage(…, tool_call_id=…)]}}"
        )
    return outputs


def _named(messages: Sequence[BaseMessage], call: Call) -> tuple[list[BaseMessage], int]:
    made, found = [], 0
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id == call.id:
            found += 1
            message = message if message.name else message.model_copy(update={"name": call.name})
        made.append(message)
    return made, found


def _command(command: Any, call: Call, key: str, *, listed: bool) -> tuple[Any, int, bool]:
    """The command, its answers to the call, and whether none is wanted: it goes to another graph, or empties the history."""
    update = command.update
    if isinstance(update, Mapping) and not listed:
        wrap, messages = True, update.get(key) or []
    elif isinstance(update, list) and listed:
        wrap, messages = False, update
    elif isinstance(update, Mapping | list):
        wanted = "a list of messages" if listed else f"a mapping with {key!r}"
        raise ValueError(f"{call.name}: the update of its Command is {wanted}, as the input of the node is")
    else:
        return command, 0, command.graph is not None
    read = convert_to_messages(messages if isinstance(messages, list) else [messages])
    made, found = _named(read, call)
    emptied = any(isinstance(message, RemoveMessage) and message.id == _ALL for message in made)
    if messages:
        command = replace(command, update={**update, key: made} if wrap else made)
    return command, found, emptied or command.graph is not None


def combined(outputs: Sequence[Any], key: str, *, listed: bool) -> Any:
    """The update of the graph: one for all messages, or a list with each command in its place."""
    if all(isinstance(one, ToolMessage) for one in outputs):
        return list(outputs) if listed else {key: list(outputs)}
    updates: list[Any] = []
    parent: int | None = None
    for one in outputs:
        if isinstance(one, ToolMessage):
            updates.append([one] if listed else {key: [one]})
        elif one.graph != _PARENT or not isinstance(one.goto, list):
            updates.append(one)
        elif parent is None:
            parent = len(updates)
            updates.append(one)
        else:  # a graph takes one command from below
            updates[parent] = _joined(updates[parent], one)
    return updates


def _joined(first: Any, second: Any) -> Any:
    if second.update is None:
        return replace(first, goto=[*first.goto, *second.goto])
    if first.update is None:
        return replace(second, goto=[*first.goto, *second.goto])
    raise ValueError("two tools of one turn update the parent graph; let them send what they have with goto=[Send(…)]")
