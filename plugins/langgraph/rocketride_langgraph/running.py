# SPDX-License-Identifier: MIT
"""Several calls at once: on daemon threads, so that one that hangs holds up neither its caller nor the end of the program, or on a loop."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

import attrs

from rocketride_core import ToolTimeout

T = TypeVar("T")

__all__ = ["Job", "Outcome", "blocking", "in_thread", "late", "limited", "own", "run_jobs"]


@attrs.frozen
class Outcome:
    """A result, or what was raised instead."""

    value: Any = None
    error: BaseException | None = None

    def given(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


@attrs.frozen
class Job:
    """A call to run.

    Parameters:
        name: of the tool, for messages.
        limit: seconds, None is no limit.
        inline: it may run on the caller's thread when it is alone.
        serial: jobs with the same text do not overlap, and wait without their limit running; "" for one that may.
    """

    name: str
    work: Callable[[], Any]
    limit: float | None = None
    inline: bool = True
    serial: str = ""


def late(name: str, limit: float) -> ToolTimeout:
    return ToolTimeout(f"{name} did not answer within {limit:g} s", tool=name, elapsed=limit)


def own(name: str, error: BaseException) -> BaseException:
    """What a tool raised, as its call reports it, on threads and on a loop alike.

    Python makes a RuntimeError of a StopIteration that leaves a coroutine: here it is itself again. A CancelledError that the tool
    raised, and nobody asked for, is a RuntimeError: it ends this one call, and does not pass for the end of them all.
    """
    inner = error.__cause__
    if isinstance(error, RuntimeError) and isinstance(inner, StopIteration | StopAsyncIteration) and " raised Stop" in str(error):
        return inner
    if isinstance(error, asyncio.CancelledError):
        cancelled = RuntimeError(f"{name} was cancelled from inside")
        cancelled.__cause__ = error
        return cancelled
    return error


def _outcome(work: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(work())
    except BaseException as error:  # noqa: BLE001 - handed to the thread that waits, which raises what is no Exception
        return Outcome(error=error)


def _ran(job: Job, context: Context) -> Outcome:
    outcome = _outcome(partial(context.run, job.work))
    return outcome if outcome.error is None else Outcome(error=own(job.name, outcome.error))


def run_jobs(jobs: Sequence[Job], most: int, stops: Callable[[BaseException], bool]) -> dict[int, Outcome]:
    """Run all, at most `most` at once; each sees the context variables of the caller.

    Parameters:
        stops: is it an error after which nothing more is begun?

    Returns: the outcomes by the number of the job, without those that were not begun.

    Raises:
        BaseException: of a job, at once where it is no Exception.
    """
    if len(jobs) == 1 and jobs[0].inline and jobs[0].limit is None:
        return {0: _checked(_ran(jobs[0], copy_context()))}
    turn = _Turn(jobs, stops)
    try:
        for _ in range(min(most, len(jobs))):
            if not turn.todo:  # quick calls are over before a thread for each would have started
                break
            turn.work()
        return _gathered(turn, jobs)
    except BaseException:  # of a job, or Ctrl-C: what runs is left to itself, nothing more is begun
        turn.stop()
        raise


def _gathered(turn: _Turn, jobs: Sequence[Job]) -> dict[int, Outcome]:
    ends, outcomes = dict[int, float](), dict[int, Outcome]()
    while not turn.over(outcomes):
        try:
            number, outcome = turn.said.get(timeout=max(0.0, min(ends.values()) - time.monotonic()) if ends else None)
        except Empty:
            number = min(ends, key=ends.__getitem__)
            outcome = turn.give_up(number)
        if number in outcomes:  # it came after all
            continue
        if outcome is None:
            ends[number] = time.monotonic() + (jobs[number].limit or 0)
            continue
        ends.pop(number, None)
        outcomes[number] = _checked(outcome)
    return outcomes


def _checked(outcome: Outcome) -> Outcome:
    if outcome.error is not None and not isinstance(outcome.error, Exception):
        raise outcome.error
    return outcome


class _Turn:
    """Jobs, and the threads that take them one after the other."""

    def __init__(self, jobs: Sequence[Job], stops: Callable[[BaseException], bool]) -> None:
        self._jobs, self._stops = jobs, stops
        self._context = copy_context()
        self._lock = Lock()
        self._begun: set[int] = set()
        self._given_up: set[int] = set()
        self._busy: set[str] = set()
        self.todo = deque(range(len(jobs)))
        self.said: SimpleQueue[tuple[int, Outcome | None]] = SimpleQueue()  # an outcome, or None: it has begun and has a limit

    def work(self) -> None:
        """One more thread."""
        Thread(target=self._serve, name="rocketride-tools", daemon=True).start()

    def _serve(self) -> None:
        while (number := self._next()) is not None:
            job = self._jobs[number]
            if job.limit is not None:
                self.said.put((number, None))
            self.said.put((number, self.settled(number, _ran(job, self._context.copy()))))
            if number in self._given_up:
                return

    def give_up(self, number: int) -> Outcome:
        """Leave the thread that hangs in a job to itself, and let another take its place."""
        outcome = self.settled(number, Outcome(error=late(self._jobs[number].name, self._jobs[number].limit or 0)), given_up=True)
        self.work()
        return outcome

    def settled(self, number: int, outcome: Outcome, *, given_up: bool = False) -> Outcome:
        """The outcome, after which nothing is begun where it says so."""
        error = outcome.error
        if error is not None and (not isinstance(error, Exception) or self._stops(error)):
            self.stop()
        with self._lock:
            if number not in self._given_up:
                self._busy.discard(self._jobs[number].serial)
            if given_up:
                self._given_up.add(number)
        return outcome

    def _next(self) -> int | None:
        """The first job that need not wait for another; whoever runs that other one comes back for it."""
        with self._lock:
            for number in self.todo:
                serial = self._jobs[number].serial
                if serial not in self._busy:
                    self.todo.remove(number)
                    self._begun.add(number)
                    if serial:
                        self._busy.add(serial)
                    return number
        return None

    def over(self, outcomes: Mapping[int, Outcome]) -> bool:
        with self._lock:
            return not self.todo and len(outcomes) == len(self._begun)

    def stop(self) -> None:
        with self._lock:
            self.todo.clear()


async def in_thread(work: Callable[[], Any]) -> Any:
    """Its result, without blocking the loop; when the caller is cancelled, the thread is left to itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Outcome] = loop.create_future()
    context = copy_context()

    def settle(outcome: Outcome) -> None:
        if not future.done():
            future.set_result(outcome)

    def run() -> None:
        outcome = _outcome(lambda: context.run(work))
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, outcome)

    Thread(target=run, name="rocketride-tool", daemon=True).start()
    return (await future).given()


async def limited(name: str, limit: float | None, work: Awaitable[T]) -> T:
    """The result, in time.

    Raises:
        ToolTimeout: after `limit` seconds; it was cancelled.
    """
    try:
        async with asyncio.timeout(limit) as scope:
            return await work
    except TimeoutError as error:
        if scope.expired() and limit is not None:
            raise late(name, limit) from error
        raise


def blocking(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end on a loop of its own, on this thread, or on another one where this has a loop running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    finished: SimpleQueue[Outcome] = SimpleQueue()
    context = copy_context()
    target = lambda: finished.put(_outcome(lambda: context.run(lambda: asyncio.run(make()))))  # noqa: E731
    Thread(target=target, name="rocketride-tool-loop", daemon=True).start()
    result: T = finished.get().given()
    return result
