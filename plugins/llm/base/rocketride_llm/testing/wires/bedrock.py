# SPDX-License-Identifier: MIT
"""Amazon Bedrock's Converse, whole and as a stream of binary frames, token counts and the list of models."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import unquote

from ..request import Reply, Request
from ..steps import Fail, Usage
from . import Answer, Piece, bearer, body_of, read_messages

__all__ = ["BedrockWire", "frame", "unframed"]

PATH = re.compile(r"/(?:model/(?P<model>[^/]+)/(?P<method>converse|converse-stream|count-tokens)|foundation-models)")
CREDENTIAL = re.compile(r"AWS4-HMAC-SHA256 .*?\bCredential=([^/,\s]+)/")
TEXT = 7  # the type of a header whose value is a text
FINISHES = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "guardrail_intervened",
    "refusal": "content_filtered",
    "tool_calls": "tool_use",
}
SIGNATURE = "c2lnbmVkIGJ5IGEgc2NyaXB0"

# kind: status, type, message.
ERRORS: dict[str, tuple[int, str, str]] = {
    "bad_key": (403, "UnrecognizedClientException", "The security token included in the request is invalid."),
    "permission": (
        403,
        "AccessDeniedException",
        "User: arn:aws:iam::123456789012:user/script is not authorized to perform: bedrock:InvokeModel",
    ),
    "rate_limit": (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    "quota": (429, "ThrottlingException", "Too many tokens per day, please wait before trying again."),
    "model_not_found": (400, "ValidationException", "The provided model identifier is invalid."),
    "context_too_long": (400, "ValidationException", "Input is too long for requested model."),
    "content_refused": (
        400,
        "ValidationException",
        "The model returned the following errors: Output blocked by content filtering policy",
    ),
    "no_tool_support": (400, "ValidationException", "This model doesn't support tool use."),
    "bad_request": (400, "ValidationException", "The request is not valid."),
    "server_error": (500, "InternalServerException", "The system encountered an unexpected error during processing. Try again."),
    "overloaded": (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
}
BAD_BEARER = (403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.")
IN_STREAMS = {
    "InternalServerException",
    "ModelStreamErrorException",
    "ServiceUnavailableException",
    "ThrottlingException",
    "ValidationException",
}


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of AWS's event stream: lengths, their checksum, headers, payload, and the checksum of it all."""
    head = b"".join(
        bytes([len(name)]) + name.encode() + struct.pack(">BH", TEXT, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack(">I", zlib.crc32(message))


def unframed(message: bytes) -> tuple[dict[str, str], bytes]:
    """The headers and the payload of what `frame` made."""
    (length,) = struct.unpack_from(">I", message, 4)
    headers, at = {}, 12
    while at < 12 + length:
        name = message[at + 1 : at + 1 + message[at]].decode()
        at += 1 + len(name.encode())
        (size,) = struct.unpack_from(">H", message, at + 1)
        headers[name] = message[at + 3 : at + 3 + size].decode()
        at += 3 + size
    return headers, message[at:-4]


def event(kind: str, body: Any) -> bytes:
    """An event with a JSON value, or with a text as it is."""
    data = body if isinstance(body, str) else json.dumps({**body, "p": "abcdefgh"}, ensure_ascii=False, separators=(",", ":"))
    return frame({":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, data.encode())


def usage_json(usage: Usage | None) -> dict[str, Any]:
    """Here the tokens read from the cache are no part of the input tokens."""
    if usage is None:
        return {}
    counts = {"inputTokens": usage.input - usage.cached, "outputTokens": usage.output, "totalTokens": usage.input + usage.output}
    cache = {"cacheReadInputTokens": usage.cached, "cacheWriteInputTokens": 0}
    return {"usage": {**counts, **cache}}


class BedrockWire:
    """See `Wire`. Signatures are not checked, as the script has no secret to check them with."""

    name: ClassVar[str] = "bedrock"
    base_path: ClassVar[str] = ""
    stream_type: ClassVar[str] = "application/vnd.amazon.eventstream"

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        found = PATH.fullmatch(path)
        if found is None or method != ("POST" if found["model"] else "GET"):
            return None
        return {"count-tokens": "count_tokens", None: "models"}.get(found["method"], "chat")

    def key(self, headers: Mapping[str, str]) -> str | None:
        """The API key, or the id of the access key."""
        found = CREDENTIAL.match(headers.get("authorization", ""))
        return found[1] if found else bearer(headers)

    def read(self, request: Request) -> None:
        body, found = body_of(request), PATH.fullmatch(request.path)
        request.model = unquote((found["model"] if found else None) or "")
        request.stream = request.path.endswith("/converse-stream")
        if request.operation == "count_tokens":
            body = (body.get("input") or {}).get("converse") or {}
        request.stops = tuple((body.get("inferenceConfig") or {}).get("stopSequences") or ())
        read_messages(request, [_turn(turn) for turn in body.get("messages") or []], body.get("system"))

    def complaint(self, request: Request) -> str | None:
        from .bedrock_checks import bedrock_complaint

        return bedrock_complaint(request)

    def whole(self, request: Request, reply: Reply) -> Any:
        blocks: list[dict[str, Any]] = []
        if reply.thought:
            blocks.append({"reasoningContent": {"reasoningText": {"text": reply.thought, "signature": SIGNATURE}}})
        blocks += [{"text": reply.text}] if reply.text else []
        blocks += [{"toolUse": {**self._use(request, call.index, call.name), "input": call.value}} for call in reply.calls]
        end = {"stopReason": self._reason(reply), **usage_json(reply.usage), "metrics": {"latencyMs": 1}}
        return {"output": {"message": {"role": "assistant", "content": blocks}}, **end}

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        def delta(index: int, part: dict[str, Any], *, counted: bool = True) -> Piece:
            return Piece(event("contentBlockDelta", {"contentBlockIndex": index, "delta": part}), counted)

        def stop(index: int) -> Piece:
            return Piece(event("contentBlockStop", {"contentBlockIndex": index}))

        index = 0
        yield Piece(event("messageStart", {"role": "assistant"}))
        if reply.thought:
            for piece in reply.thought_pieces:
                yield delta(index, {"reasoningContent": {"text": piece}})
            yield delta(index, {"reasoningContent": {"signature": SIGNATURE}}, counted=False)
            yield stop(index)
            index += 1
        if reply.text:
            for piece in reply.pieces:
                yield delta(index, {"text": piece})
            yield stop(index)
            index += 1
        for call in reply.calls:
            start = {"toolUse": self._use(request, call.index, call.name)}
            yield Piece(event("contentBlockStart", {"contentBlockIndex": index, "start": start}))
            for part in ["", *re.findall(r".{1,12}", call.arguments, re.DOTALL)]:
                yield delta(index, {"toolUse": {"input": part}})
            yield stop(index)
            index += 1
        yield Piece(event("messageStop", {"stopReason": self._reason(reply)}))
        yield Piece(event("metadata", {**usage_json(reply.usage), "metrics": {"latencyMs": 1}}))

    def failure(self, request: Request, fail: Fail) -> Answer:
        status, kind, message = ERRORS[fail.sort]
        if fail.sort == "bad_key" and bearer(request.headers) is not None:
            status, kind, message = BAD_BEARER
        headers = {"x-amzn-errortype": f"{fail.code or kind}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
        headers["x-amzn-requestid"] = f"{request.number:08x}-0000-4000-8000-000000000000"
        return Answer(fail.status or status, {"message": fail.message or message}, headers)

    def broken(self, text: str) -> bytes:
        return event("contentBlockDelta", text)

    def midway(self, request: Request, fail: Fail) -> bytes:
        kind = fail.code or ERRORS[fail.sort][1]
        kind = kind if kind in IN_STREAMS else "ValidationException"
        body = fail.body if fail.body is not None else self.failure(request, fail).body
        headers = {":exception-type": f"{kind[0].lower()}{kind[1:]}", ":content-type": "application/json"}
        text = body if isinstance(body, str) else json.dumps(body)
        return frame({**headers, ":message-type": "exception"}, text.encode())

    def other(self, request: Request) -> Answer:
        if request.operation == "count_tokens":
            return Answer(200, {"inputTokens": -(-len(request.prompt) // 4)})
        about = {"modelId": "scripted", "modelName": "Scripted", "providerName": "Script", "responseStreamingSupported": True}
        return Answer(200, {"modelSummaries": [{**about, "inputModalities": ["TEXT"], "outputModalities": ["TEXT"]}]})

    @staticmethod
    def rewritten(data: bytes, change: Callable[[str], str]) -> bytes:
        """A frame with another payload, its lengths and checksums made to fit."""
        headers, payload = unframed(data)
        return frame(headers, change(payload.decode()).encode())

    @staticmethod
    def _use(request: Request, index: int, name: str) -> dict[str, Any]:
        return {"toolUseId": f"tooluse_{request.number:06d}{index:016d}", "name": name}

    @staticmethod
    def _reason(reply: Reply) -> str:
        return "stop_sequence" if reply.stop_word else FINISHES[reply.finish]


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn as the other wires' messages; one of results alone is the tools'."""
    texts, role = [], turn.get("role", "user")
    blocks = turn.get("content") or []
    for block in blocks:
        inner = (block.get("toolResult") or {}).get("content") or []
        texts += [part["text"] for part in [block, *inner] if "text" in part]
    only_results = bool(blocks) and all("toolResult" in block for block in blocks)
    return {"role": "tool" if only_results else role, "content": "\n".join(texts)}
