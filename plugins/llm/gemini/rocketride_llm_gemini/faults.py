# SPDX-License-Identifier: MIT
"""What the exceptions of Google's client mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rocketride_llm import Kind, LLMError, by_status, retry_after

from .reading import FOREIGN

if TYPE_CHECKING:
    from google.genai.errors import APIError

__all__ = ["explained"]

# The `reason` of an error's ErrorInfo.
REASONS: Mapping[str, Kind] = {
    "API_KEY_INVALID": "authentication",
    "API_KEY_EXPIRED": "authentication",
    "ACCESS_TOKEN_EXPIRED": "authentication",
    "ACCESS_TOKEN_TYPE_UNSUPPORTED": "authentication",
    "ACCOUNT_STATE_INVALID": "authentication",
    "CREDENTIALS_MISSING": "authentication",
    "BILLING_DISABLED": "quota",
}
# What there is no reason for, by words of the message; of the statuses named.
WORDS: Sequence[tuple[Kind, Sequence[int], str]] = (
    (
        "authentication",
        (400, 403),
        r"api[ _]key (is )?(not valid|expired|not found|invalid)|reported as leaked|unregistered callers",
    ),
    ("permission", (400,), r"location is not supported"),
    (
        "quota",
        (400, 403, 429),
        r"enable billing|billing (is|has been) disabled|credits? (are|is|have been) depleted|spending (cap|limit)",
    ),
    ("quota", (429,), r"limit: 0\b"),
    ("too-long", (400,), r"token count.{0,40} exceeds|payload size exceeds|too many tokens|exceeds the maximum number of tokens"),
    (
        "no-tools",
        (400,),
        r"(function calling|tool use|tools?) (with function calling )?(is|are) (not enabled|not supported|unsupported)",
    ),
    ("no-tools", (400,), r"(not|n't) support (function|tool)"),
    ("refused", (400,), r"prohibited content|content policy|usage (policy|guidelines)"),
)


def explained(error: Exception) -> LLMError | None:
    """The error's meaning; None for what is neither an exception of the client nor due to a reply of another form."""
    from google.genai.errors import APIError

    if isinstance(error, APIError):
        return _answered(error)
    if isinstance(error, AttributeError | LookupError | TypeError | ValueError):
        return LLMError("bad-reply", FOREIGN)
    return None


def _answered(error: APIError) -> LLMError:
    status = error.code if isinstance(error.code, int) else 500
    headers: Mapping[str, str] = getattr(error.response, "headers", None) or {}
    body: Any = error.details
    inner = body.get("error") if isinstance(body, Mapping) else None
    told = inner.get("message") if isinstance(inner, Mapping) else None
    details = inner.get("details") if isinstance(inner, Mapping) else None
    infos = [info for info in details if isinstance(info, Mapping)] if isinstance(details, list) else []
    said = told if isinstance(told, str) else ""
    kind = _kind(status, said, infos)
    if kind is None and status == 404 and not isinstance(inner, Mapping):
        return LLMError("invalid-request", "there is no such API at this address, see 'base_url'", status=status)
    found = by_status(status, said)
    found.kind = kind or found.kind
    if found.kind == "authentication":
        found.detail = ""  # it may repeat a part of the key
    if not hasattr(error.response, "http_version"):  # an event inside a stream, whose status was a good one
        found.status = 0
    found.retry_after = retry_after(headers)
    if found.retry_after is None:
        found.retry_after = _delay(infos)
    return found


def _kind(status: int, said: str, infos: Sequence[Mapping[str, Any]]) -> Kind | None:
    for info in infos:
        if (kind := REASONS.get(str(info.get("reason")))) is not None:
            return kind
    if status == 429 and any("PerDay" in str(info.get("violations")) for info in infos):
        return "quota"
    return next((kind for kind, statuses, words in WORDS if status in statuses and re.search(words, said, re.IGNORECASE)), None)


def _delay(infos: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds, of the RetryInfo: `21.5s`."""
    for info in infos:
        if found := re.fullmatch(r"(\d{1,9}(\.\d{1,9})?)s", str(info.get("retryDelay"))):
            return float(found[1])
    return None
