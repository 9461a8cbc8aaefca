# SPDX-License-Identifier: MIT
"""Calls with a time limit: each runs on a helper thread, which is abandoned and replaced when the call does not come back.

An abandoned thread gets one asynchronous EntryStopped, which ends a loop of Python; what hangs in C goes on until it returns.
It closes its own nested entries, its result is thrown away, and it never serves another call.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread, get_ident, local
from typing import TYPE_CHECKING, Any

from .errors import EntryStopped, RunTimeout, ToolFailure, ToolTimeout

if TYPE_CHECKING:
    from .bound import Bound
    from .flight import Flight

__all__ = ["TimedCalls", "note_nested"]

MOST_ABANDONED = 64
_SLICE = 0.05  # seconds; the longest a signal or a cancel has to wait
_here = local()


def note_nested(flight: Flight) -> None:
    """A nested entry begins on this thread; if that is a helper, its time-out ends the entry."""
    call: _Call | None = _here.__dict__.get("call")
    if call is not None:
        call.flights.append(flight)


class _Call:
    """One call on its way."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.flights: list[Flight] = []
        self.over = Event()
        self.lock = Lock()
        self.thread: int | None = None  # while it runs
        self.abandoned = False
        self.outcome: Any = None
        self.error: BaseException | None = None


class _Helper:
    def __init__(self, calls: TimedCalls, number: int) -> None:
        self._calls = calls
        self.inbox: SimpleQueue[_Call | None] = SimpleQueue()
        self.thread = Thread(target=self._work, name=f"rocketride-timed-{number}", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (call := self.inbox.get()) is not None:
            try:
                self._serve(call)
            except EntryStopped:  # sent in the last moment of an abandoned call
                call.over.set()
            if call.abandoned:
                _send_stop(get_ident(), send=False)
                break
            self._calls.free(self)
            del call
        self._calls.bound.leave_thread()
        if call is not None:
            self._calls.gone()

    def _serve(self, call: _Call) -> None:
        _here.call = call
        call.thread = get_ident()
        try:
            try:
                call.outcome = call.work()
            finally:
                with call.lock:  # from here on no asynchronous exception is sent
                    call.thread = None
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits, or thrown away with the call
            call.error = error
        finally:
            _here.call = None
            call.over.set()


def _send_stop(thread: int, *, send: bool = True) -> None:
    """Raise EntryStopped in another thread at its next bytecode, or take back one that has not arrived."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(EntryStopped) if send else None)


class TimedCalls:
    """The helper threads of a pipeline, made as they are needed and kept."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self._lock = Lock()
        self._idle: list[_Helper] = []
        self._made = 0
        self.abandoned = 0
        self._closed = False

    def call(self, flight: Flight, tool: str, component: str, seconds: float, work: Callable[[], Any]) -> Any:
        """The result of `work`, which runs on a helper.

        Raises:
            ToolTimeout: after `seconds`; the call is abandoned.
            ToolFailure: too many abandoned calls hang.
            EntryStopped: the caller's entry was stopped meanwhile.
        """
        if self.abandoned >= MOST_ABANDONED:
            message = f"{tool}: {MOST_ABANDONED} calls over their time limit still hang; no further call with a limit is begun"
            raise ToolFailure(message, tool=tool, component=component)
        call, start = _Call(work), time.monotonic()
        self._helper().inbox.put(call)
        while not call.over.wait(min(_SLICE, max(0.0, start + seconds - time.monotonic()))):
            elapsed = time.monotonic() - start
            if flight.stopped or elapsed >= seconds:
                inner = self._abandon(call, component, seconds)
                if flight.stopped:
                    raise EntryStopped
                message = f"{tool} did not answer within {seconds:g} s ({elapsed:.2f} s); {inner} was running"
                raise ToolTimeout(message, tool=tool, component=inner, elapsed=elapsed)
        if call.error is not None:
            raise call.error
        return call.outcome

    def _abandon(self, call: _Call, component: str, seconds: float) -> str:
        """Gives a call up; the id of the innermost node that was running."""
        inner = component
        for flight in call.flights:
            current = flight.current
            if not flight.ended and current is not None:
                inner = flight.bound.nodes[current.index].id
        with call.lock:
            call.abandoned = True
            with self._lock:
                self.abandoned += 1
        for flight in reversed(call.flights):
            flight.halt(RunTimeout(f"the call took more than {seconds:g} s", entry=flight.entry.name))
        with call.lock:
            if call.thread is not None:
                _send_stop(call.thread)
        return inner

    def _helper(self) -> _Helper:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            self._made += 1
            return _Helper(self, self._made)

    def free(self, helper: _Helper) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(helper)
                return
        helper.inbox.put(None)

    def gone(self) -> None:
        """An abandoned thread has come back after all."""
        with self._lock:
            self.abandoned -= 1

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for helper in idle:
            helper.inbox.put(None)
        for helper in idle:
            helper.thread.join(0.5)
