# SPDX-License-Identifier: MIT
"""Worker threads around the native pool: Python threads whose target is the native loop, and the tasks behind its tickets."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
from collections.abc import Callable
from threading import Lock, Thread
from weakref import WeakSet

from . import _native
from .errors import EntryStopped, RunError

__all__ = ["Workers"]

Task = Callable[[], None]

_all: WeakSet[Workers] = WeakSet()
_here = threading.local()


class Workers:
    """Up to `count` threads, started as they are needed. What a task raises goes to `threading.excepthook`.

    Parameters:
        queue: tasks that may wait; `put` blocks while it is full. By default two for each thread.
        leave: called by each thread when it ends.
    """

    def __init__(self, count: int, name: str = "rocketride", queue: int = 0, leave: Task | None = None) -> None:
        self.count = count
        self._leave = leave
        self._name = name
        self._pool = _native.Pool(queue or 2 * count)
        self._process = os.getpid()
        self._tasks: dict[int, Task] = {}
        self._tickets = itertools.count()
        self._lock = Lock()
        self._threads: list[Thread] = []
        self._given_up: set[int] = set()
        _all.add(self)

    def put(self, task: Task, timeout: float | None = None) -> bool:
        """Queue a task; False if there was no room in time.

        Raises:
            RunError: `pipeline-closed`.
        """
        ticket = next(self._tickets)
        self._tasks[ticket] = task
        try:
            done = self._pool.put(ticket, timeout)
        except BaseException:  # a signal while waiting: the task was not queued
            self._tasks.pop(ticket, None)
            raise
        if not done:
            self._tasks.pop(ticket, None)
        if done is None:
            raise RunError("the pipeline is closed", code="pipeline-closed")
        if done and len(self._threads) < self.count:
            self._grow()
        return bool(done)

    def drain(self, timeout: float | None) -> bool:
        """Wait until nothing is queued or running."""
        return bool(self._pool.drain(timeout))

    def drop(self) -> list[Task]:
        """Take all queued tasks out."""
        return [task for ticket in self._pool.drop() if (task := self._tasks.pop(ticket, None)) is not None]

    def close(self) -> None:
        if os.getpid() == self._process:  # after a fork the threads that wait in the pool are the parent's
            self._pool.close()

    def join(self, timeout: float) -> bool:
        """Wait for the threads to end, after `close`; False if one still works."""
        end = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _grow(self) -> None:
        with self._lock:
            if len(self._threads) < self.count and self._pool.idle < self._pool.queued + 1:
                name = f"{self._name}-{len(self._threads)}"
                thread = Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def works_here(self) -> bool:
        """Is the calling thread one of these?"""
        return _here.__dict__.get("workers") is self

    def _run(self) -> None:
        _here.workers = self
        self._pool.work(self._work)
        if self._leave is not None:
            self._leave()

    def replace(self, threads: set[int]) -> None:
        """These threads hang in what they do: others take their place, and they end when they come back."""
        with self._lock:
            mine = {thread.ident for thread in self._threads if thread.ident is not None} & threads - self._given_up
            self._given_up |= mine
            self.count += len(mine)

    def _back(self) -> bool:
        """False for a thread that was replaced."""
        me = threading.get_ident()
        with self._lock:
            if me not in self._given_up:
                return True
            self._given_up.discard(me)
            self._threads = [thread for thread in self._threads if thread.ident != me]
            self.count -= 1
        return False

    def _work(self, ticket: int) -> bool:
        try:
            self._tasks.pop(ticket)()
        except EntryStopped:  # sent to an abandoned call in its last moment
            pass
        except BaseException as error:  # noqa: BLE001 - told as the end of a thread would be, but the worker stays
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread())))
        return not self._given_up or self._back()


@atexit.register
def _leave() -> None:
    """Daemon threads that still run Python when the interpreter goes would be cut off inside a handler."""
    left = list(_all)
    for workers in left:
        workers.close()
    for workers in left:
        workers.join(1)
