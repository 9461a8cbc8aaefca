# SPDX-License-Identifier: MIT
"""The running pipeline: the ways to send entries through a bound plan, and its end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Event as Flag
from threading import Lock
from weakref import WeakSet

from .blob import Blob
from .bound import Bound
from .entries import Entries
from .entry import Entry
from .errors import RunError
from .flight import Flight
from .lanes import Packet
from .mapping import Work, run_map
from .results import EntryResult
from .routing import route
from .runs import Submitted, WorkerRun
from .workers import Task, Workers

__all__ = ["RunningPipeline"]

_open: WeakSet[RunningPipeline] = WeakSet()


def _forked() -> None:
    for pipeline in list(_open):
        pipeline._shut = "forked"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class RunningPipeline(Entries):
    """See `protocols.Pipeline`. Made by `Kernel.load`.

    Parameters:
        bound: its nodes have begun.
        on_ready: gets the messages of `ready`.
    """

    def __init__(self, bound: Bound, on_ready: Callable[[str], None] | None = None) -> None:
        super().__init__(bound)
        self._on_ready = on_ready
        self._stopping = Flag()
        self._drain: float | None = None
        self._lock = Lock()
        self._own: Workers | None = None
        self._extra: WeakSet[Workers] = WeakSet()
        self._ended = False
        _open.add(self)

    def __repr__(self) -> str:
        return f"<Pipeline {self.bound.plan.pipe.file or 'in memory'}, {len(self.bound.nodes)} nodes, {self._shut or 'open'}>"

    @property
    def workers(self) -> Workers:
        with self._lock:
            if self._own is None:
                self._refuse_when_shut()
                self._own = Workers(self.bound.settings.workers, f"rocketride-{self.source.id}")
            return self._own

    # ---- on the calling thread

    def run(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> EntryResult:
        with self._lock:  # `close` on another thread either refuses it or waits for it
            flight = self.flight(entry)
            self._flights.add(flight)
        result = self.complete(flight, packets, timeout)
        if flight._more is not None and flight._more.interrupt is not None:
            raise flight._more.interrupt
        return result

    # ---- on workers

    def start(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> WorkerRun:
        return WorkerRun(self, self.flight(entry), packets, timeout)

    def astart(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> WorkerRun:
        return self.start(entry, *packets, timeout=timeout)

    async def arun(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> EntryResult:
        return await self.start(entry, *packets, timeout=timeout).aresult()

    def submit(self, entry: Entry, /, *packets: Packet) -> None:
        flight = self.flight(entry)
        self.put(Submitted(self, flight, packets))

    def put(self, task: Task) -> None:
        self.workers.put(task)

    def refuse_own_worker(self, what: str) -> None:
        """Who waits on a worker for the other workers may wait for ever: they may all do the same."""
        if self._own is not None and self._own.works_here():
            text = f"{what} would wait, on a worker of this pipeline, for its other workers; use run(), or instance.spawn()"
            raise RunError(text, code="wrong-thread")

    async def aput(self, task: Task) -> None:
        """As `put`, without blocking the loop while the queue is full."""
        import asyncio

        pause = 0.001
        while not self.workers.put(task, 0):
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)

    def map(
        self, work: Work, /, *, workers: int = 0, ordered: bool = False, ahead: int = 0, timeout: float | None = None
    ) -> Iterator[EntryResult]:
        if workers < 0 or ahead < 0:
            raise ValueError("workers and ahead are numbers of entries, 0 or more")
        self.refuse_own_worker("map")
        self._refuse_when_shut()
        crew = self.workers
        if workers and workers != crew.count:
            crew = Workers(workers, f"rocketride-{self.source.id}-map", leave=self.bound.per_worker.leave_thread)
            self._extra.add(crew)
        return self._mapped(crew, work, ordered, ahead or 2 * crew.count, timeout)

    def _mapped(self, crew: Workers, work: Work, ordered: bool, ahead: int, timeout: float | None) -> Iterator[EntryResult]:
        try:
            yield from run_map(self, crew, work, ordered, ahead, timeout)
        finally:
            if crew is not self._own:
                crew.close()

    # ---- sources

    def route(self, blob: Blob, /) -> Packet:
        node = self.source
        probe = Flight(self.bound.program, self._source, self.bound, Entry())
        return route(blob, node.id, node.manifest.outs, probe.wants)

    def ready(self, message: str, /) -> None:
        if self._on_ready is not None:
            self._on_ready(message)

    def stopping(self, wait: float = 0) -> bool:
        return self._stopping.wait(wait) if wait > 0 else self._stopping.is_set()

    def serve(self) -> None:
        node = self.source
        if not node.manifest.source:
            text = (
                f"{node.id} ({node.spec.provider}) waits to be fed: use run, start, submit or map; serve() is for active sources"
            )
            raise RunError(text, component=node.id)
        try:
            getattr(node, node.manifest.source)(self)
        finally:
            self._stopping.set()
            if self._own is not None and not self._own.drain(self._drain):
                self._cancel_all("stopped: the time to drain is over")

    def stop(self, *, drain: float | None = None) -> None:
        self._drain = drain
        self._stopping.set()

    # ---- the end

    def close(self, *, grace: float = 5) -> None:
        """See `protocols.Pipeline.close`.

        Raises:
            RunError: an `end_global` failed; every node was ended all the same.
        """
        with self._lock:
            if self._shut:
                return
            self._shut = "closed"
        self._stopping.set()
        crews = [crew for crew in (self._own, *self._extra) if crew is not None]
        for crew in crews:
            crew.close()
        end = time.monotonic() + grace
        if not self._quiet(crews, end):
            for crew in crews:
                for task in crew.drop():
                    getattr(task, "dropped", task)()
            self._cancel_all("cancelled: the pipeline was closed")
            self._late = not self._quiet(crews, time.monotonic() + max(grace, 0.5))
        for crew in crews:
            crew.join(0.5)
        _open.discard(self)
        if self._late and self._flights:
            return  # nodes end with the last entry that still runs in one of their handlers
        if failed := self._end():
            raise failed[0]

    def _quiet_at_last(self) -> None:
        self._end()

    def _end(self) -> Sequence[RunError]:
        with self._lock:
            if self._ended:
                return ()
            self._ended = True
        failed = self.bound.end()
        if self._tracer is not None:
            self._tracer.close()
        return failed

    def _quiet(self, crews: Sequence[Workers], end: float) -> bool:
        """Wait until no entry is in flight, on workers or on threads of the host."""
        for crew in crews:
            if not crew.drain(max(0.0, end - time.monotonic())):
                return False
        while self._flights:
            if time.monotonic() >= end:
                return False
            time.sleep(0.005)
        return True
