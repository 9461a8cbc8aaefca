# SPDX-License-Identifier: MIT
"""Markdown: the text as it is written, its pipe tables apart, its front matter as facts."""

import re
from collections.abc import Iterator

from rocketride_parse.parts import Part, Text, clean, facts, grid, tidy
from rocketride_parse.source import Source

_FRONT = re.compile(r"---\n((?:[\w-]+:.*\n|[ \t]+.*\n|- .*\n|#.*\n|\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|$)")
_FACT = re.compile(r"^(title|author|date|lang|language):[ \t]*(\S.*)$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_CELL_END = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"^# +(.+?)(?: +#+)?$", re.MULTILINE)


def read(source: Source) -> Iterator[Part]:
    """Text and tables in order; the title is the front matter's, or the first heading of level 1."""
    text = clean(source.text).lstrip("\n")
    found: dict[str, str] = {}
    front = _FRONT.match(text)
    if front:
        found = {key: value.strip().strip("\"'") for key, value in _FACT.findall(front[1])}
        text = text[front.end() :]
    heading = _HEADING.search(text)
    yield from _split(text.split("\n"))
    yield facts(
        title=found.get("title") or (heading[1] if heading else ""),
        author=found.get("author"),
        created=found.get("date"),
        language=found.get("lang") or found.get("language"),
    )


def _split(lines: list[str]) -> Iterator[Part]:
    held: list[str] = []
    fence, number = "", 0
    while number < len(lines):
        line = lines[number]
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        rows = [] if fence or mark else _table(lines, number)
        if rows:
            yield from _flush(held)
            part = grid([rows[0], *rows[2:]])
            number += len(rows)
            if isinstance(part, Text):
                held.append(part.text)
            elif part is not None:
                yield part
            continue
        held.append(line)
        number += 1
    yield from _flush(held)


def _flush(held: list[str]) -> Iterator[Part]:
    text = tidy("\n".join(held))
    held.clear()
    if text.strip():
        yield Text(text)


def _table(lines: list[str], start: int) -> list[list[str]]:
    """The rows of the table that begins here, the rule included; none if there is no table."""
    if start + 1 >= len(lines) or "|" not in lines[start] or "-" not in lines[start + 1] or not _RULE.match(lines[start + 1]):
        return []
    rows = [_cells(lines[start]), _cells(lines[start + 1])]
    if len(rows[0]) != len(rows[1]):
        return []
    for line in lines[start + 2 :]:
        if "|" not in line:
            break
        rows.append(_cells(line))
    return rows


def _cells(line: str) -> list[str]:
    cells = _CELL_END.split(line.strip())
    if not cells[0].strip():
        del cells[0]
    if cells and not cells[-1].strip():
        del cells[-1]
    return [cell.replace("\\|", "|") for cell in cells]
