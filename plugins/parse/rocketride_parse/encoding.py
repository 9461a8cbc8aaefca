# SPDX-License-Identifier: MIT
"""From bytes to text: byte order mark, then what the file or its sender declares, then UTF-8, then detection."""

import codecs
import re
import unicodedata
from collections.abc import Iterable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What senders write, and the superset they mean (WHATWG Encoding Standard, section 4.2).
_LABELS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_MULTI_BYTE = ("gb18030", "big5", "cp932", "euc_jp", "cp949")
_SINGLE_BYTE = ("cp1252", "cp1250", "cp1254", "cp1251", "koi8_r", "cp1253", "iso8859_2")
_FREQUENT = frozenset("äöüßéèêàáâçñóíôõãåøæîïûùúąćęłńśźżěščřžůğışÄÖÜÉоеаинтαοιτεσ")
_PUNCTUATION = frozenset("–—‘’“”„…•€«»°§·£©®½²³")
_SINGLE = re.compile(r"cp125|cp8|iso8859|koi8|mac|ascii")
_SAMPLE = 1 << 16


class NotText(ValueError):
    """The bytes are not text in any encoding we know."""


def canonical(label: str) -> str:
    """The codec behind a declared charset, "" for one that Python does not know, or that is not for text."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
        b"a".decode(name)
    except (LookupError, ValueError):
        return ""
    return _LABELS.get(name, name)


def decode(data: bytes, declared: Iterable[str] = ()) -> tuple[str, str]:
    """`data` as text and the name of the encoding that was used.

    `declared` are charsets by falling weight; one that is unknown, or that `data` contradicts, is passed over.
    Raises NotText for binary content.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace"), encoding
    wide = _wide(data)
    if wide:
        text = data.decode(wide, "replace")
        _refuse_binary(text)
        return text, wide
    if b"\0" in data:
        raise NotText
    labels = list(filter(None, map(canonical, declared)))
    # Every byte sequence is valid in most single-byte encodings, and few of other origin are in UTF-8.
    for label in sorted([*labels, "utf-8"], key=lambda label: 2 if _SINGLE.match(label) else label == "utf-8"):
        found = _strict(data, label)
        if found is not None:
            _refuse_binary(found)
            return found, label
    text = data.decode("utf-8", "replace")
    holes = text.count("\ufffd")
    if holes * 10 <= sum(not char.isascii() for char in text) - holes:
        return text, "utf-8"
    encoding = _detect(data)
    text = data.decode(encoding, "replace")
    _refuse_binary(text)
    return text, encoding


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _wide(data: bytes) -> str:
    """UTF-16 without a mark, told by the zero bytes of the blanks, digits and Latin letters in it."""
    sample = data[: _SAMPLE // 2 * 2]
    if len(sample) < 4 or len(data) % 2 or b"\0" not in sample:
        return ""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    if min(even, odd) * 20 > max(even, odd) or max(even, odd) * 50 < len(sample):
        return ""
    text = _strict(sample, encoding)
    return encoding if text is not None and not any(unicodedata.category(char) in ("Co", "Cn") for char in text) else ""


def _refuse_binary(text: str) -> None:
    sample = text[:_SAMPLE]
    odd = sum((char < " " and char not in "\t\n\r\f\x1b\x1a") or ("\x7f" <= char < "\xa0" and char != "\x85") for char in sample)
    if odd * 50 > len(sample):
        raise NotText


def _detect(data: bytes) -> str:
    from charset_normalizer import from_bytes

    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE:
        sample = sample[: sample.rfind(b"\n") + 1 or None]
    best = from_bytes(sample, cp_isolation=[*_MULTI_BYTE, *_SINGLE_BYTE]).best()
    if best is not None and best.encoding in _MULTI_BYTE:
        return best.encoding
    # charset-normalizer takes short texts in single-byte code pages for neighbouring ones; cp1252 wins a tie here.
    return max(_SINGLE_BYTE, key=lambda encoding: _plausible(sample.decode(encoding, "replace")))


def _plausible(text: str) -> float:
    """How much the characters beyond ASCII look like written language, 1.2 at most a character."""
    score, count, before = 0.0, 0, " "
    for char in text:
        if not char.isascii():
            count += 1
            if char.isalpha() and ord(char) < 0x530:
                block = ord(char) >> 8
                if char.isupper() and before.islower():
                    score -= 2
                elif before.isalpha() and (ord(before) >> 8) // 3 != block // 3:
                    score -= 1
                elif block < 3 and before.isalpha() and not before.isascii():
                    score += 0.3
                else:
                    score += 1.2 if char in _FREQUENT else 1 if block >= 3 and char.islower() else 0.8
            elif char in _PUNCTUATION or char == "\xa0":
                score += 0.8
            else:
                score -= 10 if unicodedata.category(char) in ("Cc", "Cn", "Co") or char == "\ufffd" else 1
        before = char
    return score / count if count else 0.0
