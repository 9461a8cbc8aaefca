# SPDX-License-Identifier: MIT
"""RapidOCR: neural detection and recognition by ONNX Runtime, with models that are in its wheel."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from .words import OnCancel, Word

if TYPE_CHECKING:
    from PIL.Image import Image


class Rapid:
    """RapidOCR, loaded with the first image. One image at a time: ONNX Runtime takes all cores for it."""

    name = "rapidocr"

    def __init__(self) -> None:
        self._lock = Lock()
        self._engine: Any = None

    def read(self, image: Image, *, seconds: float, on_cancel: OnCancel) -> list[Word]:
        import numpy as np

        pixels = np.asarray(image)[:, :, ::-1]
        with self._lock:
            if self._engine is None:
                from rapidocr import RapidOCR

                self._engine = RapidOCR(params={"Global.log_level": "error", "Global.text_score": 0.0})
            found = self._engine(pixels)
        if found.boxes is None or found.txts is None:
            return []
        words = []
        for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
            across, down = box[:, 0], box[:, 1]
            if text.strip():
                left, top, right, bottom = map(float, (across.min(), down.min(), across.max(), down.max()))
                words.append(Word(text.strip(), left, top, right, bottom, float(score)))
        return words

    def close(self) -> None:
        self._engine = None
