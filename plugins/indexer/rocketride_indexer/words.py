# SPDX-License-Identifier: MIT
"""The words of a text, as they are indexed and as they are looked for.

Scripts that write words without blanks between them (Chinese, Japanese, Thai, Khmer, …), and Korean, whose words grow endings, are
indexed as pairs of neighbouring characters: whatever is looked for is found wherever it stands, in every such language, without a
dictionary that may not know the word or cut the text and the question differently. Its price is a larger index, and that a
part of a word is found too. All other scripts are indexed by whole words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

__all__ = ["phrases", "sought", "tokens"]

LONGEST = 200  # characters of a word that count
# Han, kana, Hangul, Thai, Lao, Myanmar, Khmer, and the scripts beside them that are written alike.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"
# Accents; the vowel points of Hebrew and Arabic; what joins, breaks or selects and is not seen. People type words without them.
_UNSEEN = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u0655\u0670\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff]"
)


def tokens(text: str) -> list[str]:
    """What a text is indexed by, in order.

    Letter case, accents, forms of one character (full width, ligatures) make no difference; `_` and signs part words. A run of
    characters of an unspaced script gives its pairs, and its last character: `abc` gives `ab`, `bc`, `c`.
    """
    if text.isascii():
        return [word[:LONGEST] for word in re.findall("[a-z0-9]+", text.lower())]
    return [token for word in _words().findall(_folded(text)) for token in _tokens(word)]


def phrases(query: str) -> list[str]:
    """The words of a query that must all be there; words in double quotes stay together."""
    found = re.findall(r'"([^"]*)"|(\S+)', query)
    return [phrase for quoted, word in found if (phrase := (quoted or word).strip('" '))]


def sought(phrase: str, *, together: bool = True) -> Sequence[str]:
    """The tokens that follow each other where a phrase is, or, not `together`, any of which may be there.

    The last character of a run is left out, because in the text more may follow. One that is alone is the beginning of a pair.
    """
    found = tokens(phrase)
    ends = {at for at in range(1, len(found)) if unspaced(found[at][0]) and found[at - 1][1:] == found[at]}
    return [token for at, token in enumerate(found) if at not in ends or (together and at < len(found) - 1)]


@cache
def unspaced(character: str) -> bool:
    """Whether it belongs to a script that is indexed by pairs."""
    return re.match(f"[{_UNSPACED}]", character) is not None


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().replace("ı", "i")
    return unicodedata.normalize("NFC", _UNSEEN.sub("", unicodedata.normalize("NFD", text)))


def _tokens(word: str) -> Iterator[str]:
    for run in _RUNS.findall(word):
        if not unspaced(run[0]):
            yield run[:LONGEST]
            continue
        for at in range(len(run) - 1):
            yield run[at : at + 2]
        yield run[-1]


@cache
def _words() -> re.Pattern[str]:
    """Runs of letters, digits and marks, and single pictures. Python's `\\w` leaves out marks, such as the vowels of Hindi."""
    marks = [code for code in range(0x300, 0xFFFF) if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    listed = "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
    return re.compile(f"[{_PICTURES}]|(?:[^\\W_]|[{listed}])+")
