# SPDX-License-Identifier: MIT
"""Mistral's chat completions and models: close to OpenAI's, on the same paths, and told apart by the client's name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..request import Call, Reply, Request
from ..steps import Fail
from . import Answer, Piece, event
from .openai import CREATED, PATHS, OpenAIWire

__all__ = ["MistralWire"]

CLIENT = "mistral-client-"
FINISHES = {"content_filter": "stop", "refusal": "stop"}

# kind: status, type, code, message.
ERRORS: dict[str, tuple[int, str, str | None, str]] = {
    "permission": (403, "forbidden", None, "You do not have access to this model."),
    "rate_limit": (429, "rate_limited", "1300", "Rate limit exceeded"),
    "quota": (402, "payment_required", None, "You have no active subscription or no credit left."),
    "model_not_found": (400, "invalid_model", "1500", "Invalid model: {model}"),
    "context_too_long": (
        400,
        "invalid_request_prompt",
        "3051",
        "Prompt contains 9000 tokens and 0 draft tokens, too large for model with 8192 maximum context length",
    ),
    "content_refused": (403, "guardrail", None, "The request was blocked by a guardrail."),
    "no_tool_support": (400, "invalid_request_error", None, "Function calling is not enabled for this model"),
    "bad_request": (400, "invalid_request_error", None, "The request is not valid."),
    "server_error": (500, "internal_server_error", "3700", "Service unavailable."),
    "overloaded": (503, "unreachable_backend", "1100", "Internal server error"),
}


def usage_json(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    assert usage is not None
    cached = {"num_cached_tokens": usage.cached, "prompt_tokens_details": {"cached_tokens": usage.cached}}
    counts = {"prompt_tokens": usage.input, "total_tokens": usage.input + usage.output, "completion_tokens": usage.output}
    return {**counts, **(cached if usage.cached else {})}


def call_json(request: Request, call: Call) -> dict[str, Any]:
    """Complete, in streams too; an id has nine letters and digits."""
    id = f"{request.number:05d}{call.index:04d}"[-9:]
    return {"id": id, "function": {"name": call.name, "arguments": call.arguments}, "index": call.index}


def thinking(text: str) -> list[dict[str, Any]]:
    return [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]


class MistralWire(OpenAIWire):
    """See `Wire`. Mistral's models refuse in words, without a sign of it: a `refusal` is an ordinary answer here."""

    name: ClassVar[str] = "mistral"
    base_path: ClassVar[str] = ""

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        if not headers.get("user-agent", "").startswith(CLIENT):
            return None
        return "models" if method == "GET" and path.startswith("/v1/models/") else PATHS.get((method, path))

    def complaint(self, request: Request) -> str | None:
        from .mistral_checks import mistral_complaint

        return mistral_complaint(request)

    def whole(self, request: Request, reply: Reply) -> Any:
        said: Any = reply.text
        if reply.thought:
            said = [*thinking(reply.thought), *([{"type": "text", "text": reply.text}] if reply.text else [])]
        calls = [call_json(request, call) for call in reply.calls] or None
        message = {"role": "assistant", "tool_calls": calls, "content": said}
        choices = [{"index": 0, "message": message, "finish_reason": FINISHES.get(reply.finish, reply.finish)}]
        body = {**self._head(request, "chat.completion"), "choices": choices}
        return body if reply.usage is None else {**body, "usage": usage_json(reply)}

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        head = self._head(request, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None, *, counted: bool = True) -> Piece:
            body = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            if finish is not None and reply.usage is not None:
                body["usage"] = usage_json(reply)
            return Piece(event(body), counted)

        yield chunk({"role": "assistant", "content": ""}, counted=False)
        for piece in reply.thought_pieces:
            yield chunk({"content": thinking(piece)})
        for piece in reply.pieces:
            yield chunk({"content": piece})
        last: dict[str, Any] = {"content": ""}
        if reply.calls:
            last["tool_calls"] = [call_json(request, call) for call in reply.calls]
        yield chunk(last, FINISHES.get(reply.finish, reply.finish), counted=bool(reply.calls))
        yield Piece(event("[DONE]"))

    def failure(self, request: Request, fail: Fail) -> Answer:
        headers = {"mistral-correlation-id": f"{request.number:032x}"}
        if fail.sort == "bad_key":
            return Answer(fail.status or 401, {"detail": fail.message or "Unauthorized"}, headers)
        status, kind, code, message = ERRORS[fail.sort]
        status, text = fail.status or status, fail.message or message.format(model=request.model)
        if request.operation == "models" and fail.sort == "model_not_found":
            status = 404
        if status == 422:  # as the web framework below says it
            return Answer(status, {"detail": [{"type": kind, "loc": ["body"], "msg": text, "input": None}]}, headers)
        body = {"object": "error", "message": text, "type": fail.code or kind, "param": None, "code": code}
        return Answer(status, {**body, "raw_status_code": status}, headers)

    def other(self, request: Request) -> Answer:
        if request.operation == "models" and request.model:
            capabilities = {"completion_chat": True, "function_calling": True, "vision": False}
            card = {"id": request.model, "object": "model", "created": CREATED, "owned_by": "mistralai", "type": "base"}
            return Answer(200, {**card, "capabilities": capabilities, "max_context_length": 32768, "aliases": []})
        return super().other(request)

    @staticmethod
    def _head(request: Request, kind: str) -> dict[str, Any]:
        return {"id": f"{request.number:032x}", "object": kind, "created": CREATED, "model": request.model}
