# SPDX-License-Identifier: MIT
"""How long a stretch of text is, and where it may be cut without tearing a character apart."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from math import ceil
from typing import TypeAlias

Measure: TypeAlias = Callable[[int, int], int]
"""`measure(start, end)`: the length of `text[start:end]`, never less than that of a stretch inside it."""

_JOINER = "\u200d"


def characters(start: int, end: int) -> int:
    """Lengths in characters, that is code points: the same measure for every text."""
    return end - start


class Tokens:
    """A measure of one text: tokens, estimated as UTF-8 bytes divided by `bytes_per_token`, rounded up."""

    def __init__(self, text: str, bytes_per_token: float) -> None:
        self.text, self.bytes_per_token = text, bytes_per_token

    def __call__(self, start: int, end: int) -> int:
        return ceil(len(self.text[start:end].encode("utf-8", "surrogatepass")) / self.bytes_per_token)


def tokens(text: str, bytes_per_token: float) -> Measure:
    """Lengths in tokens, estimated as UTF-8 bytes divided by `bytes_per_token`, rounded up."""
    return Tokens(text, bytes_per_token)


def divides(text: str, at: int) -> bool:
    """Whether a cut before `text[at]` would tear one visible character apart.

    Kept together: a letter and its combining marks, conjoining Hangul, emoji sequences with modifiers, selectors and
    joiners, flags, CR LF. This is the part of Unicode's grapheme cluster rules that ordinary text meets.
    """
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if right < "\u0300":
        return left == "\r" and right == "\n"
    if right == _JOINER or (left == _JOINER and not right.isspace()) or unicodedata.category(right) in {"Mn", "Mc", "Me"}:
        return True
    if "\U0001f3fb" <= right <= "\U0001f3ff" or "\U000e0020" <= right <= "\U000e007f" or "\u1160" <= right <= "\u11ff":
        return True
    if _flag(right):
        first = at
        while first and _flag(text[first - 1]):
            first -= 1
        return (at - first) % 2 == 1
    return False


def _flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
