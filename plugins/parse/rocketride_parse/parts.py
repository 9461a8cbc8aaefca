# SPDX-License-Identifier: MIT
"""What a format yields: texts, tables, media, files inside, and facts about the document, in reading order, each exactly once."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

Value: TypeAlias = "str | int | list[str]"

_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Colours and movements of the cursor, as programs write them for terminals.
_TERMINAL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(\x07|\x1b\\))")
_UNWANTED = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f\ufeff\ufffe\uffff]")
_SPACES = re.compile(r"\s+")
_TRAILING = re.compile(r"[ \t]+\n")
_BLANKS = re.compile(r"\n{3,}")


class Text(NamedTuple):
    """A run of text; paragraphs are separated by a blank line."""

    text: str


class Table(NamedTuple):
    """Rows of cell texts, all of one length; the first row is the head."""

    rows: list[list[str]]


class Meta(NamedTuple):
    """Facts about the document: title, author, pages, language, …"""

    values: dict[str, Value]


class Media(NamedTuple):
    """A picture, recording or film in the document.

    lane: `image`, `audio` or `video`. content: the bytes, or a file that has them.
    """

    lane: str
    mime_type: str
    name: str
    content: bytes | Path


class File(NamedTuple):
    """A file inside the file: an attachment, or a member of an archive, whose name has the folders and archives it lies in."""

    name: str
    mime_type: str
    content: bytes | Path


Part: TypeAlias = Text | Table | Meta | Media | File


def clean(text: str) -> str:
    """`text` in NFC, with "\\n" as the only line break, without control characters, stray marks and lone surrogates."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).encode("utf-8", "replace").decode("utf-8")
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _UNWANTED.sub("", _BREAKS.sub("\n", text))


def one_line(text: str) -> str:
    """`text` with every run of white space as one space and none at its ends."""
    return _SPACES.sub(" ", text).strip()


def tidy(text: str) -> str:
    """Cleaned `text` without trailing spaces, outer blank lines, or more than one blank line in a row."""
    return _BLANKS.sub("\n\n", _TRAILING.sub("\n", clean(text) + "\n")).strip("\n").rstrip()


def facts(**values: object) -> Meta:
    """A `Meta` of those values that say something: blank strings, zeros, empty lists and None are left out."""
    kept: dict[str, Value] = {}
    for key, value in values.items():
        if isinstance(value, str):
            value = one_line(clean(value))
        elif isinstance(value, list | tuple):
            value = [item for item in (one_line(clean(str(item))) for item in value) if item]
        if value and isinstance(value, str | int | list):
            kept[key] = value
    return Meta(kept)


def grid(rows: Iterable[Sequence[str]]) -> Part | None:
    """What `rows` are: a Table from two rows and two columns up, else a Text, None when there is nothing.

    Blank rows, and columns blank in every row, are dropped; short rows are filled up.
    """
    lines = [[one_line(clean(cell)) for cell in row] for row in rows]
    lines = [line for line in lines if any(line)]
    width = max(map(len, lines), default=0)
    used = [column for column in range(width) if any(column < len(line) and line[column] for line in lines)]
    lines = [[line[column] if column < len(line) else "" for column in used] for line in lines]
    if not lines:
        return None
    if len(lines) == 1 or len(used) == 1:
        return Text("\n".join(cell for line in lines for cell in line if cell))
    return Table(lines)


def markdown(table: Table) -> str:
    """The table as a Markdown table; "|" in a cell is escaped."""
    lines = ["| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row) + " |" for row in table.rows]
    lines.insert(1, "|" + " --- |" * len(table.rows[0]))
    return "\n".join(lines)


class Flow:
    """Collects paragraphs and lets tables through: one Text for all that stands between two tables."""

    def __init__(self) -> None:
        self._blocks: list[str] = []

    def add(self, block: str) -> None:
        """Append a paragraph; a blank one is dropped."""
        if block.strip():
            self._blocks.append(block.strip("\n"))

    def put(self, part: Part | None) -> Iterator[Part]:
        """Append what `grid` gave: a Text joins the paragraphs, a Table comes out after them."""
        if isinstance(part, Text):
            self.add(part.text)
        elif part is not None:
            yield from self.end()
            yield part

    def end(self) -> Iterator[Part]:
        """The paragraphs so far as one Text, if there are any."""
        text = tidy("\n\n".join(self._blocks))
        self._blocks.clear()
        if text:
            yield Text(text)
