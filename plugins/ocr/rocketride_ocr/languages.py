# SPDX-License-Identifier: MIT
"""Families of scripts, and the language data that read them."""

from collections.abc import Collection, Mapping
from typing import NamedTuple


class Family(NamedTuple):
    """A family of scripts.

    script: Tesseract's model of the whole family. languages: its models of languages, all that are there are used.
    least: those of which one must be there. sample: letters that a model of the family knows.
    """

    script: str
    languages: tuple[str, ...]
    least: tuple[str, ...]
    sample: str


FAMILIES: Mapping[str, Family] = {
    "latin": Family("", ("eng",), ("eng",), "Az09%"),
    "latin-extended": Family(
        "script/Latin",
        ("eng", "deu", "fra", "spa", "ita", "por", "pol", "nld"),
        ("deu", "fra", "spa", "ita", "por", "pol", "nld"),
        "äöüßéèçñøåąłőşğ",
    ),
    "cyrillic": Family("script/Cyrillic", ("rus", "ukr", "bul", "srp"), ("rus", "ukr", "bul", "srp"), "абжщыэяїє"),
    "arabic": Family("script/Arabic", ("ara", "fas", "urd"), ("ara", "fas", "urd"), "ابتثجحخ"),
    "devanagari": Family("script/Devanagari", ("hin", "mar", "nep"), ("hin", "mar", "nep"), "अआइकखग"),
    "bengali": Family("script/Bengali", ("ben",), ("ben",), "অআকখ"),
    "chinese-simplified": Family("", ("chi_sim", "eng"), ("chi_sim",), "国语简体"),
    "chinese-traditional": Family("", ("chi_tra", "eng"), ("chi_tra",), "國語繁體"),
    "japanese": Family("", ("jpn", "eng"), ("jpn",), "あいアイ日本"),
    "korean": Family("", ("kor", "eng"), ("kor",), "가나다한국"),
    "thai": Family("script/Thai", ("tha",), ("tha",), "กขคง"),
    "tamil": Family("script/Tamil", ("tam",), ("tam",), "அஆகங"),
    "telugu": Family("script/Telugu", ("tel",), ("tel",), "అఆకఖ"),
}
# The one recognition model in the wheel of rapidocr 3.10; others would have to be downloaded.
RAPIDOCR = frozenset({"latin", "latin-extended", "chinese-simplified", "chinese-traditional", "japanese"})


def tesseract_languages(family: str, asked: str, there: Collection[str]) -> tuple[str, str]:
    """What Tesseract is to be told, and, where that is nothing, what is missing.

    asked: languages by their Tesseract names with "+" between, which go before the family. there: those that are installed.
    """
    if asked:
        missing = [name for name in asked.split("+") if name not in there]
        return ("", f"no language data for {', '.join(missing)}") if missing else (asked, "")
    known = FAMILIES[family]
    if known.script in there:
        return known.script, ""
    if not any(name in there for name in known.least):
        packages = ", ".join(f"tesseract-ocr-{name.replace('_', '-')}" for name in known.least)
        return "", f"no language data for {family} (one of the packages {packages})"
    return "+".join(name for name in known.languages if name in there), ""
