# SPDX-License-Identifier: MIT
"""Vectors by ONNX Runtime, from the `.onnx` file that many models on the hub bring with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ModelError, UnsupportedModel
from .folder import Sentences, onnx_file, sentences
from .maths import Floats, unit_rows
from .tokens import batches, tokenizer_of

# ONNX Runtime's name by torch's.
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "mps": "CoreMLExecutionProvider"}
READY = "sentence_embedding"  # an output that is pooled already


class OnnxEncoder:
    """An Encoder; ONNX Runtime uses the machine's cores itself, and lets several threads in.

    Raises UnsupportedModel for a folder without a graph that gives a vector a token or a text.
    """

    def __init__(self, about: Sentences, session: Any) -> None:
        self.about = about
        self.dimension = about.width
        self.tokenizer = tokenizer_of(about)
        self.padding = int(about.config.get("pad_token_id") or 0)
        self._session = session
        self._inputs = [given.name for given in session.get_inputs()]
        if other := set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}:
            raise UnsupportedModel(about.folder, f"its ONNX file wants an input {min(other)!r}, which a tokenizer does not give")
        outputs = {given.name: len(given.shape or ()) for given in session.get_outputs()}
        per_token = [name for name, rank in outputs.items() if rank == 3]
        if READY not in outputs and not per_token:
            raise UnsupportedModel(
                about.folder, f"its ONNX file gives {', '.join(outputs)}, and none of them has a vector a token"
            )
        self._output = READY if READY in outputs else per_token[0]

    @classmethod
    def load(cls, folder: Path, device: str = "") -> OnnxEncoder:
        import onnxruntime

        about = sentences(folder, "onnx")
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other workers want the cores meanwhile
        try:
            session = onnxruntime.InferenceSession(str(onnx_file(folder)), options, providers=_providers(device))
        except ModelError:
            raise
        except Exception as error:  # its own classes, one for each status
            raise UnsupportedModel(folder, f"its ONNX file cannot be read: {error}") from error
        return cls(about, session)

    def encode(self, texts: Sequence[str], /) -> Floats:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        if not texts:
            return vectors
        ids = [found.ids for found in self.tokenizer.encode_batch([self.about.prepared(text) for text in texts])]
        for batch in batches(ids):
            vectors[batch] = self._forward([ids[i] for i in batch])
        return unit_rows(vectors)

    def _forward(self, rows: Sequence[Sequence[int]]) -> Floats:
        width = max(map(len, rows))
        mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], np.int64)
        tokens = np.array([[*row, *[self.padding] * (width - len(row))] for row in rows], np.int64)
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        (found,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        return found if self._output == READY else self._pool(found, mask)

    def _pool(self, found: Floats, mask: NDArray[np.int64]) -> Floats:
        if self.about.pooling == "cls":
            return found[:, 0]
        shown = mask[:, :, None].astype(np.float32)
        if self.about.pooling == "max":
            highest: Floats = np.where(shown > 0, found, -np.inf).max(axis=1)
            return highest
        mean: Floats = (found * shown).sum(axis=1) / shown.sum(axis=1)
        return mean


def _providers(device: str) -> list[str]:
    """For a GPU that is asked for only its own; else what this build of ONNX Runtime has, the fastest first."""
    import onnxruntime

    kind = device.partition(":")[0]
    available = list(onnxruntime.get_available_providers())
    if not kind:
        return [name for name in (PROVIDERS["cuda"], PROVIDERS["cpu"]) if name in available]
    if PROVIDERS.get(kind) not in available:
        raise ModelError(f"device {device!r} cannot be used: this onnxruntime has {', '.join(available)}")
    return [PROVIDERS[kind]]
