# SPDX-License-Identifier: MIT
"""Validation of a tool's arguments, compiled once: from the class of settings that a signature became, or from a JSON Schema."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import UnionType
from typing import Any, Union, get_args, get_origin

import attrs

from .errors import ToolFailure, ToolInput
from .kinds import name_of
from .payloads import Arguments
from .settings import setting_of
from .structure import build
from .toolbox import Tool

__all__ = ["Check", "compile_check", "takes_null", "validator"]

Check = Callable[[Arguments], Arguments]

_SIMPLE = (str, int, float, bool)


def compile_check(
    shape: type[Any], kinds: Mapping[str, Any], required: AbstractSet[str], nullable: AbstractSet[str], lengths: Mapping[str, int]
) -> Check:
    """Plain values of the right type pass by a few comparisons; everything else goes through the full conversion.

    Parameters:
        shape: a class with a setting a parameter; those in `nullable` have a default.
        kinds: the types, by parameter.
        required: those without a default.
        nullable: those that take null as a value; null for any other one is "not given".
        lengths: least length of texts and lists.
    """
    simple = {}
    settings = {a.name: setting_of(a) for a in attrs.fields(shape)}
    for name, kind in kinds.items():
        limits = settings[name]
        if kind in _SIMPLE and limits.ge is None and limits.le is None:
            simple[name] = (kind, lengths.get(name, 0) if kind is str else 0)

    def check(arguments: Arguments) -> Arguments:
        if type(arguments) is dict and required <= arguments.keys():
            for name, value in arguments.items():
                plain = simple.get(name)
                if (
                    plain is None
                    or type(value) is not plain[0]
                    or (plain[1] and len(value) < plain[1])
                    or (plain[0] is float and not math.isfinite(value))
                ):
                    break
            else:
                return arguments
        return full(arguments)

    def full(arguments: Arguments) -> Arguments:
        if not isinstance(arguments, Mapping):
            raise ToolInput(f"the arguments are a JSON object, not {type(arguments).__name__}", path="$")
        for name in arguments:
            if name not in kinds:
                known = ", ".join(kinds) or "none"
                raise ToolInput(f"$.{name}: there is no parameter '{name}'; there are: {known}", path=f"$.{name}")
        for name in kinds:
            if name in required and (arguments.get(name) is None if name not in nullable else name not in arguments):
                raise ToolInput(f"$.{name}: a value for '{name}' is missing", path=f"$.{name}")
        made, problems = build(shape, arguments, at="$")
        wrong = next((p for p in problems if p.severity == "error"), None)
        if wrong is not None:
            raise ToolInput(f"{wrong.path}: {wrong.message}{f' ({wrong.hint})' if wrong.hint else ''}", path=wrong.path)
        nulls = {name for name in nullable if name in arguments and arguments[name] is None}
        given = {name: None if name in nulls else getattr(made, name) for name in arguments}
        for name, least in lengths.items():
            value = given.get(name)
            if isinstance(value, str | Sequence) and len(value) < least:
                text = isinstance(value, str)
                unit = ("characters" if least > 1 else "character") if text else ("items" if least > 1 else "item")
                short = "it must not be empty" if least == 1 else f"it needs at least {least} {unit}"
                raise ToolInput(f"$.{name}: {short}", path=f"$.{name}")
        for name, value in given.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ToolInput(f"$.{name}: expected {name_of(kinds[name])}, got float {value}", path=f"$.{name}")
        return given

    return check


def takes_null(kind: Any) -> bool:
    return kind in (Any, object, None, type(None)) or (
        get_origin(kind) in (Union, UnionType) and any(map(takes_null, get_args(kind)))
    )


def validator(tool: Tool) -> Check:
    """The check of a tool that brings a schema of its own; compiled once per schema object.

    Raises:
        ToolFailure: its schema is none.
        ToolInput: from the check: what does not fit, with its path.
    """
    return _schema_check(tool)


def _schema_check(tool: Tool) -> Check:
    key = id(tool.input_schema)
    found = _CHECKS.get(key)
    if found is None or found[0] is not tool.input_schema:
        if len(_CHECKS) > 1024:
            _CHECKS.clear()
            _BY_TEXT.clear()
        # Providers that list their tools anew for each entry make equal schemas again and again.
        text = json.dumps(tool.input_schema, sort_keys=True, default=id)
        known = _BY_TEXT.get(text)
        if known is None:
            known = _BY_TEXT[text] = _from_schema(tool.input_schema, tool.name)
        found = _CHECKS[key] = (tool.input_schema, known)
    compiled = found[1]

    def check(arguments: Arguments) -> Arguments:
        if not isinstance(arguments, Mapping):
            raise ToolInput(
                f"{tool.name}: the arguments are a JSON object, not {type(arguments).__name__}", tool=tool.name, path="$"
            )
        try:
            compiled(dict(arguments))
        except ToolInput as error:
            error.tool = tool.name
            raise
        return arguments

    return check


_CHECKS: dict[int, tuple[Arguments, Callable[[Any], None]]] = {}
_BY_TEXT: dict[str, Callable[[Any], None]] = {}


def _from_schema(schema: Arguments, tool: str) -> Callable[[Any], None]:
    if not schema or schema == {"type": "object"}:
        return lambda arguments: None
    import fastjsonschema

    try:
        run = fastjsonschema.compile(_draft_7(schema), use_default=False, use_formats=False, handlers=_NO_FETCHING)
    except Exception as error:
        raise ToolFailure(f"{tool}: its own schema is not a JSON Schema: {error}", tool=tool) from error

    def check(arguments: Any) -> None:
        try:
            run(arguments)
        except fastjsonschema.JsonSchemaValueException as error:
            path = "$" + "".join(f"[{p}]" if p.isdigit() else f".{p}" for p in error.path[1:])
            raise ToolInput(f"{path}: {error.message.partition(' ')[2] or error.message}", path=path) from error

    return check


def _draft_7(schema: Any) -> Any:
    """The same in the words of the draft that the validator knows; only what 2020-12 has renamed."""
    if isinstance(schema, list):
        return [_draft_7(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    out = {key: value if key in _VERBATIM else _draft_7(value) for key, value in schema.items() if key != "$schema"}
    if isinstance(schema.get("prefixItems"), list):
        rest = out.pop("items", True)
        out |= {"items": out.pop("prefixItems"), "additionalItems": rest}
    for new in ("dependentRequired", "dependentSchemas"):
        if isinstance(schema.get(new), Mapping):
            out.setdefault("dependencies", {}).update(out.pop(new))
    return out


def _no_fetching(uri: str) -> Any:
    raise ValueError(f"it refers to {uri}, and schemas are never fetched")


_VERBATIM = frozenset({"const", "enum", "default", "examples"})
_NO_FETCHING = dict.fromkeys(("http", "https", "ftp", "file", ""), _no_fetching)
