# SPDX-License-Identifier: MIT
"""What the errors of watsonx.ai and of IBM Cloud's IAM mean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rocketride_llm import Kind, LLMError, by_status

__all__ = ["FOREIGN", "answered", "refused"]

FOREIGN = "it is no reply of watsonx.ai; see 'base_url'"
# By the error's code.
CODES: Mapping[str, Kind] = {
    "model_not_supported": "no-such-model",
    "token_quota_reached": "quota",
    "moderation": "refused",
    "BXNIM0415E": "authentication",
    "BXNIM0109E": "authentication",
}
WORDS: Sequence[tuple[Kind, str]] = (
    ("authentication", r"api ?key (could not be found|is (not valid|invalid|disabled|locked))"),
    ("quota", r"quota|consumption limit|usage limit"),
    ("too-long", r"maximum context length|max(imum)? sequence length|too many (input )?tokens|reduce the length"),
    ("no-tools", r"(tool calling|tools?|function calling) (is|are) not supported|(not|n't) support (tool|function calling)"),
    ("no-such-model", r"model .{0,80}(is not supported|not found|was not found|withdrawn)"),
    ("refused", r"moderation|content policy"),
)


def refused(status: int, content: bytes, headers: Mapping[str, str]) -> LLMError:
    """What a reply with another status than 200 means."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    return answered(status, body, headers)


def answered(status: int, body: Any, headers: Mapping[str, str] | None = None) -> LLMError:
    """What an error of the server means.

    Parameters:
        status: 0 for one that stands where a part of a reply should; the body has one of its own then.
        body: as parsed; anything else than an object says nothing.
    """
    fields: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    errors = fields.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], Mapping) else {}
    code = str(first.get("code") or fields.get("errorCode") or "")
    said = first.get("message") or fields.get("errorMessage")
    said = said if isinstance(said, str) else ""
    inner = fields.get("status_code")
    meant = status or (inner if isinstance(inner, int) and 400 <= inner < 600 else 500)
    kind = CODES.get(code)
    if kind is None and meant in (400, 403, 404, 429):
        kind = next((kind for kind, words in WORDS if re.search(words, said, re.IGNORECASE)), None)
    if kind is None and status == 404 and not first:
        return LLMError("invalid-request", "there is no such API at this address, see 'base_url'", status=status)
    found = by_status(meant, said, headers)
    found.status = status
    found.kind = kind or found.kind
    if found.kind == "authentication":
        found.detail = ""  # it may repeat a part of the key
    return found
