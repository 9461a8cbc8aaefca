# SPDX-License-Identifier: MIT
"""Heights of the items of each column: as near to their neighbours as the order and the distances allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from .layers import Layers

__all__ = ["heights", "nearest"]

SWEEPS = 8
NEAR = 4.0  # less than any distance between boxes


def heights(layers: Layers, distance: Callable[[int, int], float]) -> list[float]:
    """A height for each item and dummy.

    Parameters:
        distance: the least difference of two items that follow each other in a column.
    """
    left, right = layers.neighbours()
    y = [0.0] * len(layers.rank)
    gaps = [[distance(a, b) for a, b in pairwise(column)] for column in layers.columns]
    for column, between in zip(layers.columns, gaps, strict=True):
        at = 0.0
        for item, gap in zip(column, [0.0, *between], strict=False):
            at += gap
            y[item] = at
    for sweep in range(SWEEPS):
        last = sweep >= SWEEPS - 2
        order = range(len(layers.columns)) if sweep % 2 == 0 else range(len(layers.columns) - 1, -1, -1)
        for n in order:
            column = layers.columns[n]
            wanted, weights = [], []
            for item in column:
                near = left[item] + right[item] if last else (left if sweep % 2 == 0 else right)[item]
                wanted.append(_median([y[other] for other in near]) if near else y[item])
                straight = item >= layers.count and any(other >= layers.count for other in near)
                weights.append(8.0 if straight else 1.0 if near else 0.1)
            for item, at in zip(column, nearest(wanted, weights, gaps[n]), strict=True):
                y[item] = at
    for column, between in zip(layers.columns, gaps, strict=True):
        # What is one after the other, and has no other neighbours there, is on one line.
        alone = {item: left[item][0] for item in column if len(left[item]) == 1 == len(right[left[item][0]])}
        wanted = [y[alone.get(item, item)] for item in column]
        for item, at in zip(column, nearest(wanted, [50.0 if item in alone else 1.0 for item in column], between), strict=True):
            y[item] = at
    _snap(y, layers.count)
    return y


def _snap(y: list[float], count: int) -> None:
    """Boxes that are almost on one line are on one line."""
    line = float("-inf")
    for item in sorted(range(count), key=y.__getitem__):
        if y[item] - line > NEAR:
            line = y[item]
        y[item] = line


def _median(values: list[float]) -> float:
    values.sort()
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def nearest(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Positions with at least these gaps whose weighted squares of differences to the wanted ones are least."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # mean, weight, members
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, heavy, members = want - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other, more, count = pools.pop()
            mean = (mean * heavy + other * more) / (heavy + more)
            heavy, members = heavy + more, members + count
        pools.append((mean, heavy, members))
    flat = [mean for mean, _, members in pools for _ in range(members)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=True)]
