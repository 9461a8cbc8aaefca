# SPDX-License-Identifier: MIT
"""Other libraries doing the jobs that the rows measure, each where it is installed (`make peers`).

Every module here is one library. It has `NAME`, `NEEDS` (a distribution, "" for the standard library), and what it can do of: `chain()`, `single()`,
`diamond()`, `tool()`, `subgraph()`, which give a function that does the job n times, `splitter(size)`, which gives one that cuts a text into
chunks of so many characters, and `PROGRAM`, the source of a program with its first result.

The jobs: `chain` sends a value through 50 steps that pass it on, `single` through one, `diamond` through two branches and a join,
`tool` calls a tool of two numbers as an agent's graph would, `subgraph` a graph of one node from inside another.
What a library makes once (graphs, drivers) is made before.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import logging
import os
import pkgutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

__all__ = ["LENGTH", "bodies", "programs", "splitters", "versions"]

LENGTH = 50

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
os.environ.setdefault("HAMILTON_TELEMETRY_ENABLED", "false")


def bodies(job: str) -> Iterator[tuple[str, Callable[[int], object]]]:
    """What does this job, by name of the library."""
    for module in _installed():
        make = getattr(module, job, None)
        if make is not None:
            yield module.NAME, make()


def programs() -> Iterator[tuple[str, str]]:
    """Programs up to their first result, by name of the library."""
    for module in _installed():
        if hasattr(module, "PROGRAM"):
            yield module.NAME, module.PROGRAM


def splitters(size: int) -> Iterator[tuple[str, Callable[[str], Sequence[object]]]]:
    """What cuts a text into chunks of at most that many characters, by name of the library."""
    for module in _installed():
        if hasattr(module, "splitter"):
            yield module.NAME, module.splitter(size)


@functools.cache
def _installed() -> list[ModuleType]:
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # peers warn of their own deprecations
    # They import their libraries inside their functions, so importing all of them costs nothing.
    found = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return [module for module in found if not module.NEEDS or _version(module.NEEDS)]


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def versions() -> dict[str, str]:
    """The versions of the libraries that are installed, by distribution."""
    return {module.NEEDS: _version(module.NEEDS) for module in _installed() if module.NEEDS}
