# SPDX-License-Identifier: MIT
"""How a collection and its chunks are kept: what a collection records, a chunk as an object, conditions as filters.

Metadata travels as JSON in one property, so that it comes back as it was. What questions filter by stands beside it in
properties with fixed types: nothing is left to Weaviate's guesses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from weaviate.classes.config import DataType, Property, Tokenization, VectorDistances
from weaviate.classes.query import Filter

from rocketride_core import Document
from rocketride_store import Collection, Condition, Distances, Where, chunk_uuid

__all__ = [
    "DISTANCES",
    "KEY",
    "NAMES",
    "STORED",
    "Known",
    "document_of",
    "filters",
    "known",
    "properties",
    "properties_of",
    "record",
]

DISTANCES = Distances(squared=True)
NAMES = {"cosine": VectorDistances.COSINE, "ip": VectorDistances.DOT, "l2": VectorDistances.L2_SQUARED}
KEY = "key"
STORED = ("content", "metadata", "kind", "isDeleted", KEY)
_RECORD = "RocketRide chunks "
_CONTROL = "schema"  # what RocketRide's own nodes leave in a collection: a hidden record with its vector size and model
_TEXTS = ("objectId", "nodeId", "parent", "name")
_NUMBERS = ("chunkId", "tableId", "permissionId")
_SWITCHES = ("isTable", "isDeleted")
_LARGEST = 2**53  # numbers travel as doubles


@attrs.frozen
class Known:
    """A collection of the server; `ours` was made by this store, `vector` names its vector, None where it has no name."""

    collection: Collection
    ours: bool
    vector: str | None


def record(wanted: Collection) -> str:
    """The description of a new collection: vector size and model are there as soon as it is."""
    return _RECORD + json.dumps({"vectorSize": wanted.dimension, "modelName": wanted.model})


def known(chunks: Any, name: str, config: Any) -> Known:
    """What the server's entry of a collection means; one of others is asked for its control record, else for any vector."""
    vectors = config.vector_config or {}
    vector = next(iter(vectors), None)
    index: Any = vectors[vector].vector_index_config if vector is not None else config.vector_index_config
    named = getattr(getattr(index, "distance_metric", None), "value", NAMES["cosine"].value)
    metric = next((metric for metric, own in NAMES.items() if own.value == named), str(named))
    properties = {one.name for one in config.properties}
    told = _recorded(config.description or "") if KEY in properties else None
    ours = told is not None
    if told is None and "objectId" in properties:
        asked = chunks.query.fetch_objects(filters=Filter.by_property("objectId").equal(_CONTROL), limit=100).objects
        told = next((one.properties for one in asked if one.properties.get("objectId") == _CONTROL), None)
    if told is None:
        some = chunks.query.fetch_objects(limit=1, include_vector=True).objects
        told = {"vectorSize": len(some[0].vector.get(vector or "default") or ())} if some else {}
    size, model = int(told.get("vectorSize") or 0), str(told.get("modelName") or "")
    return Known(Collection(name, size, model, metric), ours, vector)


def _recorded(description: str) -> Mapping[str, Any] | None:
    try:
        told = json.loads(description.removeprefix(_RECORD)) if description.startswith(_RECORD) else None
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


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
        "isDeleted": _deleted(metadata),
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
    if (deleted := kept.get("isDeleted") is True) != _deleted(metadata):
        metadata["isDeleted"] = deleted
    return Document(text, metadata, score=score, kind=str(kept.get("kind") or "Document"))


def _deleted(metadata: Mapping[str, Any]) -> bool:
    return metadata.get("isDeleted") is True


def filters(where: Where, words: Sequence[str] = ()) -> list[Any]:
    """What the server can decide: never less than the chunks that fulfil all conditions, sometimes more."""
    found = [_filter(condition) for condition in where]
    # Weaviate makes a regular expression of it without quoting anything: "?" stands for whatever could mean more than itself.
    pieces = [re.sub(r"[^\w]|_", "?", piece) for word in words for piece in word.lower().split()]
    found += [Filter.by_property("words").like(f"*{piece}*") for piece in pieces]
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
        fits = operator in ("eq", "in") and all(isinstance(one, str) and one.strip() for one in values)
    else:
        fits = operator != "ne" and key in _NUMBERS and all(type(one) is int and abs(one) < _LARGEST for one in values)
    if not fits:
        return None
    if operator == "in":
        return target.contains_any(values)
    return {"eq": target.equal, "ge": target.greater_or_equal, "le": target.less_or_equal}[operator](value)
