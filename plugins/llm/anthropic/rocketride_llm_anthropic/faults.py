# SPDX-License-Identifier: MIT
"""What the exceptions of Anthropic's client mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocketride_llm import Kind, LLMError, by_status, lost, retry_after, transport

if TYPE_CHECKING:
    from anthropic import APIStatusError

__all__ = ["explained"]

# The `type` of an error in the API's replies.
TYPES: Mapping[str, Kind] = {
    "authentication_error": "authentication",
    "permission_error": "permission",
    "billing_error": "quota",
    "not_found_error": "no-such-model",
    "request_too_large": "too-long",
    "rate_limit_error": "rate-limit",
    "timeout_error": "timeout",
    "overloaded_error": "unavailable",
    "api_error": "unavailable",
    "invalid_request_error": "invalid-request",
}
# What the API has no type or code for, by a part of its message in lower case.
WORDS: Mapping[str, Kind] = {
    "prompt is too long": "too-long",
    "exceed context limit": "too-long",
    "context window": "too-long",
    "credit balance": "quota",
    "usage limits": "quota",
    "content filtering policy": "refused",
    "not support tool": "no-tools",
}
NO_MONEY = ("spend_limit_reached", "billing_unavailable")  # ends of an `error_code`


def explained(error: Exception) -> LLMError | None:
    """The error's meaning; None for what is no exception of the client."""
    import anthropic

    if isinstance(error, anthropic.APITimeoutError):
        return LLMError("timeout")
    if isinstance(error, anthropic.APIConnectionError):
        below = error.__cause__
        known = transport(below) if below is not None else None
        return known or LLMError("connection", str(below or error))
    if isinstance(error, anthropic.APIStatusError):
        return _answered(error)
    if isinstance(error, UnicodeDecodeError) and error.reason == "unexpected end of data":  # the end of a stream
        return lost()
    if isinstance(error, anthropic.APIResponseValidationError | json.JSONDecodeError | UnicodeDecodeError):
        return LLMError("bad-reply", "its JSON is not what the Messages API promises")
    return LLMError("invalid-request", str(error)) if isinstance(error, anthropic.AnthropicError) else None


def _answered(error: APIStatusError) -> LLMError:
    status, headers = error.status_code, error.response.headers
    told, sort = error.api_message or "", str(error.type or "")
    kind = TYPES.get(sort)
    if (error.error_code or "").endswith(NO_MONEY):
        kind = "quota"
    elif kind in (None, "invalid-request") and status in (200, 400, 413):
        kind = next((found for words, found in WORDS.items() if words in told.lower()), kind)
    if kind is None and status == 200:  # an error event inside a stream
        return LLMError("bad-reply", told or sort)
    if kind is None and status == 404:
        return LLMError("invalid-request", "there is no Messages API at this address, see 'base_url'", status=status)
    if kind is None:
        return by_status(status, told, headers)
    detail = "" if kind == "authentication" else told  # it may repeat a part of the key
    return LLMError(kind, detail, status=status if status >= 400 else 0, retry_after=retry_after(headers))
