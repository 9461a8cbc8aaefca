# SPDX-License-Identifier: MIT
"""What kind of thing a component is, for its colour; a node that is not installed is told by its name and its wires."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from .measure import clean

if TYPE_CHECKING:
    from rocketride_core.node import Node

__all__ = ["FAMILIES", "family", "readable"]

FAMILIES = ("source", "data", "media", "embedding", "store", "llm", "agent", "tool", "memory", "response", "other")

_WORDS = {
    **{name: name for name in FAMILIES},
    "sources": "source",
    "text": "data",
    "preprocessor": "data",
    "guard": "data",
    "rerank": "data",
    "image": "media",
    "audio": "media",
    "video": "media",
    "database": "store",
    "db": "store",
    "search": "tool",
    "target": "response",
}
_CAPITALS = {"llm", "ocr", "db", "api", "http", "mcp", "ner", "gmi", "ibm", "aql", "tts", "ai", "xai"}


def family(
    cls: type[Node[Any]] | None,
    provider: str,
    pip: str,
    *,
    declared_source: bool,
    controls: Collection[str],
    ins: bool,
    outs: bool,
) -> str:
    """One of `FAMILIES`.

    Parameters:
        cls: its class, where that is installed.
        pip: the distribution that is known to have it, or "".
        declared_source: the file says that it is a source.
        controls: names of the controls it is called over.
        ins, outs: whether lanes go in and out.
    """
    if cls is not None:
        if cls.spec.responds:
            return "response"
        if cls.manifest.source:
            return "source"
        found = _first(cls.spec.categories)
        if found:
            return found
    words = provider.lower().split("_")
    found = _first([pip.removeprefix("rocketride-").partition("-")[0], words[0], *words[1:]])
    if found and (found != "source" or not ins):
        return found
    if declared_source:
        return "source"
    called = _first(sorted(controls)) or ("tool" if controls else "")
    if called:
        return called
    if ins:
        return "data"
    return "source" if outs else "other"


def _first(words: Iterable[str]) -> str:
    return next((_WORDS[word] for word in words if word in _WORDS), "")


def readable(provider: str) -> str:
    """A title for a component that has none: `llm_openai` is LLM Openai."""
    words = [word for word in clean(provider).replace("_", " ").replace("-", " ").split() if word]
    return " ".join(word.upper() if word.lower() in _CAPITALS else word[:1].upper() + word[1:] for word in words)
