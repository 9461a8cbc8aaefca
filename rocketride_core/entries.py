# SPDX-License-Identifier: MIT
"""The life of an entry on one thread: feed, flush, close, children, result; and its cancel from any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .bound import Bound
from .entry import Entry
from .errors import Cancelled, RunError, RunTimeout
from .flight import Flight
from .lanes import Packet
from .results import EntryResult

if TYPE_CHECKING:
    from .node import Node

__all__ = ["Entries"]

DEEPEST = 64  # generations of child entries


class Entries:
    """The entries in flight of a running pipeline, which builds on this.

    Parameters:
        bound: its nodes have begun.
    """

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self._source = bound.compiled.source
        self._shut = ""  # why no entry begins any more
        self._late = False  # it was closed while an entry hung in a node: nodes end with the last entry
        self._flights = bound.flights
        self._tracer = bound.tracer
        self._finish = bound.hosts.take_part("finish_entry")

    @property
    def source(self) -> Node[Any]:
        return self.bound.nodes[self._source]

    def _refuse_when_shut(self) -> None:
        if self._shut == "forked":
            text = "this pipeline was opened before a fork; open one in the child, or start children by spawn"
            raise RunError(text, code="forked")
        if self._shut:
            raise RunError("the pipeline is closed", code="pipeline-closed")

    def flight(self, entry: Entry) -> Flight:
        self._refuse_when_shut()
        return Flight(self.bound.program, self._source, self.bound, entry)

    def complete(
        self,
        flight: Flight,
        packets: tuple[Packet, ...],
        timeout: float | None = None,
        further: Callable[[], Iterable[Packet]] | None = None,
    ) -> EntryResult:
        """The whole life of an entry on the calling thread, its children included."""
        self._flights.add(flight)
        try:
            self._feed(flight, packets, timeout, further)
            if flight._more is not None and flight._more.spawned:
                self._children(flight, timeout)
            if self._tracer is not None:
                self._tracer.write(flight)
            result = flight.result()
            if self._finish:
                self.bound.hosts.call("finish_entry", pipeline=self, result=result)
            return result
        finally:
            self._flights.discard(flight)
            if self.bound.batching is not None:
                self.bound.batching.ended()
            if self._late and not self._flights:
                self._quiet_at_last()

    def _feed(
        self,
        flight: Flight,
        packets: tuple[Packet, ...],
        timeout: float | None,
        further: Callable[[], Iterable[Packet]] | None,
    ) -> None:
        watched = self.bound.limits.add(flight, timeout) if timeout is not None else None
        try:
            flight.feed(packets)
            if further is not None:
                for lane, payload in further():
                    flight.send(lane, payload)
        except BaseException as error:  # noqa: BLE001 - a signal between two handlers; what one raises inside is recorded
            flight.record(self.source.id, "send", "", error)
            flight.stop()
            flight.more.interrupt = error
        finally:
            flight.finish()
            if watched is not None:
                self.bound.limits.remove(watched)

    def _children(self, flight: Flight, timeout: float | None) -> None:
        memo = flight.more.memo
        generation = memo.get("generation", 0) + 1
        if generation > DEEPEST:
            text = f"more than {DEEPEST} generations of child entries; what spawns a child for every child never ends"
            flight.record(self.source.id, "send", "", RunError(text, code="nesting-depth"))
            return
        for entry, packets in flight.more.spawned:
            child = memo["child"] = Flight(self.bound.program, self._source, self.bound, entry)
            child.listener = flight.listener
            child.more.memo["generation"] = generation
            if why := memo.get("cancelled", ""):
                child.cancel(why)
            elif isinstance(flight.error, (Cancelled, RunTimeout)):
                child.cancel("not begun: its parent was stopped")
            flight.more.children.append(self.complete(child, tuple(packets), timeout))
        memo.pop("child", None)

    def cancel(self, flight: Flight, why: str = "cancelled by its host") -> None:
        """End an entry from any thread: itself, and what is left of its children."""
        if flight.cancel(why) or flight._more is None or not flight._more.spawned:
            return
        flight.more.memo["cancelled"] = why
        child = flight.more.memo.get("child")
        if child is not None:
            self.cancel(child, why)

    def _cancel_all(self, why: str) -> None:
        for flight in list(self._flights):
            self.cancel(flight, why)

    def _quiet_at_last(self) -> None:
        """The last entry of a pipeline that was closed before is over."""
