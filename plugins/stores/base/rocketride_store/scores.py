# SPDX-License-Identifier: MIT
"""Scores: similarities in [0, 1], 1 is best, the same in every store."""

from __future__ import annotations

import math
from typing import Final

import attrs

__all__ = ["METRICS", "Distances", "raw_threshold", "similarity"]

METRICS: Final = ("cosine", "ip", "l2")
# Scores are rounded to 6 decimals; what a server compares must not be stricter than what the base compares.
_SLACK: Final = 2e-6


def similarity(metric: str, value: float) -> float:
    """A score in [0, 1], 1 is best, comparable over backends, rounded to 6 decimals (float32 carries no more).

    Parameters:
        metric: cosine, ip or l2.
        value: the cosine, the inner product, or the Euclidean distance (not its square).

    cosine: (1 + cos) / 2. ip: 1 / (1 + e^-value). l2: 1 / (1 + value).
    """
    if metric == "cosine":
        score = (1 + value) / 2
    elif metric == "ip":
        score = 1 / (1 + math.exp(-value)) if value > -700 else 0.0
    elif metric == "l2":
        score = 1 / (1 + value)
    else:
        raise ValueError(f"unknown metric {metric!r}; a store compares by one of {', '.join(METRICS)}")
    return round(min(1.0, max(0.0, score)), 6)


def raw_threshold(metric: str, least: float) -> float | None:
    """The inverse of `similarity`: what a server compares with, a hair more generous than `least`; None where nothing is cut.

    Parameters:
        metric: cosine, ip or l2.
        least: the least score, 0 to 1.

    Returns:
        The least cosine, the least inner product, or the greatest Euclidean distance (not its square).
    """
    if metric not in METRICS:
        raise ValueError(f"unknown metric {metric!r}; a store compares by one of {', '.join(METRICS)}")
    wanted = least - _SLACK
    if wanted <= 0:
        return None
    if metric == "cosine":
        return 2 * wanted - 1
    if metric == "l2":
        return 1 / wanted - 1
    return math.log(wanted / (1 - wanted))


@attrs.frozen
class Distances:
    """The distances of a database that tells those: 1 - cosine, an inner product turned round, a Euclidean distance or its square.

    Parameters:
        ip: what the inner product is subtracted from.
        squared: l2 is told as its square.
    """

    ip: float = 0.0
    squared: bool = False

    def score(self, metric: str, distance: float) -> float:
        """The similarity that a distance stands for."""
        if metric == "l2":
            return similarity(metric, max(0.0, distance) ** 0.5 if self.squared else distance)
        return similarity(metric, (1.0 if metric == "cosine" else self.ip) - distance)

    def greatest(self, metric: str, least: float) -> float | None:
        """The greatest distance that is wanted, a hair more generous than the score `least`; None where nothing is cut."""
        raw = raw_threshold(metric, least)
        if raw is None or metric == "l2":
            return None if raw is None else raw * raw if self.squared else raw
        return (1.0 if metric == "cosine" else self.ip) - raw
