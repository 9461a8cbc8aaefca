# SPDX-License-Identifier: MIT
"""How a chunk is kept as an object of Weaviate, and how conditions become filters.

Metadata travels as JSON in one property, so that it comes back as it was. What questions filter by stands beside it in
properties with fixed types: nothing is left to Weaviate's guesses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from weaviate.classes.config import DataType, Property, Tokenization
from weaviate.classes.query import Filter

from rocketride_core import Document
from rocketride_store import Condition, Where, chunk_uuid

__all__ = ["KEY", "RECORD", "STORED", "document_of", "filters", "properties", "properties_of", "recorded"]

KEY = "key"
RECORD = "RocketRide chunks "
STORED = ("content", "metadata", "kind", "isDeleted", KEY)
_TEXTS = ("objectId", "nodeId", "parent", "name")
_NUMBERS = ("chunkId", "tableId", "permissionId")
_SWITCHES = ("isTable", "isDeleted")
_LARGEST = 2**53  # numbers travel as doubles


def properties() -> list[Property]:
    """The properties of a new collection."""
    plain: dict[str, Any] = {"index_filterable": False, "index_searchable": False}
    found: dict[str, Any] = {"index_filterable": True, "index_searchable": False}
    return [
        *(Property(name=name, data_type=DataType.TEXT, **plain) for name in ("content", "metadata", "kind")),
        Property(name="words", data_type=DataType.TEXT, tokenization=Tokenization.WHITESPACE, **found),
        *(Property(name=name, data_type=DataType.TEXT, tokenization=Tokenization.FIELD, **found) for name in (KEY, *_TEXTS)),
        *(Property(name=name, data_type=DataType.INT, index_filterable=True) for name in _NUMBERS),
        *(Property(name=name, data_type=DataType.BOOL, index_filterable=True) for name in _SWITCHES),
    ]


def properties_of(document: Document) -> dict[str, Any]:
    """A chunk without its vector."""
    metadata = document.metadata
    out: dict[str, Any] = {
        "content": document.text,
        "metadata": json.dumps(dict(metadata)),
        "kind": document.kind,
        # Each word once, as the server splits them: it looks for parts of words.
        "words": " ".join(dict.fromkeys(document.text.lower().split())),
        KEY: chunk_uuid(document),
        "isDeleted": bool(metadata.get("isDeleted") == True),  # noqa: E712 - as Condition.holds compares
    }
    for name in (*_TEXTS, *_NUMBERS, "isTable"):
        value = metadata.get(name)
        text = name in _TEXTS and isinstance(value, str)
        number = name in _NUMBERS and type(value) is int and abs(value) < _LARGEST
        if text or number or (name == "isTable" and isinstance(value, bool)):
            out[name] = value
    return out


def document_of(kept: Mapping[str, Any], *, ours: bool, score: float | None = None) -> Document:
    """The chunk that an object's properties hold.

    Parameters:
        ours: by `properties_of`; else made by another program, with its metadata as properties.
    """
    text = str(kept.get("content") or "")
    if not ours:
        values = {key: value for key, value in sorted(kept.items()) if key != "content" and value is not None}
        return Document(text, values, score=score)
    metadata: dict[str, Any] = json.loads(kept.get("metadata") or "{}")
    deleted = kept.get("isDeleted") is True
    if deleted != (metadata.get("isDeleted") == True):  # noqa: E712 - as above
        metadata["isDeleted"] = deleted
    return Document(text, metadata, score=score, kind=str(kept.get("kind") or "Document"))


def recorded(description: str | None) -> Mapping[str, Any] | None:
    """What the collection's description records; None where this store did not write it."""
    if description and description.startswith(RECORD):
        try:
            record = json.loads(description.removeprefix(RECORD))
        except ValueError:
            return None
        return record if isinstance(record, dict) else None
    return None


def filters(where: Where, words: Sequence[str] = ()) -> list[Any]:
    """What the server can decide: never less than the chunks that fulfil all conditions, sometimes more."""
    found = [_filter(condition) for condition in where]
    pieces = [piece for word in words for piece in word.lower().split()]
    found += [Filter.by_property("words").like(f"*{_pattern(piece)}*") for piece in pieces]
    return [one for one in found if one is not None]


def _filter(condition: Condition) -> Any:
    key, operator, value = condition.key, condition.operator, condition.value
    target = Filter.by_property(key)
    if key in _SWITCHES:
        if operator == "eq" and isinstance(value, bool):
            return target.equal(value)
        return target.equal(not value) if operator == "ne" and key == "isDeleted" and isinstance(value, bool) else None
    values = list(value) if operator == "in" else [value]
    if key in _TEXTS:
        # Text is compared without the blanks around it; of blanks alone nothing would be left.
        fits = all(isinstance(one, str) and one.strip() for one in values)
    else:
        fits = key in _NUMBERS and all(type(one) is int and abs(one) < _LARGEST for one in values)
    if not fits or operator == "ne" or (key in _TEXTS and operator in ("ge", "le")):
        return None
    if operator == "in":
        return target.contains_any(values)
    return {"eq": target.equal, "ge": target.greater_or_equal, "le": target.less_or_equal}[operator](value)


def _pattern(piece: str) -> str:
    # Weaviate makes a regular expression of it without quoting anything: "?" stands for whatever could mean more than itself.
    return re.sub(r"[^\w]|_", "?", piece)
