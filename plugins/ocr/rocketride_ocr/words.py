# SPDX-License-Identifier: MIT
"""What an engine finds, and what an engine is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from PIL.Image import Image

OnCancel: TypeAlias = Callable[[Callable[[], object]], AbstractContextManager[None]]


class Word(NamedTuple):
    """A word, or a run of words, with its box in pixels from the top left corner.

    confidence: 0 to 1. place: (block, paragraph, line) where the engine lays out pages itself, else empty.
    rows: of a table that stands in this box.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float = 1.0
    place: tuple[int, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


class Engine(Protocol):
    """Reads images; safe on several threads."""

    @property
    def name(self) -> str: ...

    def read(self, image: Image, *, seconds: float, on_cancel: OnCancel) -> list[Word]:
        """The words of an RGB image. OcrTimeLimit when that takes longer than `seconds`."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...
