# SPDX-License-Identifier: MIT
"""Calls of tools: alone, or those of one turn together on a pool of helpers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import count
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, cast

from .controlplane import Catalog
from .errors import EntryStopped, RunError, ToolError
from .payloads import Arguments, Json
from .timed import TimedCalls, withdraw_stop
from .toolcalls import SLICE, LimitedCall, Run, Slot, abandoned, adopt, caller_span, here, run_slot

if TYPE_CHECKING:
    from .bound import Bound
    from .flight import Flight
    from .workers import Workers

__all__ = ["ToolRunner"]

_numbers = count(1)


class ToolRunner:
    """The calls of a pipeline."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._lock = Lock()
        self._helpers: Workers | None = None
        self._timed: TimedCalls | None = None

    def call(self, flight: Flight, slot: Slot, arguments: Arguments, timeout: float | None) -> Json:
        limited = here.limited
        if flight.ended:
            text = f"{slot.tool.name} was called after the entry was closed"
            raise RunError(text, code="emit-after-close", component=slot.component)
        if flight.stopped or (limited is not None and limited.abandoned):
            raise EntryStopped
        number, tracer = next(_numbers), self._bound.tracer
        if tracer is None:
            return self._call(flight, slot, arguments, timeout, (flight, number, "", slot.component))
        component, parent, span = slot.component, caller_span(flight), f"{flight.trace_id}.t{number}"
        start, outcome = time.monotonic(), cast("Json | BaseException", None)
        try:
            outcome = self._call(flight, slot, arguments, timeout, (flight, number, span, component))
            return outcome
        except BaseException as error:
            outcome = error
            raise
        finally:
            tracer.tool(flight, span, parent, component, slot.tool.name, start, arguments, outcome)

    def _call(self, flight: Flight, slot: Slot, arguments: Arguments, timeout: float | None, run: Run) -> Json:
        left: float | None = None
        around: Flight | None = flight
        while around is not None:
            if around.deadline is not None:
                left = flight.remaining
                break
            around = around.parent
        if left is None and timeout is None and slot.limit is None:
            return run_slot(flight, slot, arguments, run)
        work = lambda: run_slot(flight, slot, arguments, run)  # noqa: E731
        seconds = min(limit for limit in (slot.limit, timeout, left) if limit is not None)
        return cast(Json, self.timed.call(flight, slot.tool.name, run, seconds, work, of_entry=seconds == left))

    def call_all(self, catalog: Catalog, calls: Sequence[tuple[str, Arguments]]) -> list[Json | ToolError]:
        """Every job is offered to a helper; what none has begun by its turn, this thread runs itself: nothing can deadlock.

        Calls of one component that may not overlap are one job, so they keep their order.
        """
        outcomes: list[Json | ToolError] = [None] * len(calls)
        jobs: dict[object, _Job] = {}
        for number, (name, _) in enumerate(calls):
            try:
                slot = catalog.find(name)
            except ToolError as error:
                outcomes[number] = error
                continue
            key = number if slot.tool.concurrent else id(slot.gate)
            jobs.setdefault(key, _Job(catalog, calls, outcomes)).numbers.append(number)
        todo, limited = list(jobs.values()), here.limited
        runs = list(here.runs)
        for job in todo[1:]:
            if not self.helpers.put(partial(job.help, limited, runs), 0):
                break
        for job in todo:
            job.run()
            if job.stopped is not None and not isinstance(job.stopped, Exception | EntryStopped):
                raise job.stopped  # Ctrl-C waits for no other call
        for job in todo:
            while not job.done.wait(SLICE):
                if abandoned():  # of what this thread does somebody else takes care
                    raise EntryStopped
        for job in todo:
            if job.stopped is not None:
                raise job.stopped
        return outcomes

    @property
    def timed(self) -> TimedCalls:
        with self._lock:
            if self._timed is None:
                self._timed = TimedCalls(self._bound)
            return self._timed

    @property
    def helpers(self) -> Workers:
        with self._lock:
            if self._helpers is None:
                from .workers import Workers

                count = self._bound.settings.workers
                self._helpers = Workers(count, "rocketride-tools", 64 * count)
            return self._helpers

    def replace(self, threads: set[int]) -> None:
        """Helpers of turns among these threads were given up: others take their place."""
        if self._helpers is not None:
            self._helpers.replace(threads)

    def close(self) -> None:
        if self._helpers is not None:
            self._helpers.close()
            self._helpers.join(0.5)
        if self._timed is not None:
            self._timed.close()


class _Job:
    """Calls of a turn that run one after the other; whoever comes first runs them."""

    def __init__(self, catalog: Catalog, calls: Sequence[tuple[str, Arguments]], outcomes: list[Json | ToolError]) -> None:
        self._catalog, self._calls, self._outcomes = catalog, calls, outcomes
        self._claim = Lock()
        self.numbers: list[int] = []
        self.done = Flag()
        self.stopped: BaseException | None = None

    def help(self, limited: LimitedCall | None, runs: list[Run]) -> None:
        """On a helper: in the name of the thread that waits."""
        try:
            with adopt(limited, list(runs)):
                self.run()
        except EntryStopped:  # the call it belongs to was given up; nobody waits any more
            self.done.set()
        if limited is not None and limited.abandoned:
            withdraw_stop()

    def run(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        try:
            for number in self.numbers:
                try:
                    self._outcomes[number] = self._catalog.call(*self._calls[number])
                except ToolError as error:
                    self._outcomes[number] = error
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for the turn, which raises it
            self.stopped = error
        finally:
            self.done.set()
