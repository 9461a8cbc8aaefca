# SPDX-License-Identifier: MIT
"""Google's generateContent, whole and streamed, token counts and models: of the Gemini API and of Vertex AI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ..request import Call, Reply, Request
from ..steps import Fail, Usage
from . import Answer, Piece, bearer, body_of, event, read_messages

__all__ = ["GeminiWire"]

METHODS = {"generateContent": "chat", "streamGenerateContent": "chat", "countTokens": "count_tokens"}
PATH = re.compile(
    r"/(?P<version>v1|v1beta|v1beta1)/(projects/[^/]+/locations/[^/]+/)?(?P<publisher>publishers/[^/]+/)?"
    r"models(/(?P<model>[^/:]+))?(:(?P<method>\w+))?"
)
FINISHES = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "refusal": "PROHIBITED_CONTENT",
    "tool_calls": "STOP",
}
SIGNATURE = "c2lnbmVkIGJ5IGEgc2NyaXB0"
DAILY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
TYPES = "type.googleapis.com/google.rpc."

# kind: HTTP status, status, message.
ERRORS: dict[str, tuple[int, str, str]] = {
    "bad_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "permission": (403, "PERMISSION_DENIED", "The caller does not have permission"),
    "rate_limit": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "quota": (
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "model_not_found": (
        404,
        "NOT_FOUND",
        "models/{model} is not found for API version v1beta, or is not supported for generateContent.",
    ),
    "context_too_long": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "no_tool_support": (400, "INVALID_ARGUMENT", "Function calling is not enabled for models/{model}"),
    "bad_request": (400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "server_error": (500, "INTERNAL", "An internal error has occurred. Please retry or report the problem."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}
BAD_TOKEN = (401, "UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token.")
STATUSES = {502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}


def usage_json(usage: Usage | None) -> dict[str, Any]:
    """Here the tokens of reasoning are no part of the candidates' tokens."""
    if usage is None:
        return {}
    made = {"promptTokenCount": usage.input, "candidatesTokenCount": usage.output - usage.reasoning}
    made |= {"thoughtsTokenCount": usage.reasoning} if usage.reasoning else {}
    made |= {"cachedContentTokenCount": usage.cached} if usage.cached else {}
    return {"usageMetadata": {**made, "totalTokenCount": usage.input + usage.output}}


