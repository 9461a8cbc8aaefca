# SPDX-License-Identifier: MIT
"""Calls of tools: alone, or those of one turn together on a pool of helpers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, cast

from .controlplane import Catalog, Slot, caller_span, run_slot
from .errors import EntryStopped, ToolError, ToolTimeout
from .payloads import Arguments, Json

if TYPE_CHECKING:
    from .bound import Bound
    from .flight import Flight
    from .timed import TimedCalls
    from .workers import Workers

__all__ = ["ToolRunner"]


class ToolRunner:
    """The calls of a pipeline."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self._lock = Lock()
        self._helpers: Workers | None = None
        self._timed: TimedCalls | None = None

    def call(self, flight: Flight, slot: Slot, arguments: Arguments, timeout: float | None) -> Json:
        if flight.stopped:
            raise EntryStopped
        limits = (self._bound.settings.tool_timeout, slot.tool.timeout, timeout, flight.remaining)
        given = [seconds for seconds in limits if seconds is not None]
        span = caller_span(flight)
        if not given:
            return run_slot(flight, slot, arguments, span)
        component = slot.callee.node.id
        try:
            return cast(
                Json,
                self.timed.call(flight, slot.tool.name, component, min(given), lambda: run_slot(flight, slot, arguments, span)),
            )
        except ToolTimeout as late:
            slot.gate.renew()  # the abandoned thread may hold it for ever
            tracer = self._bound.tracer
            if tracer is not None:
                start = time.monotonic() - late.elapsed
                tracer.tool(flight, f"{flight.trace_id}.late{late.elapsed:.3f}", span, component, slot.tool.name, start, arguments, late)
            raise

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
        todo = list(jobs.values())
        for job in todo[1:]:
            if not self.helpers.put(job.help, 0):
                break
        for job in todo:
            job.help()
        for job in todo:
            job.done.wait()
        for job in todo:
            if job.stopped is not None:
                raise job.stopped
        return outcomes

    @property
    def timed(self) -> TimedCalls:
        with self._lock:
            if self._timed is None:
                from .timed import TimedCalls

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

    def help(self) -> None:
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
