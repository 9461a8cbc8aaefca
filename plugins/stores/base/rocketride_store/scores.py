# SPDX-License-Identifier: MIT
"""Scores: similarities in [0, 1], 1 is best, the same in every store."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["METRICS", "raw_threshold", "similarity"]

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