class GeminiWire:
    """See `Wire`. A stream is one of events, as the official client asks for (`alt=sse`)."""

    name: ClassVar[str] = "gemini"
    base_path: ClassVar[str] = ""
    stream_type: ClassVar[str] = "text/event-stream"

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        found = PATH.fullmatch(path)
        if found is None:
            return None
        if method == "GET" and not found["method"]:
            return None if found["version"] == "v1" and "x-goog-api-key" not in headers else "models"
        return METHODS.get(found["method"]) if method == "POST" and found["model"] else None

    def key(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("x-goog-api-key") or bearer(headers)

    def read(self, request: Request) -> None:
        body, found = body_of(request), PATH.fullmatch(request.path)
        request.model = (found["model"] if found else None) or ""
        request.stream = request.path.endswith(":streamGenerateContent")
        settings = body.get("generationConfig") or {}
        request.stops = tuple(settings.get("stopSequences") or ())
        system = (body.get("systemInstruction") or {}).get("parts")
        read_messages(request, [_turn(turn) for turn in body.get("contents") or []], system)

    def complaint(self, request: Request) -> str | None:
        from .gemini_checks import gemini_complaint

        return gemini_complaint(request)

    def whole(self, request: Request, reply: Reply) -> Any:
        parts = [{"text": reply.thought, "thought": True}] if reply.thought else []
        parts += [{"text": reply.text}] if reply.text else []
        return self._part(request, [*parts, *self._calls(request, reply.calls)], reply, last=True)

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        parts = [{"text": piece, "thought": True} for piece in reply.thought_pieces]
        parts += [{"text": piece} for piece in reply.pieces]
        for part in [*parts, *self._calls(request, reply.calls)]:
            yield Piece(event(self._part(request, [part], reply)), counted=True)
        yield Piece(event(self._part(request, [{"text": ""}], reply, last=True)))

    def failure(self, request: Request, fail: Fail) -> Answer:
        if fail.sort == "content_refused":  # no error of HTTP: a reply that has no candidates
            blocked = {"promptFeedback": {"blockReason": fail.code or "PROHIBITED_CONTENT"}, **self._head(request)}
            return Answer(200, event(blocked).decode(), content_type=self.stream_type) if request.stream else Answer(200, blocked)
        status, code, message = ERRORS[fail.sort]
        if fail.sort == "bad_key" and "x-goog-api-key" not in request.headers:
            status, code, message = BAD_TOKEN
        status = fail.status or status
        said = fail.message or message.format(model=request.model)
        error = {"code": status, "message": said, "status": fail.code or STATUSES.get(status, code)}
        details = _details(fail)
        return Answer(status, {"error": {**error, "details": details} if details else error})

    def broken(self, text: str) -> bytes:
        return event(text)

    def midway(self, request: Request, fail: Fail) -> bytes:
        if fail.body is not None:
            return event(fail.body)
        body = self.failure(request, fail).body
        return body.encode() if isinstance(body, str) else event(body)

    def other(self, request: Request) -> Answer:
        if request.operation == "count_tokens":
            return Answer(200, {"totalTokens": -(-len(request.prompt) // 4)})
        found = PATH.fullmatch(request.path)
        publisher = (found["publisher"] if found else None) or ""
        about: dict[str, Any] = {"name": f"{publisher}models/{request.model or 'scripted'}"}
        if publisher:
            about |= {"versionId": "default", "launchStage": "GA"}
        else:
            about |= {"version": "001", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}
        many = "publisherModels" if publisher else "models"
        return Answer(200, about if request.model else {many: [about]})

    @staticmethod
    def _head(request: Request) -> dict[str, Any]:
        return {"modelVersion": request.model, "responseId": f"response-{request.number}"}

    def _part(self, request: Request, parts: Sequence[Any], reply: Reply, *, last: bool = False) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
        usage = usage_json(reply.usage)
        if not last:
            usage = {"usageMetadata": {"promptTokenCount": reply.usage.input}} if reply.usage else {}
        elif broken := [call for call in reply.calls if not isinstance(call.value, dict)]:
            said = f"Malformed function call: {broken[0].name}({broken[0].arguments})"
            candidate |= {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": said}
        else:
            candidate["finishReason"] = FINISHES[reply.finish]
        return {"candidates": [candidate], **usage, **self._head(request)}

    @staticmethod
    def _calls(request: Request, calls: Sequence[Call]) -> list[dict[str, Any]]:
        """Of several calls, the first is signed; what cannot be read as a call is none."""
        made: list[dict[str, Any]] = []
        for call in calls:
            if isinstance(call.value, dict):
                id = f"call-{request.number:06d}{call.index:02d}"
                part = {"functionCall": {"id": id, "name": call.name, "args": call.value}}
                made.append(part if made else {**part, "thoughtSignature": SIGNATURE})
        return made


def _turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn of `contents` as the other wires' messages; one of results alone is the tools'."""
    texts, role = [], turn.get("role", "user")
    parts = turn.get("parts") or []
    for part in parts:
        response = (part.get("functionResponse") or {}).get("response") or {}
        texts += [part["text"]] if "text" in part else [str(value) for value in response.values()]
    only_results = bool(parts) and all("functionResponse" in part for part in parts)
    return {"role": "tool" if only_results else role, "content": "\n".join(texts)}


def _details(fail: Fail) -> list[dict[str, Any]]:
    if fail.sort == "bad_key":
        return [{"@type": f"{TYPES}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]
    if fail.sort == "quota":
        violation = {"quotaMetric": "generate_content_free_tier_requests", "quotaId": DAILY, "quotaValue": "50"}
        wait = {"@type": f"{TYPES}RetryInfo", "retryDelay": "21.5s"}
        return [{"@type": f"{TYPES}QuotaFailure", "violations": [violation]}, wait]
    after = fail.headers.get("retry-after", "")
    if fail.sort == "rate_limit" and re.fullmatch(r"[\d.]+", after):
        return [{"@type": f"{TYPES}RetryInfo", "retryDelay": f"{after}s"}]
    return []
