# SPDX-License-Identifier: MIT
"""Callees under their caller, as in an organisation chart: plain ones in stacks, those with something of their own side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from .geometry import Block, Point, Route, Spot, bent

__all__ = ["Hang", "hang"]

GAP = 12.0
BETWEEN = 26.0
BUS = 14.0  # of the line above a row
TOP = 34.0  # from there to what hangs
TRUNK = 14.0
STACK = 4
WIDEST = 1400.0


@attrs.frozen
class Hang:
    """What hangs under a box.

    Parameters:
        block: without the wires to the caller.
        stubs: callee to the path from the line above it, and whether that ends at the callee's side or top.
        narrow: one stack, which stands right under its caller.
    """

    block: Block
    stubs: Mapping[int, Sequence[Point]]
    narrow: bool

    def attach(self, target: Block, caller: Spot, at: Point, wires: Mapping[int, int], shift: float = 0) -> None:
        """Put it into a block and draw the wires.

        Parameters:
            caller: where the caller is.
            at: where the hang is to be.
            wires: callee to its wire.
            shift: lowers the line above it, where another hang has one at the same height.
        """
        target.put(self.block, *at)
        for callee, wire in wires.items():
            points = [(x + at[0], y + at[1]) for x, y in self.stubs[callee]]
            if self.narrow:
                line = [(points[0][0], caller.bottom), *points]
            else:
                down = caller.x + caller.w / 2
                bus = points[0][1] + shift
                points = [(x, bus if y == points[0][1] else y) for x, y in points]
                line = [(down, caller.bottom), (down, bus), *points]
            (x, y), last = line[-2], line[-1]
            side = y == last[1]
            label = (x + 5, y - 4) if side else (last[0] + 6, y + TOP - 10)
            badge = (last[0] - 16, last[1] + 8) if side else (last[0] - 14, last[1] - 12)
            target.routes.append(Route(wire, bent(line), "right" if side else "down", label, badge))


def hang(plain: Sequence[Block], rich: Sequence[Block], room: float) -> Hang:
    """Place callees.

    Parameters:
        plain: single boxes.
        rich: callees with something under them, or sub-pipelines.
        room: for the names of the controls of plain ones.
    """
    if not rich and len(plain) <= STACK:
        block, stubs = _stack(plain, room, 0.0)
        return Hang(block, {box: points[1:] for box, points in stubs.items()}, True)
    columns: list[tuple[Block, dict[int, list[Point]]]] = []
    stacks = -(-len(plain) // STACK)
    each = -(-len(plain) // stacks) if stacks else 1
    columns += [_stack(plain[n * each : (n + 1) * each], room, TOP - 14) for n in range(stacks)]
    for block in rich:
        spot = block.spots[block.head]
        x = spot.x + spot.w / 2
        placed = Block(block.head, 0, 0, {}, [], [])
        placed.put(block, 0, TOP)
        columns.append((placed, {block.head: [(x, 0.0), (x, TOP + spot.y)]}))
    return _rows(columns)


def _stack(blocks: Sequence[Block], room: float, top: float) -> tuple[Block, dict[int, list[Point]]]:
    stack = Block(blocks[0].head, 0, 0, {}, [], [])
    stubs: dict[int, list[Point]] = {}
    y = top + GAP
    left = TRUNK + room + 10
    for block in blocks:
        stack.put(block, left, y)
        stubs[block.head] = [(TRUNK, 0.0), (TRUNK, y + block.anchor), (left, y + block.anchor)]
        y += block.h + GAP
    return stack, stubs


def _rows(columns: Sequence[tuple[Block, dict[int, list[Point]]]]) -> Hang:
    rows: list[list[tuple[Block, dict[int, list[Point]]]]] = [[]]
    total = sum(block.w + BETWEEN for block, _ in columns)
    # Rows of like widths look better than a full one and a rest.
    most = max(total / -(-total // WIDEST), *(block.w + BETWEEN for block, _ in columns)) + 1
    used = 0.0
    for column in columns:
        if rows[-1] and used + column[0].w + BETWEEN > most + column[0].w / 2:
            rows.append([])
            used = 0.0
        rows[-1].append(column)
        used += column[0].w + BETWEEN
    whole = Block(columns[0][0].head, 0, 0, {}, [], [])
    stubs: dict[int, Sequence[Point]] = {}
    margin = 18.0 if len(rows) > 1 else 0.0
    top = BUS
    for n, row in enumerate(rows):
        x = margin
        for block, paths in row:
            whole.put(block, x, top)
            for box, path in paths.items():
                points = [(px + x, py + top) for px, py in path]
                stubs[box] = points if n == 0 else [(4.0, BUS), (4.0, top), *points]
            x += block.w + BETWEEN
        top = whole.h + 16
    return Hang(whole, stubs, False)
