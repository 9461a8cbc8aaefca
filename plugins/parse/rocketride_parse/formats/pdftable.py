# SPDX-License-Identifier: MIT
"""Tables with ruled lines in a PDF page: the lines from its paths, the cells from the text between them."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from rocketride_parse.parts import Table, grid

_NEAR = 2.0
_SHORTEST = 4.0
# A map or a drawing has more, and no table.
_MOST_SEGMENTS, _MOST_CROSSINGS = 10_000, 100_000


class Line(NamedTuple):
    """A line of text: what it says, and where its first letter stands, in points from the bottom left corner."""

    text: str
    left: float
    bottom: float


class Rule(NamedTuple):
    """A drawn line along one axis: where it lies on the other, and from where to where it goes, in points."""

    at: float
    start: float
    end: float


class Found(NamedTuple):
    """A table, and which lines of text it stands for."""

    lines: frozenset[int]
    table: Table


def tables(page: Any, words: Any, lines: Sequence[Line]) -> list[Found]:
    """The ruled tables whose cells hold exactly what the lines in their frame say, no letter more or less."""
    across, down = _rules(page)
    if len(across) < 2 or len(down) < 2 or len(across) * len(down) > _MOST_CROSSINGS:
        return []
    found = []
    for xs, ys in _grids(across, down):
        inside = frozenset(
            number
            for number, line in enumerate(lines)
            if line.text.strip() and xs[0] - _NEAR <= line.left <= xs[-1] and ys[0] - _NEAR <= line.bottom <= ys[-1]
        )
        cells = [
            [words.get_text_bounded(left, bottom, right, top) for left, right in pairwise(xs)]
            for top, bottom in zip(reversed(ys[1:]), reversed(ys[:-1]), strict=True)
        ]
        table = grid(cells)
        letters = sorted("".join("".join(lines[number].text.split()) for number in inside))
        if (
            isinstance(table, Table)
            and letters
            and letters == sorted("".join("".join(cell.split()) for row in cells for cell in row))
        ):
            found.append(Found(inside, table))
    return found


def _grids(across: list[Rule], down: list[Rule]) -> Iterator[tuple[list[float], list[float]]]:
    """The edges of columns and rows of lines that cross each other: two rows and two columns at least."""
    owner = list(range(len(across) + len(down)))

    def root(one: int) -> int:
        while owner[one] != one:
            owner[one] = owner[owner[one]]
            one = owner[one]
        return one

    for i, level in enumerate(across):
        for j, upright in enumerate(down, len(across)):
            if (
                level.start - _NEAR <= upright.at <= level.end + _NEAR
                and upright.start - _NEAR <= level.at <= upright.end + _NEAR
            ):
                owner[root(i)] = root(j)
    groups: dict[int, tuple[list[float], list[float]]] = {}
    for j, upright in enumerate(down, len(across)):
        groups.setdefault(root(j), ([], []))[0].append(upright.at)
    for i, level in enumerate(across):
        groups.setdefault(root(i), ([], []))[1].append(level.at)
    for xs, ys in groups.values():
        xs, ys = _levels(xs), _levels(ys)
        if len(xs) > 2 and len(ys) > 2:
            yield xs, ys


def _levels(places: list[float]) -> list[float]:
    """Places in order, those that are nearly the same as one."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > 2 * _NEAR:
            found.append(place)
    return found


def _rules(page: Any) -> tuple[list[Rule], list[Rule]]:
    """The level and the upright lines of a page, pieces of one taken together; none for a drawing."""
    across: list[Rule] = []
    down: list[Rule] = []
    for x0, y0, x1, y1 in _segments(page):
        if len(across) + len(down) > _MOST_SEGMENTS:
            return [], []
        if abs(y1 - y0) < 1 and abs(x1 - x0) >= _SHORTEST:
            across.append(Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
        elif abs(x1 - x0) < 1 and abs(y1 - y0) >= _SHORTEST:
            down.append(Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    return _joined(across), _joined(down)


def _joined(rules: list[Rule]) -> list[Rule]:
    found: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: (round(rule.at), rule.start)):
        last = found[-1] if found else None
        if last is not None and abs(rule.at - last.at) < _NEAR and rule.start <= last.end + _NEAR:
            found[-1] = last._replace(end=max(last.end, rule.end))
        else:
            found.append(rule)
    return found


def _segments(page: Any) -> Iterator[tuple[float, float, float, float]]:
    """The straight pieces of the paths that are drawn on a page, from where to where, in points."""
    import pypdfium2.raw as raw

    for index in range(raw.FPDFPage_CountObjects(page)):
        shape = raw.FPDFPage_GetObject(page, index)
        if raw.FPDFPageObj_GetType(shape) != raw.FPDF_PAGEOBJ_PATH:
            continue
        fill, stroke, matrix = ctypes.c_int(), ctypes.c_int(), raw.FS_MATRIX()
        raw.FPDFPath_GetDrawMode(shape, ctypes.byref(fill), ctypes.byref(stroke))
        if not (fill.value or stroke.value) or not raw.FPDFPageObj_GetMatrix(shape, ctypes.byref(matrix)):
            continue
        yield from _path(shape, raw, _mapping(matrix))


def _mapping(matrix: Any) -> Callable[[float, float], tuple[float, float]]:
    a, b, c, d, e, f = matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f
    return lambda x, y: (a * x + c * y + e, b * x + d * y + f)


def _path(
    shape: Any, raw: Any, mapped: Callable[[float, float], tuple[float, float]]
) -> Iterator[tuple[float, float, float, float]]:
    x, y = ctypes.c_float(), ctypes.c_float()
    begun = here = (0.0, 0.0)
    for index in range(min(raw.FPDFPath_CountSegments(shape), _MOST_SEGMENTS)):
        segment = raw.FPDFPath_GetPathSegment(shape, index)
        raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        before, here = here, mapped(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            begun = here
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield (*before, *here)
        if raw.FPDFPathSegment_GetClose(segment):
            yield (*here, *begun)
