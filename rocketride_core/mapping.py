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
        result = self.run.pipeline.complete(self.flight, self.packets, self.run.timeout)
        self.run.done.put((self.number, result))

    def dropped(self) -> None:
        self.flight.cancel("dropped: the pipeline was closed")
        self()


class _Map:
    def __init__(self, pipeline: RunningPipeline, workers: Workers, limit: int, timeout: float | None) -> None:
        self.pipeline, self.workers, self.limit, self.timeout = pipeline, workers, limit, timeout
        self.done: SimpleQueue[tuple[int, EntryResult]] = SimpleQueue()
        self.jobs: dict[int, _Job] = {}
        self.number = 0

    def submit(self, entry: Entry, packets: Sequence[Packet]) -> None:
        job = _Job(self, self.number, self.pipeline.flight(entry), tuple(packets))
        self.jobs[self.number] = job
        try:
            self.workers.put(job)
        except BaseException:
            del self.jobs[self.number]
            raise
        self.number += 1

    def wait(self) -> tuple[int, EntryResult]:
        while True:
            try:
                number, result = self.done.get(timeout=_SLICE)
            except Empty:
                continue
            del self.jobs[number]
            return number, result

    def leave(self) -> None:
        """Nobody waits any more: what is queued will end as soon as a worker takes it, what runs at its next emit."""
        for job in list(self.jobs.values()):
            job.flight.cancel("dropped: nobody waits for its result")


def run_map(
    pipeline: RunningPipeline, workers: Workers, work: Work, ordered: bool, ahead: int, timeout: float | None
) -> Iterator[EntryResult]:
    """Results as they come, or in the order of `work`; see `protocols.Pipeline.map`."""
    run = _Map(pipeline, workers, workers.count + ahead, timeout)
    todo, more = iter(work), True
    failure: BaseException | None = None
    waiting: dict[int, EntryResult] = {}
    taken = 0  # results given out, or ready to be
    try:
        while more or run.jobs or waiting:
            while more and run.number - taken < run.limit:
                try:
                    entry, packets = next(todo)
                except StopIteration:
                    more = False
                except Exception as error:  # noqa: BLE001 - results in flight come first, then this
                    more, failure = False, error
                else:
                    run.submit(entry, packets)
            if ordered and taken in waiting:
                result = waiting.pop(taken)
            elif run.jobs:
                number, result = run.wait()
                if ordered and number != taken:
                    waiting[number] = result
                    continue
            else:
                break
            taken += 1
            yield result
    finally:
        run.leave()
    if failure is not None:
        raise failure
