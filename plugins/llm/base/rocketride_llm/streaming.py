# SPDX-License-Identifier: MIT
"""A coroutine on the kernel's loop whose pieces are handed to the thread that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

R = TypeVar("R")
W = TypeVar("W")

__all__ = ["Pump"]


class Wait(Protocol):
    """`Instance.wait`."""

    def __call__(self, coro: Coroutine[Any, Any, W], /, *, timeout: float | None = None) -> W: ...


class Pump(Generic[R]):
    """Runs `work(feed)`; what `feed` is given arrives at `take` on the caller's thread, so that `take` may block or fail."""

    def __init__(self, wait: Wait, work: Callable[[Callable[[str], None]], Coroutine[Any, Any, R]]) -> None:
        self._wait, self._work = wait, work
        self._pieces: list[str] = []

    def run(self, take: Callable[[str], None]) -> R:
        self._wait(self._begin())
        try:
            while piece := self._wait(self._more()):
                take(piece)
            return self._wait(self._end())
        except BaseException:
            self._loop.call_soon_threadsafe(self._task.cancel)
            raise

    async def _begin(self) -> None:
        self._loop, self._ready = asyncio.get_running_loop(), asyncio.Event()
        self._task = self._loop.create_task(self._work(self._feed))
        self._task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[R]) -> None:
        if not task.cancelled():
            task.exception()  # asked for, so that asyncio does not complain where the caller has gone before the end
        self._ready.set()

    def _feed(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self._ready.set()

    async def _more(self) -> str:
        """All that has come since; "" at the end."""
        await self._ready.wait()
        piece = "".join(self._pieces)
        self._pieces.clear()
        if not self._task.done():
            self._ready.clear()
        return piece

    async def _end(self) -> R:
        return await self._task
