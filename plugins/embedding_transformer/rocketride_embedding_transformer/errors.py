# SPDX-License-Identifier: MIT
"""What can be wrong with an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocketride_core.errors import RocketRideError

_ELSEWHERE = (
    "the backend sentence-transformers computes any model: pip install 'rocketride-embedding-transformer[sentence-transformers]'"
)


class ModelError(RocketRideError):
    """The embedding model of a component cannot be used. Root of this package's errors."""


class ModelNotFound(ModelError):
    """The model is in no place where it was looked for; the message lists the ways to get it."""

    def __init__(self, model: str, tried: Sequence[str], ways: Sequence[str]) -> None:
        self.model, self.tried, self.ways = model, tuple(tried), tuple(ways)
        lines = [f"embedding model {model!r} is not to be had", *(f"  looked: {place}" for place in tried)]
        super().__init__("\n".join([*lines, *(f"  try: {way}" for way in ways)]))


class UnsupportedModel(ModelError):
    """The model is there, but a backend cannot compute it as its authors meant it.

    Attributes:
        elsewhere: sentence-transformers could.
    """

    def __init__(self, folder: Path, why: str, *, elsewhere: bool = False) -> None:
        self.folder, self.why, self.elsewhere = folder, why, elsewhere
        super().__init__(f"embedding model in {folder} cannot be used: {why}{f'; {_ELSEWHERE}' if elsewhere else ''}")


class BackendMissing(ModelError):
    """The library of a backend that the config names is not installed."""
