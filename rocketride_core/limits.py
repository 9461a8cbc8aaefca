# SPDX-License-Identifier: MIT
"""Time limits: one thread per pipeline, started at the first limit, ends what has run too long."""

from __future__ import annotations

import heapq
import itertools
import time
from threading import TIMEOUT_MAX, Condition, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .flight import Flight

__all__ = ["Limits"]


class Limits:
    """Watches flights; `expire` is called on one that is not over in time."""

    def __init__(self) -> None:
        self._wake = Condition()
        self._heap: list[tuple[float, int]] = []
        self._watched: dict[int, tuple[Flight, float]] = {}
        self._number = itertools.count()
        self._thread: Thread | None = None
        self._closed = False

    def add(self, flight: Flight, seconds: float) -> int:
        if seconds != seconds:  # NaN has no place in a heap
            raise ValueError("a time limit is a number of seconds")
        flight.deadline = end = time.monotonic() + seconds
        with self._wake:
            number = next(self._number)
            self._watched[number] = flight, seconds
            heapq.heappush(self._heap, (end, number))
            if self._thread is None and not self._closed:
                self._thread = Thread(target=self._work, name="rocketride-limits", daemon=True)
                self._thread.start()
            if self._heap[0][1] == number:
                self._wake.notify()
        return number

    def remove(self, number: int) -> None:
        with self._wake:
            self._watched.pop(number, None)
            if len(self._heap) > 2 * len(self._watched) + 64:
                self._heap = [item for item in self._heap if item[1] in self._watched]
                heapq.heapify(self._heap)

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify()
            thread = self._thread
        if thread is not None:
            thread.join(1)

    def _work(self) -> None:
        while True:
            with self._wake:
                if self._closed:
                    return
                now = time.monotonic()
                due = []
                while self._heap and (self._heap[0][0] <= now or self._heap[0][1] not in self._watched):
                    found = self._watched.pop(heapq.heappop(self._heap)[1], None)
                    if found is not None:
                        due.append(found)
                if not due:
                    self._wake.wait(min(self._heap[0][0] - now, TIMEOUT_MAX) if self._heap else None)
                    continue
            for flight, seconds in due:
                flight.expire(seconds)
