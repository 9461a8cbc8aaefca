# SPDX-License-Identifier: MIT
"""What Google's servers refuse about a chat, as far as a client can get it wrong without noticing here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..request import Request

__all__ = ["gemini_complaint"]

TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
FIELDS = {
    "cachedContent",
    "contents",
    "generationConfig",
    "labels",
    "model",
    "safetySettings",
    "systemInstruction",
    "toolConfig",
    "tools",
}
MOST_STOPS = 5
UNSIGNED = re.compile(r"gemini-[12]\b.*|(?!gemini).*")


def gemini_complaint(request: Request) -> str | None:
    """Fields, roles, empty turns, names of tools, that calls have their results right behind them, and that calls are signed."""
    if request.operation == "models":
        return None
    body = request.body
    if not isinstance(body, Mapping):
        return "Invalid JSON payload received: it is no object"
    if unknown := sorted(body.keys() - FIELDS):
        return f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.'
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return "* GenerateContentRequest.contents: contents is not specified"
    settings = body.get("generationConfig") or {}
    if len(settings.get("stopSequences") or ()) > MOST_STOPS:
        return f"* GenerateContentRequest.generation_config.stop_sequences: at most {MOST_STOPS} are allowed"
    if settings.get("maxOutputTokens", 1) < 1:
        return "* GenerateContentRequest.generation_config.max_output_tokens: it must be positive"
    return _turns(contents, signed=not UNSIGNED.fullmatch(request.model)) or _names(body.get("tools") or [])


def _turns(contents: Sequence[Any], *, signed: bool) -> str | None:
    called: list[Any] = []
    before = ""
    for n, turn in enumerate(contents):
        role, parts = turn.get("role"), turn.get("parts")
        if role not in ("user", "model"):
            return "Please use a valid role: user, model."
        if not parts or any(part == {} for part in parts):
            return f"* GenerateContentRequest.contents[{n}].parts: contents.parts must not be empty."
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if len(results) != len(called):
            return (
                "Please ensure that the number of function response parts is equal to the number of function call parts"
                " of the function call turn."
            )
        for call, result in zip(called, results, strict=True):
            if call["name"] != result.get("name") or call.get("id") != result.get("id"):
                return f"* GenerateContentRequest.contents[{n}]: the function response is to no call before it"
            if not isinstance(result.get("response"), Mapping):
                return f"* GenerateContentRequest.contents[{n}].parts.function_response.response: Required."
        calls = [part for part in parts if "functionCall" in part]
        called = [part["functionCall"] for part in calls]
        if called and (role != "model" or before != "user"):
            return "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
        if any(not isinstance(call.get("args", {}), Mapping) for call in called):
            return f"* GenerateContentRequest.contents[{n}].parts.function_call.args: it must be an object"
        if calls and signed and not calls[0].get("thoughtSignature"):
            return "Function call is missing a thought_signature in functionCall parts."
        before = str(role)
    return "Please ensure that function calls are answered." if called else None


def _names(tools: Sequence[Any]) -> str | None:
    for tool in tools:
        for declared in tool.get("functionDeclarations") or ():
            if not TOOL_NAME.fullmatch(declared.get("name", "")):
                return (
                    f"* GenerateContentRequest.tools.function_declarations.name: Invalid function name {declared.get('name')!r}."
                    " Must start with a letter or an underscore, with a maximum length of 64."
                )
    return None
