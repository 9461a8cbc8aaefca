# SPDX-License-Identifier: MIT
"""What is done to a reply before Ollama's client reads it, which takes less than servers send."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from rocketride_llm import broken_off, counted, lost

__all__ = ["readable"]

# Numbers that the client insists on; an answer is not to be lost for them.
COUNTS = ("prompt_eval_count", "eval_count", "total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


async def readable(response: Any) -> None:
    """A response hook for httpx. Lines end at a newline and nowhere else: httpx ends them at U+0085, U+2028 and more, too."""

    async def lines() -> AsyncGenerator[bytes, None]:
        rest = b""
        async for piece in response.aiter_bytes():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if line.strip():
                    yield _plain(line)
        if rest.strip():
            if broken_off(rest):
                raise lost()
            yield _plain(rest)

    def whole(read: Any = response.json, **options: Any) -> Any:
        return _counted(read(**options))

    response.aiter_lines, response.json = lines, whole


def _plain(line: bytes) -> bytes:
    if b'_count"' not in line and b'_duration"' not in line:
        return line
    try:
        return json.dumps(_counted(json.loads(line))).encode()
    except (ValueError, RecursionError):
        return line  # the client says that it cannot be read


def _counted(part: Any) -> Any:
    if isinstance(part, dict):
        part.update({name: counted(part[name]) for name in COUNTS if name in part})
    return part
