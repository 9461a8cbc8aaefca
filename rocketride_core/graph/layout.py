# SPDX-License-Identifier: MIT
"""A place for everything of a picture. The same picture has the same layout, always."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from .calls import called
from .folding import folded
from .geometry import Block, Frame, Route, Spot
from .hanging import Hang, hang
from .level import Unit, arranged
from .picture import Picture
from .ports import Lane
from .sizes import LABEL, Sizes
from .structure import MAIN, structure_of

__all__ = ["Layout", "layout_of"]

APART = 40.0
SIDE, HEAD, FOOT = 16.0, 28.0, 14.0
LOOSE = 900.0


@attrs.frozen
class Layout:
    """Places in pixels, from 0, 0 on.

    Parameters:
        spots: of the boxes, by their numbers.
        frames: of sub-pipelines, outer ones first.
        routes: of the wires.
        region: box to the root of its sub-pipeline, -1 for none.
    """

    w: float
    h: float
    spots: dict[int, Spot]
    frames: Sequence[Frame]
    routes: Sequence[Route]
    region: Sequence[int]


def layout_of(picture: Picture) -> Layout:
    made = _Composer(picture)
    if not picture.boxes:
        return Layout(0, 0, {}, (), (), ())
    whole = made.level(MAIN)
    hung = {route.wire for route in whole.routes}
    free = [n for n, wire in enumerate(picture.wires) if wire.control and n not in hung]
    whole.routes += called(picture, free, whole.spots)
    return _framed(whole, made)


class _Composer:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.structure = structure_of(picture)
        self.callees: dict[int, dict[int, int]] = {}
        self.lanes: dict[int, list[int]] = {}
        taken: set[int] = set()
        kinds = {name: n for n, name in enumerate(picture.controls)}
        for n, wire in sorted(enumerate(picture.wires), key=lambda pair: kinds.get(pair[1].name, -1)):
            if wire.control and self.structure.under.get(wire.target) == wire.source and wire.target not in taken:
                taken.add(wire.target)
                self.callees.setdefault(wire.source, {})[wire.target] = n
        hung = {n for calls in self.callees.values() for n in calls.values()}
        for n, wire in enumerate(picture.wires):
            region = self.structure.level(wire.source, wire.target)
            # A call of what does not hang goes from left to right, too, where it leads to another unit.
            units = {self.structure.unit(box, region) for box in (wire.source, wire.target)}
            if not wire.control or (n not in hung and len(units) == 2):
                self.lanes.setdefault(region, []).append(n)
        self.sizes = Sizes(picture, [n for wires in self.lanes.values() for n in wires])

    def level(self, region: int) -> Block:
        """All of a region, without a frame."""
        flow = list(self.structure.flow[region])
        units = [self.unit(box, region) for box in flow]
        numbers = {box: k for k, box in enumerate(flow)}
        lanes = [self.lane(n, region, numbers) for n in self.lanes.get(region, ())]
        parts = _parts(len(flow), [(lane.source, lane.target) for lane in lanes])
        loose = [part for part in parts if len(part) == 1 and not any(lane.source == part[0] for lane in lanes)]
        loose = [
            part for part in loose if units[part[0]].hang is None and part[0] != 0 and flow[part[0]] not in self.structure.outer
        ]
        whole = Block(units[0].block.head, 0, 0, {}, [], [])
        for part in parts:
            if part not in loose:
                place = {unit: k for k, unit in enumerate(part)}
                mine = [attrs.evolve(x, source=place[x.source], target=place[x.target]) for x in lanes if x.source in place]
                whole.put(folded([units[unit] for unit in part], mine, self.sizes), 0, whole.h + APART if whole.spots else 0)
        x, y = 0.0, whole.h + APART
        for part in loose:
            block = units[part[0]].block
            if x and x + block.w > max(whole.w, LOOSE):
                x, y = 0.0, whole.h + APART / 2
            whole.put(block, x, y)
            x += block.w + APART
        return whole

    def lane(self, n: int, region: int, place: dict[int, int]) -> Lane:
        wire = self.picture.wires[n]
        source, target = (self.structure.unit(box, region) for box in (wire.source, wire.target))
        drawn = source != target or wire.source == wire.target == source
        return Lane(n, wire.name, place[source], place[target], wire.source, wire.target, drawn)

    def unit(self, box: int, region: int) -> Unit:
        if box in self.structure.outer and box != region:
            return Unit(self.framed(box), None, {})
        h = self.sizes.height(box)
        block = Block(box, self.sizes.w, h, {box: Spot(0, 0, self.sizes.w, h)}, [], [])
        calls = self.callees.get(box, {})
        return Unit(block, self.hang(calls, region) if calls else None, calls)

    def hang(self, calls: dict[int, int], region: int) -> Hang:
        plain: list[Block] = []
        rich: list[Block] = []
        for callee in calls:
            unit = self.unit(callee, region)
            single = unit.hang is None and callee not in self.structure.outer
            (plain if single else rich).append(arranged([unit], [], self.sizes))
        room = max((self.sizes.labels[self.picture.wires[calls[block.head]].name] for block in plain), default=0.0)
        return hang(plain, rich, room)

    def framed(self, root: int) -> Block:
        inner = self.level(root)
        whole = Block(root, 0, 0, {}, [], [])
        whole.put(inner, SIDE, HEAD)
        extent = _extent(whole, self.picture, self.sizes)
        spot = Spot(0, 0, max(whole.w, extent[1]) + SIDE, whole.h + FOOT)
        whole.frames.insert(0, Frame(root, spot, whole.spots[root].x + whole.spots[root].w / 2 + 10))
        whole.w, whole.h = spot.w, spot.h
        return whole


def _parts(count: int, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Connected ones together, each part and all parts in order."""
    group = list(range(count))

    def leader(n: int) -> int:
        while group[n] != n:
            group[n] = group[group[n]]
            n = group[n]
        return n

    for a, b in pairs:
        one, two = sorted((leader(a), leader(b)))
        group[two] = one
    found: dict[int, list[int]] = {}
    for n in range(count):
        found.setdefault(leader(n), []).append(n)
    return list(found.values())


def _extent(block: Block, picture: Picture, sizes: Sizes) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of everything, names of wires included."""
    xs = [x for spot in block.spots.values() for x in (spot.x, spot.right)]
    ys = [y for spot in block.spots.values() for y in (spot.y, spot.bottom)]
    for frame in block.frames:
        xs += [frame.spot.x, frame.spot.right]
        ys += [frame.spot.y, frame.spot.bottom]
    for route in block.routes:
        points = [point for _, step in route.steps for point in step]
        if route.label is not None:
            x, y = route.label
            points += [(x, y - LABEL), (x + sizes.labels[picture.wires[route.wire].name], y)]
        xs += [x for x, _ in points]
        ys += [y for _, y in points]
    return min(xs), max(xs), min(ys), max(ys)


def _framed(whole: Block, made: _Composer) -> Layout:
    left, right, top, bottom = _extent(whole, made.picture, made.sizes)
    placed = Block(whole.head, 0, 0, {}, [], [])
    placed.put(whole, -left, -top)
    region = made.structure.region
    return Layout(right - left, bottom - top, placed.spots, placed.frames, placed.routes, region)
