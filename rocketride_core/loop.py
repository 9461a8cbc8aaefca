# SPDX-License-Identifier: MIT
"""The kernel's asyncio loop, on one thread of its own, started at the first coroutine."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Coroutine
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from .errors import EntryStopped, RunError

R = TypeVar("R")

__all__ = ["KernelLoop"]

_SLICE = 0.05  # seconds; the longest a signal has to wait


class KernelLoop:
    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._closed = self._ended = False

    def submit(self, coro: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        with self._lock:
            if self._closed:
                coro.close()
                raise RunError("the pipeline is closed", code="pipeline-closed")
            loop = self._loop or self._start()
            if self._thread is not None and self._thread.ident == _this_thread():
                coro.close()
                raise RunError("wait() inside the kernel's own loop would never end; await the coroutine instead")
            return asyncio.run_coroutine_threadsafe(coro, loop)

    def wait(self, coro: Coroutine[Any, Any, R], timeout: float | None) -> R:
        """`submit` and `block`, for what belongs to no entry."""
        try:
            return self.block(self.submit(coro), timeout)
        except EntryStopped:
            raise RunError("the coroutine was cancelled") from None

    def block(self, future: concurrent.futures.Future[R], timeout: float | None) -> R:
        """The result; on a signal, a time-out or the end of the entry the coroutine is cancelled.

        Raises:
            TimeoutError: after `timeout` seconds.
            EntryStopped: the entry was stopped meanwhile.
        """
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while True:
                left = _SLICE if end is None else min(_SLICE, end - time.monotonic())
                try:
                    return future.result(max(left, 0))
                except concurrent.futures.CancelledError:
                    raise EntryStopped from None
                except TimeoutError:
                    if future.done():  # the coroutine's own, or it has ended just now
                        return future.result()
                    if end is not None and time.monotonic() >= end:
                        raise TimeoutError(f"no answer within {timeout:g} s") from None
        finally:
            future.cancel()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(self._end, loop)
            thread.join(5)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ended = True
        loop.stop()

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = self._loop = asyncio.new_event_loop()
        up = Event()

        def work() -> None:
            asyncio.set_event_loop(loop)
            loop.call_soon(up.set)
            while not self._ended:
                # asyncio lets these two out of the loop, and gives them to whoever waits as well, which is enough.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

        self._thread = Thread(target=work, name="rocketride-loop", daemon=True)
        self._thread.start()
        up.wait()
        return loop


def _this_thread() -> int:
    import threading

    return threading.get_ident()
