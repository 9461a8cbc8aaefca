# SPDX-License-Identifier: MIT
"""Ctrl-C: the first asks to finish what is begun, the second stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

__all__ = ["Interrupt"]


class Interrupt:
    """While entered, SIGINT and SIGTERM set `asked` and call `told` once, on a thread; another SIGINT raises KeyboardInterrupt.

    On another thread than the main one nothing is changed: signals are not ours there.
    """

    def __init__(self, told: Callable[[], object]) -> None:
        self.asked = False
        self._told = told
        self._before: dict[int, Any] = {}
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._thread is not None:
            self._thread.join(5)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        self.asked = True
        # The interrupted code may hold the very lock, or be inside the very stream, that `told` needs.
        self._thread = threading.Thread(target=self._told, name="rocketride-interrupt", daemon=True)
        self._thread.start()
