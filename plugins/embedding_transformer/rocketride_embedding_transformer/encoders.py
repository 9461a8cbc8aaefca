# SPDX-License-Identifier: MIT
"""Encoders: which backend computes a model, and the one loaded copy of each that the pipelines of a process share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast
from weakref import WeakValueDictionary

from .errors import BackendMissing, ModelError, UnsupportedModel
from .folder import missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Backend: TypeAlias = Literal["auto", "numpy", "onnx", "sentence-transformers"]
LIBRARIES = {"onnx": "onnxruntime", "sentence-transformers": "sentence_transformers"}
# Where the kernel of Linux shows the GPUs of NVIDIA and of AMD; torch is slow to import only to hear that there is none.
GPUS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")


class Encoder(Protocol):
    """Turns texts into vectors; what a backend has to be. Used by several threads at once."""

    @property
    def dimension(self) -> int:
        """Floats in a vector."""
        ...

    def encode(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """One unit vector a text, as a (len(texts), dimension) float32 matrix; texts too long for the model are cut."""
        ...


_loaded: WeakValueDictionary[tuple[Path, str, str], Encoder] = WeakValueDictionary()
_lock = threading.Lock()


def shared(folder: Path, backend: Backend = "auto", device: str = "") -> Encoder:
    """The encoder of the model in `folder`, loaded now or already in use by another pipeline of this process.

    It is held weakly: with the last node that uses it the weights go.

    Parameters:
        backend: `auto` takes sentence-transformers where that is installed and there is a GPU or one is asked for; else the first
            that can compute the model exactly: numpy, ONNX Runtime (where the folder has a file for it), sentence-transformers.
        device: `cpu`, `cuda`, `cuda:1`, `mps` …; "" is the backend's choice.

    Raises:
        UnsupportedModel: no backend that is there can compute it.
        BackendMissing: the backend that is named is not installed.
        ModelError: there is no such device for it.
    """
    folder = folder.resolve()
    with _lock:
        if backend != "auto":
            return _kept(folder, backend, device)
        if has("sentence-transformers") and (device not in ("", "cpu") or (not device and gpu())):
            return _kept(folder, "sentence-transformers", device)
        try:
            return _kept(folder, "numpy", device)
        except UnsupportedModel as error:
            for other in ("onnx", "sentence-transformers"):
                if has(other) and not missing(folder, other):
                    try:
                        return _kept(folder, other, device)
                    except UnsupportedModel:  # the next one, or the first one's words
                        continue
            raise error


def has(backend: str) -> bool:
    """Its library is installed."""
    return backend not in LIBRARIES or find_spec(LIBRARIES[backend]) is not None


def gpu() -> bool:
    """There is a GPU that torch can use. It is imported only where the machine shows one."""
    import sys

    if not (sys.platform == "darwin" or any(Path(place).exists() for place in GPUS)):
        return False
    import torch

    return bool(torch.cuda.is_available() or torch.backends.mps.is_available())


def _kept(folder: Path, backend: str, device: str) -> Encoder:
    key = (folder, backend, device)
    encoder = _loaded.get(key)
    if encoder is None:
        encoder = _loaded[key] = _load(folder, backend, device)
    return encoder


def _load(folder: Path, backend: str, device: str) -> Encoder:
    if not has(backend):
        library, extra = LIBRARIES[backend].replace("_", "-"), f"rocketride-embedding-transformer[{backend}]"
        raise BackendMissing(f"backend {backend!r} needs {library}, which is not installed: pip install '{extra}'")
    if backend == "sentence-transformers":
        from .torched import TorchEncoder

        return TorchEncoder.load(folder, device)
    if backend == "onnx":
        from .onnx import OnnxEncoder

        return OnnxEncoder.load(folder, device)
    if device not in ("", "cpu"):
        raise ModelError(
            f"device is {device!r}, but the backend numpy computes on the CPU; take the backend sentence-transformers or onnx, "
            "or leave device empty"
        )
    from .bert import NumpyEncoder

    return NumpyEncoder.load(folder)


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
