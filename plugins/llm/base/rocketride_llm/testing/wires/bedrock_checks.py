# SPDX-License-Identifier: MIT
"""What Bedrock refuses about a chat, as far as a client can get it wrong without noticing here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..request import Request

__all__ = ["bedrock_complaint"]

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
USE_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
FIELDS = {
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "inferenceConfig",
    "messages",
    "outputConfig",
    "performanceConfig",
    "projectIdentifier",
    "promptVariables",
    "requestMetadata",
    "serviceTier",
    "system",
    "toolConfig",
}


def bedrock_complaint(request: Request) -> str | None:
    """Fields, roles in turn, empty texts, names and ids of tools, and that each call has its result in the turn behind it."""
    if request.operation != "chat":
        return None
    body = request.body
    if not isinstance(body, Mapping):
        return "The request body is no JSON object."
    if unknown := sorted(body.keys() - FIELDS):
        return (
            f"Malformed input request: extraneous key [{unknown[0]}] is not permitted, please reformat your input and try again."
        )
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "A conversation must start with a user message. Try again with a conversation that starts with a user message."
    if (body.get("inferenceConfig") or {}).get("maxTokens", 1) < 1:
        return (
            "Value at 'inferenceConfig.maxTokens' failed to satisfy constraint: Member must have value greater than or equal to 1"
        )
    if any(not part.get("text", "-").strip() for part in body.get("system") or ()):
        return "The text field in the ContentBlock object at system.0 is blank. Add text to the text field, and try again."
    tools = (body.get("toolConfig") or {}).get("tools")
    if tools is not None and not tools:
        return "Value at 'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1"
    return _turns(messages, offered=bool(tools)) or _names(tools or ())


def _turns(messages: Sequence[Any], *, offered: bool) -> str | None:
    called: list[str] = []
    before = "assistant"
    for n, message in enumerate(messages):
        role, blocks = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            return f"Value at 'messages.{n}.member.role' failed to satisfy constraint: one of user, assistant"
        if role == before:
            if n == 0:
                return "A conversation must start with a user message. Try again with a conversation that starts with a user message."
            return "A conversation must alternate between user and assistant roles."
        before = role
        if not blocks:
            return f"The content field in the Message object at messages.{n} is empty. Add a ContentBlock object, and try again."
        if any(not block.get("text", "-").strip() for block in blocks):
            return f"The text field in the ContentBlock object at messages.{n}.content is blank. Add text to it, and try again."
        results = [block["toolResult"].get("toolUseId") for block in blocks if "toolResult" in block]
        if sorted(results) != sorted(called):
            return f"Expected toolResult blocks at messages.{n}.content for the following Ids: {', '.join(called)}"
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        called = [str(use.get("toolUseId")) for use in uses]
        if (uses or results) and not offered:
            return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        for use in uses:
            if not USE_ID.fullmatch(str(use.get("toolUseId"))) or not TOOL_NAME.fullmatch(str(use.get("name"))):
                return f"Value at 'messages.{n}.member.content.toolUse' failed to satisfy constraint: regular expression pattern"
            if not isinstance(use.get("input"), Mapping):
                return f"The format of the value at messages.{n}.content.toolUse.input is invalid. Provide a json object."
    return "Expected toolResult blocks for the last turn." if called else None


def _names(tools: Sequence[Any]) -> str | None:
    for tool in tools:
        spec = tool.get("toolSpec") or {}
        if not TOOL_NAME.fullmatch(str(spec.get("name"))):
            return f"Value {spec.get('name')!r} at 'toolConfig.tools.toolSpec.name' failed to satisfy constraint: {TOOL_NAME.pattern}"
        if spec.get("description") == "":
            return "Value at 'toolConfig.tools.toolSpec.description' failed to satisfy constraint: length of at least 1"
        if (spec.get("inputSchema") or {}).get("json", {}).get("type") != "object":
            return "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object."
    return None
