# SPDX-License-Identifier: MIT
"""How a chunk lies in a Milvus collection, and how a filter is written for it.

Milvus takes 65,535 bytes in a text field and 65,536 in a JSON field. Texts and metadata may be longer, so each is an array of
pieces; the metadata is JSON text, because Milvus' JSON knows no integers beyond 64 bits. What filters ask for has fields of
its own besides, empty (null) where a chunk does not have it, or has it as a value of another type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rocketride_core import Document
from rocketride_store import Condition, Where, chunk_uuid

__all__ = ["FILTERED", "READ", "VECTOR", "document", "expression", "fields", "model_of", "record", "row"]

VECTOR: Final = "vector"
LONGEST: Final = 65_535  # bytes of one text
PIECES: Final = 4096  # of one array
FILTERED: Final[Mapping[str, type]] = {
    "objectId": str,
    "chunkId": int,
    "nodeId": str,
    "parent": str,
    "name": str,
    "permissionId": int,
    "tableId": int,
    "isTable": bool,
    "isDeleted": bool,
}
READ: Final = ("content", "meta", "kind", "isDeleted")
_written = json.JSONEncoder(ensure_ascii=False).encode
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_RECORD: Final = "rocketride.model"


def fields(dimension: int) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Names, types and options of a collection's fields, as pymilvus' `add_field` takes them."""
    yield "id", "VARCHAR", {"is_primary": True, "max_length": 36}
    yield VECTOR, "FLOAT_VECTOR", {"dim": dimension}
    for name in ("content", "meta"):
        yield name, "ARRAY", {"element_type": "VARCHAR", "max_capacity": PIECES, "max_length": LONGEST}
    yield "kind", "VARCHAR", {"max_length": 256}
    for name, kind in FILTERED.items():
        options = {"nullable": True} | ({"max_length": LONGEST} if kind is str else {})
        yield name, {str: "VARCHAR", int: "INT64", bool: "BOOL"}[kind], options


def record(model: str) -> Mapping[str, Any]:
    """What goes with a new collection, in one step: the model, once as a property and once in the description.

    A server keeps both, milvus-lite only the property.
    """
    return {"description": json.dumps({_RECORD: model}), "properties": {_RECORD: model}}


def model_of(described: Mapping[str, Any]) -> str:
    """The model that a collection records; "" where it records none."""
    properties = described.get("properties") or {}
    if _RECORD in properties:
        return str(properties[_RECORD])
    try:
        told = json.loads(described.get("description") or "")
    except ValueError:
        return ""
    return str(told.get(_RECORD) or "") if isinstance(told, dict) else ""


def row(chunk: Document) -> dict[str, Any]:
    """A chunk as Milvus keeps it; a name that is too long for its field is a ValueError."""
    metadata = dict(chunk.metadata)
    values = {key: _fitting(key, metadata.get(key)) for key in FILTERED}
    if values["isDeleted"] is not None:
        del metadata["isDeleted"]  # a mark changes the field alone
    vector = chunk.embedding
    return values | {
        "id": chunk_uuid(chunk),
        VECTOR: [] if vector is None else vector.tolist(),
        "content": _pieces(chunk.text),
        "meta": _pieces(_written(metadata)),
        "kind": chunk.kind,
    }


def document(found: Mapping[str, Any], score: float | None = None) -> Document:
    """The chunk that `row` was made from, without its embedding."""
    metadata = json.loads("".join(found["meta"]))
    if found["isDeleted"] is not None:
        metadata["isDeleted"] = bool(found["isDeleted"])
    return Document("".join(found["content"]), metadata, score=score, kind=found["kind"])


def expression(where: Where) -> str:
    """A filter in Milvus' language; "" is every chunk."""
    return " and ".join(_term(condition) for condition in where)


def _term(condition: Condition) -> str:
    key, operator, value = condition.key, condition.operator, condition.value
    if key not in FILTERED:
        raise ValueError(f"Milvus has no field for {key!r}; it filters by {', '.join(FILTERED)}")
    values: Sequence[Any] = [_fitting(key, one) for one in (value if operator == "in" else [value])]
    literals = [_literal(one) for one in values if one is not None]
    match operator:
        case "in":
            return f"{key} in [{', '.join(literals)}]" if literals else _never()
        case "ne":
            return f"({key} is null or {key} != {literals[0]})" if literals else 'id != ""'
        case "eq" | "ge" | "le":
            sign = {"eq": "==", "ge": ">=", "le": "<="}[operator]
            return f"{key} {sign} {literals[0]}" if literals else _never()


def _literal(value: Any) -> str:
    """Not as in JSON: milvus-lite knows no \\u and \\b, and takes other control characters as they are."""
    return f'"{value.translate(_ESCAPES)}"' if isinstance(value, str) else _written(value)


def _never() -> str:
    return 'id == ""'


def _fitting(key: str, value: Any) -> Any:
    if type(value) is not FILTERED[key] or (type(value) is int and not -(2**63) <= value < 2**63):
        return None
    if isinstance(value, str) and len(value.encode()) > LONGEST:
        raise ValueError(f"a chunk's {key!r} has {len(value.encode())} bytes; Milvus takes at most {LONGEST}")
    return value


def _pieces(text: str) -> list[str]:
    data = text.encode()
    if len(data) <= LONGEST:
        return [text]
    out, start = [], 0
    while start < len(data):
        stop = min(start + LONGEST, len(data))
        while stop < len(data) and data[stop] & 0xC0 == 0x80:  # inside a character
            stop -= 1
        out.append(data[start:stop].decode())
        start = stop
    if len(out) > PIECES:
        raise ValueError(f"a text of {len(data)} bytes is more than Milvus takes of one chunk; split it")
    return out
