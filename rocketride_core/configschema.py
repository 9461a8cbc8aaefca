# SPDX-License-Identifier: MIT
"""JSON Schema (draft 2020-12) of a config class, for editors and forms. Public through `rocketride_core.schema`."""

from __future__ import annotations

import enum
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import attrs

from .payloads import Json
from .settings import ProviderRef, Secret, Setting
from .structure import Field, fields_of

__all__ = ["VARIABLE", "config_schema"]

_LISTS = (list, tuple, Sequence, set, frozenset, AbstractSet)
_SCALARS: dict[Any, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    Path: {"type": "string", "format": "path"},
    Secret: {"type": "string", "format": "password", "writeOnly": True},
    type(None): {"type": "null"},
    ProviderRef: {
        "type": "object",
        "properties": {"provider": {"type": "string", "minLength": 1}},
        "required": ["provider"],
        "x-provider": True,
    },
}
VARIABLE = r"\$\{[^}]+"
# What a file may hold instead of a number or a truth value: the same as text, or a text with a variable.
_AS_TEXT = {
    "integer": rf"^\s*[+-]?[0-9]+\s*$|{VARIABLE}",
    "number": rf"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$|{VARIABLE}",
    "boolean": rf"^\s*([Tt]rue|[Ff]alse|TRUE|FALSE|[Yy]es|[Nn]o|[Oo]n|[Oo]ff|0|1)\s*$|{VARIABLE}",
}


def config_schema(cls: type[Any] | None, *, lenient: bool = False) -> dict[str, Any]:
    """The schema of a resolved config.

    `title`, `description`, `default`, `minimum`, `maximum`, `enum` and `pattern` come from the settings; beside them stand
    `x-unit`, `x-widget`, `x-show-if`. A secret is `writeOnly` with format `password`; a `ProviderRef` has `x-provider`.

    Parameters:
        cls: an attrs class; None takes any object.
        lenient: as a file may say it: null for "not set", numbers as text, variables, nothing required.
    """
    if cls is None or cls is type(None):
        return {"type": "object"}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in fields_of(cls):
        found = _property(field, lenient)
        properties[field.keys[0]] = found
        for alias in field.keys[1:]:
            properties[alias] = {**{k: v for k, v in found.items() if k != "default"}, "deprecated": True}
        if field.required:
            required.append(field.keys[0])
    out: dict[str, Any] = {"type": "object", "properties": properties}
    if required and not lenient:
        out["required"] = required
    return out


def _property(field: Field, lenient: bool) -> dict[str, Any]:
    setting = field.setting
    out = _kind(field.kind)
    _constrain(out, setting)
    if lenient:
        out = _lenient(out)
    notes: tuple[tuple[str, Any], ...] = (
        ("title", setting.title),
        ("description", setting.doc),
        ("x-unit", setting.unit),
        ("x-widget", setting.widget),
        ("x-show-if", dict(setting.show_if) if setting.show_if else None),
    )
    out |= {key: note for key, note in notes if note}
    default: Any = field.default
    if getattr(default, "takes_self", None) is False:
        default = default.factory()
    value = None if default is attrs.NOTHING or hasattr(default, "takes_self") else _json(default)
    return out if value is None else {**out, "default": value}


def _kind(kind: Any) -> dict[str, Any]:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _kind(args[0])
    if origin in (Union, types.UnionType):
        if str in args and any((get_origin(a) or a) is Mapping for a in args):
            return {}  # Json
        members = [_kind(a) for a in args]
        return members[0] if len(members) == 1 else {"anyOf": members}
    if origin is Literal:
        return {"enum": list(args)}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [member.value for member in kind]}
    if kind in _SCALARS:
        return _copy(_SCALARS[kind])
    if (origin or kind) in _LISTS:
        if origin is tuple and args and Ellipsis not in args:
            items = [_kind(a) for a in args]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        return {"type": "array", "items": _kind(args[0])} if args else {"type": "array"}
    if (origin or kind) in (dict, Mapping):
        return {"type": "object", "additionalProperties": _kind(args[1])} if args else {"type": "object"}
    if attrs.has(kind):
        return config_schema(kind)
    return {}


def _copy(value: dict[str, Any]) -> dict[str, Any]:
    return {key: dict(item) if isinstance(item, dict) else item for key, item in value.items()}


def _constrain(schema: dict[str, Any], setting: Setting) -> None:
    """Puts the limits where they belong: on each alternative, and on the items of a list."""
    for member in schema.get("anyOf", ()):
        _constrain(member, setting)
    if isinstance(schema.get("items"), dict):
        _constrain(schema["items"], setting)
    kind = schema.get("type")
    if kind in {"integer", "number"}:
        if setting.ge is not None:
            schema["minimum"] = setting.ge
        if setting.le is not None:
            schema["maximum"] = setting.le
    if kind in {"integer", "number", "string", "boolean"} and setting.choices:
        schema["enum"] = list(setting.choices)
    if kind == "string" and setting.pattern:
        schema["pattern"] = f"^(?:{setting.pattern})$"


def _lenient(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of what a file may hold where the resolved value must fit `schema`."""
    out = {key: item for key, item in schema.items() if key != "required" or "x-provider" in schema}
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = _lenient(out[key])
    if "properties" in out and "x-provider" not in out:
        out["properties"] = {key: _lenient(item) for key, item in out["properties"].items()}
    if "prefixItems" in out:
        out["prefixItems"] = [_lenient(item) for item in out["prefixItems"]]
    if "anyOf" in out:
        members = [member for member in out["anyOf"] if member != {"type": "null"}]
        if len(members) == 1:
            return _lenient({**{k: v for k, v in out.items() if k != "anyOf"}, **members[0]})
        out["anyOf"] = [_lenient(member) for member in members]
    kind = out.get("type")
    if "enum" in out or "pattern" in out or "anyOf" in out:
        return {"anyOf": [*out.get("anyOf", [out]), {"type": "string", "pattern": VARIABLE}, {"type": "null"}]}
    if kind in _AS_TEXT:
        return {**out, "type": [kind, "string", "null"], "pattern": _AS_TEXT[kind]}
    if "x-provider" in out:
        return {**out, "type": ["object", "boolean", "null"]}
    return {**out, "type": [kind, "null"]} if isinstance(kind, str) and kind != "null" else out


def _json(value: Any) -> Json:
    if isinstance(value, ProviderRef):
        return {"provider": value.provider, value.provider: _json(value.config)}
    if isinstance(value, enum.Enum):
        return _json(value.value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Secret):
        return None
    if attrs.has(type(value)):
        pairs = ((field.keys[0], getattr(value, field.argument, None)) for field in fields_of(type(value)))
        return {key: shown for key, item in pairs if (shown := _json(item)) is not None}
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str | bytes):
        return [_json(item) for item in value]
    return value if isinstance(value, str | int | float) or value is None else None
