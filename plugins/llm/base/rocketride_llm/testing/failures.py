# SPDX-License-Identifier: MIT
"""The failures that a client of a language model meets, as steps. Each wire says them in its vendor's own words."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import Literal

from .steps import Fail

__all__ = [
    "bad_key",
    "content_refused",
    "context_too_long",
    "model_not_found",
    "no_tool_support",
    "overloaded",
    "permission_denied",
    "quota_exhausted",
    "rate_limited",
    "retry_after",
    "server_error",
]


def retry_after(seconds: float, form: Literal["seconds", "date", "ms"] = "seconds") -> dict[str, str]:
    """The header that says when to come again.

    Args:
        seconds: from now; a date has whole seconds, so it is rounded up.
        form: `seconds` or `date` (RFC 9110's two forms of Retry-After), or `ms` (`retry-after-ms`, OpenAI's and Azure's own).
    """
    if form == "ms":
        return {"retry-after-ms": f"{seconds * 1000:g}"}
    if form == "date":
        return {"retry-after": email.utils.formatdate(int(time.time() + seconds + 0.999), usegmt=True)}
    return {"retry-after": f"{seconds:g}"}


def bad_key() -> Fail:
    """401: the key is wrong. Not worth a retry."""
    return Fail(kind="bad_key")


def permission_denied() -> Fail:
    """403: the key is right and does not allow this."""
    return Fail(kind="permission")


def rate_limited(after: float | None = 1, form: Literal["seconds", "date", "ms"] = "seconds") -> Fail:
    """429: too many requests; worth a retry.

    Args:
        after: seconds for the header; None sends none.
        form: see `retry_after`.
    """
    return Fail(kind="rate_limit", headers={} if after is None else retry_after(after, form))


def quota_exhausted() -> Fail:
    """The account has no money left (OpenAI 429 `insufficient_quota`, Anthropic 400, Ollama 429): not worth a retry."""
    return Fail(kind="quota")


def model_not_found() -> Fail:
    """404: the server has no such model; the message names the model of the request."""
    return Fail(kind="model_not_found")


def context_too_long() -> Fail:
    """400: the prompt is longer than the model's context. OpenAI: code `context_length_exceeded`."""
    return Fail(kind="context_too_long")


def content_refused(code: str | None = None) -> Fail:
    """400: the vendor's filter refused the prompt. A reply that is refused midway is `Say(…, finish="content_filter")`.

    Args:
        code: OpenAI's code: `content_policy_violation` if not given, or Azure's `content_filter`.
    """
    return Fail(kind="content_refused", code=code)


def server_error(status: int = 500, headers: Mapping[str, str] | None = None) -> Fail:
    """500, 502, 503 or 504: worth a retry."""
    return Fail(status, "server_error", headers=dict(headers or {}))


def overloaded() -> Fail:
    """The server is busy (OpenAI 503, Anthropic 529 `overloaded_error`, Ollama 503): worth a retry."""
    return Fail(kind="overloaded")


def no_tool_support() -> Fail:
    """400: the model takes no tools."""
    return Fail(kind="no_tool_support")
