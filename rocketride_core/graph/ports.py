# SPDX-License-Identifier: MIT
"""Where lanes leave and enter boxes, and their ways in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from .geometry import Block, Point, Route
from .layers import Layers
from .sizes import PORT, Sizes

__all__ = ["Lane", "Ports"]

TURN = 14.0
ARROW = 10.0

Step = tuple[str, Sequence[Point]]


@attrs.frozen
class Lane:
    """A wire of one level.

    Parameters:
        wire: its number in the picture.
        source, target: numbers of units.
        out_of, into: the boxes, which may be deep inside of the units.
        drawn: whether units are placed by it; False for one inside of one unit.
    """

    wire: int
    name: str
    source: int
    target: int
    out_of: int
    into: int
    drawn: bool


class Ports:
    """Draws the lanes of a level whose boxes are placed."""

    def __init__(
        self,
        block: Block,
        layers: Layers,
        lanes: Sequence[Lane],
        y: Sequence[float],
        lefts: Sequence[float],
        rights: Sequence[float],
        sizes: Sizes,
    ) -> None:
        self.block, self.layers, self.lanes, self.y = block, layers, lanes, y
        self.lefts, self.rights, self.sizes = lefts, rights, sizes
        self.outs = self._spread(out=True)
        self.ins = self._spread(out=False)
        self._straighten()

    def _chain(self, lane: Lane) -> list[int]:
        return self.layers.chains.get((lane.source, lane.target), [])

    def _backward(self, lane: Lane) -> bool:
        return (lane.source, lane.target) in self.layers.backward

    def _spread(self, *, out: bool) -> dict[tuple[int, str], float]:
        """One port for each lane of a box, in the order of where they lead."""
        wishes: dict[int, dict[str, list[float]]] = {}
        for lane in self.lanes:
            box, other = (lane.out_of, lane.into) if out else (lane.into, lane.out_of)
            chain = self._chain(lane)
            near = self.y[chain[0 if out != self._backward(lane) else -1]] if chain else self.block.spots[other].middle
            wishes.setdefault(box, {}).setdefault(lane.name, []).append(near)
        found: dict[tuple[int, str], float] = {}
        for box, names in wishes.items():
            order = sorted(names, key=lambda name: (sum(names[name]) / len(names[name]), name))
            first = self.block.spots[box].middle - PORT * (len(order) - 1) / 2
            found |= {(box, name): first + PORT * n for n, name in enumerate(order)}
        return found

    def _straighten(self) -> None:
        """The only port of a side goes to the height of the one that it is wired to, where its box reaches there."""
        outs = Counter(box for box, _ in self.outs)
        ins = Counter(box for box, _ in self.ins)
        uses = Counter((lane.out_of, lane.name, True) for lane in self.lanes)
        uses += Counter((lane.into, lane.name, False) for lane in self.lanes)
        for lane in self.lanes:
            one, two = (lane.out_of, lane.name), (lane.into, lane.name)
            if self._chain(lane) or self._backward(lane):
                continue
            if outs[lane.out_of] == 1 == uses[*one, True] and self._reaches(lane.out_of, self.ins[two]):
                self.outs[one] = self.ins[two]
            elif ins[lane.into] == 1 == uses[*two, False] and self._reaches(lane.into, self.outs[one]):
                self.ins[two] = self.outs[one]

    def _reaches(self, box: int, y: float) -> bool:
        return abs(self.block.spots[box].middle - y) <= self.block.spots[box].h / 2 - 14

    def draw(self) -> None:
        labelled: set[tuple[int, str]] = set()
        for lane in self.lanes:
            source, target = self.block.spots[lane.out_of], self.block.spots[lane.into]
            start = source.right, self.outs[lane.out_of, lane.name]
            end = target.x, self.ins[lane.into, lane.name]
            named = start[0] + self.sizes.labels[lane.name] + 12
            label = (start[0] + 6, start[1] - 4) if (lane.out_of, lane.name) not in labelled else None
            labelled.add((lane.out_of, lane.name))
            if not lane.drawn or (self._backward(lane) and not self._chain(lane)):
                steps = _free(start, end, named)
            elif self._backward(lane):
                steps = self._against(lane, start, end, named)
            else:
                steps = self._along(lane, start, end, named)
            self.block.routes.append(Route(lane.wire, steps, "right", label, (end[0] - 21, end[1])))

    def _along(self, lane: Lane, start: Point, end: Point, named: float) -> list[Step]:
        column = self.layers.rank[lane.source]
        x, y = max(named, self.rights[column]), start[1]
        steps: list[Step] = [("M", [start]), ("L", [(x, y)])]
        for dummy in self._chain(lane):
            column = self.layers.rank[dummy]
            steps += _curve((x, y), (self.lefts[column], self.y[dummy]))
            x, y = self.rights[column], self.y[dummy]
            steps.append(("L", [(x, y)]))
        stop = min(self.lefts[self.layers.rank[lane.target]], end[0]) - ARROW
        return [*steps, *_curve((x, y), (stop, end[1])), ("L", [end])]

    def _against(self, lane: Lane, start: Point, end: Point, named: float) -> list[Step]:
        """Out to the right, above the boxes back to the left, and in from there."""
        chain = self._chain(lane)[::-1]
        right = max(named, self.rights[self.layers.rank[lane.source]])
        y = self.y[chain[0]]
        steps: list[Step] = [
            ("M", [start]),
            ("L", [(right, start[1])]),
            ("C", [(right + TURN, start[1]), (right + TURN, y), (right, y)]),
        ]
        x = right
        for dummy in chain:
            column = self.layers.rank[dummy]
            if dummy != chain[0]:
                steps += _curve((x, y), (self.rights[column], self.y[dummy]))
            x, y = self.lefts[column], self.y[dummy]
            steps.append(("L", [(x, y)]))
        left = end[0] - ARROW - 6
        return [*steps, ("L", [(left, y)]), ("C", [(left - TURN, y), (left - TURN, end[1]), (left, end[1])]), ("L", [end])]


def _curve(start: Point, end: Point) -> list[Step]:
    if abs(start[1] - end[1]) < 0.05:
        return [("L", [end])]
    middle = (start[0] + end[0]) / 2
    return [("C", [(middle, start[1]), (middle, end[1]), end])]


def _free(start: Point, end: Point, named: float) -> list[Step]:
    """Somehow, behind the boxes: nothing was kept free for it."""
    reach = max(60.0, abs(end[0] - start[0]) / 3)
    points = [(named + reach, start[1]), (end[0] - ARROW - reach, end[1]), (end[0] - ARROW, end[1])]
    return [("M", [start]), ("L", [(named, start[1])]), ("C", points), ("L", [end])]
