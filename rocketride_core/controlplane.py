# SPDX-License-Identifier: MIT
"""Control edges at run time: served objects for those who ask, and the catalog of the tools wired to a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from .controls import TOOL, Caller, Control, Served
from .errors import RunError, ToolError, ToolFailure, UnknownTool, said
from .hookspecs import hookimpl
from .payloads import Arguments, Json
from .plainjson import plain_json
from .toolbox import Tool
from .toolcalls import Gate, Slot, current_run, tool_error
from .toolschema import MethodTool

if TYPE_CHECKING:
    from .live import LiveInstance

I = TypeVar("I")  # noqa: E741

__all__ = ["Catalog", "invoke", "provide"]


def callees(instance: LiveInstance, control: Control[Any]) -> Sequence[LiveInstance]:
    """The control instances wired to a slot, in file order.

    Raises:
        RunError: `undeclared-need`, or the entry is closed.
    """
    node, flight = instance.node, instance.flight
    if control not in node.spec.needs:
        text = f"{node.id} asked for one '{control.name}', but its spec has no needs={{{control.name.upper()}: ONE}}"
        raise RunError(text, code="undeclared-need", component=node.id)
    found = [flight.control(index) for index in flight.bound.callees(instance.index, control.name)]
    if any(one is None for one in found):
        raise RunError(
            f"{node.id} asked for '{control.name}' after the entry was closed", code="emit-after-close", component=node.id
        )
    return cast("Sequence[LiveInstance]", found)


def provide(instance: LiveInstance, control: Control[I]) -> Sequence[Served[I]]:
    """What serves a control, made for this caller; host plugins may wrap it."""
    if control == TOOL:
        raise RunError(
            f"{instance.node.id} asked for the control 'tool'; tools are used through instance.tools", component=instance.node.id
        )
    flight, served = instance.flight, list[Served[I]]()
    caller = Caller(instance.node.id, current_run(flight), flight.depth)
    for callee in callees(instance, control):
        node = callee.node
        try:
            service = getattr(node, node.manifest.serves[control.name])(callee, caller)
        except Exception as error:
            error.add_note(f"raised by {node.id}, which serves '{control.name}' to {instance.node.id}")
            raise
        wrapped = flight.bound.relays[callee.index].wrapped("wrap_control")
        if wrapped is not None:
            service = wrapped(callee, control, service)
        if service is None:
            raise RunError(
                f"{node.id} gave nothing for the control '{control.name}'; its factory returns the object that serves it"
            )
        served.append(Served(node.id, node.title, service))
    return served


class Given(dict[str, Json]):
    """The arguments that host plugins see: a copy they may change. Where they did not, it need not be checked again."""

    __slots__ = ("asked", "checked", "tool")
    asked: Arguments
    checked: Arguments
    tool: Tool


class Catalog:
    """The `ToolCatalog` of one instance; made at the first use in an entry, static tools first, then listed ones."""

    def __init__(self, instance: LiveInstance) -> None:
        self._flight = instance.flight
        self._slots: dict[str, Slot] = {}
        self._broken: dict[str, ToolFailure] = {}
        self._callees = callees(instance, TOOL)
        for callee in self._callees:
            self._add(callee)

    @staticmethod
    def of(instance: LiveInstance) -> Catalog:
        memo = instance.flight.more.memo
        key = ("tools", instance.index, instance._control)
        found = memo.get(key)
        if found is None:
            # A provider is asked once an entry, by whichever thread comes first.
            with memo.setdefault("listing", Gate()).held(instance.flight):
                found = memo[key] = memo.get(key) or Catalog(instance)
        return cast(Catalog, found)

    def _add(self, callee: LiveInstance) -> None:
        bound, index = self._flight.bound, callee.index
        id = callee.node.id
        wrapped = bound.relays[index].wrapped("invoke_tool")
        gate = self._flight.more.memo.setdefault(("gate", index), Gate())
        try:
            tools = [*bound.static_tools(index), *_listed(callee)]
            names = [tool.name for tool in tools]
            if twice := next((name for n, name in enumerate(names) if name in names[:n]), ""):
                raise ValueError(f"{twice} is there twice")
        except Exception as error:  # noqa: BLE001 - kept, and raised when these tools are asked for
            told = bound.redact(said(error))
            failure = ToolFailure(f"{id} cannot list its tools: {told}", tool=id, component=id)
            failure.__cause__ = error
            self._broken[id] = failure
            return
        for tool in tools:
            limits = [limit for limit in (tool.timeout, bound.settings.tool_timeout) if limit is not None]
            limit = min(limits) if limits else None
            self._slots.setdefault(tool.name, Slot(tool, callee, None if tool.concurrent else gate, wrapped, limit, id))

    def __iter__(self) -> Iterator[Tool]:
        """Every tool.

        Raises:
            ToolFailure: a provider cannot list its tools.
        """
        if self._broken:
            raise next(iter(self._broken.values()))
        return iter([slot.tool for slot in self._slots.values()])

    def find(self, name: str) -> Slot:
        slot = self._slots.get(name) or self._appeared(name)
        if slot is None:
            for id, failure in self._broken.items():
                if name.startswith(f"{id}."):
                    raise failure
            raise UnknownTool(f"{name}: unknown tool; there are {', '.join(self._slots) or 'none'}", tool=name)
        return slot

    def _appeared(self, name: str) -> Slot | None:
        """A tool that its provider did not have when the entry first asked for its tools."""
        for callee in self._callees:
            if name.startswith(f"{callee.node.id}.") and callee.node.id not in self._broken:
                with self._flight.more.memo.setdefault("listing", Gate()).held(self._flight):
                    self._flight.more.memo.pop(("listed", callee.index), None)
                    self._add(callee)
        return self._slots.get(name)

    def check(self, name: str, arguments: Arguments, /) -> None:
        _checked(self.find(name), arguments)

    def call(self, name: str, arguments: Arguments, /, *, timeout: float | None = None) -> Json:
        slot = self.find(name)
        given = _checked(slot, arguments)
        if slot.wrapped is not None:  # host plugins see and may rewrite plain JSON, which is checked again on its way in
            asked = arguments if isinstance(slot.tool, MethodTool) else given
            seen = Given(_copied(asked))
            seen.asked, seen.checked, seen.tool = asked, given, slot.tool
            given = seen
        elif not isinstance(slot.tool, MethodTool):
            given = dict(_copied(given))
        return self._flight.bound.toolrunner.call(self._flight, slot, given, timeout)

    def call_all(self, calls: Sequence[tuple[str, Arguments]], /) -> Sequence[Json | ToolError]:
        return self._flight.bound.toolrunner.call_all(self, calls)


def _copied(arguments: Arguments) -> Arguments:
    """Nothing that a tool or a host plugin does to the containers in it reaches the caller's."""
    for value in arguments.values():
        if type(value) is dict or type(value) is list:
            return {name: _deep(item) for name, item in arguments.items()}
    return arguments


