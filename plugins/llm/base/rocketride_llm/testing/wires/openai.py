# SPDX-License-Identifier: MIT
"""OpenAI's chat completions, embeddings and models; also what compatible servers speak, Ollama's /v1 among them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..request import Reply, Request
from ..steps import Fail, Usage
from . import Answer, Piece, bearer, body_of, event, read_messages

__all__ = ["OpenAIWire", "hash_vector"]

PATHS = {("POST", "/v1/chat/completions"): "chat", ("POST", "/v1/embeddings"): "embeddings", ("GET", "/v1/models"): "models"}
DIMENSIONS = 1536
CREATED = 1_700_000_000

# kind: status, type, param, code, message.
ERRORS: dict[str, tuple[int, str | None, str | None, str | None, str]] = {
    "bad_key": (
        401,
        "invalid_request_error",
        None,
        "invalid_api_key",
        "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
    ),
    "permission": (403, "invalid_request_error", None, "missing_scope", "You have insufficient permissions for this operation."),
    "rate_limit": (429, "requests", None, "rate_limit_exceeded", "Rate limit reached for {model} on requests per min (RPM)."),
    "quota": (
        429,
        "insufficient_quota",
        None,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "model_not_found": (
        404,
        "invalid_request_error",
        None,
        "model_not_found",
        "The model `{model}` does not exist or you do not have access to it.",
    ),
    "context_too_long": (
        400,
        "invalid_request_error",
        "messages",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce them.",
    ),
    "content_refused": (
        400,
        "invalid_request_error",
        None,
        "content_policy_violation",
        "Your request was rejected as a result of our safety system.",
    ),
    "no_tool_support": (
        400,
        "invalid_request_error",
        "tools",
        "unsupported_parameter",
        "Unsupported parameter: 'tools' is not supported with this model.",
    ),
    "bad_request": (400, "invalid_request_error", None, None, "The request is not valid."),
    "server_error": (500, "server_error", None, None, "The server had an error while processing your request. Sorry about that!"),
    "overloaded": (503, "server_error", None, None, "The engine is currently overloaded, please try again later."),
}


def hash_vector(text: str, dimensions: int) -> list[float]:
    """A vector of length 1 from a hash of each word, the same everywhere: texts with common words are similar."""
    sums = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [""]:
        raw = hashlib.shake_128(word.encode()).digest(2 * dimensions)
        for n, value in enumerate(struct.unpack(f"<{dimensions}H", raw)):
            sums[n] += value / 32768 - 1
    length = sum(x * x for x in sums) ** 0.5 or 1.0
    return [x / length for x in sums]


def usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def call_id(request: Request, index: int) -> str:
    return f"call_{request.number:06d}{index:018d}"


class OpenAIWire:
    """See `Wire`."""

    name: ClassVar[str] = "openai"
    base_path: ClassVar[str] = "/v1"
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        return "models" if method == "GET" and path.startswith("/v1/models/") else PATHS.get((method, path))

    def key(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("api-key") or bearer(headers)

    def read(self, request: Request) -> None:
        body = body_of(request)
        stop = body.get("stop") or ()
        request.model = str(body.get("model", ""))
        request.stream = body.get("stream") is True
        request.stops = (stop,) if isinstance(stop, str) else tuple(stop)
        read_messages(request, body.get("messages"))
        if request.operation == "embeddings":
            given = body.get("input")
            request.prompt = "\n".join(map(str, given)) if isinstance(given, list) else str(given)
        if request.operation == "models":
            request.model = request.path.removeprefix("/v1/models").strip("/")

    def complaint(self, request: Request) -> str | None:
        from .checks import openai_complaint

        return openai_complaint(request)

    def whole(self, request: Request, reply: Reply) -> Any:
        refused = reply.finish == "refusal"
        message: dict[str, Any] = {
            "role": "assistant",
            "content": None if refused or (reply.calls and not reply.text) else reply.text,
        }
        message |= {"refusal": reply.text if refused else None, "annotations": []}
        if reply.thought:
            message[reply.thought_key] = reply.thought
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": call_id(request, call.index),
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.calls
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish(reply)}
        body = {**self._head(request, "chat.completion"), "choices": [choice]}
        return body if reply.usage is None else {**body, "usage": usage_json(reply.usage)}

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        head = self._head(request, "chat.completion.chunk")
        options = body_of(request).get("stream_options") or {}
        with_usage = bool(options.get("include_usage")) and reply.usage is not None
        if with_usage:
            head["usage"] = None

        for delta, finish, counted in self.deltas(request, reply):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            yield Piece(event({**head, "choices": [choice]}), counted)
        if with_usage and reply.usage is not None:
            yield Piece(event({**head, "choices": [], "usage": usage_json(reply.usage)}))
        yield Piece(event("[DONE]"))

    def deltas(self, request: Request, reply: Reply) -> Iterator[tuple[dict[str, Any], str | None, bool]]:
        """What is new in each chunk of a stream, why the reply ends there, and whether it is counted content."""
        yield {"role": "assistant", "content": "" if not reply.calls else None, "refusal": None}, None, False
        for piece in reply.thought_pieces:
            yield {reply.thought_key: piece}, None, True
        place = "refusal" if reply.finish == "refusal" else "content"
        for piece in reply.pieces:
            yield {place: piece}, None, True
        for call in reply.calls:
            first = {"index": call.index, "id": call_id(request, call.index), "type": "function"}
            yield {"tool_calls": [{**first, "function": {"name": call.name, "arguments": ""}}]}, None, True
            for part in re.findall(r".{1,12}", call.arguments, re.DOTALL):
                yield {"tool_calls": [{"index": call.index, "function": {"arguments": part}}]}, None, True
        yield {}, self._finish(reply), False

    def failure(self, request: Request, fail: Fail) -> Answer:
        status, kind, param, code, message = ERRORS[fail.sort]
        text = fail.message or message.format(model=request.model)
        if fail.code == "content_filter" and fail.message is None:
            param, text = "prompt", "The response was filtered due to the prompt triggering the content management policy."
        body = {"message": text, "type": kind, "param": param, "code": fail.code or code}
        return Answer(fail.status or status, {"error": body}, {"x-request-id": f"req_{request.number:032x}"})

    def broken(self, text: str) -> bytes:
        return event(text)

    def midway(self, request: Request, fail: Fail) -> bytes:
        return event(fail.body if fail.body is not None else self.failure(request, fail).body)

    def other(self, request: Request) -> Answer:
        body = body_of(request)
        if request.operation == "models":
            names = [request.model] if request.model else ["scripted"]
            models = [{"id": name, "object": "model", "created": CREATED, "owned_by": "script"} for name in names]
            return Answer(200, models[0] if request.model else {"object": "list", "data": models})
        given = body.get("input")
        texts = given if isinstance(given, list) and not all(isinstance(x, int) for x in given) else [given]
        size = body.get("dimensions") or DIMENSIONS
        data = []
        for index, text in enumerate(texts):
            vector: Any = hash_vector(text if isinstance(text, str) else json.dumps(text), size)
            if body.get("encoding_format") == "base64":
                vector = base64.b64encode(struct.pack(f"<{size}f", *vector)).decode()
            data.append({"object": "embedding", "index": index, "embedding": vector})
        tokens = -(-len(request.prompt) // 4)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Answer(200, {"object": "list", "data": data, "model": request.model, "usage": usage})

    @staticmethod
    def _head(request: Request, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{request.number:06d}", "object": kind, "created": CREATED, "model": request.model}

    @staticmethod
    def _finish(reply: Reply) -> str:
        return "stop" if reply.finish == "refusal" else reply.finish
