# SPDX-License-Identifier: MIT
"""Layers of a directed graph: columns by longest path, dummies for long edges, few crossings (after Sugiyama)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise

import attrs

__all__ = ["Layers", "layered"]

SWEEPS = 12
MOST_DUMMIES = 3000  # beyond, edges run straight: nobody can read such a picture anyway

Edge = tuple[int, int]


@attrs.define
class Layers:
    """The result.

    Parameters:
        rank: column of each item.
        columns: items of each column in their order; numbers from `count` on are dummies.
        chains: what each edge passes from left to right, without its ends. An edge against the flow passes the columns of its
            ends too.
        backward: edges against the flow, those from an item to itself included.
    """

    count: int
    rank: list[int]
    columns: list[list[int]]
    chains: dict[Edge, list[int]]
    backward: set[Edge]

    def neighbours(self) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Of each item those in the column before, and those in the column after."""
        left: dict[int, list[int]] = {n: [] for n in range(len(self.rank))}
        right: dict[int, list[int]] = {n: [] for n in range(len(self.rank))}
        for (source, target), chain in self.chains.items():
            whole = chain if (source, target) in self.backward else [source, *chain, target]
            for a, b in pairwise(whole):
                if self.rank[b] == self.rank[a] + 1:
                    right[a].append(b)
                    left[b].append(a)
        return left, right


def layered(count: int, edges: Sequence[Edge]) -> Layers:
    """Lay out items 0 to `count` - 1.

    Parameters:
        edges: each once; edges from an item to itself are allowed.
    """
    backward = _backward(count, edges)
    rank = _ranks(count, [edge for edge in edges if edge not in backward])
    layers = Layers(count, rank, [[] for _ in range(max(rank, default=-1) + 1)], {}, backward)
    for item in range(count):
        layers.columns[rank[item]].append(item)
    for source, target in edges:
        against = (source, target) in backward
        first, last = (rank[target], rank[source]) if against else (rank[source] + 1, rank[target] - 1)
        chain = []
        if len(rank) - count + last - first < MOST_DUMMIES:
            for column in range(first, last + 1):
                chain.append(len(rank))
                rank.append(column)
                layers.columns[column].append(chain[-1])
        layers.chains[source, target] = chain
    _order(layers)
    for (source, target), chain in layers.chains.items():
        if (source, target) in backward and chain:
            _beside(layers, chain[0], target)
            _beside(layers, chain[-1], source)
    return layers


def _beside(layers: Layers, dummy: int, item: int) -> None:
    """The turns of an edge against the flow are right above its ends."""
    column = layers.columns[layers.rank[item]]
    column.remove(dummy)
    column.insert(column.index(item), dummy)


def _backward(count: int, edges: Sequence[Edge]) -> set[Edge]:
    after: list[list[int]] = [[] for _ in range(count)]
    entered = [False] * count
    for source, target in edges:
        after[source].append(target)
        entered[target] |= source != target
    found: set[Edge] = set()
    done, open_now = [False] * count, [False] * count
    for start in sorted(range(count), key=lambda n: entered[n]):
        if done[start]:
            continue
        stack = [(start, iter(after[start]))]
        done[start] = open_now[start] = True
        while stack:
            item, rest = stack[-1]
            for follower in rest:
                if open_now[follower]:
                    found.add((item, follower))
                elif not done[follower]:
                    done[follower] = open_now[follower] = True
                    stack.append((follower, iter(after[follower])))
                    break
            else:
                open_now[item] = False
                stack.pop()
    return found


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    after: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for source, target in edges:
        after[source].append(target)
        waits[target] += 1
    rank = [0] * count
    ready = [item for item in range(count) if not waits[item]]
    for item in ready:
        for follower in after[item]:
            rank[follower] = max(rank[follower], rank[item] + 1)
            waits[follower] -= 1
            if not waits[follower]:
                ready.append(follower)
    return rank


def _order(layers: Layers) -> None:
    left, right = layers.neighbours()
    best, least = [list(column) for column in layers.columns], _crossings(layers.columns, right)
    for sweep in range(SWEEPS):
        if not least:
            break
        forth = sweep % 2 == 0
        around = left if forth else right
        for n in range(len(layers.columns)) if forth else range(len(layers.columns) - 1, -1, -1):
            _sort(layers.columns, n, n - 1 if forth else n + 1, around)
        crossings = _crossings(layers.columns, right)
        if crossings < least:
            best, least = [list(column) for column in layers.columns], crossings
    layers.columns = best


def _sort(columns: list[list[int]], n: int, beside: int, around: dict[int, list[int]]) -> None:
    if not 0 <= beside < len(columns):
        return
    place = {item: k for k, item in enumerate(columns[beside])}
    keys = {}
    for k, item in enumerate(columns[n]):
        known = [place[other] for other in around[item]]
        keys[item] = sum(known) / len(known) if known else float(k)
    columns[n].sort(key=lambda item: keys[item])


def _crossings(columns: list[list[int]], right: dict[int, list[int]]) -> int:
    crossings = 0
    for column, beside in pairwise(columns):
        place = {item: k for k, item in enumerate(beside)}
        passed: list[int] = []
        for item in column:
            ends = sorted(place[other] for other in right[item])
            crossings += sum(len(passed) - bisect_left(passed, end + 1) for end in ends)
            for end in ends:
                insort(passed, end)
    return crossings
