# SPDX-License-Identifier: MIT
"""Control edges at run time: served objects for those who ask, and the catalog of the tools wired to a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .controls import TOOL, Caller, Control, Served
from .errors import RunError

if TYPE_CHECKING:
    from .flight import Flight
    from .live import LiveInstance

I = TypeVar("I")  # noqa: E741

__all__ = ["Catalog", "invoke", "provide"]

_calls = count(1)
_thread = local()


def current_run(flight: Flight) -> str:
    """The innermost tool call of this entry on this thread, else the entry."""
    for at, run in reversed(_thread.__dict__.get("runs", ())):
        if at is flight:
            return cast(str, run)
    return flight.entry.name or "entry"


@contextmanager
def in_run(flight: Flight) -> Iterator[None]:
    runs = _thread.__dict__.setdefault("runs", [])
    runs.append((flight, f"call {next(_calls)}"))
    try:
        yield
    finally:
        runs.pop()


def callees(instance: LiveInstance, control: Control[Any]) -> Sequence[LiveInstance]:
    """The control instances wired to a slot, in file order.

    Raises:
        RunError: `undeclared-need`, or the entry is closed.
    """
    node, flight = instance.node, instance.flight
    if control not in node.spec.needs:
        text = f"{node.id} asked for one '{control.name}', but its spec has no needs={{{control.name.upper()}: ONE}}"
        raise RunError(text, code="undeclared-need", component=node.id)
    found = [flight.control(index) for index in flight.bound.callees(instance._index, control.name)]
    if any(one is None for one in found):
        raise RunError(f"{node.id} asked for '{control.name}' after the entry was closed", code="emit-after-close", component=node.id)
    return cast("Sequence[LiveInstance]", found)


def provide(instance: LiveInstance, control: Control[I]) -> Sequence[Served[I]]:
    """What serves a control, made for this caller; host plugins may wrap it."""
    if control == TOOL:
        raise RunError(f"{instance.node.id} asked for the control 'tool'; tools are used through instance.tools", component=instance.node.id)
    flight, served = instance.flight, list[Served[I]]()
    caller = Caller(instance.node.id, current_run(flight), flight.depth)
    for callee in callees(instance, control):
        node = callee.node
        service = getattr(node, node.manifest.serves[control.name])(callee, caller)
        wrapped = flight.bound.relays[callee._index].wrapped("wrap_control")
        if wrapped is not None:
            service = wrapped(instance=callee, control=control, service=service)
        served.append(Served(node.id, node.title, service))
    return served


class Catalog:
    """See `toolbox.ToolCatalog`."""

    def __init__(self, instance: LiveInstance) -> None:
        self._instance = instance

    @staticmethod
    def of(instance: LiveInstance) -> Catalog:
        return Catalog(instance)


def invoke(instance: Any, name: str, arguments: Any) -> Any:
    raise RunError("tools come with the control plane")


_Callable = Callable[..., Any]
