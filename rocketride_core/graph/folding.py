# SPDX-License-Identifier: MIT
"""Long levels in rows, as a text in lines: from the end of one a wire runs back to the beginning of the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from .geometry import Block, Route, bent
from .layers import layered
from .level import Unit, arranged, columns
from .ports import Lane
from .sizes import Sizes

__all__ = ["folded"]

WIDEST = 1750.0  # of one row; beyond, rows are about as wide as WISHED
WISHED = 1350.0
INDENT, GAP, TURN = 26.0, 46.0, 16.0


def folded(units: Sequence[Unit], lanes: Sequence[Lane], sizes: Sizes) -> Block:
    """As `arranged`, in rows where one would be too wide; cut is only where a single lane goes on."""
    rows, joints = _rows(units, lanes, sizes)
    if len(rows) == 1:
        return arranged(units, lanes, sizes)
    whole = Block(units[0].block.head, 0, 0, {}, [], [])
    bottoms: list[float] = []
    for row in rows:
        place = {unit: n for n, unit in enumerate(row)}
        inside = [lane for lane in lanes if lane.source in place and lane.target in place]
        mine = [attrs.evolve(lane, source=place[lane.source], target=place[lane.target]) for lane in inside]
        block = arranged([units[unit] for unit in row], mine, sizes)
        whole.put(block, INDENT if bottoms else 0.0, whole.h + GAP if bottoms else 0.0)
        bottoms.append(whole.h)
    turn = max([whole.w, *(whole.spots[lane.out_of].right + sizes.labels[lane.name] for lane in joints)]) + TURN
    for lane, bottom in zip(joints, bottoms, strict=False):
        one, two = whole.spots[lane.out_of], whole.spots[lane.into]
        line = [(one.right, one.middle), (turn, one.middle), (turn, bottom + GAP / 2), (INDENT / 4, bottom + GAP / 2)]
        steps = bent([*line, (INDENT / 4, two.middle), (two.x, two.middle)])
        whole.routes.append(Route(lane.wire, steps, "right", (one.right + 6, one.middle - 4), (two.x - 21, two.middle)))
    whole.w = turn
    return whole


def _rows(units: Sequence[Unit], lanes: Sequence[Lane], sizes: Sizes) -> tuple[list[list[int]], list[Lane]]:
    """Units by rows, and the lanes from each row to the next."""
    edges = list(dict.fromkeys((lane.source, lane.target) for lane in lanes if lane.drawn))
    layers = layered(len(units), edges)
    _, rights = columns(layers, [unit.block for unit in units], lanes, sizes)
    everything = list(range(len(units)))
    if not rights or rights[-1] <= WIDEST:
        return [everything], []
    cuts = _cuts(units, lanes, layers.rank)
    count = -int(-rights[-1] // WISHED)
    chosen: dict[int, Lane] = {}
    for n in range(1, count):
        ideal = rights[-1] * n / count
        near = min(cuts, key=lambda column: (abs(rights[column] - ideal), column), default=-1)
        if near >= 0 and abs(rights[near] - ideal) < rights[-1] / count / 2 and near > max(chosen, default=-1):
            chosen[near] = cuts[near]
    rows: list[list[int]] = [[] for _ in range(len(chosen) + 1)]
    for unit in everything:
        rows[sum(layers.rank[unit] > column for column in chosen)].append(unit)
    return rows, list(chosen.values())


def _cuts(units: Sequence[Unit], lanes: Sequence[Lane], rank: Sequence[int]) -> dict[int, Lane]:
    """Columns after which one lane alone goes on, between boxes that have no other lane on that side."""
    outs, ins = Counter(lane.out_of for lane in lanes), Counter(lane.into for lane in lanes)
    last = max(rank[: len(units)])
    changes = [0] * (last + 2)
    for lane in lanes:
        low, high = sorted((rank[lane.source], rank[lane.target]))
        changes[low] += 1
        changes[high] -= 1
    open_now, found = 0, {}
    alone = {rank[lane.source]: lane for lane in lanes if rank[lane.target] == rank[lane.source] + 1}
    for column in range(last):
        open_now += changes[column]
        if open_now != 1 or column not in alone:
            continue
        lane = alone[column]
        if outs[lane.out_of] > 1 or ins[lane.into] > 1:
            continue
        if (lane.out_of, lane.into) == (units[lane.source].block.head, units[lane.target].block.head):
            found[column] = lane
    return found
