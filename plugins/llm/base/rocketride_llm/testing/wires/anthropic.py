# SPDX-License-Identifier: MIT
"""Anthropic's messages, token counts and models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..request import Reply, Request
from ..steps import Fail, Usage
from . import Answer, Piece, bearer, body_of, event, read_messages

__all__ = ["AnthropicWire"]

PATHS = {("POST", "/v1/messages"): "chat", ("POST", "/v1/messages/count_tokens"): "count_tokens"}
FINISHES = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "tool_calls": "tool_use",
}
SIGNATURE = "c2lnbmVkIGJ5IGEgc2NyaXB0"

# kind: status, type, message.
ERRORS: dict[str, tuple[int, str, str]] = {
    "bad_key": (401, "authentication_error", "invalid x-api-key"),
    "permission": (403, "permission_error", "Your API key does not have permission to use the specified resource."),
    "rate_limit": (429, "rate_limit_error", "This request would exceed your organization's rate limit. Please try again later."),
    "quota": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    "model_not_found": (404, "not_found_error", "model: {model}"),
    "context_too_long": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "content_refused": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "no_tool_support": (400, "invalid_request_error", "tools: this model does not support tool use"),
    "bad_request": (400, "invalid_request_error", "The request is not valid."),
    "server_error": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}


def usage_json(usage: Usage | None, output: int | None = None) -> dict[str, Any]:
    """Here the tokens read from the cache are no part of the input tokens."""
    usage = usage or Usage()
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output if output is None else output,
    }


class AnthropicWire:
    """See `Wire`."""

    name: ClassVar[str] = "anthropic"
    base_path: ClassVar[str] = ""
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        if method == "GET" and path.startswith("/v1/models") and "anthropic-version" in headers:
            return "models"
        return PATHS.get((method, path))

    def key(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("x-api-key") or bearer(headers)

    def read(self, request: Request) -> None:
        body = body_of(request)
        request.model = str(body.get("model", ""))
        request.stream = body.get("stream") is True
        request.stops = tuple(body.get("stop_sequences") or ())
        read_messages(request, body.get("messages"), body.get("system"))
        if request.operation == "models":
            request.model = request.path.removeprefix("/v1/models").strip("/")

    def complaint(self, request: Request) -> str | None:
        from .checks import anthropic_complaint

        return anthropic_complaint(request)

    def whole(self, request: Request, reply: Reply) -> Any:
        blocks: list[dict[str, Any]] = []
        if reply.thought:
            blocks.append({"type": "thinking", "thinking": reply.thought, "signature": SIGNATURE})
        if reply.text:
            blocks.append({"type": "text", "text": reply.text, "citations": None})
        blocks += [{**self._tool(request, call.index, call.name), "input": call.value} for call in reply.calls]
        return {**self._head(request), "content": blocks, **self._end(reply), "usage": usage_json(reply.usage)}

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        def send(kind: str, *, counted: bool = False, **values: Any) -> Piece:
            return Piece(event({"type": kind, **values}, kind), counted)

        def block(index: int, start: dict[str, Any], deltas: list[dict[str, Any]], uncounted: int = 0) -> Iterator[Piece]:
            yield send("content_block_start", index=index, content_block=start)
            for n, delta in enumerate(deltas):
                yield send("content_block_delta", counted=n < len(deltas) - uncounted, index=index, delta=delta)
            yield send("content_block_stop", index=index)

        start: dict[str, Any] = {
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_json(reply.usage, output=1),
        }
        yield send("message_start", message={**self._head(request), **start})
        yield send("ping")
        index = 0
        if reply.thought:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in reply.thought_pieces]
            deltas.append({"type": "signature_delta", "signature": SIGNATURE})
            yield from block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas, uncounted=1)
            index += 1
        if reply.text:
            yield from block(
                index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in reply.pieces]
            )
            index += 1
        for call in reply.calls:
            parts = ["", *re.findall(r".{1,12}", call.arguments, re.DOTALL)]
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            yield from block(index, {**self._tool(request, call.index, call.name), "input": {}}, deltas)
            index += 1
        yield send("message_delta", delta=self._end(reply), usage=usage_json(reply.usage))
        yield send("message_stop")

    def failure(self, request: Request, fail: Fail) -> Answer:
        status, kind, message = ERRORS[fail.sort]
        number = f"req_{request.number:024d}"
        error = {"type": fail.code or kind, "message": fail.message or message.format(model=request.model)}
        return Answer(fail.status or status, {"type": "error", "error": error, "request_id": number}, {"request-id": number})

    def broken(self, text: str) -> bytes:
        return event(text, "content_block_delta")

    def midway(self, request: Request, fail: Fail) -> bytes:
        return event(fail.body if fail.body is not None else self.failure(request, fail).body, "error")

    def other(self, request: Request) -> Answer:
        if request.operation == "count_tokens":
            return Answer(200, {"input_tokens": -(-len(request.prompt) // 4)})
        name = request.model or "scripted"
        model = {"type": "model", "id": name, "display_name": name, "created_at": "2024-01-01T00:00:00Z"}
        if request.model:
            return Answer(200, model)
        return Answer(200, {"data": [model], "has_more": False, "first_id": name, "last_id": name})

    @staticmethod
    def _head(request: Request) -> dict[str, Any]:
        return {"id": f"msg_{request.number:024d}", "type": "message", "role": "assistant", "model": request.model}

    @staticmethod
    def _tool(request: Request, index: int, name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"toolu_{request.number:06d}{index:018d}", "name": name}

    @staticmethod
    def _end(reply: Reply) -> dict[str, Any]:
        reason = "stop_sequence" if reply.stop_word else FINISHES[reply.finish]
        return {"stop_reason": reason, "stop_sequence": reply.stop_word}
