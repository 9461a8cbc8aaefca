# SPDX-License-Identifier: MIT
"""IBM watsonx.ai's text chat, whole and streamed, and the exchange of an API key for a token at IBM Cloud's IAM."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs

from ..request import Reply, Request
from ..steps import Fail
from . import Answer, Piece, bearer, body_of, event
from .openai import CREATED, OpenAIWire

__all__ = ["WatsonxWire"]

PATHS = {"/ml/v1/text/chat": "chat", "/ml/v1/text/chat_stream": "chat", "/identity/token": "token"}
FIELDS = {
    "frequency_penalty",
    "include_reasoning",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model_id",
    "n",
    "presence_penalty",
    "project_id",
    "reasoning_effort",
    "response_format",
    "seed",
    "space_id",
    "stop",
    "temperature",
    "time_limit",
    "tool_choice",
    "tool_choice_option",
    "tools",
    "top_logprobs",
    "top_p",
}
LIFETIME = 3600
MORE = "https://cloud.ibm.com/apidocs/watsonx-ai#text-chat"
CONTEXT = "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens."

# kind: status, code, message.
ERRORS: dict[str, tuple[int, str, str]] = {
    "bad_key": (401, "authentication_token_not_valid", "Failed to authenticate the request due to an invalid token"),
    "permission": (403, "authorization_rejected", "The caller is no member of the project"),
    "rate_limit": (429, "too_many_requests", "The rate limit of this instance is reached"),
    "quota": (403, "token_quota_reached", "This request has been rejected because the token quota of the plan is reached"),
    "model_not_found": (404, "model_not_supported", "Model '{model}' is not supported"),
    "context_too_long": (400, "invalid_input_argument", f"Invalid input argument for Model '{{model}}': {CONTEXT}"),
    "content_refused": (400, "moderation", "The input was blocked by moderation"),
    "no_tool_support": (400, "invalid_input_argument", "Tool calling is not supported by Model '{model}'"),
    "bad_request": (400, "invalid_request_entity", "The request is not valid"),
    "server_error": (500, "internal_error", "The server had an internal error"),
    "overloaded": (503, "service_unavailable", "The model is overloaded"),
}


class WatsonxWire(OpenAIWire):
    """See `Wire`. Its models refuse in words, without a sign of it: a `refusal` is an ordinary answer here."""

    name: ClassVar[str] = "watsonx"
    base_path: ClassVar[str] = ""
    stream_type: ClassVar[str] = "text/event-stream"

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        return PATHS.get(path) if method == "POST" else None

    def key(self, headers: Mapping[str, str]) -> str | None:
        parts = (bearer(headers) or "").split(".", 2)
        return parts[2] if len(parts) == 3 else None

    def read(self, request: Request) -> None:
        super().read(request)
        request.model = str(body_of(request).get("model_id", ""))
        request.stream = request.path.endswith("_stream")
        if request.operation == "token":
            request.key = str(body_of(request).get("apikey", ""))

    def complaint(self, request: Request) -> str | None:
        from .checks import openai_complaint

        if request.operation == "token":
            return None if body_of(request).get("apikey") else "Property missing or empty: apikey"
        body = request.body
        if not isinstance(body, Mapping):
            return "the body is not a JSON object"
        if unknown := sorted(body.keys() - FIELDS):
            return f"Json document validation error: {unknown[0]} is not a known field"
        if bool(body.get("project_id")) == bool(body.get("space_id")):
            return "Json document validation error: one of project_id and space_id is needed"
        return openai_complaint(attrs.evolve(request, body={**body, "model": body.get("model_id")}))

    def whole(self, request: Request, reply: Reply) -> Any:
        body = super().whole(request, _plain(reply))
        [choice] = body["choices"]
        said = {name: value for name, value in choice["message"].items() if name not in ("refusal", "annotations")}
        if reply.calls and not reply.text:
            del said["content"]
        choice = {"index": 0, "message": said, "finish_reason": choice["finish_reason"]}
        return {**self._head(request, "chat.completion"), "choices": [choice], **_usage(reply)}

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        head = self._head(request, "chat.completion.chunk")
        number = 0

        def framed(body: dict[str, Any], *, counted: bool = False) -> Piece:
            nonlocal number
            number += 1
            return Piece(f"id: {number}\n".encode() + event({**head, **body}, "message"), counted)

        for choice, counted in self._deltas(request, _plain(reply)):
            yield framed({"choices": [choice]}, counted=counted)
        if reply.usage is not None:
            yield framed({"choices": [], **_usage(reply)})

    def failure(self, request: Request, fail: Fail) -> Answer:
        status, code, message = ERRORS[fail.sort]
        status, text = fail.status or status, fail.message or message.format(model=request.model)
        if request.operation == "token":
            if fail.sort == "bad_key":
                status, code, text = fail.status or 400, "BXNIM0415E", fail.message or "Provided API key could not be found."
            context = {"requestId": f"{request.number:032x}", "url": "https://iam.cloud.ibm.com"}
            return Answer(status, {"errorCode": fail.code or code, "errorMessage": text, "context": context})
        error = {"code": fail.code or code, "message": text, "more_info": MORE}
        return Answer(status, {"errors": [error], "trace": f"{request.number:032x}", "status_code": status})

    def broken(self, text: str) -> bytes:
        return event(text, "message")

    def midway(self, request: Request, fail: Fail) -> bytes:
        return event(fail.body if fail.body is not None else self.failure(request, fail).body, "error")

    def other(self, request: Request) -> Answer:
        """A token in the form of a JWT, which IBM's client reads; the key stands where its signature would."""
        now = int(time.time())
        ends = {"iat": now, "exp": now + LIFETIME}
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "none"}, ends)]
        token = {"access_token": ".".join([*parts, request.key]), "refresh_token": "not_supported", "token_type": "Bearer"}
        return Answer(200, {**token, "expires_in": LIFETIME, "expiration": ends["exp"], "scope": "ibm openid"})

    def _deltas(self, request: Request, reply: Reply) -> Iterator[tuple[dict[str, Any], bool]]:
        for delta, finish, counted in self.deltas(request, reply):
            yield {"index": 0, "finish_reason": finish, "delta": {k: v for k, v in delta.items() if k != "refusal"}}, counted

    @staticmethod
    def _head(request: Request, kind: str) -> dict[str, Any]:
        made = {"created": CREATED, "created_at": "2023-11-14T22:13:20.000Z", "model_version": "1.0.0"}
        return {
            "id": f"chatcmpl-{request.number:032x}",
            "object": kind,
            "model_id": request.model,
            "model": request.model,
            **made,
        }


def _plain(reply: Reply) -> Reply:
    return attrs.evolve(reply, finish="stop") if reply.finish in ("refusal", "content_filter") else reply


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.usage
    if used is None:
        return {}
    return {"usage": {"completion_tokens": used.output, "prompt_tokens": used.input, "total_tokens": used.input + used.output}}
