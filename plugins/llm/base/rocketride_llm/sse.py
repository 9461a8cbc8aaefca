# SPDX-License-Identifier: MIT
"""Server-sent events out of the bytes of a reply."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from .ends import lost

__all__ = ["blocks", "sse"]

ENDS = re.compile(rb"\r\n\r\n|\n\n|\r\r")


async def blocks(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """The whole events of a stream as they are written, without the empty lines that end them.

    Raises:
        LLMError: the stream ends in the middle of an event.
    """
    begun = bytearray()
    async for piece in pieces:
        seen = max(0, len(begun) - 3)
        begun += piece
        done = 0
        for end in ENDS.finditer(begun, seen):
            yield bytes(begun[done : end.start()])
            done = end.end()
        del begun[:done]
    if begun.strip():
        raise lost()


async def sse(pieces: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, str], None]:
    """The whole events of a stream, each as `(name, data)`; comments and events without data are left out.

    Raises:
        LLMError: the stream ends in the middle of an event.
        UnicodeDecodeError: an event is no UTF-8.
    """
    async with aclosing(blocks(pieces)) as written:
        async for block in written:
            event = _event(block.decode())
            if event is not None:
                yield event


def _event(text: str) -> tuple[str, str] | None:
    name, data = "", list[str]()
    for line in re.split("\r\n|\n|\r", text):
        field, _, value = line.partition(":")
        if field == "data":
            data.append(value.removeprefix(" "))
        elif field == "event":
            name = value.strip()
    return (name, "\n".join(data)) if data else None
