# SPDX-License-Identifier: MIT
"""JSON Schema of what a tool returns, from its return annotation."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

import attrs

from .configschema import config_schema

__all__ = ["result_schema"]

_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean"}


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
            "required": sorted(kind.__required_keys__),
        }
    base = origin or kind
    if isinstance(base, type) and issubclass(base, Mapping):
        return {"type": "object", **({"additionalProperties": result_schema(args[1])} if args else {})}
    if (
        isinstance(base, type)
        and issubclass(base, (list, tuple, set, frozenset, Sequence))
        and not issubclass(base, (str, bytes, memoryview))
    ):
        items = [a for a in args if a is not Ellipsis]
        return {"type": "array", **({"items": result_schema(items[0])} if len(set(items)) == 1 else {})}
    if isinstance(kind, str | typing.ForwardRef):  # inside of Json, which refers to itself
        return {}
    if attrs.has(kind):
        return config_schema(kind)
    if isinstance(kind, type) and (hasattr(kind, "__dataclass_fields__") or hasattr(kind, "model_json_schema")):
        schema: dict[str, Any] = kind.model_json_schema() if hasattr(kind, "model_json_schema") else {"type": "object"}
        return schema
    raise TypeError(getattr(kind, "__name__", repr(kind)))
