# SPDX-License-Identifier: MIT
"""Resources of which every thread has its own: `instance.per_worker`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager as Context
from contextlib import ExitStack, suppress
from functools import partial
from threading import Lock, local
from typing import Any, TypeVar, cast

R = TypeVar("R")

__all__ = ["PerWorker"]


class PerWorker:
    """What the nodes of a pipeline keep for each thread, by node and by what the factory does."""

    def __init__(self) -> None:
        self._here = local()
        self._lock = Lock()
        self._all: list[tuple[int, ExitStack]] = []

    def get(self, node: int, factory: Callable[[], Context[R]]) -> R:
        """The resource of this node on this thread, made at first use."""
        table: dict[Any, Any] = self._here.__dict__
        key = (node, _same(factory))
        if key not in table:
            stack = ExitStack()
            table[key] = stack.enter_context(factory())
            table.setdefault("stacks", []).append((node, stack))
            with self._lock:
                self._all.append((node, stack))
        return cast(R, table[key])

    def leave_thread(self) -> None:
        """A thread of ours ends: what was made on it is closed now, on it."""
        mine: list[tuple[int, ExitStack]] = self._here.__dict__.pop("stacks", [])
        self._here.__dict__.clear()
        with self._lock:
            mine = [item for item in mine if item in self._all]
            self._all = [item for item in self._all if item not in mine]
        for _, stack in reversed(mine):
            with suppress(Exception):  # nobody is left to be told
                stack.close()

    def close(self, node: int) -> list[Exception]:
        """Close what a node has on all threads, the last one first; what failed."""
        with self._lock:
            mine = [stack for at, stack in self._all if at == node]
            self._all = [item for item in self._all if item[0] != node]
        failed: list[Exception] = []
        for stack in reversed(mine):
            try:
                stack.close()
            except Exception as error:  # noqa: BLE001 - the others must be closed all the same
                failed.append(error)
        return failed


def _same(factory: Callable[[], object]) -> object:
    """Equal for factories that do the same: a lambda or partial written in a handler is a new object every time."""
    while isinstance(factory, partial):
        factory = factory.func
    return getattr(factory, "__code__", factory) if not hasattr(factory, "__self__") else factory
