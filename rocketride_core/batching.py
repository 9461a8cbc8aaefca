# SPDX-License-Identifier: MIT
"""Batches across entries: what several entries ask of one function at the same moment is asked in one call."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Flag
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import EntryStopped, RunError
from .toolcalls import SLICE, abandoned, here

if TYPE_CHECKING:
    from .flight import Flight

T = TypeVar("T")
R = TypeVar("R")

__all__ = ["Batcher", "Batching"]

LONGEST = 0.005  # seconds that an item waits for company


class Batching:
    """The batchers of a pipeline. An entry that waits in one of them adds nothing to another.

    Parameters:
        flights: the outermost entries in flight, each on its own thread but for children, which are on their parent's.
    """

    def __init__(self, flights: set[Flight]) -> None:
        self.flights = flights
        self.lock = Lock()
        self._batchers: list[Batcher[Any, Any]] = []
        self._waiting: Counter[int] = Counter()
        self._computing = 0

    def made(self, component: str, fn: Callable[[Sequence[Any]], Sequence[Any]], size: int) -> Batcher[Any, Any]:
        batcher = Batcher[Any, Any](self, component, fn, size)
        self._batchers.append(batcher)
        return batcher

    def join(self, entry: int) -> None:
        """An entry waits from now on; `lock` is held."""
        self._waiting[entry] += 1
        self._due_when_all_wait()

    def leave(self, entry: int) -> None:
        with self.lock:
            self._waiting[entry] -= 1
            if not self._waiting[entry]:
                del self._waiting[entry]

    def ended(self) -> None:
        """An entry is over, for which the others may have waited."""
        with self.lock:
            if self._waiting:
                self._due_when_all_wait()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Inside, an entry computes a batch. It will be back, so that who comes meanwhile may wait for company."""
        with self.lock:
            self._computing += 1
        try:
            yield
        finally:
            with self.lock:
                self._computing -= 1
                self._due_when_all_wait()

    def _due_when_all_wait(self) -> None:
        if not self._computing and all(flight.thread in self._waiting for flight in list(self.flights)):
            for batcher in self._batchers:
                batcher.due()

    def entry_here(self) -> tuple[int, list[Flight]]:
        """The thread that stands for the entry which this thread works for, 0 for none; and whose end ends a wait here."""
        if here.runs:
            flights = [run[0] for run in here.runs]
            outermost = flights[0].around()[-1:] or flights[:1]
            return outermost[0].thread, [*outermost, *flights]
        me = get_ident()
        mine = [flight for flight in list(self.flights) if flight.thread == me]
        return me if mine else 0, mine


class _Request(Generic[T, R]):
    """The items of one call."""

    def __init__(self, items: Sequence[T]) -> None:
        self.items = items
        self.results: list[R | None] = [None] * len(items)
        self.left = len(items)
        self.error: Exception | None = None
        self.woken = Flag()

    @property
    def over(self) -> bool:
        return self.left == 0 or self.error is not None


class Batcher(Generic[T, R]):
    """What `Node.batcher` returns. A caller computes its batch itself, on its own thread; the others wait for it.

    Parameters:
        fn: gives one result an item, in their order; called on several threads at once.
        size: most items of a call.
    """

    def __init__(self, batching: Batching, component: str, fn: Callable[[Sequence[T]], Sequence[R]], size: int) -> None:
        self._batching, self._component, self._fn, self._size = batching, component, fn, size
        self._queue: deque[tuple[_Request[T, R], int]] = deque()
        self._due = False

    def __call__(self, items: Sequence[T], /) -> Sequence[R]:
        if not items:
            return []
        entry, flights = self._batching.entry_here()
        request = _Request[T, R](items)
        if not entry:  # in begin_global, say: nobody would come
            return [result for some in self._parts(items) for result in self._computed(some)]
        end = time.monotonic() + LONGEST
        with self._batching.lock:
            self._queue.extend((request, number) for number in range(len(items)))
            self._batching.join(entry)
        try:
            while not request.over:
                batch = self._take(request, end)
                if batch:
                    self._run(batch)
                elif not request.over:
                    if abandoned() or any(flight.stopped for flight in flights):
                        raise EntryStopped
                    request.woken.wait(min(SLICE, max(0.0, end - time.monotonic()) or SLICE))
        finally:
            if request.left:
                self._forget(request)
            self._batching.leave(entry)
        if request.error is not None:
            raise request.error
        return request.results  # type: ignore[return-value]

    def due(self) -> None:
        """What is queued has waited long enough, or nobody is left who could add to it; `batching.lock` is held."""
        self._due = bool(self._queue)
        if self._due:
            self._queue[0][0].woken.set()

    def _take(self, request: _Request[T, R], end: float) -> list[tuple[_Request[T, R], int]]:
        """A batch that is full, or due; empty where there is none."""
        with self._batching.lock:
            request.woken.clear()
            due = self._due or time.monotonic() >= end
            if request.over or not (due or len(self._queue) >= self._size):
                return []
            batch = [self._queue.popleft() for _ in range(min(self._size, len(self._queue)))]
            self._due = False
            if due or len(self._queue) >= self._size:
                self.due()
            return batch

    def _run(self, batch: Sequence[tuple[_Request[T, R], int]]) -> None:
        done = False
        try:
            with self._batching.computing():
                self._deliver(batch)
            done = True
        finally:
            if not done:  # a signal, or the end of a call that was given up: somebody else computes it
                with self._batching.lock:
                    self._queue.extendleft(reversed([(request, number) for request, number in batch if not request.over]))
                    self.due()

    def _deliver(self, batch: Sequence[tuple[_Request[T, R], int]]) -> None:
        requests = list(dict.fromkeys(request for request, _ in batch))
        try:
            results = self._computed([request.items[number] for request, number in batch])
        except Exception as error:  # noqa: BLE001 - raised again in the thread that it belongs to
            if len(requests) > 1:  # one of them is to blame: each is asked alone
                for request in requests:
                    self._deliver([part for part in batch if part[0] is request])
                return
            self._fail(requests[0], error)
            return
        with self._batching.lock:
            for (request, number), result in zip(batch, results, strict=True):
                request.results[number] = result
                request.left -= 1
            for request in requests:
                if request.left == 0:
                    request.woken.set()

    def _fail(self, request: _Request[T, R], error: Exception) -> None:
        with self._batching.lock:
            request.error = error
            request.woken.set()

    def _forget(self, request: _Request[T, R]) -> None:
        with self._batching.lock:
            self._queue = deque(part for part in self._queue if part[0] is not request)

    def _computed(self, items: Sequence[T]) -> Sequence[R]:
        results = self._fn(items)
        if len(results) != len(items):
            told = f"{self._component}: the function of a batcher gave {len(results)} results for {len(items)} items"
            raise RunError(told, component=self._component)
        return results

    def _parts(self, items: Sequence[T]) -> Iterable[Sequence[T]]:
        return (items[start : start + self._size] for start in range(0, len(items), self._size))
