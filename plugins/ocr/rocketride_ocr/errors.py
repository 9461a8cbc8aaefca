# SPDX-License-Identifier: MIT
"""What can go wrong. Every message says what to do."""


class OcrError(Exception):
    """An image that could not be read; the base of the errors below. `code` is stable."""

    code = "ocr-error"


class BadImage(OcrError):
    """The bytes are no image, a damaged one, or one too large to be unpacked."""

    code = "bad-image"


class OcrTimeLimit(OcrError):
    """Reading took longer than `max_seconds`, or than the entry had left."""

    code = "ocr-time-limit"


class NoEngine(OcrError):
    """No engine is installed that reads the script that is asked for."""

    code = "no-ocr-engine"