def _deep(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _deep(item) for name, item in value.items()}
    return [_deep(item) for item in value] if isinstance(value, list) else value


def _checked(slot: Slot, arguments: Arguments) -> Arguments:
    """A `checked` that an author wrote may fail as any tool may; whoever calls gets a ToolError of it."""
    try:
        return slot.tool.checked(arguments)
    except Exception as error:
        told = tool_error(error, slot.tool.name, slot.callee)
        if told is error:
            raise
        raise told from error


def _listed(callee: LiveInstance) -> list[Tool]:
    """What the provider's `list_tools` (and those of host plugins) say, under full names; asked once an entry."""
    memo, key = callee.flight.more.memo, ("listed", callee.index)
    if key not in memo:
        hook = callee.flight.bound.relays[callee.index].hook("list_tools")
        told = (hook(callee) or ()) if hook is not None else ()
        flat = [tool for item in told for tool in ([item] if isinstance(item, Tool) else item or ())]
        for tool in flat:
            if not isinstance(tool, Tool) or not isinstance(tool.name, str) or not tool.name:
                raise TypeError(f"list_tools returns Tool values with names, not {tool!r}")
        memo[key] = [attrs.evolve(tool, name=f"{callee.node.id}.{tool.name}") for tool in flat]
    return cast("list[Tool]", memo[key])


@hookimpl(trylast=True)
def invoke(instance: LiveInstance, name: str, arguments: Arguments) -> Json:
    """The kernel's own part of `invoke_tool`: hosts may have rewritten the arguments."""
    try:
        if isinstance(arguments, Given) and name == arguments.tool.name and arguments == arguments.asked:
            return plain_json(arguments.tool.call(instance, arguments.checked))
        tool = _named(instance, name)
        return plain_json(tool.call(instance, tool.checked(arguments)))
    except Exception as error:
        told = tool_error(error, name, instance)
        if told is error:
            raise
        raise told from error


def _named(instance: LiveInstance, name: str) -> Tool:
    tool = instance.flight.bound.static_tool(instance.index, name) or next((t for t in _listed(instance) if t.name == name), None)
    if tool is None:
        raise UnknownTool(f"{name}: unknown tool; a host plugin may change the arguments of a call, not its name", tool=name)
    return tool
