# SPDX-License-Identifier: MIT
"""One call of a tool, and what its thread knows of the calls around it: who called, under which limit, holding what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, RLock, get_ident, local
from typing import TYPE_CHECKING, Any

import attrs

from .errors import EntryStopped, RunError, ToolError, ToolFailure, said
from .payloads import Arguments, Json
from .plainjson import plain_json
from .toolbox import Tool

if TYPE_CHECKING:
    from .flight import Flight
    from .live import LiveInstance

__all__ = [
    "Gate",
    "LimitedCall",
    "Run",
    "Slot",
    "abandoned",
    "adopt",
    "caller_span",
    "current_run",
    "here",
    "run_slot",
    "tool_error",
]

SLICE = 0.05  # seconds; the longest that a signal, a cancel or a limit has to wait

Run = tuple["Flight", int, str, str]  # entry, number of the call, its span in the trace, the called component


class _Here(local):
    """What a thread is in the middle of."""

    limited: LimitedCall | None = None

    def __init__(self) -> None:
        self.runs: list[Run] = []


here = _Here()


def abandoned() -> bool:
    """Does this thread work for a call that was given up?"""
    return here.limited is not None and here.limited.abandoned


def caller_span(flight: Flight) -> str:
    """The span that a call made now on this thread belongs to; "" without a trace."""
    if flight.bound.tracer is None:
        return ""
    return next((span for at, _, span, _ in reversed(here.runs) if at is flight), flight.span_id)


def current_run(flight: Flight) -> str:
    """The innermost tool call of this entry on this thread, else the entry."""
    found = next((number for at, number, _, _ in reversed(here.runs) if at is flight), 0)
    # Hosts name entries, and one may be named "call 7".
    return f"call {found}" if found else f"entry {flight.entry.name}"


class Gate:
    """Serialises the calls of one component in one entry. The lock of a thread that was given up is replaced."""

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = RLock()

    def take(self, flight: Flight) -> Any:
        """The lock, acquired.

        Raises:
            EntryStopped: the entry was stopped, or this call given up, while it waited.
        """
        lock = self.lock
        free = lock.acquire(False)
        while not free or lock is not self.lock:
            if free:  # it was replaced meanwhile
                lock.release()
            if flight.stopped or abandoned():
                raise EntryStopped
            lock = self.lock
            free = lock.acquire(timeout=SLICE)
        return lock

    @contextmanager
    def held(self, flight: Flight) -> Iterator[None]:
        """Inside the block it is taken; renewed where this thread is given up meanwhile."""
        hold = self, self.take(flight)
        limited = here.limited
        if limited is not None:
            limited.held.append(hold)
        try:
            yield
        finally:
            if limited is not None:
                limited.held.remove(hold)
            hold[1].release()


@attrs.frozen
class Slot:
    """One tool as one caller sees it.

    Parameters:
        tool: by its full name.
        callee: its provider's control instance.
        gate: serialises its calls, None for a concurrent tool.
        wrapped: the call with host plugins around it, None where none takes part.
        limit: seconds, of the tool and of the kernel.
        component: id of the provider.
    """

    tool: Tool
    callee: LiveInstance
    gate: Gate | None
    wrapped: Callable[..., Any] | None
    limit: float | None
    component: str


class LimitedCall:
    """A call under a time limit: everything that must be ended or freed when it is given up.

    Parameters:
        work: runs on a helper thread.
        runs: the calls around it.
    """

    def __init__(self, work: Callable[[], Any], runs: list[Run]) -> None:
        self.work, self.runs, self._around = work, runs, len(runs)
        self.over = Event()
        self.end: float | None = None  # of time.monotonic
        self.abandoned = self.finished = False
        self.outcome: Any = None
        self.error: BaseException | None = None
        self.flights: list[Flight] = []
        self.held: list[tuple[Gate, Any]] = []
        self.inner: list[LimitedCall] = []
        self.lines: list[list[Run]] = []  # the calls on each thread that works for it
        self.threads: set[int] = set()
        self.lock = Lock()
        self._on_stop: list[Callable[[], object]] = []

    def give_up(self) -> bool:
        """False: it is over already."""
        with self.lock:
            if not self.finished:
                self.abandoned = True
            return self.abandoned

    def finish(self, outcome: Any, error: BaseException | None) -> None:
        with self.lock:
            if not self.abandoned:
                self.finished, self.outcome, self.error = True, outcome, error
        self.over.set()

    def free_gates(self) -> None:
        """What its threads hold they may hold for ever."""
        for gate, lock in list(self.held):
            if gate.lock is lock:
                gate.lock = RLock()

    def innermost(self, component: str) -> str:
        """Id of the innermost node that runs for it."""
        if inner := list(self.inner):
            return inner[-1].innermost(component)
        running = [(flight, current) for flight in self.flights if not flight.ended and (current := flight.current) is not None]
        line = max((self.runs, *self.lines), key=len)  # of several at once one that is furthest in
        at, _, _, called = line[-1] if len(line) > self._around else (None, 0, "", component)
        if not running or running[-1][0] is at:
            return called
        flight, current = running[-1]
        return flight.bound.nodes[current.index].id

    def add_on_stop(self, callback: Callable[[], object]) -> None:
        """Called when it is given up; at once where that has happened."""
        with self.lock:
            if not self.abandoned:
                self._on_stop.append(callback)
                return
        callback()

    def remove_on_stop(self, callback: Callable[[], object]) -> None:
        with self.lock:
            if callback in self._on_stop:
                self._on_stop.remove(callback)

    def take_on_stop(self) -> list[Callable[[], object]]:
        with self.lock:
            callbacks, self._on_stop = self._on_stop, []
        return callbacks


@contextmanager
def adopt(limited: LimitedCall | None, runs: list[Run]) -> Iterator[None]:
    """This thread works for a call that another one makes."""
    before, here.limited, here.runs = (here.limited, here.runs), limited, runs
    me = get_ident()
    try:
        if limited is not None:
            with limited.lock:
                if limited.abandoned:
                    raise EntryStopped
                limited.threads.add(me)
                limited.lines.append(runs)
        yield
    finally:
        if limited is not None:
            with limited.lock:  # from here on no exception is sent to this thread
                limited.threads.discard(me)
                limited.lines = [line for line in limited.lines if line is not runs]
        here.limited, here.runs = before


def run_slot(flight: Flight, slot: Slot, arguments: Arguments, run: Run) -> Json:
    """One call on this thread, serialised and wrapped as its slot says.

    Raises:
        ToolError: any of its kinds.
    """
    runs = here.runs
    runs.append(run)
    try:
        gate = slot.gate
        if gate is None:
            return _guarded(slot, arguments)
        lock = gate.take(flight)
        limited, hold = here.limited, (gate, lock)
        if limited is not None:
            limited.held.append(hold)
        try:
            return _guarded(slot, arguments)
        finally:
            if limited is not None:
                limited.held.remove(hold)
            lock.release()
    finally:
        runs.pop()


def _guarded(slot: Slot, arguments: Arguments) -> Json:
    name, callee = slot.tool.name, slot.callee
    try:
        if slot.wrapped is None:
            return plain_json(slot.tool.call(callee, arguments))
        return plain_json(slot.wrapped(callee, name, arguments))
    except Exception as error:
        told = tool_error(error, name, callee)
        if told is error:
            raise
        raise told from error


def tool_error(error: Exception, name: str, callee: LiveInstance) -> ToolError:
    """What an agent and a host plugin get of an exception: a ToolError as it is, any other as a ToolFailure."""
    if isinstance(error, ToolError):
        error.tool = error.tool or name
        plain = str(error)
        if (shown := callee.flight.bound.redact(plain)) != plain:
            error.args = (shown, *error.args[1:])
        return error
    inner = error.component if isinstance(error, RunError) else ""
    return ToolFailure(f"{name}: {callee.flight.bound.redact(said(error))}", tool=name, component=inner or callee.node.id)
