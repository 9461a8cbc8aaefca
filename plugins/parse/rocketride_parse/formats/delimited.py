# SPDX-License-Identifier: MIT
"""CSV and its relatives: separated by commas, semicolons, tabs or pipes."""

import csv
import io
import re
from collections.abc import Iterator

from rocketride_parse.errors import Damaged
from rocketride_parse.parts import Part, facts, grid
from rocketride_parse.source import Source

_DELIMITERS = ",;\t|"
_CELL_LIMIT = 1 << 24


def read(source: Source) -> Iterator[Part]:
    """One table, its first row as the head; a single column is text."""
    text = source.text.replace("\0", "")
    told = re.match(r"\ufeff?sep=(.)\r?\n", text)
    if told:
        text = text[told.end() :]
    delimiter = told[1] if told else _delimiter(text)
    csv.field_size_limit(_CELL_LIMIT)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False))
    except csv.Error as error:
        raise Damaged(f"{source.name}: damaged, not CSV that can be read ({error})") from error
    part = grid(rows)
    if part is not None:
        yield part
        yield facts(rows=sum(any(cell.strip() for cell in row) for row in rows))


def _delimiter(text: str) -> str:
    """The delimiter that gives the first 50 records the most even width above one; a comma in doubt."""

    def evenness(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        try:
            for row in csv.reader(io.StringIO(text[: 1 << 16], newline=""), delimiter=delimiter):
                if any(cell.strip() for cell in row):
                    widths.append(len(row))
                if len(widths) == 50:
                    break
        except csv.Error:
            return 0.0, 0
        usual = max(set(widths), key=widths.count, default=0)
        return (widths.count(usual) / len(widths), usual) if usual > 1 else (0.0, 0)

    return max(_DELIMITERS, key=evenness)
