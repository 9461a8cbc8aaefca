# SPDX-License-Identifier: MIT
"""The Python half of an entry in flight: what the native one reports is kept here until the result is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import attrs

from . import _native
from .entry import Entry, Event
from .errors import Cancelled, EntryStopped, Problem, RunError, RunTimeout, said
from .lanes import Lane, Packet
from .results import EntryResult, Response

if TYPE_CHECKING:
    from .bound import Bound

__all__ = ["PHASES", "Flight"]

PHASES = ("idle", "open", "handler", "flush", "close", "tool", "send", "begin")

_native.configure(EntryStopped)
_making = Lock()
_lock = Lock()  # for what several threads of one entry may write; held for a few instructions


@attrs.define
class More:
    """What few entries need."""

    notes: list[RunError] = attrs.field(factory=list)
    warnings: list[Problem] = attrs.field(factory=list)
    usage: dict[str, dict[str, float]] = attrs.field(factory=dict)
    spawned: list[tuple[Entry, Sequence[Packet]]] = attrs.field(factory=list)
    children: list[EntryResult] = attrs.field(factory=list)
    on_stop: list[Callable[[], object]] = attrs.field(factory=list)
    metadata: dict[str, Any] | None = None
    interrupt: BaseException | None = None
    nested: dict[str, int] = attrs.field(factory=dict)
    memo: dict[Any, Any] = attrs.field(factory=dict)


class Flight(_native.Flight):
    """One entry on its way.

    Parameters:
        program, root: the native tables, and the node whose outputs are fed.
        bound: the pipeline's nodes.
        entry: the object.
        parent: the entry in which a nested one was opened.
    """

    __slots__ = (
        "_more",
        "begun",
        "bound",
        "deadline",
        "entry",
        "error",
        "listener",
        "parent",
        "responses",
        "root",
        "trace_id",
        "trace_parent",
    )

    def __init__(self, program: _native.Program, root: int, bound: Bound, entry: Entry, parent: Flight | None = None) -> None:
        self.root, self.bound, self.entry, self.parent = root, bound, entry, parent
        self.error: RunError | None = None
        self.responses: list[Response] = []
        self.listener: Callable[[Event], None] | None = None
        self.deadline: float | None = None
        self._more: More | None = None
        if bound.tracer is not None:
            self.begun = time.monotonic()
            self.trace_id = bound.tracer.number()
            self.trace_parent = ""

    @property
    def more(self) -> More:
        if self._more is None:
            with _making:  # two threads of one entry keep the same one
                self._more = self._more or More()
        return self._more

    @property
    def span_id(self) -> str:
        """The trace's name for what runs now."""
        return f"{self.trace_id}.{self.span}" if self.span >= 0 else self.trace_id

    @property
    def depth(self) -> int:
        depth, flight = 0, self.parent
        while flight is not None:
            depth, flight = depth + 1, flight.parent
        return depth

    @property
    def remaining(self) -> float | None:
        """Seconds until the nearest limit of this entry and those around it; None without one."""
        limits = [f.deadline for f in (self, *self.around()) if f.deadline is not None]
        return max(0.0, min(limits) - time.monotonic()) if limits else None

    def around(self) -> list[Flight]:
        """The entries in which this one is nested, innermost first."""
        found, flight = list[Flight](), self.parent
        while flight is not None:
            found.append(flight)
            flight = flight.parent
        return found

    # ---- what the native half calls

    def _fail(self, node: int, phase: int, lane: int, error: BaseException) -> None:
        if isinstance(error, EntryStopped):  # of another entry, of a cancelled coroutine, or raised by a node
            error = Cancelled(f"{self.bound.nodes[node].id} was stopped, but the entry was not")
        elif not isinstance(error, Exception):
            self.more.interrupt = error
        self.record(self.bound.nodes[node].id, PHASES[phase], self.bound.lane_name(lane), error)

    def _refuse_send(self, lane: Any) -> None:
        source = self.bound.nodes[self.root]
        name = lane.name if isinstance(lane, Lane) else repr(lane)
        declared = ", ".join(out.name for out in source.manifest.outs) or "none"
        error = RunError(f"{source.id} does not feed lane '{name}'; it feeds: {declared}", code="undeclared-lane")
        self.record(source.id, "send", name, error)

    # ---- what nodes and hosts say

    def record(self, component: str, phase: str, lane: str, error: BaseException) -> RunError:
        """Keep an error, and give what was made of it: the first one is the entry's, later ones are notes."""
        try:
            told = wrap(error, component, phase, lane, self.entry.name, self.bound.redact)
        except Exception:  # noqa: BLE001 - an exception whose text or notes are broken is a failure all the same
            text = f"{component}: {type(error).__name__}"
            told = RunError(text, component=component, phase=phase, lane=lane, entry=self.entry.name)
            told.__cause__ = error
        with _lock:
            if self.error is None:
                self.error = told
                return told
            self.more.notes.append(told)
        self.error.add_note(f"then, in {told.component} ({told.phase}): {told}")
        return told

    def halt(self, error: RunError) -> bool:
        """End it from outside, on any thread: every emit from now on unwinds. False: it is over or has failed already."""
        with _lock:
            if self.ended or self.stopped:
                return False
            if self.error is None:
                self.error = error
            else:
                self.more.notes.append(error)
            self.stop()
            callbacks = list(self._more.on_stop) if self._more else []
        current = self.current
        if current is not None and not error.component:
            error.component, error.phase = self.bound.nodes[current.index].id, PHASES[current._phase]
        for callback in callbacks:
            try:
                callback()
            except Exception as broken:  # noqa: BLE001 - the other callbacks must be called too; this is a note
                self.record(error.component, error.phase, "", broken)
        return True

    def cancel(self, why: str = "cancelled by its host") -> bool:
        return self.halt(Cancelled(f"{self.entry.name or 'the entry'} was {why}", entry=self.entry.name))

    def expire(self, seconds: float) -> bool:
        message = f"{self.entry.name or 'the entry'} took more than {seconds:g} s"
        return self.halt(RunTimeout(message, entry=self.entry.name))

    def warn(self, component: str, code: str, message: str) -> None:
        with _lock:
            self.more.warnings.append(Problem("$", code, self.bound.redact(message), component=component, severity="warning"))

    def count(self, component: str, name: str, amount: float) -> None:
        with _lock:
            counted = self.more.usage.setdefault(component, {})
            counted[name] = counted.get(name, 0) + amount

    def add_on_stop(self, callback: Callable[[], object]) -> None:
        """Called at once where the entry has stopped already."""
        with _lock:
            if not self.stopped:
                self.more.on_stop.append(callback)
                return
        callback()

    def remove_on_stop(self, callback: Callable[[], object]) -> None:
        with _lock:
            if callback in self.more.on_stop:
                self.more.on_stop.remove(callback)

    def settle(self) -> None:
        """A failure must not look like a success: `_fail` itself may have had no stack left."""
        if self.stopped and self.error is None:
            me, inside = self.bound.nodes[self.root].id, self.depth
            text = (
                f"{me}: the Python stack is used up, {inside} entries inside each other"
                if inside
                else f"{me}: the Python stack is used up"
            )
            self.record(me, "handler", "", RecursionError(text))

    def result(self) -> EntryResult:
        self.settle()
        more = self._more
        if more is None:
            return EntryResult(self.entry, self.error, (), self.responses, (), {}, None, ())
        return EntryResult(
            self.entry, self.error, more.notes, self.responses, more.warnings, more.usage, more.metadata, more.children
        )


_native.adopt(Flight)


def wrap(error: BaseException, component: str, phase: str, lane: str, entry: str, redact: Callable[[str], str] = str) -> RunError:
    """The RunError of an exception. One of the kernel's own, which nobody has placed yet, is placed; any other becomes the cause.

    Its text is redacted, the cause is the original: who prints a traceback sees it.
    """
    if isinstance(error, RunError) and not error.phase:
        error.component, error.phase, error.lane, error.entry = error.component or component, phase, lane, entry
        error.args = tuple(redact(arg) if isinstance(arg, str) else arg for arg in error.args)
        return error
    code = error.code if isinstance(error, RunError) else ""
    told = RunError(f"{component}: {redact(said(error))}", code=code, component=component, phase=phase, lane=lane, entry=entry)
    told.__cause__ = error
    if notes := getattr(error, "__notes__", None):
        for note in notes:
            told.add_note(note)
    return told
