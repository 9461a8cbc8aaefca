# SPDX-License-Identifier: MIT
"""Tables with ruled lines: found in the pixels, filled with the words that lie in their cells."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .words import Word

if TYPE_CHECKING:
    from PIL.Image import Image

_NEAR = 6
_THICKEST = 12
_GAP = 2
# A photo or a drawing has more, and no table.
_MOST_RUNS, _MOST_CROSSINGS = 100_000, 100_000
_SIDE = 3000
_SHORTEST = {"across": 60, "down": 18}


class Rule(NamedTuple):
    """A ruled line: where it lies, and from where to where it goes, in pixels."""

    at: float
    start: float
    end: float


class Grid(NamedTuple):
    """The edges of the columns and of the rows of a table, in pixels."""

    across: list[float]
    down: list[float]

    def cell(self, word: Word) -> tuple[int, int] | None:
        """Row and column of the middle of a word, None outside."""
        x, y = word.middle
        column, row = bisect(self.across, x) - 1, bisect(self.down, y) - 1
        inside = 0 <= column < len(self.across) - 1 and 0 <= row < len(self.down) - 1
        return (row, column) if inside else None


def without_rules(image: Image, tables: Sequence[Grid]) -> Image:
    """The image with the lines of its tables wiped out: engines that lay out pages take what they frame for pictures."""
    from PIL import ImageDraw

    if not tables:
        return image
    wiped = image.copy()
    draw = ImageDraw.Draw(wiped)
    paper = _paper(image)
    for grid in tables:
        for x in grid.across:
            draw.line((x, grid.down[0] - _NEAR, x, grid.down[-1] + _NEAR), fill=paper, width=_NEAR + 1)
        for y in grid.down:
            draw.line((grid.across[0] - _NEAR, y, grid.across[-1] + _NEAR, y), fill=paper, width=_NEAR + 1)
    return wiped


def _paper(image: Image) -> tuple[int, ...]:
    """The colour that most of the image has."""
    import numpy as np

    sample = np.asarray(image.resize((64, 64))).reshape(-1, 3)
    return tuple(int(value) for value in np.median(sample, axis=0))


def with_tables(words: Sequence[Word], tables: Sequence[Grid]) -> list[Word]:
    """The words, those of each table as one word that has its rows."""
    rest = list(words)
    for grid in tables:
        cells = [[[] for _ in grid.across[1:]] for _ in grid.down[1:]]  # type: list[list[list[Word]]]
        inside = [(word, place) for word in rest if (place := grid.cell(word)) is not None]
        for word, (row, column) in inside:
            cells[row][column].append(word)
        rows = tuple(row for row in (tuple(map(_text, line)) for line in cells) if any(row))
        used = [column for column in range(len(grid.across) - 1) if any(row[column] for row in rows)]
        if len(rows) < 2 or len(used) < 2:
            continue
        table = Word(
            "",
            grid.across[0],
            grid.down[0],
            grid.across[-1],
            grid.down[-1],
            place=(-1, 0, round(grid.down[0])) if inside[0][0].place else (),
            rows=tuple(tuple(row[column] for column in used) for row in rows),
        )
        first = next(index for index, word in enumerate(rest) if word is inside[0][0])
        gone = {id(word) for word, _ in inside}
        rest = [*(w for w in rest[:first] if id(w) not in gone), table, *(w for w in rest[first:] if id(w) not in gone)]
    return rest


def _text(words: list[Word]) -> str:
    """The words of a cell, line by line."""
    ordered = (
        sorted(words, key=lambda word: (round(word.middle[1] / 12), word.left)) if not all(w.place for w in words) else words
    )
    return " ".join(word.text for word in ordered)


def tables_of(image: Image) -> list[Grid]:
    """The ruled tables of an image, looked for in one of at most 3,000 pixels a side."""
    import numpy as np

    grey = image.convert("L")
    grey.thumbnail((_SIDE, _SIDE))
    scale = image.width / grey.width
    found = grids(np.asarray(grey))
    return [Grid([x * scale for x in grid.across], [y * scale for y in grid.down]) for grid in found] if scale > 1 else found


def grids(pixels: Any) -> list[Grid]:
    """The ruled tables of a page, from its top: rows and columns that lines part.

    pixels: of the whole image, grey, as a numpy array of bytes.
    """
    dark = pixels < _threshold(pixels)
    across, down = _rules(dark, _SHORTEST["across"]), _rules(dark.T, _SHORTEST["down"])
    if len(across) * len(down) > _MOST_CROSSINGS:
        return []
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
    for one, rule in enumerate([*across, *down]):
        groups.setdefault(root(one), ([], []))[one < len(across)].append(rule.at)
    found = []
    for places in groups.values():
        xs, ys = map(_levels, places)
        if len(ys) > 1 and len(xs) > 1 and (len(ys) > 2 or len(xs) > 2):
            found.append(Grid(xs, ys))
    return sorted(found, key=lambda grid: (grid.down[0], grid.across[0]))


def _threshold(pixels: Any) -> float:
    """Between paper and ink, by Otsu's method."""
    import numpy as np

    counts = np.bincount(pixels.ravel(), minlength=256).astype(float)
    weight = np.cumsum(counts)
    total = np.cumsum(counts * np.arange(256))
    rest = weight[-1] - weight
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (total[-1] * weight / weight[-1] - total) ** 2 / (weight * rest)
    return float(np.nan_to_num(between).argmax()) + 1


def _rules(dark: Any, shortest: int) -> list[Rule]:
    """The long thin dark runs along the rows, those that touch taken together."""
    import numpy as np

    height, width = dark.shape
    framed = np.zeros((height, width + 2), dtype=np.int8)
    framed[:, 1:-1] = dark
    edges = np.flatnonzero(np.diff(framed.ravel()))
    starts, ends = edges[0::2], edges[1::2]
    long = ends - starts >= shortest
    starts, ends = starts[long], ends[long]
    if len(starts) > _MOST_RUNS:
        return []
    # Each [first row, last row, start, end]; those that a run of the next rows may still join are `open`.
    done: list[list[int]] = []
    open_: list[list[int]] = []
    reached = -1
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        row, left = divmod(start, width + 2)
        right = end - row * (width + 2)
        if row != reached:
            reached = row
            done += [group for group in open_ if row - group[1] > _GAP]
            open_ = [group for group in open_ if row - group[1] <= _GAP]
        for group in open_:
            if left <= group[3] + _NEAR and right >= group[2] - _NEAR:
                group[1], group[2], group[3] = row, min(group[2], left), max(group[3], right)
                break
        else:
            open_.append([row, row, left, right])
    return [Rule((first + last) / 2, start, end) for first, last, start, end in (*done, *open_) if last - first <= _THICKEST]


def _levels(places: list[float]) -> list[float]:
    """Places in order, those that are nearly the same as one."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > 2 * _NEAR:
            found.append(place)
    return found
