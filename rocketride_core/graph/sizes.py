# SPDX-License-Identifier: MIT
"""Sizes of what is drawn, and of the boxes of a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .measure import width
from .picture import Picture

__all__ = ["LABEL", "SMALL", "TITLE", "Sizes"]

TITLE, SMALL, LABEL = 13.0, 11.0, 10.5
PAD = 14.0
NARROWEST, WIDEST = 128.0, 226.0
LOWEST, PORT = 60.0, 15.0


class Sizes:
    """Of one picture: all boxes are as wide as the widest text needs, within limits; high enough for their wires.

    Parameters:
        level: numbers of the wires that enter at the left and leave at the right.
    """

    def __init__(self, picture: Picture, level: Iterable[int]) -> None:
        needed = [NARROWEST - 2 * PAD]
        for box in picture.boxes:
            needed += [width(box.title, TITLE, bold=True), width(box.id, SMALL), width(box.provider, SMALL)]
        self.w = round(min(max(needed) + 2 * PAD, WIDEST))
        ports: dict[tuple[int, bool], set[str]] = {}
        for n in level:
            wire = picture.wires[n]
            ports.setdefault((wire.source, False), set()).add(wire.name)
            ports.setdefault((wire.target, True), set()).add(wire.name)
        self._h = {
            box: max(LOWEST, PORT * max(len(ports.get((box, side), ())) for side in (False, True)) + 12)
            for box in range(len(picture.boxes))
        }
        self.labels: Mapping[str, float] = {wire.name: min(width(wire.name, LABEL), 150.0) for wire in picture.wires}

    def height(self, box: int) -> float:
        return self._h[box]
