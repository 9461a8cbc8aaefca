# SPDX-License-Identifier: MIT
"""Ollama's own API. Its OpenAI-compatible one at /v1 is answered by the wire of that name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..request import Reply, Request
from ..steps import Fail
from . import Answer, Piece, bearer, body_of, read_messages
from .openai import hash_vector

__all__ = ["OllamaWire"]

PATHS = {
    ("POST", "/api/chat"): "chat",
    ("POST", "/api/embed"): "embeddings",
    ("POST", "/api/show"): "show",
    ("GET", "/api/tags"): "tags",
    ("GET", "/api/version"): "version",
    ("GET", "/"): "alive",
    ("HEAD", "/"): "alive",
}
CREATED = "2024-01-01T00:00:00.000000Z"
DIMENSIONS = 768

# kind: status, message.
ERRORS: dict[str, tuple[int, str]] = {
    "bad_key": (401, "unauthorized"),
    "permission": (403, "this model requires a subscription, upgrade for access: https://ollama.com/upgrade"),
    "rate_limit": (429, "too many concurrent requests"),
    "quota": (429, "you've reached your usage limit, please upgrade to continue"),
    "model_not_found": (404, "model '{model}' not found"),
    "context_too_long": (400, "the input length exceeds the context length"),
    "content_refused": (400, "the prompt was refused"),
    "no_tool_support": (400, "registry.ollama.ai/library/{model} does not support tools"),
    "bad_request": (400, "invalid request"),
    "server_error": (500, "llama runner process has terminated: exit status 2"),
    "overloaded": (503, "server busy, please try again.  maximum pending requests exceeded"),
}


def line(data: Any) -> bytes:
    return f"{json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n".encode()


class OllamaWire:
    """See `Wire`."""

    name: ClassVar[str] = "ollama"
    base_path: ClassVar[str] = ""
    stream_type: ClassVar[str] = "application/x-ndjson"

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        return PATHS.get((method, path))

    def key(self, headers: Mapping[str, str]) -> str | None:
        return bearer(headers)

    def read(self, request: Request) -> None:
        body = body_of(request)
        options = body.get("options") or {}
        request.model = str(body.get("model", ""))
        request.stream = request.operation == "chat" and body.get("stream") is not False
        stop = options.get("stop") or ()
        request.stops = (stop,) if isinstance(stop, str) else tuple(stop)
        read_messages(request, body.get("messages"))
        if request.operation == "embeddings":
            given = body.get("input")
            request.prompt = "\n".join(given) if isinstance(given, list) else str(given)

    def complaint(self, request: Request) -> str | None:
        from .checks import ollama_complaint

        return ollama_complaint(request)

    def whole(self, request: Request, reply: Reply) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.thought:
            message["thinking"] = reply.thought
        if reply.calls:
            message["tool_calls"] = self._calls(request, reply)
        return {**self._head(request), "message": message, **self._end(reply)}

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        def part(*, counted: bool = True, **message: Any) -> Piece:
            data = {**self._head(request), "message": {"role": "assistant", "content": "", **message}, "done": False}
            return Piece(line(data), counted)

        for piece in reply.thought_pieces:
            yield part(thinking=piece)
        for piece in reply.pieces:
            yield part(content=piece)
        for call in self._calls(request, reply):
            yield part(tool_calls=[call])
        yield Piece(line({**self._head(request), "message": {"role": "assistant", "content": ""}, **self._end(reply)}))

    def failure(self, request: Request, fail: Fail) -> Answer:
        status, message = ERRORS[fail.sort]
        return Answer(fail.status or status, {"error": fail.message or message.format(model=request.model)})

    def broken(self, text: str) -> bytes:
        return f"{text}\n".encode()

    def midway(self, request: Request, fail: Fail) -> bytes:
        return line(fail.body if fail.body is not None else self.failure(request, fail).body)

    def other(self, request: Request) -> Answer:
        details = {"parent_model": "", "format": "gguf", "family": "scripted", "families": ["scripted"]}
        details |= {"parameter_size": "1B", "quantization_level": "Q4_K_M"}
        match request.operation:
            case "alive":
                return Answer(200, "Ollama is running", content_type="text/plain; charset=utf-8")
            case "version":
                return Answer(200, {"version": "0.13.5"})
            case "tags":
                model = {"name": "scripted:latest", "model": "scripted:latest", "modified_at": CREATED, "size": 1}
                return Answer(200, {"models": [{**model, "digest": "0" * 64, "details": details}]})
            case "show":
                info = {
                    "general.architecture": "scripted",
                    "scripted.context_length": 8192,
                    "scripted.embedding_length": DIMENSIONS,
                }
                abilities = ["completion", "tools", "thinking"]
                about = {"license": "", "modelfile": "", "parameters": "", "template": "", "modified_at": CREATED}
                return Answer(200, {**about, "details": details, "model_info": info, "capabilities": abilities})
        body = body_of(request)
        given = body.get("input")
        texts = given if isinstance(given, list) else [given]
        vectors = [hash_vector(str(text), body.get("dimensions") or DIMENSIONS) for text in texts]
        counts = {"total_duration": 1_000_000, "load_duration": 1_000, "prompt_eval_count": -(-len(request.prompt) // 4)}
        return Answer(200, {"model": request.model, "embeddings": vectors, **counts})

    @staticmethod
    def _head(request: Request) -> dict[str, Any]:
        return {"model": request.model, "created_at": CREATED}

    @staticmethod
    def _calls(request: Request, reply: Reply) -> list[dict[str, Any]]:
        return [
            {
                "id": f"call_{request.number:06d}{call.index:02d}",
                "function": {"index": call.index, "name": call.name, "arguments": call.value},
            }
            for call in reply.calls
        ]

    @staticmethod
    def _end(reply: Reply) -> dict[str, Any]:
        end: dict[str, Any] = {"done": True, "done_reason": "length" if reply.finish == "length" else "stop"}
        end |= {"total_duration": 2_000_000, "load_duration": 1_000}
        if reply.usage is not None:
            end |= {"prompt_eval_count": reply.usage.input, "prompt_eval_duration": 500_000}
            end |= {"eval_count": reply.usage.output, "eval_duration": 500_000}
        return end
