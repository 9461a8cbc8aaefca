# SPDX-License-Identifier: MIT
"""rocketride_ocr: the text of images and scanned pages."""

from .node import Ocr, OcrConfig

__all__ = ["Ocr", "OcrConfig"]
