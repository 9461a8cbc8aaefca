# SPDX-License-Identifier: MIT
"""Chunks whose scores can be told in advance."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from rocketride_core import Document

from ..backend import chunk_key

__all__ = ["chunk", "keys", "vector"]


def vector(*values: float) -> memoryview:
    """A float32 buffer."""
    return memoryview(array("f", values))


def chunk(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: object) -> Document:
    """A chunk whose vector stands at the angle `at`, in degrees, in the plane of the first two of three dimensions."""
    angle = math.radians(at)
    values = {"objectId": object_id, "chunkId": number, "isDeleted": False, **metadata}
    return Document(text or f"{object_id} {number}", values, vector(math.cos(angle), math.sin(angle), 0.0))  # type: ignore[arg-type]


def keys(documents: Sequence[Document]) -> list[tuple[str, int]]:
    """Object ids and chunk numbers."""
    return [chunk_key(document) for document in documents]
