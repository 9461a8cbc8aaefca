# SPDX-License-Identifier: MIT
"""Weaviate's distances: 1 - cosine, the negative inner product, the square of the Euclidean distance."""

from __future__ import annotations

from typing import Any

from weaviate.classes.config import VectorDistances

from rocketride_store import similarity

__all__ = ["distance", "distance_of", "metric_of", "score_of"]

_DISTANCES = {"cosine": VectorDistances.COSINE, "ip": VectorDistances.DOT, "l2": VectorDistances.L2_SQUARED}
_METRICS = {name.value: metric for metric, name in _DISTANCES.items()}


def distance_of(metric: str) -> VectorDistances:
    """Weaviate's name for a metric.

    Raises:
        ValueError: there is no such metric.
    """
    similarity(metric, 0.0)
    return _DISTANCES[metric]


def metric_of(index: Any) -> str:
    """The metric of an index's config; Weaviate's own name where a store has none, such as "manhattan"."""
    name = getattr(index, "distance_metric", None)
    return "cosine" if name is None else _METRICS.get(name.value, str(name.value))


def distance(metric: str, least: float | None) -> float | None:
    """The greatest distance that is wanted.

    Parameters:
        least: from `raw_threshold`: the least cosine, the least inner product, or the greatest Euclidean distance.
    """
    if least is None:
        return None
    return 1.0 - least if metric == "cosine" else -least if metric == "ip" else least * least


def score_of(metric: str, distance: float) -> float:
    """The similarity that a distance stands for."""
    if metric == "l2":
        return similarity(metric, max(0.0, distance) ** 0.5)
    return similarity(metric, 1.0 - distance if metric == "cosine" else -distance)
