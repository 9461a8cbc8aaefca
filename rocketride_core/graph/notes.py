# SPDX-License-Identifier: MIT
"""What stands below a picture: the legend, and the problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import attrs

from .measure import fitted, width, wrapped
from .picture import Note, Picture
from .sizes import SMALL

__all__ = ["Column", "legend", "listed"]

WIDEST = 1180.0
LINE = 16.0


@attrs.define
class Column:
    """Where the next line goes."""

    x: float
    y: float
    w: float


def legend(picture: Picture, families: Sequence[str], lanes: Mapping[str, str], column: Column) -> Iterable[str]:
    """Colours and lines that are in the picture, and what they mean."""
    items = [(f'<rect class="b-{name}" x="{{x}}" y="{{top}}" width="10" height="10" rx="2"/>', 16.0, name) for name in families]
    line = '<path class="wire{kind}" d="M{{x}},{{y}} h22"/>'
    items += [
        (f'<g class="{lanes[name]}">{line.format(kind="")}</g>', 28.0, f"lane {fitted(name, 150, SMALL)}")
        for name in picture.lanes
    ]
    if picture.controls:
        items.append((f'<g class="call">{line.format(kind=" calls")}</g>', 28.0, "calls"))
    dashed = '<rect class="{name} box none" x="{{x}}" y="{{top}}" width="16" height="10" rx="2"/>'
    if any(box.state == "absent" for box in picture.boxes):
        items.append((dashed.format(name="absent"), 22.0, "not installed"))
    if any(box.state == "missing" for box in picture.boxes):
        items.append((dashed.format(name="missing"), 22.0, "not in the file"))
    if any(box.start for box in picture.boxes):
        items.append(('<path class="start" d="M{x},{top} l10,5 l-10,5 Z"/>', 16.0, "start"))
    x = column.x
    for mark, room, name in items:
        wide = room + width(name, SMALL) + 18
        if x > column.x and x + wide > column.x + column.w:
            x, column.y = column.x, column.y + LINE + 2
        drawn = mark.format(x=f"{x:.1f}", y=f"{column.y - 4:.1f}", top=f"{column.y - 9:.1f}")
        yield f'{drawn}<text x="{x + room:.1f}" y="{column.y:.1f}" class="small soft">{escape(name)}</text>'
        x += wide
    if items:
        column.y += LINE


def listed(notes: Sequence[Note], column: Column) -> Iterable[str]:
    """Each problem: its number, what and where."""
    room = min(column.w, WIDEST) - 34
    if notes:
        column.y += 14
    for note in notes:
        shown = str(note.number)
        ground = max(width(shown, 10, bold=True) + 8, 16)
        at = column.x + (ground - width(shown, 10, bold=True)) / 2
        yield (
            f'<g class="badge"><rect class="m-{note.severity}" x="{column.x:.1f}" y="{column.y - 11.6:.1f}" width="{ground:.1f}" '
            f'height="16" rx="8"/><text x="{at:.1f}" y="{column.y:.1f}" class="mark">{shown}</text></g>'
        )
        told = wrapped(f"{note.severity} {note.code}: {note.message}", room, SMALL)
        places = _places(note.places)
        if len(told) == 1 and places and width(f"{told[0]}  {places}", SMALL) <= room:
            column.y += LINE
            yield (
                f'<text x="{column.x + 34:.1f}" y="{column.y - LINE:.1f}" class="small">{escape(told[0])}'
                f'<tspan dx="10" class="soft">{escape(places)}</tspan></text>'
            )
            column.y += 4
            continue
        for line in told:
            yield _line(column, line, "small")
        for line in wrapped(places, room, SMALL) if places else ():
            yield _line(column, line, "small soft")
        column.y += 4


def _line(column: Column, words: str, classes: str) -> str:
    y, column.y = column.y, column.y + LINE
    return f'<text x="{column.x + 34:.1f}" y="{y:.1f}" class="{classes}">{escape(words)}</text>'


def _places(ids: Sequence[str], most: int = 12) -> str:
    return ", ".join(ids[:most]) + (f" and {len(ids) - most} more" if len(ids) > most else "")
