# SPDX-License-Identifier: MIT
"""Several calls at once: on daemon threads, so that one that hangs holds up neither its caller nor the end of the program, or on a loop."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import attrs

from rocketride_core import ToolTimeout

T = TypeVar("T")

__all__ = ["Job", "Outcome", "blocking", "in_thread", "late", "limited", "run_jobs"]


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
    """

    name: str
    work: Callable[[], Any]
    limit: float | None = None
    inline: bool = True


def late(name: str, limit: float) -> ToolTimeout:
    return ToolTimeout(f"{name} did not answer within {limit:g} s", tool=name, elapsed=limit)


def _outcome(work: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(work())
    except BaseException as error:  # noqa: BLE001 - handed to the thread that waits, which raises what is no Exception
        return Outcome(error=error)


def run_jobs(jobs: Sequence[Job], most: int, stops: Callable[[BaseException], bool]) -> list[Outcome]:
    """Run all, at most `most` at once; each sees the context variables of the caller.

    Parameters:
        stops: is it an error after which nothing more is begun? Those not begun are left out of the outcomes' end.

    Raises:
        BaseException: of a job, at once where it is no Exception.
    """
    if len(jobs) == 1 and jobs[0].inline and jobs[0].limit is None:
        return [_checked(_outcome(lambda: copy_context().run(jobs[0].work)))]
    finished: SimpleQueue[tuple[int, Outcome]] = SimpleQueue()
    todo, running, outcomes = deque(range(len(jobs))), dict[int, float | None](), dict[int, Outcome]()
    while todo or running:
        while todo and len(running) < most:
            number = todo.popleft()
            limit = jobs[number].limit
            running[number] = None if limit is None else time.monotonic() + limit
            _begin(number, jobs[number], finished)
        ends = [end for end in running.values() if end is not None]
        try:
            number, outcome = finished.get(timeout=max(0.0, min(ends) - time.monotonic()) if ends else None)
        except Empty:
            now = time.monotonic()
            over = [number for number, end in running.items() if end is not None and end <= now]
            done = [(number, Outcome(error=late(jobs[number].name, jobs[number].limit or 0))) for number in over]
        else:
            done = [(number, outcome)] if number in running else []
        for number, outcome in done:
            del running[number]
            outcomes[number] = _checked(outcome)
            if outcome.error is not None and stops(outcome.error):
                todo.clear()
    return [outcomes[number] for number in sorted(outcomes)]


def _checked(outcome: Outcome) -> Outcome:
    if outcome.error is not None and not isinstance(outcome.error, Exception):
        raise outcome.error
    return outcome


def _begin(number: int, job: Job, finished: SimpleQueue[tuple[int, Outcome]]) -> None:
    context = copy_context()
    target = lambda: finished.put((number, _outcome(lambda: context.run(job.work))))  # noqa: E731
    Thread(target=target, name=f"rocketride-tool-{job.name}", daemon=True).start()


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
