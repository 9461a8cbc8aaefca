# SPDX-License-Identifier: MIT
"""What a node class declares, read from its marked methods when the class is made; mistakes are an InvalidNode there."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

import attrs

from .controls import TOOL
from .errors import InvalidNode
from .handlers import Marks, ToolMark, marks
from .hookspecs import HOST_HOOKS, NODE_HOOKS
from .lanes import Lane
from .spec import NodeSpec

if TYPE_CHECKING:
    from .node import Node

MOST_LANES = 64  # one bit each in the kernel's masks

HOOK_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "expand_component": ("component", "context"),
    "open_instance": ("instance",),
    "flush_instance": ("instance",),
    "close_instance": ("instance",),
    "list_tools": ("instance",),
}


@attrs.frozen
class Manifest:
    """Derived from a class.

    Parameters:
        on: lane name to (lane, method, lanes it may cause).
        outs: every lane the node may emit.
        serves: control name to method.
        tools: bare tool name to (method, mark).
        source: method of an active source, "" if there is none.
        hooks: names of the hooks it implements.
    """

    on: Mapping[str, tuple[Lane[Any], str, tuple[Lane[Any], ...]]]
    outs: tuple[Lane[Any], ...]
    serves: Mapping[str, str]
    tools: Mapping[str, tuple[str, ToolMark]]
    source: str
    hooks: frozenset[str]

    @property
    def offers(self) -> tuple[str, ...]:
        """Names of the controls that this node can be called over."""
        offered = list(self.serves)
        if (self.tools or "list_tools" in self.hooks) and TOOL.name not in offered:
            offered.append(TOOL.name)
        return tuple(offered)


def read_manifest(cls: type[Node[Any]], spec: NodeSpec | None) -> Manifest:
    on: dict[str, tuple[Lane[Any], str, tuple[Lane[Any], ...]]] = {}
    serves: dict[str, str] = {}
    tools: dict[str, tuple[str, ToolMark]] = {}
    hooks: set[str] = set()
    source, outs = "", list(spec.emits if spec else ())
    for name, raw in _members(cls):
        fn = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
        if _is_hook(cls, name, fn):
            _check_hook(cls, name, raw, fn)
            hooks.add(name)
        said = marks(fn)
        inherited = _inherited_marks(cls, name)
        if said is None and inherited is not None and isinstance(fn, FunctionType):
            _refuse(
                cls, fn, f"it overrides a method that is marked {_words(inherited)}; mark it as well, or give it another name"
            )
        if said is None:
            continue
        if inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
            _refuse(cls, fn, "a node's methods are not async; use instance.wait(coroutine) for an asyncio client")
        if said.on and inspect.isgeneratorfunction(fn):
            _refuse(cls, fn, "a handler does not yield; emit each payload: instance.emit(lane, payload)")
        for mark in said.on:
            _check_arguments(cls, fn, f"a handler of lane '{mark.lane.name}'", ("self", "instance", "payload"))
            if mark.lane.name in on:
                _refuse(cls, fn, f"lane '{mark.lane.name}' has a handler already: {on[mark.lane.name][1]}; a lane has one")
            on[mark.lane.name] = (mark.lane, name, mark.emits)
            outs.extend(mark.emits)
        for control in said.serves:
            _check_arguments(cls, fn, f"a factory of control '{control.name}'", ("self", "instance", "caller"))
            _check_new(cls, fn, "control", control.name, serves)
            serves[control.name] = name
        if said.source is not None:
            _check_arguments(cls, fn, "a source", ("self", "feed"))
            if source:
                _refuse(cls, fn, f"a node has one @source; {source} is one already")
            source = name
            outs.extend(said.source)
        if said.tool is not None:
            _check_tool(cls, fn)
            _check_new(cls, fn, "tool", said.tool.name, tools)
            tools[said.tool.name] = (name, said.tool)
    lanes = tuple({lane.name: lane for lane in outs}.values())
    if len(lanes) > MOST_LANES:
        raise InvalidNode(f"{_where(cls)}: it declares {len(lanes)} output lanes; a node has at most {MOST_LANES}")
    return Manifest(on, lanes, serves, tools, source, frozenset(hooks))


def _members(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for base in cls.__mro__:
        if base is object or base.__module__ == "typing" or base.__dict__.get("_node_base"):
            continue
        for name, raw in base.__dict__.items():
            if name not in seen:
                seen.add(name)
                yield name, raw


def _inherited_marks(cls: type[Any], name: str) -> Marks | None:
    owner = next(base for base in cls.__mro__ if name in base.__dict__)
    for base in cls.__mro__[cls.__mro__.index(owner) + 1 :]:
        if name in base.__dict__ and (found := marks(base.__dict__[name])):
            return found
    return None


def _words(said: Marks) -> str:
    words = [f"@on({m.lane.name.upper()})" for m in said.on] + [f"@serves({c.name.upper()})" for c in said.serves]
    return " ".join([*words, *(["@tool"] if said.tool else []), *(["@source"] if said.source is not None else [])])


def _is_hook(cls: type[Any], name: str, fn: object) -> bool:
    marked = getattr(fn, "rocketride_impl", None) is not None
    if name in NODE_HOOKS and callable(fn):
        if not marked:
            _refuse(cls, fn, f"it is named like the hook {name}; write @hookimpl above it, or give it another name")
        return True
    if marked and name in HOST_HOOKS:
        _refuse(cls, fn, f"{name} is a hook for host plugins, not for nodes (docs/hooks.md)")
    if marked:
        import difflib

        close = difflib.get_close_matches(name, NODE_HOOKS, 1)
        _refuse(
            cls,
            fn,
            f"there is no hook {name}; {f'did you mean {close[0]}?' if close else 'there are ' + ', '.join(sorted(NODE_HOOKS))}",
        )
    return False


def _check_hook(cls: type[Any], name: str, raw: object, fn: Any) -> None:
    if inspect.iscoroutinefunction(fn):
        _refuse(cls, fn, "hooks are not async; use self.wait(coroutine) in begin_global, instance.wait(coroutine) elsewhere")
    if getattr(fn, "rocketride_impl", {}).get("wrapper") or getattr(fn, "rocketride_impl", {}).get("hookwrapper"):
        _refuse(cls, fn, "wrappers are for host plugins; a node implements its hooks plainly")
    if name == "expand_component" and not isinstance(raw, classmethod):
        _refuse(cls, fn, "expand_component runs before any node is made; write @classmethod above @hookimpl")
    takes = _names(fn)
    allowed = ("cls" if isinstance(raw, classmethod) else "self", *HOOK_ARGUMENTS.get(name, ()))
    wrong = [a for a in takes[1:] if a not in allowed]
    if wrong or not takes:
        _refuse(cls, fn, f"the hook {name} takes ({', '.join(allowed)}); it takes ({', '.join(takes)})")


def _check_arguments(cls: type[Any], fn: Any, what: str, wanted: tuple[str, ...]) -> None:
    code = fn.__code__
    fixed = code.co_argcount - len(fn.__defaults__ or ())
    fits = fixed <= len(wanted) <= code.co_argcount or (fixed <= len(wanted) and code.co_flags & inspect.CO_VARARGS)
    required = [n for n in _keyword_only(fn) if n not in (fn.__kwdefaults__ or {})]
    if not fits or required:
        _refuse(cls, fn, f"{what} takes ({', '.join(wanted)}); it takes ({', '.join(_names(fn))})")


def _check_tool(cls: type[Any], fn: Any) -> None:
    if _names(fn)[1:2] != ["instance"]:
        _refuse(cls, fn, f"a tool takes (self, instance, …); it takes ({', '.join(_names(fn))})")


def _check_new(cls: type[Any], fn: Any, kind: str, name: str, known: Mapping[str, Any]) -> None:
    if name in known:
        _refuse(cls, fn, f"{kind} '{name}' is there twice in this class")


def _keyword_only(fn: Any) -> list[str]:
    code = fn.__code__
    return list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


def _names(fn: Any) -> list[str]:
    return [*fn.__code__.co_varnames[: fn.__code__.co_argcount], *_keyword_only(fn)]


def _where(cls: type[Any], fn: Any = None) -> str:
    place = f"{cls.__module__}.{cls.__qualname__}"
    return f"{place}.{fn.__name__} (line {fn.__code__.co_firstlineno})" if isinstance(fn, FunctionType) else place


def _refuse(cls: type[Any], fn: object, why: str) -> None:
    raise InvalidNode(f"{_where(cls, fn)}: {why}")
