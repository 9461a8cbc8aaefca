# SPDX-License-Identifier: MIT
"""The events of a stream as Google's client can read them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from rocketride_llm import blocks, counted

__all__ = ["tidied"]

COUNTED = re.compile("[cC]ount$")


async def tidied(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The events, each in one piece; what is no count in `usageMetadata` is taken out. Closes `pieces`.

    Raises:
        LLMError: the stream ends in the middle of an event.
    """
    async with aclosing(pieces), aclosing(blocks(pieces)) as written:
        async for event in written:
            yield _tidy(event) + b"\n\n"


def _tidy(event: bytes) -> bytes:
    if b"usageMetadata" not in event:
        return event
    data = b"\n".join(line[5:].strip() for line in event.splitlines() if line.startswith(b"data:"))
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return event
    if not isinstance(body, dict) or "usageMetadata" not in body:
        return event
    usage = body["usageMetadata"]
    body["usageMetadata"] = _counts(usage) if isinstance(usage, dict) else None
    return b"data: " + json.dumps(body).encode()


def _counts(usage: dict[str, Any]) -> dict[str, int]:
    """The numbers that can be read; details by modality are left out."""
    found = {name: counted(value) for name, value in usage.items() if COUNTED.search(name)}
    return {name: count for name, count in found.items() if count is not None}
