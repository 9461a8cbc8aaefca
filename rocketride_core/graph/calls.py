# SPDX-License-Identifier: MIT
"""Control wires inside of what hangs: a callee that several share, circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .geometry import Point, Route, Spot
from .picture import Picture

__all__ = ["called"]

LOW = 10.0  # above the bottom of a box, below its lanes
BULGE = 30.0

Step = tuple[str, Sequence[Point]]


def called(picture: Picture, wires: Sequence[int], spots: Mapping[int, Spot]) -> list[Route]:
    """Paths for wires between boxes that have their places already; they run behind the boxes."""
    routes = []
    sides: dict[int, int] = {}
    for n in wires:
        wire = picture.wires[n]
        caller, callee = spots[wire.source], spots[wire.target]
        used = sides[wire.target] = sides.get(wire.target, -1) + 1
        if caller.x < callee.right and callee.x < caller.right:
            routes.append(_around(n, caller, callee, used))
        elif caller.x < callee.x:
            routes.append(_across(n, caller, callee))
        else:
            routes.append(_below(n, caller, callee, used))
    return routes


def _around(wire: int, caller: Spot, callee: Spot, used: int) -> Route:
    """From the right side of one to the right side of the other that stands over or under it."""
    start = caller.right, caller.bottom - LOW
    end = callee.right, callee.y + LOW if caller is callee or used % 2 else callee.middle
    out = max(start[0], end[0]) + BULGE + 12 * used
    steps: list[Step] = [("M", [start]), ("C", [(out, start[1]), (out, end[1]), (end[0] + 9, end[1])]), ("L", [end])]
    middle = (start[0] + 3 * out + 3 * out + end[0]) / 8, (start[1] + end[1]) / 2
    label = (start[0] + 8, start[1] + 16) if caller is callee else (middle[0] + 4, middle[1] + 4)
    return Route(wire, steps, "left", label, (end[0] + 18, end[1]))


def _across(wire: int, caller: Spot, callee: Spot) -> Route:
    start, end = (caller.right, caller.bottom - LOW), (callee.x, callee.bottom - LOW)
    middle = (start[0] + end[0]) / 2
    steps: list[Step] = [
        ("M", [start]),
        ("C", [(middle, start[1]), (middle, end[1]), (end[0] - 9, end[1])]),
        ("L", [end]),
    ]
    return Route(wire, steps, "right", (middle + 4, (start[1] + end[1]) / 2 + 12), (end[0] - 21, end[1]))


def _below(wire: int, caller: Spot, callee: Spot, used: int) -> Route:
    """The callee is to the left: from bottom to bottom."""
    start, end = (caller.x + caller.w / 3, caller.bottom), (callee.right - 24 - 12 * used, callee.bottom)
    low = max(start[1], end[1]) + BULGE
    steps: list[Step] = [("M", [start]), ("C", [(start[0], low), (end[0], low), (end[0], end[1] + 9)]), ("L", [end])]
    return Route(wire, steps, "up", ((start[0] + end[0]) / 2, low - 4), (end[0] + 12, end[1] + 14))
