# SPDX-License-Identifier: MIT
"""Which engine reads: the one that is asked for, or the first that is installed and knows the script."""

from collections.abc import Callable
from importlib.util import find_spec

from .errors import NoEngine
from .languages import RAPIDOCR, tesseract_languages
from .rapid import Rapid
from .tesseract import Library, Program, data_folder, data_languages, installed_languages
from .words import Engine

ENGINES = ("tesserocr", "tesseract", "rapidocr")
# Engines of other implementations of this node. Files that name them get the first that is here.
OTHERS = ("easyocr", "doctr", "surya", "trocr")


def choose(engine: str, family: str, languages: str) -> Engine:
    """The engine for a family of scripts, or for languages by their Tesseract names.

    Raises:
        NoEngine: it, or every one where any will do, is missing or does not know the script; with a reason for each.
    """
    reasons = []
    for name in ENGINES if engine in ("auto", *OTHERS) else (engine,):
        found = _TRIES[name](family, languages)
        if not isinstance(found, str):
            return found
        reasons.append(f"{name}: {found}")
    raise NoEngine(f"nothing here reads {languages or family}; " + "; ".join(reasons))


def _tesserocr(family: str, languages: str) -> Engine | str:
    if find_spec("tesserocr") is None:
        return "not installed, pip install rocketride-ocr[tesserocr]"
    folder = data_folder()
    if not folder:
        return "no language data found, install tesseract-ocr or set TESSDATA_PREFIX"
    told, missing = tesseract_languages(family, languages, data_languages(folder))
    return Library(told) if told else missing


def _tesseract(family: str, languages: str) -> Engine | str:
    there = installed_languages()
    if not there:
        return "not on PATH, install tesseract-ocr"
    told, missing = tesseract_languages(family, languages, there)
    return Program(told) if told else missing


def _rapidocr(family: str, languages: str) -> Engine | str:
    if find_spec("rapidocr") is None or find_spec("onnxruntime") is None:
        return "not installed, pip install rocketride-ocr[rapidocr]"
    if languages:
        return "has one model for all its languages, leave `languages` empty for it"
    return Rapid() if family in RAPIDOCR else f"the model in its package reads {', '.join(sorted(RAPIDOCR))}"


_TRIES: dict[str, Callable[[str, str], Engine | str]] = {"tesserocr": _tesserocr, "tesseract": _tesseract, "rapidocr": _rapidocr}
