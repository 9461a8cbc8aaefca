# SPDX-License-Identifier: MIT
"""A text in passages, which are what is found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["passages"]

_ENDS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"[.!?…。！？।]\s*"), re.compile(r"\s+"))


def passages(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Passages of at most `size` characters, as positions: none is blank, none begins or ends with white space.

    They end at a paragraph, else a line, a sentence, a word, each only in the second half of what fits.
    """
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            end = _end(text, start, end)
        found = text[start:end]
        begin = start + len(found) - len(found.lstrip())
        if begin < end:
            yield begin, begin + len(found.strip())
        start = end


def _end(text: str, start: int, end: int) -> int:
    for pattern in _ENDS:
        ends = [found.end() for found in pattern.finditer(text, start + (end - start) // 2, end)]
        if ends:
            return ends[-1]
    back = end
    while back > start + 1 and (unicodedata.combining(text[back]) or "\u200d" in (text[back], text[back - 1])):
        back -= 1
    return back
