# SPDX-License-Identifier: MIT
"""Vectors by sentence-transformers, on whatever device torch has: any architecture, any module."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .errors import ModelError, UnsupportedModel
from .maths import Floats, unit_rows

BATCH = 64  # texts of one forward pass


class TorchEncoder:
    """An Encoder; one call computes at a time, as tokenizers of Hugging Face are not safe on several threads.

    Raises UnsupportedModel for a folder that sentence-transformers cannot load, ModelError for a device that torch has not.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._lock = threading.Lock()
        # Renamed in sentence-transformers 5.3; the old name is deprecated there.
        size = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        self.dimension = int(size())

    @classmethod
    def load(cls, folder: Path, device: str = "") -> TorchEncoder:
        from sentence_transformers import SentenceTransformer

        try:
            # Only files that are here, and no code out of the folder.
            model = SentenceTransformer(str(folder), device=device or None, local_files_only=True, trust_remote_code=False)
        except Exception as error:  # torch, transformers and safetensors each raise their own
            if device and _is_of_device(error):
                raise ModelError(f"device {device!r} cannot be used: {error}") from error
            raise UnsupportedModel(folder, f"sentence-transformers cannot load it: {type(error).__name__}: {error}") from error
        return cls(model)

    def encode(self, texts: Sequence[str], /) -> Floats:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        with self._lock:
            found = self._model.encode(list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(np.array(found, np.float32))


def _is_of_device(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, RuntimeError | AssertionError) and any(word in text for word in ("device", "driver", "cuda", "mps"))
