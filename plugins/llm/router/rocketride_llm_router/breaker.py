# SPDX-License-Identifier: MIT
"""A circuit breaker: leaves alone what fails again and again, and tries it with one call after a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

__all__ = ["Breaker"]


class Breaker:
    """Of one model, for all entries and workers. Safe on several threads.

    It is closed at first; `failures` in a row open it for `cool_down` seconds, or as long as the server asked for where that is longer.
    Then one call is let through while all others are still kept off: if that succeeds it is closed, if not, open again.

    Parameters:
        clock: seconds that only go forward.
    """

    def __init__(self, failures: int, cool_down: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._cool_down, self._clock = failures, cool_down, clock
        self._lock = Lock()
        self._era = 0  # calls that began before it opened or closed have no say afterwards
        self._failed = 0
        self._until: float | None = None
        self._trying = False

    def admit(self) -> int | None:
        """A ticket for one call, which is to be given to `succeed`, `fail` or `leave`; None where it must not be made."""
        with self._lock:
            if self._until is not None:
                if self._trying or self._clock() < self._until:
                    return None
                self._trying = True
            return self._era

    @property
    def rest(self) -> float:
        """Seconds until the next call may be let through; 0 where one may now, or one is being tried."""
        with self._lock:
            return 0.0 if self._until is None else max(0.0, self._until - self._clock())

    def succeed(self, ticket: int) -> None:
        """The call was answered, be it with an error that says that the server is well."""
        with self._lock:
            if ticket == self._era:
                self._failed = 0
                if self._until is not None:
                    self._until, self._trying = None, False
                    self._era += 1

    def fail(self, ticket: int, after: float | None = None) -> bool:
        """The call was not answered. True where that opened the circuit.

        Parameters:
            after: seconds after which the server wants to be asked again, None where it did not say.
        """
        with self._lock:
            if ticket != self._era:
                return False
            self._failed += 1
            if self._until is None and self._failed < self._most:
                return False
            self._until, self._trying = self._clock() + max(self._cool_down, after or 0.0), False
            self._era += 1
            return True

    def leave(self, ticket: int) -> None:
        """The call ended without telling anything of the server, by a cancel say."""
        with self._lock:
            if ticket == self._era:
                self._trying = False
