# SPDX-License-Identifier: MIT
"""What the real servers refuse about a chat, as far as a client can get it wrong without noticing here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..request import Request

__all__ = ["anthropic_complaint", "ollama_complaint", "openai_complaint"]

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CLAUDE_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def _common(body: Any, roles: tuple[str, ...]) -> str | None:
    if not isinstance(body, Mapping):
        return "the body is not a JSON object"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "you must provide a model parameter"
    messages = body.get("messages")
    if not isinstance(messages, list):
        return "messages: a list is needed"
    for n, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in roles:
            return f"messages.{n}.role: one of {', '.join(roles)} is needed"
    return None


def _names(tools: Any, pattern: re.Pattern[str], key: str | None) -> str | None:
    for n, tool in enumerate(tools or []):
        name = (tool.get(key) or {}).get("name") if key else tool.get("name")
        if not isinstance(name, str) or not pattern.fullmatch(name):
            return f"tools.{n}.name: {name!r} does not match the pattern '^{pattern.pattern}$'"
    return None


def openai_complaint(request: Request) -> str | None:
    """Model, roles, names of tools, and that each tool call is answered by the messages right behind it."""
    if request.operation == "embeddings":
        body = request.body
        return None if isinstance(body, Mapping) and body.get("input") not in (None, "", []) else "input: it is empty"
    if request.operation != "chat":
        return None
    body = request.body
    if said := _common(body, ("developer", "system", "user", "assistant", "tool", "function")):
        return said
    if not body["messages"]:
        return "messages: at least one is needed"
    if body.get("tool_choice") is not None and not body.get("tools"):
        return "tool_choice is only allowed when tools are specified"
    if body.get("stream_options") is not None and not body.get("stream"):
        return "the 'stream_options' parameter is only allowed when 'stream' is enabled"
    if isinstance(body.get("stop"), list) and len(body["stop"]) > 4:
        return "stop: at most 4 are allowed"
    open_calls: set[str] = set()
    for n, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages.{n}: a message with role 'tool' must be a response to a preceding message with 'tool_calls'"
            open_calls.discard(message["tool_call_id"])
        elif open_calls:
            break
        for call in message.get("tool_calls") or []:
            open_calls.add(call["id"])
            if not isinstance(call["function"].get("arguments"), str):
                return f"messages.{n}.tool_calls: the arguments are a string"
    if open_calls:
        return (
            f"an assistant message with 'tool_calls' must be followed by tool messages; missing: {', '.join(sorted(open_calls))}"
        )
    return _names(body.get("tools"), TOOL_NAME, "function")


def _blocks(message: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, list):
        yield from (part for part in content if isinstance(part, Mapping) and part.get("type") == kind)


def anthropic_complaint(request: Request) -> str | None:
    """Version header, max_tokens, roles, empty texts, names of tools, and that each tool_use has its tool_result behind it."""
    if request.operation == "models":
        return None
    if "anthropic-version" not in request.headers:
        return "anthropic-version: header is required"
    body = request.body
    if said := _common(body, ("user", "assistant")):
        return said
    if not body["messages"]:
        return "messages: at least one message is required"
    if request.operation == "chat" and not (isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0):
        return "max_tokens: Field required"
    open_calls: set[str] = set()
    for n, message in enumerate(body["messages"]):
        if not message.get("content") and n < len(body["messages"]) - 1:
            return f"messages.{n}: all messages must have non-empty content except for the optional final assistant message"
        if any(not part.get("text") for part in _blocks(message, "text")):
            return f"messages.{n}: text content blocks must be non-empty"
        results = {str(part.get("tool_use_id")) for part in _blocks(message, "tool_result")}
        if lost := open_calls - results:
            return f"messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(sorted(lost))}"
        if lost := results - open_calls:
            return f"messages.{n}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(sorted(lost))}"
        open_calls = {str(part.get("id")) for part in _blocks(message, "tool_use")}
        if any(not isinstance(part.get("input"), Mapping) for part in _blocks(message, "tool_use")):
            return f"messages.{n}: tool_use.input: Input should be a valid dictionary"
    if open_calls:
        return f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(sorted(open_calls))}"
    last = body["messages"][-1]
    if last["role"] == "assistant" and isinstance(last.get("content"), str) and last["content"] != last["content"].rstrip():
        return "messages: final assistant content cannot end with trailing whitespace"
    return _names([tool for tool in body.get("tools") or [] if "input_schema" in tool], CLAUDE_TOOL_NAME, None)


def ollama_complaint(request: Request) -> str | None:
    """Model, roles, and that the arguments of tool calls are objects."""
    if request.operation != "chat":
        return None
    body = request.body
    if said := _common(body, ("system", "user", "assistant", "tool")):
        return said
    for message in body["messages"]:
        for call in message.get("tool_calls") or []:
            if not isinstance((call.get("function") or {}).get("arguments"), Mapping):
                return "Value looks like object, but can't find closing '}' symbol"
    return None
