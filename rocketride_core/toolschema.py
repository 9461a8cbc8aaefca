# SPDX-License-Identifier: MIT
"""A tool's schema from its signature, and the validation of its arguments, compiled once.

A method's parameters become an attrs class of settings, so tools and configs share one notion of types, limits and JSON paths.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin
from weakref import WeakKeyDictionary

import attrs

from .errors import InvalidNode, ToolInput
from .payloads import Arguments
from .settings import setting
from .spec import Param
from .toolbox import Tool

if TYPE_CHECKING:
    from .handlers import ToolMark
    from .node import Node

__all__ = ["class_tools", "read_tools", "validator"]

Check = Callable[[Arguments], Arguments]

_SIMPLE = (str, int, float, bool)
_TOOLS: WeakKeyDictionary[type[Any], list[Tool]] = WeakKeyDictionary()


def class_tools(cls: type[Node[Any]]) -> list[Tool]:
    """The tools of a node class that are methods, under bare names."""
    found = _TOOLS.get(cls)
    return read_tools(cls) if found is None else found


def read_tools(cls: type[Node[Any]]) -> list[Tool]:
    """Compile the tools of a class.

    Raises:
        InvalidNode: a parameter or a result has a type that JSON cannot carry.
    """
    made = [_Method(cls, name, *told).tool() for name, told in cls.manifest.tools.items()]
    _TOOLS[cls] = made
    return made


@attrs.frozen
class _MethodTool(Tool):
    check: Check = attrs.field(default=lambda arguments: arguments, eq=False, repr=False)

    def checked(self, arguments: Arguments) -> Arguments:
        try:
            return self.check(arguments)
        except ToolInput as error:
            error.tool = self.name
            raise


class _Method:
    """One method under `@tool`, being compiled."""

    def __init__(self, cls: type[Node[Any]], name: str, method: str, mark: ToolMark) -> None:
        self.cls, self.name, self.method, self.mark = cls, name, method, mark
        self.fn = inspect.unwrap(getattr(cls, method))
        self.hints = self.read_hints()

    def refuse(self, why: str) -> InvalidNode:
        where = f"{self.cls.__module__}.{self.cls.__qualname__}.{self.method} (line {self.fn.__code__.co_firstlineno})"
        return InvalidNode(f"{where}: {why}")

    def read_hints(self) -> dict[str, Any]:
        from . import payloads, protocols

        known = {
            "Instance": protocols.Instance,
            "Json": payloads.Json,
            "Arguments": payloads.Arguments,
            "Mapping": Mapping,
            "Sequence": Sequence,
        }
        try:
            return typing.get_type_hints(self.fn, localns=known, include_extras=True)
        except NameError as error:
            raise self.refuse(f"the type {error.name!r} of a tool's signature must be importable at run time") from error

    def tool(self) -> Tool:
        from .configschema import config_schema

        fields: dict[str, Any] = {}
        lengths: dict[str, int] = {}
        for parameter in list(inspect.signature(self.fn).parameters.values())[2:]:
            fields[parameter.name] = self.field(parameter, lengths)
        shape = attrs.make_class("Arguments", {n: f for n, (f, _) in fields.items()}, kw_only=True, frozen=True)
        shape.__annotations__ = {n: kind for n, (_, kind) in fields.items()}
        schema = config_schema(shape)
        schema.setdefault("properties", {})
        schema["additionalProperties"] = False
        for name, least in lengths.items():
            schema["properties"][name]["minLength"] = least
        call = _Call(self.method)
        return _MethodTool(
            self.name,
            inspect.getdoc(self.fn) or self.cls.spec.title,
            schema,
            call,
            self.output(),
            self.mark.concurrent,
            self.mark.timeout,
            check=_compile(shape, fields, lengths),
        )

    def field(self, parameter: inspect.Parameter, lengths: dict[str, int]) -> tuple[Any, Any]:
        from .kinds import supported
        from .settings import ProviderRef, Secret

        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise self.refuse(f"a tool's parameters are named one by one, not *{name}")
        hint = self.hints.get(name, inspect.Parameter.empty)
        if hint is inspect.Parameter.empty:
            raise self.refuse(f"parameter '{name}' needs a type: an agent sees the schema that is made of it")
        kind, said = _split(hint)
        if kind in (Secret, ProviderRef) or not supported(kind):
            raise self.refuse(f"parameter '{name}' has the type {kind!r}, which JSON cannot carry")
        if said.min_length is not None:
            lengths[name] = said.min_length
        options: dict[str, Any] = {"doc": said.doc, "ge": said.ge, "le": said.le}
        if parameter.default is not parameter.empty:
            return setting(parameter.default, **options), kind
        return setting(**options), kind

    def output(self) -> Arguments | None:
        hint = self.hints.get("return", inspect.Parameter.empty)
        if hint is inspect.Parameter.empty or hint is Any:
            return None
        try:
            return _schema_of(hint)
        except TypeError as error:
            raise self.refuse(f"it returns {error}, which JSON cannot carry") from error


@attrs.frozen
class _Call:
    """Calls the method of whatever node the instance belongs to."""

    method: str

    def __call__(self, instance: Any, arguments: Arguments) -> object:
        return getattr(instance.node, self.method)(instance, **arguments)


def _split(hint: Any) -> tuple[Any, Param]:
    if get_origin(hint) is not Annotated:
        return hint, Param()
    kind, *extra = get_args(hint)
    for one in extra:
        if isinstance(one, Param):
            return kind, one
        if isinstance(one, str):
            return kind, Param(one)
    return kind, Param()


def _compile(shape: type[Any], fields: Mapping[str, tuple[Any, Any]], lengths: Mapping[str, int]) -> Check:
    """Plain values of the right type pass by a few comparisons; everything else goes through the full conversion."""
    from .settings import setting_of
    from .structure import fields_of

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
        from .structure import build

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


def _schema_of(kind: Any) -> dict[str, Any]:
    """JSON Schema of a result's type; TypeError names a type that JSON cannot carry."""
    from .configschema import config_schema

    origin, args = get_origin(kind), get_args(kind)
    if origin in (Annotated, typing.Required, typing.NotRequired):
        return _schema_of(args[0])
    if kind in (None, type(None)):
        return {"type": "null"}
    if kind in (Any, object):
        return {}
    if kind in _SIMPLE:
        return {"type": {str: "string", int: "integer", float: "number", bool: "boolean"}[kind]}
    if origin in (typing.Union, types.UnionType):
        return {} if Mapping in [get_origin(a) or a for a in args] and str in args else {"anyOf": [_schema_of(a) for a in args]}
    if origin is typing.Literal:
        return {"enum": list(args)}
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        return {
            "type": "object",
            "properties": {name: _schema_of(hint) for name, hint in hints.items()},
            "required": sorted(kind.__required_keys__),
        }
    base = origin or kind
    if isinstance(base, type) and issubclass(base, Mapping):
        return {"type": "object", **({"additionalProperties": _schema_of(args[1])} if args else {})}
    if (
        isinstance(base, type)
        and issubclass(base, (list, tuple, set, frozenset, Sequence))
        and not issubclass(base, (str, bytes, memoryview))
    ):
        items = [a for a in args if a is not Ellipsis]
        return {"type": "array", **({"items": _schema_of(items[0])} if len(set(items)) == 1 else {})}
    if isinstance(kind, str | typing.ForwardRef):  # inside of Json, which refers to itself
        return {}
    if attrs.has(kind):
        return config_schema(kind)
    if isinstance(kind, type) and (hasattr(kind, "__dataclass_fields__") or hasattr(kind, "model_json_schema")):
        schema: dict[str, Any] = kind.model_json_schema() if hasattr(kind, "model_json_schema") else {"type": "object"}
        return schema
    raise TypeError(getattr(kind, "__name__", repr(kind)))


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
