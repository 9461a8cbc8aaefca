# SPDX-License-Identifier: MIT
"""Server-sent events out of the bytes of a reply."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator

from .ends import lost

__all__ = ["sse"]

ENDS = re.compile(rb"\r\n\r\n|\n\n|\r\r")


async def sse(pieces: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, str], None]:
    """The whole events of a stream, each as `(name, data)`; comments and events without data are left out.

    Raises:
        LLMError: the stream ends in the middle of an event.
        UnicodeDecodeError: an event is no UTF-8.
    """
    begun = bytearray()
    async for piece in pieces:
        seen = max(0, len(begun) - 3)
        begun += piece
        done = 0
        for end in ENDS.finditer(begun, seen):
            event = _event(begun[done : end.start()].decode())
            done = end.end()
            if event is not None:
                yield event
        del begun[:done]
    if begun.strip():
        raise lost()


def _event(text: str) -> tuple[str, str] | None:
    name, data = "", list[str]()
    for line in re.split("\r\n|\n|\r", text):
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.strip()
    return (name, "\n".join(data)) if data else None
