# SPDX-License-Identifier: MIT
"""Many entries over the workers: lazy in, bounded, every outcome given once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from .entry import Entry
from .flight import Flight
from .lanes import Packet
from .results import EntryResult
from .workers import Workers

if TYPE_CHECKING:
    from .pipeline import RunningPipeline

__all__ = ["run_map"]

_SLICE = 0.05  # seconds; the longest a signal has to wait

Work = Iterable[tuple[Entry, Sequence[Packet]]]


class _Job:
    """One entry: its task for a worker."""

    def __init__(self, run: _Map, number: int, flight: Flight, packets: tuple[Packet, ...]) -> None:
        self.run, self.number, self.flight, self.packets = run, number, flight, packets

    def __call__(self) -> None:
        outcome: EntryResult | BaseException
        try:
            outcome = self.run.pipeline.complete(self.flight, self.packets, self.run.timeout)
        except BaseException as error:  # noqa: BLE001 - of a host plugin; the loop over the results raises it
            outcome = error
        self.run.done.put((self.number, outcome))

    def dropped(self) -> None:
        self.flight.cancel("dropped: the pipeline was closed")
        self()


class _Map:
    def __init__(self, pipeline: RunningPipeline, workers: Workers, ordered: bool, timeout: float | None) -> None:
        self.pipeline, self.workers, self.ordered, self.timeout = pipeline, workers, ordered, timeout
        self.done: SimpleQueue[tuple[int, EntryResult | BaseException]] = SimpleQueue()
        self.results: dict[int, EntryResult | BaseException] = {}  # over, not given out yet; in the order of time
        self.jobs: dict[int, _Job] = {}  # queued or running
        self.held: _Job | None = None  # there was no room in the queue
        self.number = 0  # entries taken from the work
        self.taken = 0  # results given out

    def take(self, entry: Entry, packets: Sequence[Packet]) -> None:
        if isinstance(packets, Packet):
            raise TypeError("map takes pairs of an entry and a list of packets: (entry, [packet])")
        self.held = _Job(self, self.number, self.pipeline.flight(entry), tuple(packets))
        self.number += 1

    def offer(self) -> None:
        """Queue what is held. Blocks for room only where no entry of this loop will ever end and make some."""
        job = self.held
        if job is not None and self.workers.put(job, 0 if self.jobs else None):
            self.jobs[job.number] = job
            self.held = None

    def collect(self) -> None:
        while not self.done.empty():
            self._store(*self.done.get())

    def wait(self) -> None:
        """Until an entry is over."""
        while True:
            try:
                self._store(*self.done.get(timeout=_SLICE))
            except Empty:
                continue
            return

    def _store(self, number: int, outcome: EntryResult | BaseException) -> None:
        self.jobs.pop(number, None)
        self.results[number] = outcome

    def ready(self) -> bool:
        self.collect()
        return self.taken in self.results if self.ordered else bool(self.results)

    def give(self) -> EntryResult:
        outcome = self.results.pop(self.taken if self.ordered else next(iter(self.results)))
        self.taken += 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def leave(self) -> None:
        """Nobody waits any more: what is queued will end as soon as a worker takes it, what runs at its next emit."""
        for job in list(self.jobs.values()):
            self.pipeline.cancel(job.flight, "dropped: nobody waits for its result")


def run_map(
    pipeline: RunningPipeline, workers: Workers, work: Work, ordered: bool, ahead: int, timeout: float | None
) -> Iterator[EntryResult]:
    """Results as they come, or in the order of `work`; see `protocols.Pipeline.map`.

    Each step takes one piece of work, so that slow consumers keep the workers busy, and more only while no result is
    ready, so that slow work holds no result back.
    """
    run, limit = _Map(pipeline, workers, ordered, timeout), workers.count + ahead
    todo, more = iter(work), True
    failure: BaseException | None = None
    try:
        while True:
            first = True
            while more and run.held is None and run.number - run.taken < limit and (first or not run.ready()):
                first = False
                try:
                    entry, packets = next(todo)
                except StopIteration:
                    more = False
                except Exception as error:  # noqa: BLE001 - results in flight come first, then this
                    more, failure = False, error
                else:
                    run.take(entry, packets)
                    run.offer()
            if run.ready():
                yield run.give()
            elif run.jobs:
                run.wait()
            elif run.held is None:
                break
            run.offer()
    finally:
        run.leave()
    if failure is not None:
        raise failure
