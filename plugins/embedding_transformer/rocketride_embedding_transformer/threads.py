# SPDX-License-Identifier: MIT
"""One BLAS thread for each product while anything is embedded, and batches spread over the cores instead.

Pipelines embed on several workers at once. Were each product spread over all cores as well, the threads would mostly wait for one
another: seven times slower was measured on two busy cores. The setting is the process's: the first that embeds makes it, the
last takes it back. A limit that another thread of the program holds through threadpoolctl is left alone.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
# Those that this process may use; in a container often fewer than the machine has.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_lock = threading.Lock()
_inside = 0
_before: list[int] = []


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Inside, BLAS uses one thread for each caller; nested and parallel use is fine."""
    global _inside, _before
    libraries = _libraries()
    with _lock:
        if _inside == 0:
            _before = [library.num_threads for library in libraries]
        _inside += 1
        for library in libraries:
            _hold(library, 1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for library, count in zip(libraries, _before, strict=True):
                    _hold(library, count)


def spread(work: Callable[[T], None], parts: Sequence[T]) -> None:
    """`work` for each part, on as many threads as the process has cores: all who call share these. One part is done here.

    Raises:
        Exception: the first part's that failed, when all have ended.
    """
    if len(parts) == 1 or CORES == 1:
        for part in parts:
            work(part)
        return
    futures = [_pool(os.getpid()).submit(work, part) for part in parts]
    errors = [error for error in [future.exception() for future in futures] if error is not None]
    if errors:
        raise errors[0]


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:
    """One for each process: the threads of a parent are not there in its child."""
    return ThreadPoolExecutor(CORES, "embedding")


@functools.cache
def _libraries() -> Sequence[Any]:
    """The BLAS libraries in this process, which numpy has loaded by now; looking for them takes a while."""
    control = importlib.import_module("threadpoolctl").ThreadpoolController()
    return list(control.select(user_api="blas").lib_controllers)


def _hold(library: Any, threads: int) -> None:
    # Newer versions of threadpoolctl heed only the thread that came first, until it lets go: a host that holds on keeps its number.
    release = getattr(library, "clear_controlling_thread", lambda: None)
    release()
    library.set_num_threads(threads)
    release()
