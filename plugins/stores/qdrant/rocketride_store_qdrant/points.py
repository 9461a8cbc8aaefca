# SPDX-License-Identifier: MIT
"""Chunks as Qdrant's points, and conditions as its filters.

A point's payload is what RocketRide's own nodes write, `{"content": <text>, "meta": {<metadata>}}`. What Qdrant cannot
hold (integers beyond 64 bits, numbers that are not finite, deep nesting) and a kind other than Document stand beside them, under `rocketride`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from qdrant_client import models

from rocketride_core import Document
from rocketride_store import Condition, Where, chunk_uuid

__all__ = [
    "CONTROL",
    "FIELDS",
    "FOLDER_INDEXES",
    "INDEXES",
    "control",
    "document",
    "filtered",
    "point",
    "struct",
    "whole",
]

Make: TypeAlias = Callable[[str, Any, dict[str, Any]], Any]

FIELDS: Final = ["content", "meta", "rocketride"]
_BIGGEST: Final = 2**63
_HELD: Final = (str, bool, type(None))
_DEEPEST: Final = 100  # Qdrant writes deeper ones and cannot read them again: its JSON ends at 128 levels
# With an index for every key that is filtered by: a server in strict mode refuses others.
INDEXES: Final[Mapping[str, Any]] = {
    "meta.nodeId": models.PayloadSchemaType.KEYWORD,
    "meta.objectId": models.PayloadSchemaType.KEYWORD,
    "meta.parent": models.PayloadSchemaType.KEYWORD,
    "meta.name": models.PayloadSchemaType.KEYWORD,
    "meta.permissionId": models.PayloadSchemaType.INTEGER,
    "meta.chunkId": models.PayloadSchemaType.INTEGER,
    "meta.tableId": models.PayloadSchemaType.INTEGER,
    "meta.vectorSize": models.PayloadSchemaType.INTEGER,
    "meta.isDeleted": models.PayloadSchemaType.BOOL,
    "meta.isTable": models.PayloadSchemaType.BOOL,
    "content": models.TextIndexParams(
        type=models.TextIndexType.TEXT,
        tokenizer=models.TokenizerType.WORD,
        min_token_len=2,
        max_token_len=15,
        lowercase=True,
    ),
}

# In a folder every index is paid for at each write, and nothing refuses a filter without one: those that questions use most.
_FILTERED = ("nodeId", "parent", "name", "permissionId", "isDeleted", "isTable", "tableId")
_MOST = ("objectId", "nodeId", "parent", "permissionId", "isDeleted")
FOLDER_INDEXES: Final = {f"meta.{key}": INDEXES[f"meta.{key}"] for key in _MOST}

# The record of dimension and model, as RocketRide writes it; no question may find it.
CONTROL: Final = models.Filter(
    must=[
        models.FieldCondition(key="meta.objectId", match=models.MatchValue(value="schema")),
        models.FieldCondition(key="meta.vectorSize", range=models.Range(gte=0)),
    ]
)


def control(dimension: int, model: str, make: Make) -> Any:
    """The collection's record of itself."""
    meta = {"objectId": "schema", "chunkId": 0, "isDeleted": True, "vectorSize": dimension, "modelName": model}
    id = chunk_uuid(Document("", {"objectId": "rocketride/schema", "chunkId": 0}))
    return make(id, memoryview(bytes(4 * dimension)).cast("f"), {"content": "", "meta": meta})


def struct(id: str, vector: memoryview, payload: Mapping[str, Any]) -> models.PointStruct:
    """A point as the client takes it, which is not validated: the numbers of its vector are checked one by one otherwise, which takes
    longer than to send them."""
    return models.PointStruct.model_construct(id=id, vector=vector.tolist(), payload=payload)


def point(given: Document, make: Make) -> Any:
    """The point of a chunk with its embedding.

    Parameters:
        make: of its id, its vector as it lies in memory, and its payload.
    """
    metadata = dict(given.metadata)
    odd: dict[str, Any] = {}
    rest = [(key, value) for key, value in metadata.items() if type(value) not in _HELD]
    for key, value in rest:
        # Most are small numbers: to call for each of them costs a fiftieth of a write.
        if (type(value) is int and -_BIGGEST <= value < _BIGGEST) or (_held(value) and not _many(key, value)):
            continue
        odd[key] = metadata.pop(key)
    payload: dict[str, Any] = {"content": given.text, "meta": metadata}
    if odd or given.kind != "Document":
        beside = {"kind": given.kind} if given.kind != "Document" else {}
        if odd:
            beside["json"] = json.dumps(odd, ensure_ascii=False)
        payload["rocketride"] = beside
    return make(chunk_uuid(given), given.embedding, payload)


def document(payload: Mapping[str, Any] | None, score: float | None = None) -> Document:
    """The chunk of a point, without its embedding."""
    held = payload or {}
    beside = held.get("rocketride") or {}
    metadata = dict(held.get("meta") or {})
    if "json" in beside:
        metadata = {**json.loads(beside["json"]), **metadata}  # a mark may have written its key since
    return Document(str(held.get("content") or ""), metadata, score=score, kind=beside.get("kind", "Document"))


def filtered(where: Where, *more: Any) -> models.Filter:
    """Points that fulfil all conditions, and are no record of the collection."""
    must = [_field(condition) for condition in where if condition.operator != "ne"]
    never: list[Any] = [_field(condition) for condition in where if condition.operator == "ne"]
    # Where objects are named, the record is not among them, and need not be looked for at each of their points.
    named = any(one.key == "objectId" and one.operator == "in" and "schema" not in one.value for one in where)
    return models.Filter(must=[*must, *more] or None, must_not=(never if named else [*never, CONTROL]) or None)


def whole(wanted: Sequence[str]) -> models.FieldCondition:
    """Every one of these words, whole, as the full-text index has them."""
    return models.FieldCondition(key="content", match=models.MatchText(text=" ".join(wanted)))


def _field(condition: Condition) -> models.FieldCondition:
    key, value = f"meta.{condition.key}", condition.value
    match condition.operator:
        case "in":
            return models.FieldCondition(key=key, match=models.MatchAny(any=list(value)))
        case "ge":
            return models.FieldCondition(key=key, range=models.Range(gte=value))
        case "le":
            return models.FieldCondition(key=key, range=models.Range(lte=value))
        case _ if isinstance(value, float):
            return models.FieldCondition(key=key, range=models.Range(gte=value, lte=value))
        case _:
            return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _many(key: str, value: Any) -> bool:
    """A list where filters look: Qdrant finds it by each of its values."""
    return key in _FILTERED and isinstance(value, (list, tuple))


def _held(value: Any, depth: int = 0) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return True
    if isinstance(value, int):
        return -_BIGGEST <= value < _BIGGEST
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(_held(part, depth + 1) for part in value.values())
    return all(_held(part, depth + 1) for part in value)
