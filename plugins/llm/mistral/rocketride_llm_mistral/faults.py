# SPDX-License-Identifier: MIT
"""What Mistral's errors mean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rocketride_llm import Kind, LLMError, by_status

__all__ = ["answered", "explained"]

FOREIGN = "it is no reply of Mistral's chat API; see 'base_url'"
# By the error's type or code.
MARKS: Mapping[str, Kind] = {
    "invalid_model": "no-such-model",
    "1500": "no-such-model",
    "3051": "too-long",
    "rate_limited": "rate-limit",
    "service_tier_capacity_exceeded": "rate-limit",
    "guardrail": "refused",
}
WORDS: Sequence[tuple[Kind, str]] = (
    ("too-long", r"too large for model|maximum context length|context window|too many tokens"),
    ("no-such-model", r"invalid model|model .{0,80}(does not exist|not found)"),
    ("no-tools", r"function calling is not enabled|(not|n't) support (function|tool)"),
    ("refused", r"guardrail|moderation|content policy"),
    ("quota", r"(monthly|usage|spending|budget) (limit|quota)|no credit|payment required|(active|expired) subscription"),
)


def explained(error: Exception) -> LLMError | None:
    """The error's meaning; None for what is neither an exception of the client nor due to a reply of another form."""
    from mistralai.client.errors import MistralError, NoResponseError

    if isinstance(error, NoResponseError):
        return LLMError("connection")
    if isinstance(error, MistralError):
        if error.status_code < 400:
            return LLMError("bad-reply", FOREIGN)
        try:
            body = json.loads(error.body)
        except (ValueError, RecursionError):
            body = None
        return answered(error.status_code, body, error.headers)
    if isinstance(error, AttributeError | LookupError | TypeError | ValueError):
        return LLMError("bad-reply", FOREIGN)
    return None


def answered(status: int, body: Any, headers: Mapping[str, str] | None = None) -> LLMError:
    """What an error of the server means.

    Parameters:
        status: 0 for one that stands where a part of a reply should.
        body: as parsed; anything else than an object says nothing.
    """
    fields: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    said = _words(fields.get("message") or fields.get("detail"))
    marks = [str(fields.get(name)) for name in ("type", "code")]
    kind = next((MARKS[mark] for mark in marks if mark in MARKS), None)
    if kind is None and status < 500:
        kind = next((kind for kind, words in WORDS if re.search(words, said, re.IGNORECASE)), None)
    if kind is None and status == 404 and "model" not in said.lower():
        return LLMError("invalid-request", "there is no such API at this address, see 'base_url'", status=status)
    found = by_status(status or 500, said, headers)
    found.status = status
    if status != 401:
        found.kind = kind or found.kind
    return found


def _words(said: Any) -> str:
    """A message, or the list of what is wrong with a request, which may stand in the message."""
    if isinstance(said, Mapping):
        said = said.get("detail") or said.get("message")
    if isinstance(said, list):
        wrong = [one for one in said if isinstance(one, Mapping)]
        return "; ".join(f"{'.'.join(map(str, one.get('loc') or ()))}: {one.get('msg', '')}" for one in wrong)
    return said if isinstance(said, str) else ""
