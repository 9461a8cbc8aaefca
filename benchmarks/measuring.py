# SPDX-License-Identifier: MIT
"""Samples: what one round of one case costs, in this process or in a fresh one.

All times are CPU times, so that whatever else runs on the machine counts as little as possible. What is left of it (shared
caches, a clock that changes) hits everything of one round alike: cases are compared round by round, never across rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

__all__ = ["ROOT", "Case", "Options", "Unmeasured", "child", "fresh", "plain_loop", "rss", "timed"]

ROOT = Path(__file__).resolve().parents[1]

Case = Callable[[], float]  # measures once: one sample


class Unmeasured(Exception):
    """A row cannot be measured here; the text says what is missing."""


@attrs.frozen
class Options:
    """Parameters:
    rounds: how often every case is measured.
    quick: short samples; fine for a look, too noisy for a verdict.
    """

    rounds: int = 9
    quick: bool = False

    @property
    def sample(self) -> float:
        """The least length of a sample in ns of CPU."""
        return 3e6 if self.quick else 2e7


def timed(body: Callable[[int], object], options: Options, units: float = 1) -> Case:
    """A case that runs `body(n)` with an `n` that fills a sample; in ns of CPU per unit of work.

    Parameters:
        body: does the work n times.
        units: how many units one time is.
    """
    body(1)
    n, spent = 1, _spent(body, 1)
    while spent < options.sample / 2 and n < 1 << 24:
        n *= 2 if spent > options.sample / 20 else 10
        spent = _spent(body, n)
    return lambda: _spent(body, n) / n / units


def _spent(body: Callable[[int], object], n: int) -> float:
    before = time.process_time_ns()
    body(n)
    return time.process_time_ns() - before


def _same(value: object) -> object:
    return value


_FUNCTIONS = [_same] * 50


def plain_loop(n: int) -> object:
    """The yardstick: a value goes through the same plain function 50 times, n times over."""
    value: object = "abc"
    for _ in range(n):
        for function in _FUNCTIONS:
            value = function(value)
    return value


def child(code: str, *arguments: str, env: Mapping[str, str] | None = None, path: Sequence[str] = ()) -> tuple[str, float]:
    """Run code in a fresh interpreter.

    Parameters:
        path: folders that come first on its `sys.path`.

    Returns: what it printed, and all the CPU it took, in ns, start and end of the interpreter included.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(ROOT)]), **(env or {})}
    # Its errors go to a file: nobody reads them while it runs, and a full pipe would stop it.
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors
        )
        assert process.stdout is not None
        with process.stdout as output:
            printed = output.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise Unmeasured(f"a fresh process failed: {last or f'exit code {process.returncode}'}")
    return printed.decode(), (usage.ru_utime + usage.ru_stime) * 1e9


def fresh(code: str, *arguments: str, env: Mapping[str, str] | None = None, path: Sequence[str] = ()) -> Case:
    """A case that is a whole fresh process, in ns of CPU. It runs once before, so that byte code and indexes are there."""
    child(code, *arguments, env=env, path=path)
    return lambda: child(code, *arguments, env=env, path=path)[1]


def rss() -> int:
    """Resident memory of this process, in bytes."""
    status = Path("/proc/self/statm")
    if not status.exists():
        raise Unmeasured("resident memory is read from /proc, which this system does not have")
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
