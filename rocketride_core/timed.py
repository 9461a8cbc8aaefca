# SPDX-License-Identifier: MIT
"""Calls with a time limit: each runs on a helper thread, which is abandoned and replaced when the call does not come back.

An abandoned thread gets one asynchronous EntryStopped, which ends a loop of Python; what hangs in C goes on until it returns.
It closes its own nested entries, its result is thrown away, and it never serves another call.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from typing import TYPE_CHECKING, Any

from .errors import EntryStopped, RunTimeout, ToolFailure, ToolTimeout
from .toolcalls import SLICE, LimitedCall, Run, abandoned, adopt, here

if TYPE_CHECKING:
    from .bound import Bound
    from .flight import Flight

__all__ = ["TimedCalls", "withdraw_stop"]

MOST_ABANDONED = 64
_EXPIRY = 1.0  # seconds; how late the thread that watches entries may be


class _Helper:
    def __init__(self, calls: TimedCalls, number: int) -> None:
        self._calls = calls
        self.inbox: SimpleQueue[LimitedCall | None] = SimpleQueue()
        self.thread = Thread(target=self._work, name=f"rocketride-timed-{number}", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (call := self.inbox.get()) is not None:
            with suppress(EntryStopped):  # one that was sent in the last moment of a call
                _serve(call)
            if call.abandoned:
                withdraw_stop()
                break
            self._calls.free(self)
            del call
        self._calls.bound.per_worker.leave_thread()
        if call is not None:
            self._calls.gone()


def _serve(call: LimitedCall) -> None:
    outcome, error = None, None
    try:
        with adopt(call, call.runs):
            outcome = call.work()
    except BaseException as raised:  # noqa: BLE001 - handed to the thread that waits, or thrown away with the call
        error = raised
    call.finish(outcome, error)


def _send_stop(thread: int) -> None:
    """Raise EntryStopped in another thread at its next bytecode."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(EntryStopped))


def withdraw_stop() -> None:
    """Take back an EntryStopped that was sent to this thread and has not arrived."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(get_ident()), None)


class TimedCalls:
    """The helper threads of a pipeline, made as they are needed and kept."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self._lock = Lock()
        self._idle: list[_Helper] = []
        self._made = 0
        self.abandoned = 0
        self._closed = False

    def call(
        self, flight: Flight, tool: str, run: Run, seconds: float, work: Callable[[], Any], *, of_entry: bool = False
    ) -> Any:
        """The result of `work`, which runs on a helper.

        Parameters:
            of_entry: the limit is that of the entry or one around it, which then is what fails.

        Raises:
            ToolTimeout: after `seconds`; the call is abandoned.
            ToolFailure: too many abandoned calls hang.
            EntryStopped: the caller's entry was stopped meanwhile.
        """
        component = run[3]
        seconds = seconds if seconds > 0 else 0.0  # NaN too: it would never be over
        if self.abandoned >= MOST_ABANDONED:
            message = f"{tool}: {MOST_ABANDONED} calls over their time limit still hang; no further call with a limit is begun"
            raise ToolFailure(message, tool=tool, component=component)
        call, outer, start = LimitedCall(work, list(here.runs)), here.limited, time.monotonic()
        end = start + seconds
        call.end = end if outer is None or outer.end is None else min(end, outer.end)
        if seconds > 0:
            self._helper().inbox.put(call)
        if outer is not None:
            outer.inner.append(call)
        try:
            while not call.over.wait(max(0.0, min(SLICE, end - time.monotonic()))):
                if flight.stopped or abandoned():
                    raise EntryStopped
                now = time.monotonic()
                if now >= end:
                    if of_entry:  # whoever watches the entry ends it in a moment
                        end, of_entry = now + _EXPIRY, False
                        continue
                    inner, elapsed = call.innermost(component), now - start
                    if self._abandon(call, seconds):
                        message = f"{tool} did not answer within {seconds:g} s ({elapsed:.2f} s); {inner} was running"
                        raise ToolTimeout(message, tool=tool, component=inner, elapsed=elapsed)
        except ToolTimeout:
            raise
        except BaseException:  # stopped, or a signal
            self._abandon(call, seconds)
            raise
        finally:
            if outer is not None:
                outer.inner.remove(call)
        if call.error is not None:
            raise call.error
        return call.outcome

    def _abandon(self, call: LimitedCall, seconds: float) -> bool:
        """Give a call up; False if it is over after all."""
        if not call.give_up():
            return False
        with self._lock:
            self.abandoned += seconds > 0
        call.free_gates()
        for flight in reversed(list(call.flights)):
            flight.halt(RunTimeout(f"the call took more than {seconds:g} s", entry=flight.entry.name))
        for callback in call.take_on_stop():
            with suppress(Exception):  # the others must be called too, and nobody is left to be told
                callback()
        with call.lock:
            for thread in call.threads:
                _send_stop(thread)
            self.bound.toolrunner.replace(set(call.threads))
        return True

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
