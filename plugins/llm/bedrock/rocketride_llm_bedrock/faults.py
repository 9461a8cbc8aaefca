# SPDX-License-Identifier: MIT
"""What Bedrock's errors mean: by their type, and by words where one type has many meanings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rocketride_llm import Kind, LLMError, by_status

__all__ = ["FOREIGN", "answered", "in_stream"]

FOREIGN = "it is not what Bedrock's Converse promises; see 'base_url'"

TYPES: Mapping[str, Kind] = {
    "AccessDeniedException": "permission",
    "ExpiredTokenException": "authentication",
    "IncompleteSignatureException": "authentication",
    "InternalServerException": "unavailable",
    "InvalidSignatureException": "authentication",
    "MissingAuthenticationTokenException": "authentication",
    "ModelErrorException": "unavailable",
    "ModelNotReadyException": "unavailable",
    "ModelStreamErrorException": "unavailable",
    "ModelTimeoutException": "timeout",
    "NotAuthorized": "permission",
    "OptInRequired": "permission",
    "RequestExpired": "authentication",
    "ResourceNotFoundException": "no-such-model",
    "ServiceQuotaExceededException": "quota",
    "ServiceUnavailableException": "unavailable",
    "ThrottlingException": "rate-limit",
    "UnknownOperationException": "invalid-request",
    "UnrecognizedClientException": "authentication",
    "ValidationException": "invalid-request",
}
# Which kinds are looked into, and what their messages say of it.
WORDS: Sequence[tuple[Kind, Kind, str]] = (
    ("permission", "authentication", r"api key|authentication failed|security token|bearer token"),
    ("permission", "quota", r"payment.instrument|billing"),
    ("rate-limit", "quota", r"tokens per day|requests per day"),
    ("invalid-request", "no-such-model", r"model identifier is invalid|could not resolve the foundation model|end of its life"),
    (
        "invalid-request",
        "too-long",
        r"(input|prompt) is too long|too many (input )?tokens|maximum context length|context (limit|window)|input tokens? exceeds?",
    ),
    ("invalid-request", "refused", r"content filtering policy|blocked by (our )?content|guardrail.{0,20}(blocked|intervened)"),
    ("invalid-request", "no-tools", r"(doesn.t|does not) support tool|tool use is not supported"),
)


def answered(status: int, headers: Mapping[str, str], body: bytes) -> LLMError:
    """The error that a reply of HTTP says."""
    try:
        told: Any = json.loads(body)
    except (ValueError, RecursionError):
        told = None
    facts: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    sort = headers.get("x-amzn-errortype") or facts.get("__type") or facts.get("code") or ""
    said = facts.get("message") or facts.get("Message") or ""
    name = str(sort).partition(":")[0].rpartition("#")[2]
    if not name and status == 404:
        return LLMError("invalid-request", "there is no Bedrock runtime at this address; see 'base_url' and 'region'", status=404)
    found = by_status(status, str(said), headers)
    found.kind = _kind(TYPES.get(name, found.kind), str(said))
    if found.kind == "authentication":
        found.detail = "the signature does not fit: see 'secretKey'" if name == "InvalidSignatureException" else ""
    return found


def in_stream(name: str, said: str) -> LLMError:
    """The error that an event says; its type begins with a small letter."""
    kind = TYPES.get(f"{name[:1].upper()}{name[1:]}", "unavailable")
    return LLMError(_kind(kind, said), said or name)


def _kind(kind: Kind, said: str) -> Kind:
    return next((other for first, other, words in WORDS if first == kind and re.search(words, said, re.IGNORECASE)), kind)
