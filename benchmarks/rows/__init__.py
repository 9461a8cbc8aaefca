# SPDX-License-Identifier: MIT
"""The rows of the table, by subject. Every module here has `ROWS`; a new module is found, not listed."""

from __future__ import annotations

import importlib
import pkgutil

from ..judging import Row

__all__ = ["every"]

# The order of the table; what is not named comes after.
FIRST = ("delivery", "objects", "tools", "start", "checking", "memory", "tracing", "splitting")


def every() -> list[Row]:
    """All rows, in the order of the table."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    names.sort(key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    rows: list[Row] = []
    for name in names:
        rows += importlib.import_module(f"{__name__}.{name}").ROWS
    return rows
