# SPDX-License-Identifier: MIT
"""Which box belongs where: sub-pipelines inside of each other, and callees under their callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from .picture import Picture

__all__ = ["MAIN", "Structure", "structure_of"]

MAIN = -1
DEEPEST = 8  # of what hangs under what, and of sub-pipelines; deeper things stand beside each other


@attrs.frozen
class Structure:
    """Places of boxes are their numbers.

    Parameters:
        region: box to the root of the innermost sub-pipeline it belongs to, a root to itself; `MAIN` for none.
        outer: root to the region that its sub-pipeline stands in.
        under: callee to the caller it hangs under; of both, what counts is the sub-pipeline where the callee is a root.
        flow: region to the boxes, and roots of sub-pipelines, that lanes lay out.
    """

    region: Sequence[int]
    outer: Mapping[int, int]
    under: Mapping[int, int]
    flow: Mapping[int, Sequence[int]]

    def regions_of(self, box: int) -> list[int]:
        """From the innermost out to `MAIN`."""
        found = [self.region[box]]
        while found[-1] != MAIN:
            found.append(self.outer[found[-1]])
        return found

    def level(self, a: int, b: int) -> int:
        """The innermost region that has both."""
        others = set(self.regions_of(b))
        return next(region for region in self.regions_of(a) if region in others)

    def unit(self, box: int, region: int) -> int:
        """Which of `flow[region]` holds a box that is anywhere inside of the region."""
        inside = self.region[box]
        while True:
            while box in self.under and box != inside:
                box = self.under[box]
            if inside == region:
                return box
            box, inside = inside, self.outer[inside]


def structure_of(picture: Picture) -> Structure:
    count = len(picture.boxes)
    lanes = [wire for wire in picture.wires if not wire.control and wire.source != wire.target]
    calls = [wire for wire in picture.wires if wire.control and wire.source != wire.target]
    fed, feeds = {wire.target for wire in lanes}, {wire.source for wire in lanes}
    called = {wire.target for wire in calls}
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for wire in (*lanes, *calls):
        before[wire.target].append(wire.source)
        after[wire.source].append(wire.target)
    above = _dominators(before, after)
    roots = (called & feeds) - fed
    region, outer = _regions(above, roots)
    members = [0] * count
    for box in range(count):
        if region[box] != MAIN:
            members[region[box]] += 1
    # A tool whose lanes lead to nothing of its own needs no frame; neither do those that are too deep for one.
    alone = {root for root in outer if members[root] < 2} - set(outer.values())
    region, outer = _regions(above, set(outer) - alone)
    under: dict[int, int] = {}
    for wire in calls:
        callee, caller = wire.target, wire.source
        level = outer.get(callee, region[callee])
        fits = callee not in fed and callee not in under and region[caller] == level and caller != callee
        if fits and callee not in (chain := _chain(under, caller)) and len(chain) < DEEPEST:
            under[callee] = caller
    flow: dict[int, list[int]] = {MAIN: []}
    for root in sorted(outer):
        flow[root] = [root]
    for box in range(count):
        level = outer.get(box, region[box])
        if box not in under:
            flow[level].append(box)
    return Structure(region, outer, under, flow)


def _chain(under: Mapping[int, int], box: int) -> list[int]:
    found = [box]
    while found[-1] in under:
        found.append(under[found[-1]])
    return found


def _regions(above: Sequence[int], roots: set[int]) -> tuple[list[int], dict[int, int]]:
    """The innermost root over each box, itself included; and for each root the one around it."""
    region: dict[int, int] = {MAIN: MAIN}
    outer: dict[int, int] = {}
    depth = {MAIN: 0}
    for box in range(len(above)):
        path = []
        at = box
        while at not in region:
            path.append(at)
            at = above[at]
        for one in reversed(path):
            region[one] = around = region[above[one]]
            if one in roots and depth[around] < DEEPEST:
                region[one], outer[one], depth[one] = one, around, depth[around] + 1
    return [region[box] for box in range(len(above))], outer


def _dominators(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> list[int]:
    """For each box the last one that every way to it passes, `MAIN` where there is none (Cooper, Harvey and Kennedy)."""
    count = len(before)
    order: list[int] = []
    seen: set[int] = set()
    entries = [box for box in range(count) if not before[box]]
    for start in (*entries, *range(count)):
        if start not in seen:
            if before[start]:
                entries.append(start)  # of a circle that nothing leads into
            seen.add(start)
            _visit(start, after, seen, order)
    order.reverse()
    rank = {box: n for n, box in enumerate(order)} | {MAIN: -1}
    above: dict[int, int] = dict.fromkeys(entries, MAIN)

    def meet(a: int, b: int) -> int:
        while a != b:
            while rank[a] > rank[b]:
                a = above[a]
            while rank[b] > rank[a]:
                b = above[b]
        return a

    first = set(entries)
    changed = True
    while changed:
        changed = False
        for box in order:
            if box in first:
                continue
            known = [one for one in before[box] if one in above]
            found = known[0]
            for one in known[1:]:
                found = meet(found, one)
            if above.get(box) != found:
                above[box], changed = found, True
    return [above[box] for box in range(count)]


def _visit(start: int, after: Sequence[Sequence[int]], seen: set[int], order: list[int]) -> None:
    stack = [(start, iter(after[start]))]
    while stack:
        box, rest = stack[-1]
        for follower in rest:
            if follower not in seen:
                seen.add(follower)
                stack.append((follower, iter(after[follower])))
                break
        else:
            order.append(box)
            stack.pop()
