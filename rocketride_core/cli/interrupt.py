# SPDX-License-Identifier: MIT
"""Ctrl-C: the first asks to finish what is begun, the second stops at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

__all__ = ["Interrupt"]


class Interrupt:
    """While entered, SIGINT and SIGTERM set `asked` and call `told` once, on a thread; another SIGINT raises KeyboardInterrupt.

    Python drops an exception that a signal handler raises inside a destructor. A second Ctrl-C that does not end the block
    within two seconds ends the process all the same, with `last_word`.

    On another thread than the main one nothing is changed: signals are not ours there.
    """

    def __init__(self, told: Callable[[], object], last_word: Callable[[], object] = lambda: None) -> None:
        self.asked = False
        self._told, self._last_word = told, last_word
        self._heard = threading.Event()
        self._before: dict[int, Any] = {}
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *raised: object) -> None:
        self._heard.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._thread is not None:
            self._thread.join(5)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            if number == signal.SIGINT:
                threading.Thread(target=self._insist, name="rocketride-insist", daemon=True).start()
                raise KeyboardInterrupt
            return
        self.asked = True
        # The interrupted code may hold the very lock, or be inside the very stream, that `told` needs.
        self._thread = threading.Thread(target=self._told, name="rocketride-interrupt", daemon=True)
        self._thread.start()

    def _insist(self) -> None:
        if not self._heard.wait(2):
            self._last_word()
            os._exit(130)
