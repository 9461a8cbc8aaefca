# SPDX-License-Identifier: MIT
"""Whether a reply that ends with its connection has come to its own end."""

from __future__ import annotations

import json
from typing import Any

from .errors import LLMError

__all__ = ["broken_off", "lost", "refuse_broken_off"]

LONGEST_WORD = 6  # characters of what JSON has in one piece: `false`, `\u00e9`


def lost() -> LLMError:
    """The connection went in the middle of the answer; it may be asked for again."""
    return LLMError("connection", lost=True)


def broken_off(data: bytes) -> bool:
    """It is the beginning of a JSON object, or nothing at all: the rest has not come. What is no JSON anyhow is not broken off."""
    text = data.decode("utf-8", "ignore").strip()
    if not text:
        return True
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return text.startswith("{") and (error.msg.startswith("Unterminated") or len(text) - error.pos <= LONGEST_WORD)
    except (ValueError, RecursionError):
        pass
    return False


async def refuse_broken_off(response: Any) -> None:
    """A response hook for the HTTP client below a vendor's library (httpx, httpx2).

    A JSON reply without a length ends where the connection ends, and the client takes any end for the right one.

    Raises:
        LLMError: the reply is not whole.
    """
    headers = response.headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or not response.http_version.startswith("HTTP/1") or response.request.method == "HEAD":
        return
    if "content-length" in headers or "transfer-encoding" in headers or not 200 <= response.status_code < 300:
        return
    if broken_off(await response.aread()):
        raise lost()
