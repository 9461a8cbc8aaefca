# SPDX-License-Identifier: MIT
"""Rate limits of one node, for all threads that call it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from rocketride_core import ToolFailure

__all__ = ["RateLimits"]


class RateLimits:
    """Limits on requests in any second, in any minute and at once; 0 is no limit. Refuses instead of waiting.

    Parameters:
        clock: seconds, monotonic.
    """

    def __init__(self, second: int, minute: int, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._windows = [(name, limit, span) for name, limit, span in (("second", second, 1), ("minute", minute, 60)) if limit]
        self._at_once, self._clock = at_once, clock
        self._running = 0
        self._begun: deque[float] = deque(maxlen=max(second, minute) or None)
        self._lock = Lock()

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request. What is refused counts for nothing.

        Raises:
            ToolFailure: a limit is reached.
        """
        with self._lock:
            self._admit()
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def _admit(self) -> None:
        if self._at_once and self._running >= self._at_once:
            raise ToolFailure(
                f"Too many concurrent requests: max {self._at_once} in-flight. Please wait for an ongoing request to complete."
            )
        now = self._clock()
        for name, limit, span in self._windows:
            if len(self._begun) >= limit and now - self._begun[-limit] < span:
                raise ToolFailure(f"Rate limit exceeded: max {limit} requests per {name}. Please retry after a short delay.")
        self._running += 1
        if self._windows:
            self._begun.append(now)
