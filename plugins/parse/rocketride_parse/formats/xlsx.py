# SPDX-License-Identifier: MIT
"""Excel: each sheet under its name; values as they were last calculated, dates in ISO 8601."""

import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from rocketride_parse.errors import Encrypted
from rocketride_parse.parts import Part, Text, facts, grid, one_line
from rocketride_parse.source import Source

from .ooxml import Package

_BLANK_ROWS = 1000


def read(source: Source) -> Iterator[Part]:
    """A heading and a table for every sheet that holds something, in the order of the tabs."""
    load = _openpyxl()
    with warnings.catch_warnings(), source.path.open("rb") as file:
        warnings.simplefilter("ignore")
        try:
            book = load(file, read_only=True, data_only=True)
        except RuntimeError as error:
            raise Encrypted(f"{source.name}: encrypted with a password; save a copy without one") from error
        names = []
        for sheet in book.worksheets:
            # Some writers note a wrong size, and reading stops there.
            sheet.reset_dimensions()
            part = grid(_rows(sheet.iter_rows(values_only=True)))
            if part is not None:
                names.append(sheet.title)
                yield Text(f"## {one_line(sheet.title)}")
                yield part
        properties = book.properties
        yield facts(
            title=properties.title,
            author=properties.creator,
            language=properties.language,
            created=_when(properties.created),
            modified=_when(properties.modified),
            sheets=names,
        )
        book.close()
    if source.options.lanes:
        with Package(source) as package:
            yield from package.folder("xl/media/")


def _openpyxl() -> Callable[..., Any]:
    # openpyxl imports numpy where it is, only to know its types; that costs time, and memory for threads.
    blocked = "numpy" not in sys.modules
    if blocked:
        sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        from openpyxl import load_workbook
    finally:
        if blocked:
            del sys.modules["numpy"]
    loader: Callable[..., Any] = load_workbook
    return loader


def _rows(rows: Iterator[tuple[object, ...]]) -> Iterator[list[str]]:
    """Cell texts; after a thousand formatted rows without a value the rest of the sheet is only formatting."""
    blank = 0
    for row in rows:
        line = list(map(_text, row))
        while line and not line[-1]:
            line.pop()
        # An empty tuple stands for a row that the file does not have, and costs nothing.
        blank = 0 if line else blank + bool(row)
        if blank > _BLANK_ROWS:
            return
        if line:
            yield line


def _when(value: datetime | None) -> str:
    """A time of the core properties, which are in UTC."""
    return f"{value.replace(tzinfo=None).isoformat(timespec='seconds')}Z" if value else ""


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    return str(value)
