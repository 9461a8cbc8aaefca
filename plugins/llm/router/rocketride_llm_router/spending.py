# SPDX-License-Identifier: MIT
"""What one entry has cost so far, and what the questions that are under way may cost."""

from __future__ import annotations

from threading import Lock

__all__ = ["Spending", "TooDear"]


class TooDear(Exception):
    """The ceiling would be exceeded."""


class Spending:
    """Of one entry at one router. Safe on several threads: what a question may cost is set aside before it is asked."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._spent = self._aside = 0.0
        self._told: set[tuple[str, str]] = set()

    @property
    def spent(self) -> float:
        with self._lock:
            return self._spent

    def set_aside(self, amount: float, ceiling: float) -> None:
        """Sets aside what a question may cost at most.

        Parameters:
            ceiling: the most that the entry may cost; 0 is no limit.

        Raises:
            TooDear: it would be exceeded; the text says by what.
        """
        with self._lock:
            if ceiling and self._spent + self._aside + amount > ceiling:
                waiting = f", {self._aside:.6g} may be for questions under way" if self._aside else ""
                raise TooDear(f"{self._spent:.6g} is spent{waiting}, and this one may cost {amount:.6g}")
            self._aside += amount

    def settle(self, amount: float, cost: float) -> None:
        """The question has cost `cost`, in place of the amount that was set aside."""
        with self._lock:
            self._aside = max(0.0, self._aside - amount)
            self._spent += cost

    def first_time(self, failed: str, answered: str) -> bool:
        """The entry has not been told of this switch yet."""
        with self._lock:
            known = (failed, answered) in self._told
            self._told.add((failed, answered))
            return not known
