# SPDX-License-Identifier: MIT
"""What LangChain does itself: patterns, one separator, LaTeX, and sentences by NLTK or spaCy. Imported when first needed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from rocketride_core.errors import PluginError
from rocketride_splitter import located

_BLANK = re.compile(r"\s")
PIP = "pip install rocketride-preprocessor-langchain"


def library() -> Any:
    """LangChain's module of text splitters.

    Raises:
        PluginError: it is not installed.
    """
    try:
        import langchain_text_splitters
    except ImportError as error:
        raise PluginError(
            f"this splitter is LangChain's own, and langchain-text-splitters cannot be imported ({error}); {PIP}[langchain]"
        ) from error
    return langchain_text_splitters


def latex() -> tuple[str, ...]:
    r"""LangChain's separators for LaTeX, as regular expressions.

    Its commands are written as patterns. `$` and `$$` are not, they would match at the end of every text.
    """
    found = library().RecursiveCharacterTextSplitter.get_separators_for_language("latex")
    return tuple(re.escape(separator) if separator.strip("$") == "" else separator for separator in found)


class Sentences:
    """LangChain's splitter of sentences that NLTK or spaCy has found; a sentence stays whole, however long.

    It is made once and used by one thread at a time: neither library promises more.
    """

    def __init__(self, splitter: Any, overlap: int) -> None:
        self.splitter, self.overlap, self.lock = splitter, overlap, threading.Lock()

    def __call__(self, text: str) -> list[tuple[int, int]]:
        with self.lock:
            chunks = self.splitter.split_text(text)
        return located(text, [chunk for chunk in chunks if chunk.strip()], overlap=None if self.overlap else 0, separator=_BLANK)


def nltk(size: int, overlap: int, length: Callable[[str], int]) -> Sentences:
    """English sentences by NLTK.

    Raises:
        PluginError: NLTK or its data is not there.
    """
    splitters = library()
    try:
        import nltk as toolkit  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise PluginError(f"NLTKTextSplitter needs NLTK, which cannot be imported ({error}); {PIP}[nltk]") from error
    try:
        toolkit.data.find("tokenizers/punkt_tab/english/")
    except LookupError as error:
        raise PluginError(
            "NLTKTextSplitter needs NLTK's data 'punkt_tab', which is not on this machine; python -m nltk.downloader punkt_tab "
            "fetches it, or name a folder that has tokenizers/punkt_tab in NLTK_DATA"
        ) from error
    splitter = splitters.NLTKTextSplitter(chunk_size=size, chunk_overlap=overlap, length_function=length)
    return Sentences(splitter, overlap)


def spacy(model: str, size: int, overlap: int, length: Callable[[str], int]) -> Sentences:
    """Sentences by spaCy.

    Parameters:
        model: the name of an installed model, or `sentencizer` for its rules, which need none.

    Raises:
        PluginError: spaCy or the model is not there.
    """
    splitters = library()
    try:
        splitter = splitters.SpacyTextSplitter(pipeline=model, chunk_size=size, chunk_overlap=overlap, length_function=length)
    except ImportError as error:
        raise PluginError(f"SpacyTextSplitter needs spaCy, which cannot be imported ({error}); {PIP}[spacy]") from error
    except OSError as error:
        raise PluginError(
            f"SpacyTextSplitter needs spaCy's model '{model}', which is not on this machine; python -m spacy download {model} "
            "fetches it, or set pipeline to 'sentencizer', which needs none"
        ) from error
    return Sentences(splitter, overlap)
