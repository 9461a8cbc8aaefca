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
from .toolcheck import Check, compile_check, takes_null

if TYPE_CHECKING:
    from .handlers import ToolMark
    from .node import Node

__all__ = ["MethodCall", "MethodTool", "class_tools", "read_tools"]

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
class MethodTool(Tool):
    """A tool that is a method; its checked arguments are Python objects of the types in its signature."""

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
        from .structure import class_problems

        lengths: dict[str, int] = {}
        parameters = list(inspect.signature(self.fn).parameters.values())[2:]
        fields = {parameter.name: self.field(parameter, lengths) for parameter in parameters}
        shape = _shape(fields)
        for problem in class_problems(shape):
            raise self.refuse(f"parameter {problem.partition('.')[2]}")
        schema = config_schema(shape)
        schema.setdefault("properties", {})
        schema["additionalProperties"] = False
        for name, least in lengths.items():
            of_list = schema["properties"][name].get("type") == "array"
            schema["properties"][name]["minItems" if of_list else "minLength"] = least
        # An explicit null is a value to a parameter that takes one, so it must not look like one that is missing.
        required = frozenset(name for name, (field, _) in fields.items() if field._default is attrs.NOTHING)
        nullable = frozenset(name for name, (_, kind) in fields.items() if takes_null(kind))
        loose = {name: (setting(None) if name in nullable & required else field, kind) for name, (field, kind) in fields.items()}
        call = MethodCall(self.method)
        return MethodTool(
            self.name,
            inspect.getdoc(self.fn) or self.cls.spec.title,
            schema,
            call,
            self.output(),
            self.mark.concurrent,
            self.mark.timeout,
            check=compile_check(_shape(loose), {name: kind for name, (_, kind) in fields.items()}, required, nullable, lengths),
        )

    def field(self, parameter: inspect.Parameter, lengths: dict[str, int]) -> tuple[Any, Any]:
        from .kinds import supported
        from .settings import ProviderRef, Secret

        name = parameter.name
        if parameter.kind == parameter.POSITIONAL_ONLY:
            raise self.refuse(f"parameter '{name}' is positional-only; an agent gives arguments by name")
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise self.refuse(f"a tool's parameters are named one by one, not *{name}")
        hint = self.hints.get(name, inspect.Parameter.empty)
        if hint is inspect.Parameter.empty:
            raise self.refuse(f"parameter '{name}' needs a type: an agent sees the schema that is made of it")
        kind, said = _split(hint)
        if _hides_annotated(kind):
            raise self.refuse(f"parameter '{name}': write Annotated[…] around the whole type; inside of it, nobody would read it")
        kind = _json_is_any(kind)
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
        from .resultschema import result_schema

        try:
            return result_schema(hint)
        except TypeError as error:
            raise self.refuse(f"it returns {error}, which JSON cannot carry") from error


@attrs.frozen
class MethodCall:
    """Calls the method of whatever node the instance belongs to."""

    method: str

    def __call__(self, instance: Any, arguments: Arguments) -> object:
        return getattr(instance.node, self.method)(instance, **arguments)

    def bound(self, node: Node[Any]) -> Callable[[Any, Arguments], object]:
        """The same for one node, without looking anything up."""
        method = getattr(node, self.method)
        return lambda instance, arguments: method(instance, **arguments)


def _shape(fields: Mapping[str, tuple[Any, Any]]) -> type[Any]:
    made = attrs.make_class("Arguments", {n: field for n, (field, _) in fields.items()}, kw_only=True, frozen=True)
    made.__annotations__ = {n: kind for n, (_, kind) in fields.items()}
    return made


def _json_is_any(kind: Any) -> Any:
    """`Json` refers to itself; as a parameter it is whatever came in."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, str | typing.ForwardRef):
        return Any
    if origin in (typing.Union, types.UnionType):
        if str in args and any((get_origin(a) or a) is Mapping for a in args):
            return Any
        return typing.Union[tuple(map(_json_is_any, args))]  # noqa: UP007 - of a tuple
    if not args or origin in (typing.Literal, Annotated):
        return kind
    return origin[tuple(a if a is Ellipsis else _json_is_any(a) for a in args)]


def _split(hint: Any) -> tuple[Any, Param]:
    if get_origin(hint) in (typing.Union, types.UnionType):  # Annotated[int, …] | None is how people write it
        split = [_split(member) for member in get_args(hint)]
        said = next((param for _, param in split if param != Param()), Param())
        return typing.Union[tuple(kind for kind, _ in split)], said  # noqa: UP007 - made of what is there
    if get_origin(hint) is not Annotated:
        return hint, Param()
    kind, *extra = get_args(hint)
    for one in extra:
        if isinstance(one, Param):
            return kind, one
        if isinstance(one, str):
            return kind, Param(one)
    return kind, Param()


def _hides_annotated(kind: Any) -> bool:
    return get_origin(kind) is Annotated or any(map(_hides_annotated, get_args(kind)))
