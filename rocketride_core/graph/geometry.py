# SPDX-License-Identifier: MIT
"""Rectangles, paths, and groups of them that move together. Pixels; y grows downwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

__all__ = ["Block", "Frame", "Point", "Route", "Spot", "bent"]

Point = tuple[float, float]
CORNER = 8.0


@attrs.frozen
class Spot:
    """A rectangle."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    @property
    def middle(self) -> float:
        return self.y + self.h / 2

    def moved(self, dx: float, dy: float) -> Spot:
        return Spot(self.x + dx, self.y + dy, self.w, self.h)


@attrs.frozen
class Route:
    """The path of one wire.

    Parameters:
        wire: its number in the picture.
        steps: letters of SVG paths (M, L, Q, C) with their points, absolute.
        arrow: where it points at its end: right, left, down or up.
        label: where its name stands, at the left end of its base line; None where another wire's stands for it.
        badge: where its problems are marked.
    """

    wire: int
    steps: Sequence[tuple[str, Sequence[Point]]]
    arrow: str
    label: Point | None
    badge: Point

    @property
    def start(self) -> Point:
        return self.steps[0][1][0]

    @property
    def end(self) -> Point:
        return self.steps[-1][1][-1]

    def moved(self, dx: float, dy: float) -> Route:
        steps = [(letter, [(x + dx, y + dy) for x, y in points]) for letter, points in self.steps]
        label = self.label and (self.label[0] + dx, self.label[1] + dy)
        return Route(self.wire, steps, self.arrow, label, (self.badge[0] + dx, self.badge[1] + dy))


@attrs.frozen
class Frame:
    """The frame of a sub-pipeline; its title begins at `title` (x)."""

    root: int
    spot: Spot
    title: float

    def moved(self, dx: float, dy: float) -> Frame:
        return Frame(self.root, self.spot.moved(dx, dy), self.title + dx)


@attrs.define
class Block:
    """Things that keep their places to each other. It begins at 0, 0; `head` is the box that wires of its level lead to."""

    head: int
    w: float
    h: float
    spots: dict[int, Spot]
    frames: list[Frame]
    routes: list[Route]

    @property
    def anchor(self) -> float:
        """Height of the middle of the head."""
        return self.spots[self.head].middle

    def put(self, other: Block, dx: float, dy: float) -> None:
        """Take over what another block has, moved."""
        self.spots |= {box: spot.moved(dx, dy) for box, spot in other.spots.items()}
        self.frames += [frame.moved(dx, dy) for frame in other.frames]
        self.routes += [route.moved(dx, dy) for route in other.routes]
        self.w, self.h = max(self.w, other.w + dx), max(self.h, other.h + dy)


def bent(points: Iterable[Point]) -> list[tuple[str, list[Point]]]:
    """A path through points on straight lines with round corners."""
    line: list[Point] = []
    for point in points:
        if line and abs(line[-1][0] - point[0]) + abs(line[-1][1] - point[1]) < 0.01:
            continue
        if len(line) > 1 and _straight(line[-2], line[-1], point):
            line.pop()
        line.append(point)
    steps: list[tuple[str, list[Point]]] = [("M", [line[0]])]
    for before, corner, after in zip(line, line[1:], line[2:], strict=False):
        steps += [("L", [_towards(corner, before)]), ("Q", [corner, _towards(corner, after)])]
    return [*steps, ("L", [line[-1]])]


def _straight(a: Point, b: Point, c: Point) -> bool:
    return abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) < 0.01


def _towards(corner: Point, other: Point) -> Point:
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    far = (dx * dx + dy * dy) ** 0.5
    part = min(CORNER, far / 2) / far
    return corner[0] + dx * part, corner[1] + dy * part
