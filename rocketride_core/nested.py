# SPDX-License-Identifier: MIT
"""Nested entries: a node runs the sub-pipeline wired to its outputs, on its own thread and inside its caller's limits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from .entry import Entry, Event
from .errors import EntryStopped, RunError
from .flight import Flight
from .lanes import Lane, Packet
from .results import EntryResult
from .toolcalls import caller_span, here

if TYPE_CHECKING:
    from .live import LiveInstance

__all__ = ["NestedRun", "open_nested"]

_numbers = Lock()  # calls of one turn open their entries at once; two of one name would be one object to a store


class NestedRun:
    """The `Run` of a nested entry, and its context: everything happens in the calls themselves."""

    def __init__(self, flight: Flight, caller: Flight, timeout: float | None) -> None:
        self._flight, self._caller, self._timeout = flight, caller, timeout
        self._result: EntryResult | None = None
        self._limit: int | None = None
        self._limited = here.limited  # it ends the entry when it is given up

    def __enter__(self) -> Self:
        flight = self._flight
        if self._limited is not None:
            self._limited.flights.append(flight)
        self._stop = flight.cancel  # one object, to be found again
        self._caller.add_on_stop(self._stop)
        if self._timeout is not None:
            self._limit = flight.bound.limits.add(flight, self._timeout)
        try:
            flight.open()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                self._flight.cancel("left by an exception of its caller")
            _tell(self.result(), self._caller)
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._limit is not None:
            self._flight.bound.limits.remove(self._limit)
        self._caller.remove_on_stop(self._stop)
        if self._limited is not None:
            self._limited.flights.remove(self._flight)

    def send(self, packet: Packet, /) -> None:
        self._flight.send(packet[0], packet[1])

    def wants(self, lane: Lane[Any], /) -> bool:
        return self._flight.wants(lane)

    def cancel(self) -> None:
        self._flight.cancel("cancelled by its caller")

    def result(self, timeout: float | None = None) -> EntryResult:
        if self._result is None:
            flight = self._flight
            flight.bound.finish(flight)
            self._result = flight.result()
            if flight._more is not None and flight._more.interrupt is not None:  # Ctrl-C is no failure of an inner node
                raise flight._more.interrupt
        return self._result

    @property
    def entry(self) -> Entry:
        return self._flight.entry

    def __iter__(self) -> Iterator[Event]:
        """The events have gone to whoever listens to the outermost entry; nothing is left for the caller."""
        self.result()
        return iter(())

    async def __aiter__(self) -> AsyncIterator[Event]:
        self.result()
        nothing: tuple[Event, ...] = ()
        for event in nothing:
            yield event

    def __await__(self) -> Generator[Any, None, EntryResult]:
        yield from ()
        return self.result()


def open_nested(instance: LiveInstance, timeout: float | None) -> NestedRun:
    """A nested entry, which begins at `with`.

    Raises:
        RunError: `no-region`, `nesting-depth`, or `emit-after-close`.
        EntryStopped: the caller's entry was stopped.
    """
    caller, bound, index = instance.flight, instance.flight.bound, instance.index
    me = instance.node.id
    if caller.ended:
        raise RunError(f"{me} opened a nested entry after its own was closed", code="emit-after-close", component=me)
    if index not in bound.owners and bound.compiled.wired[index]:
        text = f"{me} owns no sub-pipeline: its consumers belong to its producers' region"
        raise RunError(text, code="no-region", component=me)
    if caller.depth + 1 > bound.settings.nesting:
        text = f"more than {bound.settings.nesting} entries inside each other at {me}"
        raise RunError(text, code="nesting-depth", component=me)
    if caller.stopped:
        raise EntryStopped
    with _numbers:
        number = caller.more.nested[me] = caller.more.nested.get(me, 0) + 1
    name = f"{caller.entry.name + '/' if caller.parent is not None else ''}{me}#{number}"
    id = f"{caller.entry.object_id}/{me}#{number}"
    entry = Entry(name, path=caller.entry.path, metadata=caller.entry.metadata, object_id=id)
    flight = Flight(bound.program, index, bound, entry, caller)
    flight.listener = caller.listener
    if bound.tracer is not None:
        flight.trace_parent = caller_span(caller)
    return NestedRun(flight, caller, timeout)


def _tell(result: EntryResult, caller: Flight) -> None:
    """A host sees the outermost result alone: what was used and warned of further in is told there too."""
    if caller.ended:  # an abandoned call came back after all
        return
    for component, counted in result.usage.items():
        for name, amount in counted.items():
            caller.count(component, name, amount)
    for warning in result.warnings:
        caller.warn(warning.component, warning.code, warning.message)
