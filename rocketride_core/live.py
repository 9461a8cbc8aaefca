# SPDX-License-Identifier: MIT
"""The instance that nodes are handed: `emit`, `state` and `wants` are native, the rest is here."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager as Context
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import _native
from .controlplane import Catalog, provide
from .controls import Control, Served
from .entry import Entry, Event
from .errors import RunError
from .flight import PHASES, Flight
from .lanes import Packet
from .nested import NestedRun, open_nested
from .payloads import Json
from .toolcalls import LimitedCall, abandoned, here

if TYPE_CHECKING:
    from .node import Node

I = TypeVar("I")  # noqa: E741
R = TypeVar("R")

__all__ = ["LiveInstance"]


class LiveInstance(_native.Instance):
    """See `protocols.Instance`. An instance that outlives its entry is inert: it refuses to emit and to keep state."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Instance of {self.node.id}{' (called)' if self._control else ''} for {self.entry.name!r}>"

    if TYPE_CHECKING:

        @property
        def flight(self) -> Flight: ...

    @property
    def node(self) -> Node[Any]:
        return self.flight.bound.nodes[self.index]

    @property
    def entry(self) -> Entry:
        return self.flight.entry

    @property
    def metadata(self) -> dict[str, Json]:
        more = self.flight.more
        if more.metadata is None:
            more.metadata = dict(self.entry.metadata)
        return more.metadata

    @property
    def cancelled(self) -> bool:
        return any(flight.stopped for flight in (self.flight, *self.flight.around())) or abandoned()

    @property
    def remaining(self) -> float | None:
        left, limited = self.flight.remaining, here.limited
        if limited is None or limited.end is None:
            return left
        mine = max(0.0, limited.end - time.monotonic())
        return mine if left is None else min(left, mine)

    @property
    def tools(self) -> Catalog:
        return Catalog.of(self)

    def per_worker(self, factory: Callable[[], Context[R]], /) -> R:
        return self.flight.bound.per_worker.get(self.index, factory)

    def enter(self, resource: Context[R], /) -> R:
        if self.flight.ended:
            raise self._refused(4, type(resource))
        stack = self._exits
        if stack is None:
            stack = self._exits = ExitStack()
        return cast(ExitStack, stack).enter_context(resource)

    def one(self, control: Control[I], /) -> I:
        found = provide(self, control)
        if not found:
            raise RunError(f"{self.node.id} asked for one '{control.name}', but none is wired to it", code="missing-control")
        return found[0].service

    def maybe(self, control: Control[I], /) -> I | None:
        found = provide(self, control)
        return found[0].service if found else None

    def all(self, control: Control[I], /) -> Sequence[Served[I]]:
        return provide(self, control)

    def event(self, kind: str, /, **data: Json) -> None:
        listener = self.flight.listener
        if listener is not None:
            listener(Event(kind, self.node.id, data))

    def warn(self, code: str, message: str, /) -> None:
        if abandoned():  # nobody waits for what it does any more
            return
        self.flight.warn(self.node.id, code, message)

    def report(self, error: Exception, /) -> str:
        if abandoned():  # nobody waits for what it does any more
            return ""
        if not isinstance(error, BaseException):
            raise TypeError(f"report takes an exception, as in ValueError('…'); it got {type(error).__name__}")
        flight = self.flight
        phase = "tool" if self._control and not self._phase else PHASES[self._phase]
        told = flight.record(self.node.id, phase, flight.bound.lane_name(self._lane), error)
        return str(told).removeprefix(f"{self.node.id}: ")

    def redacted(self, text: str, /) -> str:
        return self.flight.bound.redact(text)

    def count(self, name: str, amount: float, /) -> None:
        if abandoned():  # nobody waits for what it does any more
            return
        self.flight.count(self.node.id, name, amount)

    def respond(self, key: str, packet: Packet, /) -> None:
        if abandoned():  # nobody waits for what it does any more
            return
        flight = self.flight
        if flight.ended:
            raise self._refused(4, "a response")
        if not isinstance(packet, tuple) or len(packet) != 2 or not packet[0].takes(packet[1]):
            raise TypeError(f"respond takes a packet whose payload fits its lane, as in TEXT('abc'); it got {packet!r:.200}")
        flight.responses.append((self.index, key, packet[0], packet[1]))

    def spawn(self, entry: Entry, /, *packets: Packet) -> None:
        if not isinstance(entry, Entry) or not all(isinstance(packet, tuple) and len(packet) == 2 for packet in packets):
            raise TypeError("spawn takes an Entry and packets, as in spawn(Entry('a.txt'), TEXT('abc'))")
        flight = self.flight
        if flight.ended:
            raise self._refused(4, "a child entry")
        while flight.parent is not None:  # the source is the outermost entry's, and so are its children
            flight = flight.parent
        flight.more.spawned.append((entry, packets))

    def nested(self, *, timeout: float | None = None) -> Context[NestedRun]:
        return open_nested(self, timeout)

    @contextmanager
    def on_cancel(self, callback: Callable[[], object], /) -> Iterator[None]:
        around: list[Flight | LimitedCall] = [self.flight, *self.flight.around()]
        if here.limited is not None:
            around.append(here.limited)
        for one in around:
            one.add_on_stop(callback)
        try:
            yield
        finally:
            for one in around:
                one.remove_on_stop(callback)

    def wait(self, coro: Coroutine[Any, Any, R], /, *, timeout: float | None = None) -> R:
        future = self.flight.bound.loop.submit(coro)
        with self.on_cancel(future.cancel):
            return self.flight.bound.loop.block(future, timeout)

    def _refused(self, reason: int, what: Any) -> RunError:
        """The error of an emit or a state that breaks rule number `reason` (py_instance.cpp)."""
        me, node = self.node.id, type(self.node).__qualname__
        lane = getattr(what, "name", repr(what))
        if reason == 2 and not hasattr(what, "many"):
            return RunError(
                f"{me} emitted on {what!r}; a lane is a value: emit(TEXT, …), not emit('text', …)",
                code="undeclared-lane",
                component=me,
            )
        if reason == 0:
            return RunError(f"{me} emitted on '{lane}' after its last chance, the flush", code="emit-after-close", component=me)
        if reason == 1:
            text = f"{me} was called over a control edge and emitted on '{lane}'; feed its outputs with instance.nested()"
            return RunError(text, code="emit-from-control", component=me)
        if reason == 2:
            text = (
                f"{me} emitted on '{lane}', which {node} does not declare; "
                f"write @on({_handled(self)}, emits=[{lane.upper()}]) or NodeSpec(emits=[{lane.upper()}])"
            )
            return RunError(text, code="undeclared-lane", component=me)
        if reason == 3:
            doing = f"emitted on '{lane}'" if hasattr(what, "many") else f"asked for its state {getattr(what, '__name__', what)}"
            text = f"{me} {doing} on another thread than the entry's; do it in the handler, after the other thread is done"
            return RunError(text, code="wrong-thread", component=me)
        return RunError(
            f"{me} asked for {getattr(what, '__name__', what)} after the entry was closed", code="emit-after-close", component=me
        )


_native.adopt(LiveInstance)


def _handled(instance: LiveInstance) -> str:
    lane = instance.flight.bound.lane_name(instance._lane)
    return (lane or next(iter(instance.node.manifest.on), "LANE")).upper()
