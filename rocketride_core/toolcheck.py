# SPDX-License-Identifier: MIT
"""Validation of a tool's arguments, compiled once: from the class of settings that a signature became, or from a JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from .errors import ToolInput
from .payloads import Arguments
from .settings import setting_of
from .structure import build, fields_of
from .toolbox import Tool

__all__ = ["Check", "compile_check", "validator"]

Check = Callable[[Arguments], Arguments]

_SIMPLE = (str, int, float, bool)


def compile_check(shape: type[Any], fields: Mapping[str, tuple[Any, Any]], lengths: Mapping[str, int]) -> Check:
    """Plain values of the right type pass by a few comparisons; everything else goes through the full conversion."""
    simple = {}
    settings = {a.name: setting_of(a) for a in attrs.fields(shape)}
    for name, (_, kind) in fields.items():
        limits = settings[name]
        if kind in _SIMPLE and limits.ge is None and limits.le is None:
            simple[name] = (kind, lengths.get(name, 0) if kind is str else 0)
    required = {f.argument for f in fields_of(shape) if f.required}
    named = frozenset(fields)

    def check(arguments: Arguments) -> Arguments:
        if type(arguments) is dict and required <= arguments.keys():
            for name, value in arguments.items():
                plain = simple.get(name)
                if plain is None or type(value) is not plain[0] or (plain[1] and len(value) < plain[1]):
                    break
            else:
                return arguments
        return full(arguments)

    def full(arguments: Arguments) -> Arguments:
        if not isinstance(arguments, Mapping):
            raise ToolInput(f"the arguments are a JSON object, not {type(arguments).__name__}", path="$")
        for name in arguments:
            if name not in named:
                known = ", ".join(fields) or "none"
                raise ToolInput(f"$.{name}: there is no parameter '{name}'; there are: {known}", path=f"$.{name}")
        made, problems = build(shape, arguments, at="$")
        wrong = next((p for p in problems if p.severity == "error"), None)
        if wrong is not None:
            raise ToolInput(f"{wrong.path}: {wrong.message}{f' ({wrong.hint})' if wrong.hint else ''}", path=wrong.path)
        given = {name: getattr(made, name) for name in arguments}
        for name, least in lengths.items():
            if name in given and isinstance(given[name], str) and len(given[name]) < least:
                short = "it must not be empty" if least == 1 else f"it needs at least {least} characters"
                raise ToolInput(f"$.{name}: {short}", path=f"$.{name}")
        return given

    return check


def validator(tool: Tool) -> Check:
    """The check of a tool that brings a schema of its own; compiled once per schema object.

    Raises:
        ToolInput: from the check: what does not fit, with its path.
    """
    return _schema_check(tool)


def _schema_check(tool: Tool) -> Check:
    key = id(tool.input_schema)
    found = _CHECKS.get(key)
    if found is None or found[0] is not tool.input_schema:
        if len(_CHECKS) > 4096:
            _CHECKS.clear()
        found = _CHECKS[key] = (tool.input_schema, _from_schema(tool.input_schema))
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


def _from_schema(schema: Arguments) -> Callable[[Any], None]:
    if not schema or schema == {"type": "object"}:
        return lambda arguments: None
    import fastjsonschema

    try:
        run = fastjsonschema.compile({k: v for k, v in schema.items() if k != "$schema"}, use_default=False)
    except fastjsonschema.JsonSchemaDefinitionException as error:
        raise ToolInput(f"the tool's own schema is not a JSON Schema: {error}", path="$") from error

    def check(arguments: Any) -> None:
        try:
            run(arguments)
        except fastjsonschema.JsonSchemaValueException as error:
            path = "$" + "".join(f"[{p}]" if p.isdigit() else f".{p}" for p in error.path[1:])
            raise ToolInput(f"{path}: {error.message.partition(' ')[2] or error.message}", path=path) from error

    return check
