# SPDX-License-Identifier: MIT
"""One level of a picture: units side by side by their lanes, with what hangs under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from .geometry import Block
from .hanging import Hang
from .layers import Layers, layered
from .placing import heights
from .ports import Lane, Ports
from .sizes import Sizes

__all__ = ["Unit", "arranged", "columns"]

ROOM = 40.0  # between columns, beside the names of lanes
ABOVE = 26.0
THREAD = 16.0
BELOW = 30.0


@attrs.frozen
class Unit:
    """What lanes lead to, and what it calls.

    Parameters:
        block: the box, or the sub-pipeline.
        calls: callee to wire, of all that hang.
    """

    block: Block
    hang: Hang | None
    calls: Mapping[int, int]


def arranged(units: Sequence[Unit], lanes: Sequence[Lane], sizes: Sizes) -> Block:
    """Units that lanes connect, as one block.

    Parameters:
        units: the first one's head is that of the result.
        lanes: with numbers of units as ends.
    """
    edges = list(dict.fromkeys((lane.source, lane.target) for lane in lanes if lane.drawn))
    layers = layered(len(units), edges)
    later = _later(layers, units)
    blocks = [unit.block if n in later or unit.hang is None else _with_hang(unit, unit.hang) for n, unit in enumerate(units)]
    y = heights(layers, lambda a, b: _distance(layers, blocks, a, b))
    lefts, rights = columns(layers, blocks, lanes, sizes)
    top = min((y[n] - blocks[n].anchor for n in range(len(units))), default=0.0)
    top = min([top, *(y[n] - 6 for n in range(len(units), len(y)))])
    whole = Block(units[0].block.head, 0, 0, {}, [], [])
    for n, block in enumerate(blocks):
        whole.put(block, lefts[layers.rank[n]], y[n] - block.anchor - top)
    y = [at - top for at in y]
    whole.h = max([whole.h, *(at + 6 for at in y)])
    _hang_later(whole, [units[n] for n in sorted(later, key=lambda n: lefts[layers.rank[n]])])
    Ports(whole, layers, lanes, y, lefts, rights, sizes).draw()
    return whole


def _later(layers: Layers, units: Sequence[Unit]) -> set[int]:
    """Wide hangs go below everything, one for each column, under its last box."""
    found = set()
    for column in layers.columns:
        wide = [n for n in column if n < layers.count and (hang := units[n].hang) and not hang.narrow]
        if wide:
            column.remove(wide[-1])
            column.append(wide[-1])
            found.add(wide[-1])
    return found


def _with_hang(unit: Unit, hang: Hang) -> Block:
    whole = Block(unit.block.head, 0, 0, {}, [], [])
    whole.put(unit.block, 0, 0)
    hang.attach(whole, unit.block.spots[unit.block.head], (0, unit.block.h), unit.calls)
    return whole


def _distance(layers: Layers, blocks: Sequence[Block], a: int, b: int) -> float:
    one, two = (blocks[n] if n < layers.count else None for n in (a, b))
    if one is None and two is None:
        return THREAD
    below = one.h - one.anchor if one else 0.0
    above = two.anchor if two else 0.0
    return below + above + (ABOVE if one and two else THREAD)


def columns(layers: Layers, blocks: Sequence[Block], lanes: Sequence[Lane], sizes: Sizes) -> tuple[list[float], list[float]]:
    """Left and right ends of the columns."""
    lefts, rights, x = [], [], 0.0
    named = [0.0] * len(layers.columns)
    for lane in lanes:
        column = layers.rank[lane.source]
        named[column] = max(named[column], sizes.labels[lane.name])
    for n, items in enumerate(layers.columns):
        w = max((blocks[item].w for item in items if item < layers.count), default=0.0)
        lefts.append(x)
        rights.append(x + w)
        x += w + named[n] + ROOM
    return lefts, rights


def _hang_later(whole: Block, units: Sequence[Unit]) -> None:
    """Beside each other, each as near to its caller as that allows."""
    top, free, wide = whole.h, 0.0, whole.w
    for n, unit in enumerate(units):
        if unit.hang is None:
            continue
        caller = whole.spots[unit.block.head]
        wish = caller.x + caller.w / 2 - unit.hang.block.w / 2
        x = max(free, min(wish, wide - unit.hang.block.w))
        unit.hang.attach(whole, caller, (x, top + 8 * len(units)), unit.calls, -8.0 * n)
        free = x + unit.hang.block.w + BELOW
