# SPDX-License-Identifier: MIT
"""One entry on a worker, seen from its host: input, events, result; for threads and for asyncio."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, cast

from .entry import Entry, Event
from .errors import RunError, RunTimeout
from .flight import Flight
from .lanes import Lane, Packet
from .results import EntryResult

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from asyncio import Event as AsyncFlag

    from .pipeline import RunningPipeline

__all__ = ["Submitted", "WorkerRun"]

_SLICE = 0.05  # seconds; the longest a signal has to wait
KEPT = 10_000  # events kept for who has not begun to read them; the oldest go first


class WorkerRun:
    """The `Run` of `start` and `astart`. It begins at `with`, or at the first call of `result`."""

    def __init__(self, pipeline: RunningPipeline, flight: Flight, packets: tuple[Packet, ...], timeout: float | None) -> None:
        self._pipeline, self._flight, self._packets, self._timeout = pipeline, flight, packets, timeout
        self._inbox: SimpleQueue[Packet | None] = SimpleQueue()
        self._events: deque[Event] = deque(maxlen=KEPT)
        self._lock = Lock()
        self._over = Flag()
        self._wakers: list[Callable[[], None]] = []
        self._launched = self._ended = False
        self._result: EntryResult | BaseException | None = None
        flight.listener = self._heard

    @property
    def entry(self) -> Entry:
        return self._flight.entry

    # ---- on the worker

    def __call__(self) -> None:
        try:
            self._result = self._pipeline.complete(self._flight, self._packets, self._timeout, self._further)
        except BaseException as error:  # noqa: BLE001 - of a host plugin; whoever asks for the result gets it
            self._result = error
        self._over.set()
        self._wake()

    def dropped(self) -> None:
        """It never got a worker."""
        self._flight.cancel("cancelled before it began")
        self()

    def _further(self) -> Iterator[Packet]:
        end = lambda: self._inbox.put(None)  # noqa: E731
        self._flight.add_on_stop(end)
        while not self._flight.stopped and (packet := self._inbox.get()) is not None:
            yield packet

    def _heard(self, event: Event) -> None:
        self._events.append(event)
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            wakers, self._wakers = self._wakers, []
        for waker in wakers:
            waker()

    def _outcome(self) -> EntryResult:
        if isinstance(self._result, BaseException):
            raise self._result
        return cast(EntryResult, self._result)

    def _when_something_happens(self, waker: Callable[[], None]) -> None:
        with self._lock:
            if not self._over.is_set() and not self._events:
                self._wakers.append(waker)
                return
        waker()

    # ---- for hosts

    def send(self, packet: Packet, /) -> None:
        if self._ended:
            raise RunError("the input of this run has ended: result() was called, or its events are being read")
        self._inbox.put(packet)

    def wants(self, lane: Lane[Any], /) -> bool:
        return self._flight.wants(lane)

    def cancel(self) -> None:
        self._pipeline.cancel(self._flight)

    def _end_input(self) -> None:
        if not self._ended:
            self._ended = True
            self._inbox.put(None)

    def _first(self) -> bool:
        with self._lock:
            first, self._launched = not self._launched, True
        return first

    def _launch(self) -> None:
        if self._first():
            try:
                self._pipeline.put(self)
            except BaseException:
                self._launched = False
                raise

    def result(self, timeout: float | None = None) -> EntryResult:
        self._pipeline.refuse_own_worker("result()")
        self._launch()
        self._end_input()
        end = None if timeout is None else time.monotonic() + timeout
        while not self._over.wait(_SLICE if end is None else max(0.0, min(_SLICE, end - time.monotonic()))):
            if end is not None and time.monotonic() >= end:
                raise RunTimeout(f"{self.entry.name or 'the entry'} is not over after {timeout:g} s", entry=self.entry.name)
        return self._outcome()

    def __enter__(self) -> Self:
        self._launch()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.cancel()
            self._end_input()
        else:
            self.result()

    def __iter__(self) -> Iterator[Event]:
        self._launch()
        self._end_input()
        bell: SimpleQueue[None] = SimpleQueue()
        while True:
            over = self._over.is_set()
            while self._events:
                yield self._events.popleft()
            if over:
                return
            self._when_something_happens(lambda: bell.put(None))
            try:
                while True:
                    try:
                        bell.get(timeout=_SLICE)
                        break
                    except Empty:
                        continue
            finally:
                while not bell.empty():
                    bell.get()

    # ---- for asyncio

    async def _alaunch(self) -> None:
        if self._first():
            try:
                await self._pipeline.aput(self)
            except BaseException:
                self._launched = False
                raise

    async def __aenter__(self) -> Self:
        await self._alaunch()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.cancel()
            self._end_input()
        else:
            await self

    async def _happening(self) -> None:
        import asyncio

        bell = asyncio.Event()
        ring = _ringer(asyncio.get_running_loop(), bell)
        self._when_something_happens(ring)
        await bell.wait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        await self._alaunch()
        self._end_input()
        while True:
            over = self._over.is_set()
            while self._events:
                yield self._events.popleft()
            if over:
                return
            await self._happening()

    def __await__(self) -> Generator[Any, None, EntryResult]:
        return self.aresult().__await__()

    async def aresult(self) -> EntryResult:
        """The result; a cancelled task cancels the entry."""
        await self._alaunch()
        self._end_input()
        try:
            while not self._over.is_set():
                await self._done()
        except BaseException:
            self.cancel()
            raise
        return self._outcome()

    async def _done(self) -> None:
        import asyncio

        bell = asyncio.Event()
        ring = _ringer(asyncio.get_running_loop(), bell)
        with self._lock:
            if self._over.is_set():
                return
            self._wakers.append(ring)
        await bell.wait()


def _ringer(loop: AbstractEventLoop, bell: AsyncFlag) -> Callable[[], None]:
    """Sets the flag from another thread; whose loop is closed has stopped waiting."""

    def ring() -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(bell.set)

    return ring


class Submitted:
    """An entry whose result goes to the `finish_entry` hooks alone."""

    def __init__(self, pipeline: RunningPipeline, flight: Flight, packets: tuple[Packet, ...]) -> None:
        self._pipeline, self._flight, self._packets = pipeline, flight, packets

    def __call__(self) -> None:
        self._pipeline.complete(self._flight, self._packets)

    def dropped(self) -> None:
        self._flight.cancel("dropped: the pipeline was closed")
        self()
