# SPDX-License-Identifier: MIT
"""JSON Schema of what a tool returns, from its return annotation."""

from __future__ import annotations

import datetime as dt
import enum
import types
import typing
import uuid
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from pathlib import PurePath
from typing import Annotated, Any, get_args, get_origin

import attrs

from .configschema import config_schema

__all__ = ["result_schema"]

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", Decimal: "string"}
_FORMATS = {
    dt.datetime: "date-time",
    dt.date: "date",
    dt.time: "time",
    uuid.UUID: "uuid",
}


def result_schema(kind: Any) -> dict[str, Any]:
    """JSON Schema of a result's type; TypeError names a type that JSON cannot carry."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Annotated, typing.Required, typing.NotRequired):
        return result_schema(args[0])
    if kind in (None, type(None)):
        return {"type": "null"}
    if kind in (Any, object):
        return {}
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if kind in _FORMATS:
        return {"type": "string", "format": _FORMATS[kind]}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string"}
    if origin in (typing.Union, types.UnionType):
        return (
            {} if Mapping in [get_origin(a) or a for a in args] and str in args else {"anyOf": [result_schema(a) for a in args]}
        )
    if origin is typing.Literal:
        return {"enum": list(args)}
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        return {
            "type": "object",
            "properties": {name: result_schema(hint) for name, hint in hints.items()},
            # Under `from __future__ import annotations` the class itself does not know.
            "required": sorted(
                n for n, hint in hints.items() if n in kind.__required_keys__ and get_origin(hint) is not typing.NotRequired
            ),
        }
    base = origin or kind
    if isinstance(base, type) and issubclass(base, Mapping):
        return {"type": "object", **({"additionalProperties": result_schema(args[1])} if args else {})}
    if isinstance(base, type) and issubclass(base, (AbstractSet, Sequence)) and not issubclass(base, (str, bytes, memoryview)):
        items = [a for a in args if a is not Ellipsis]
        return {"type": "array", **({"items": result_schema(items[0])} if len(set(items)) == 1 else {})}
    if isinstance(kind, str | typing.ForwardRef):  # inside of Json, which refers to itself
        return {}
    if isinstance(kind, type) and hasattr(kind, "model_json_schema"):
        schema: dict[str, Any] = kind.model_json_schema()
        return schema
    if hasattr(kind, "to_json"):  # it says itself what it becomes
        return {"type": "object"}
    if attrs.has(kind):
        return config_schema(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _of_dataclass(kind)
    raise TypeError(getattr(kind, "__name__", repr(kind)))


def _of_dataclass(kind: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    told = fields(kind)
    return {
        "type": "object",
        "properties": {field.name: result_schema(hints[field.name]) for field in told},
        "required": [f.name for f in told if f.default is MISSING and f.default_factory is MISSING],
    }
