# SPDX-License-Identifier: MIT
"""Encoders, and the one loaded copy of each that the pipelines of a process share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Encoder(Protocol):
    """Turns texts into vectors; what a backend has to be. Used by several threads at once."""

    @property
    def dimension(self) -> int:
        """Floats in a vector."""
        ...

    def encode(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """One unit vector a text, as a (len(texts), dimension) float32 matrix; texts too long for the model are cut."""
        ...


_loaded: WeakValueDictionary[Path, Encoder] = WeakValueDictionary()
_lock = threading.Lock()


def shared(folder: Path) -> Encoder:
    """The encoder of the model in `folder`, loaded now or already in use by another pipeline of this process.

    It is held weakly: with the last node that uses it the weights go. Raises UnsupportedModel.
    """
    from .bert import NumpyEncoder

    key = folder.resolve()
    with _lock:
        encoder = _loaded.get(key)
        if encoder is None:
            encoder = _loaded[key] = NumpyEncoder.load(key)
        return encoder


def views(matrix: NDArray[np.float32], dimension: int = 0) -> list[memoryview]:
    """The rows of `matrix` as read-only float32 buffers over one shared block.

    With `dimension` only the first that many floats of each row are kept, at unit length again.
    """
    import numpy as np

    from .maths import unit_rows

    if dimension:
        matrix = unit_rows(np.array(matrix[:, :dimension], np.float32))
    width = matrix.shape[1]
    block = cast("memoryview", memoryview(np.ascontiguousarray(matrix, np.float32).tobytes()).cast("f"))
    return [block[i * width : (i + 1) * width] for i in range(len(matrix))]
