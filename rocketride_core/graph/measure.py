# SPDX-License-Identifier: MIT
"""How wide a text is, without a font at hand: the widths of a wide sans serif, so that others stay below them."""

from __future__ import annotations

import unicodedata

__all__ = ["clean", "fitted", "width", "wrapped"]

BOLD = 1.12
# Hundredths of the font size.
_WIDTHS = {
    letter: hundredths
    for hundredths, letters in {
        35: " ',./:;IJijl\\|",
        40: "()-[]ft",
        45: "!r",
        50: '"*_`',
        55: "?csz",
        60: "FLkvxy",
        65: "$0123456789EPSTYabdeghnopqu{}",
        70: "ABCKRVXZ",
        75: "NU",
        80: "&DGHOQ",
        85: "#+<=>^w~",
        90: "M",
        100: "%@Wm…",
    }.items()
    for letter in letters
}


def clean(text: str) -> str:
    """One line without what XML and terminals cannot show: controls, surrogates, marks that turn the direction."""
    shown = "".join(" " if c.isspace() else c if unicodedata.category(c) not in _HIDDEN else "\ufffd" for c in text)
    return " ".join(shown.split())


_HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Co"}


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Of one line, in the unit of `size`; rather too much than too little."""
    return sum(map(_letter, text)) * size * (BOLD if bold else 1) / 100


def _letter(letter: str) -> int:
    known = _WIDTHS.get(letter)
    if known is not None:
        return known
    if unicodedata.combining(letter):
        return 0
    return 120 if unicodedata.east_asian_width(letter) in "WF" else 100


def fitted(text: str, most: float, size: float, *, bold: bool = False) -> str:
    """The text, or its two ends with … between them: names of a kind differ at their ends."""
    if width(text, size, bold=bold) <= most:
        return text
    text = text[: int(most)] + text[-int(most) :] if len(text) > 2 * most else text
    low, high = 0, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        low, high = (kept, high) if width(_ends(text, kept), size, bold=bold) <= most else (low, kept - 1)
    return _ends(text, low)


def _ends(text: str, kept: int) -> str:
    head = (kept * 3 + 4) // 5
    return f"{text[:head].rstrip()}…{text[len(text) - (kept - head) :].lstrip() if kept > head else ''}"


def wrapped(text: str, most: float, size: float) -> list[str]:
    """Lines no wider than `most`; a word that is wider is broken."""
    lines, line = [], ""
    for word in text.split():
        if line and width(f"{line} {word}", size) <= most:
            line = f"{line} {word}"
            continue
        if line:
            lines.append(line)
        line = ""
        for letter in word:
            if line and width(line + letter, size) > most:
                lines.append(line)
                line = ""
            line += letter
    return [*lines, line] if line or not lines else lines
