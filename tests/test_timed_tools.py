# SPDX-License-Identifier: MIT
"""Tools that hang, under a time limit; calls of one turn in parallel; what an abandoned call may still do (nothing).

Limits are asserted generously, because machines that run tests are busy: the medians of a quiet one are in docs/tools.md.
"""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from nodes import entry
from tool_kit import LONE, Log, answering, calling, error_of, opened, script

from rocketride_core import (
    MEMORY,
    TEXT,
    Cancelled,
    EntryStopped,
    Instance,
    Node,
    NodeSpec,
    RunTimeout,
    ToolError,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    UnknownTool,
    hookimpl,
    on,
)
from rocketride_core.pipeline import RunningPipeline

LIMIT = 0.15
SLACK = 1.5  # seconds that a busy machine may take longer

DEEP = (
    "agent: agent < text start", "sub: sub", "inner: do < text sub", "deaf: do < text inner",
    "r: respond < text agent", "r2: respond < text deaf", "box: box", "agent -tool-> sub", "agent -tool-> box",
)  # fmt: skip


@contextmanager
def released() -> Iterator[threading.Event]:
    """Set at the end, so that no test leaves a thread behind."""
    flag = threading.Event()
    try:
        yield flag
    finally:
        flag.set()


def spin(flag: threading.Event) -> Callable[..., None]:
    def loop(*_: Any) -> None:
        while not flag.is_set():
            pass

    return loop


def sleep(flag: threading.Event) -> Callable[..., None]:
    def nap(*_: Any) -> None:
        time.sleep(0.6)  # in C: no exception reaches it
        flag.wait(0)

    return nap


def block(flag: threading.Event) -> Callable[..., None]:
    def receive(*_: Any) -> None:
        here, there = socket.socketpair()
        with here, there:
            threading.Thread(target=lambda: (flag.wait(20), there.send(b"x")), daemon=True).start()
            here.recv(1)

    return receive


HANGS: dict[str, Callable[[threading.Event], Callable[..., None]]] = {"loop": spin, "sleep": sleep, "socket": block}


def settle(p: RunningPipeline, seconds: float = 10) -> int:
    """Wait until abandoned threads have come back; how many have not."""
    timed = p.bound.toolrunner.timed
    end = time.monotonic() + seconds
    while timed.abandoned and time.monotonic() < end:
        time.sleep(0.01)
    return timed.abandoned


# ---- an inner node that never returns


@pytest.mark.parametrize("how", HANGS)
def test_a_hanging_inner_node_is_a_time_out_and_the_agent_goes_on(how: str) -> None:
    errors: list[ToolTimeout] = []

    def text(instance: Instance, text: str) -> str:
        start = time.monotonic()
        error = calling(ToolTimeout, instance, "sub.run", {"text": "t"}, timeout=LIMIT)
        errors.append(error)
        took = time.monotonic() - start
        assert LIMIT <= took < LIMIT + SLACK
        assert LIMIT <= error.elapsed <= took
        return f"went on, box says {instance.tools.call('box.do', {'n': 7})}"

    with released() as flag, opened(*DEEP) as p:
        found = answering(p, agent={"text": text}, deaf={"text": HANGS[how](flag)})
        flag.set()
        assert settle(p) == 0
    assert found.checked()[TEXT] == ["went on, box says 7"]
    (error,) = errors
    assert (error.tool, error.component) == ("sub.run", "deaf")
    assert str(error) == f"sub.run did not answer within {LIMIT:g} s ({error.elapsed:.2f} s); deaf was running"


@pytest.mark.slow
@pytest.mark.parametrize("how", HANGS)
def test_time_outs_come_in_time(how: str) -> None:
    late: list[float] = []

    def text(instance: Instance, text: str) -> None:
        start = time.monotonic()
        calling(ToolTimeout, instance, "sub.run", {"text": "t"}, timeout=LIMIT)
        late.append(time.monotonic() - start - LIMIT)

    with released() as flag, opened(*DEEP) as p:
        for _ in range(20):
            answering(p, agent={"text": text}, deaf={"text": HANGS[how](flag)}).checked()
    print(f"{how}: {statistics.median(late) * 1000:.1f} ms late (median of 20), {max(late) * 1000:.0f} ms at most")
    assert min(late) >= 0
    assert statistics.median(late) < 0.5
    assert max(late) < 3


def test_a_tools_own_limit_the_kernels_and_the_calls_the_smallest_wins() -> None:
    def took(instance: Instance, name: str, **more: Any) -> float:
        return calling(ToolTimeout, instance, name, **more).elapsed

    limits: list[float] = []

    def text(instance: Instance, text: str) -> None:
        limits.extend([took(instance, "box.soon"), took(instance, "box.do"), took(instance, "box.soon", timeout=0.05)])

    with released() as flag, opened(*LONE, kernel={"tool_timeout": 0.4}) as p:
        wait = {"soon": lambda i, n: flag.wait(20), "do": lambda i, n: flag.wait(20)}
        answering(p, agent={"text": text}, box=wait).checked()
    assert 0.2 <= limits[0] < 0.2 + SLACK
    assert 0.4 <= limits[1] < 0.4 + SLACK
    assert 0.05 <= limits[2] < 0.05 + SLACK


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_time_at_all_starts_nothing(seconds: float) -> None:
    called: list[int] = []
    with opened(*LONE) as p:
        answering(
            p,
            agent={"text": lambda i, t: calling(ToolTimeout, i, "box.do", timeout=seconds) and None},
            box={"do": lambda i, n: called.append(n)},
        ).checked()
        assert settle(p, 0) == 0
    assert called == []


def test_a_timed_call_gives_its_result_and_its_error_as_any_other() -> None:
    def fail(instance: Instance, n: int) -> None:
        raise KeyError("row")

    def text(instance: Instance, text: str) -> Any:
        error = calling(ToolFailure, instance, "box.other", timeout=20)
        assert isinstance(error.__cause__, KeyError)
        calling(ToolInput, instance, "box.do", {"n": "x"}, timeout=20)
        return [instance.tools.call("box.do", {"n": n}, timeout=20) for n in range(50)]

    with opened(*LONE) as p:
        found = answering(p, agent={"text": text}, box={"other": fail})
        assert len(p.bound.toolrunner.timed._idle) == 1  # one helper served them all
    assert found.checked()[TEXT] == [repr(list(range(50)))]


def test_threads_that_were_abandoned_are_replaced_and_forgotten_when_they_come_back() -> None:
    with released() as flag, opened(*LONE) as p:
        box = {"both": lambda i, n: flag.wait(20)}
        answering(
            p,
            agent={"text": lambda i, t: [calling(ToolTimeout, i, "box.both", timeout=0.02) for _ in range(5)] and None},
            box=box,
        )
        assert p.bound.toolrunner.timed.abandoned == 5
        flag.set()
        assert settle(p) == 0
        found = answering(p, agent={"text": lambda i, t: i.tools.call("box.do", {"n": 3}, timeout=20)})
    assert found.checked()[TEXT] == ["3"]


def test_past_sixty_four_abandoned_threads_timed_calls_are_refused_and_others_are_not() -> None:
    inside: list[int] = []

    def text(instance: Instance, text: str) -> str:
        while len(inside) < 64:
            with suppress(ToolError):
                instance.tools.call("box.both", {}, timeout=0.02)
            if len(inside) >= 64:
                time.sleep(0.3)  # what had not begun to hang comes back
        error = calling(ToolFailure, instance, "box.both", timeout=20)
        assert (error.tool, error.component) == ("box.both", "box")
        assert "64 calls over their time limit still hang" in str(error)
        return str(instance.tools.call("box.do", {"n": 5}))

    with released() as flag, opened(*LONE) as p:

        def hang(instance: Instance, n: int) -> None:
            inside.append(n)
            try:
                flag.wait(60)
            finally:
                inside.pop()

        found = answering(p, agent={"text": text}, box={"both": hang})
        flag.set()
        assert settle(p) == 0
        again = answering(p, agent={"text": lambda i, t: i.tools.call("box.do", {"n": 1}, timeout=20)})
    assert found.checked()[TEXT] == ["5"]
    assert again.checked()[TEXT] == ["1"]


@pytest.mark.slow
def test_eight_workers_still_run_eight_objects_at_once_after_time_outs() -> None:
    together = threading.Barrier(8)

    def meet(instance: Instance, n: int) -> int:
        together.wait(20)
        return n

    with released() as flag, opened(*DEEP, kernel={"workers": 8}) as p:
        hanging = {"text": lambda i, t: i.emit(TEXT, calling(ToolTimeout, i, "sub.run", {"text": "t"}, timeout=LIMIT).tool)}
        work = ((entry(str(n), agent=hanging, deaf={"text": sleep(flag)}), (TEXT("go"),)) for n in range(16))
        assert [found.checked()[TEXT] for found in p.map(work)] == [["sub.run"]] * 16
        meeting = {"text": lambda i, t: i.emit(TEXT, str(i.tools.call("box.do", {"n": 1}, timeout=30)))}
        work = ((entry(str(n), agent=meeting, box={"do": meet}), (TEXT("go"),)) for n in range(8))
        assert [found.checked()[TEXT] for found in p.map(work)] == [["1"]] * 8


# ---- what comes too late has no effect


def test_late_emits_late_results_and_late_calls_have_no_effect() -> None:
    log = Log()
    over = threading.Event()

    def late(instance: Instance, text: str) -> None:
        time.sleep(LIMIT + 0.3)  # the exception arrives when it returns to Python
        log.say("woke")
        instance.emit(TEXT, "late")
        log.say("emitted")

    def text(instance: Instance, text: str) -> str:
        calling(ToolTimeout, instance, "sub.run", {"text": "t"}, timeout=LIMIT)
        over.wait(1)
        return "in time"

    with opened(*DEEP) as p:
        found = answering(p, agent={"text": text}, inner={"text": late}, deaf={"text": lambda i, t: log.say("heard")})
        assert settle(p) == 0
    assert found.checked()[TEXT] == ["in time"]
    assert "heard" not in log
    assert "emitted" not in log


def test_an_abandoned_handler_that_swallows_everything_can_neither_emit_nor_call() -> None:
    tried: list[str] = []

    def stubborn(instance: Instance, text: str) -> None:
        end = time.monotonic() + LIMIT + 0.4
        while time.monotonic() < end:
            try:
                time.sleep(0.01)
            except BaseException:
                tried.append("swallowed")
        try:
            instance.emit(TEXT, "late")
        except BaseException as error:
            tried.append(type(error).__name__)
            raise

    def stubborn_tool(instance: Instance, n: int) -> Any:
        end = time.monotonic() + LIMIT + 0.4
        while time.monotonic() < end:
            try:
                time.sleep(0.01)
            except BaseException:
                tried.append("swallowed")
        assert instance.cancelled
        try:
            return instance.tools.call("deep.do", {"n": 1})
        except BaseException as error:
            tried.append(type(error).__name__)
            raise

    def text(instance: Instance, text: str) -> None:
        calling(ToolTimeout, instance, "box.do", timeout=LIMIT)
        settle(p)

    lines = [*DEEP, "deep: box", "box -tool-> deep"]
    journal: list[str] = []
    with opened(*lines) as p:
        answering(
            p,
            journal=journal,
            agent={"text": lambda i, t: calling(ToolTimeout, i, "sub.run", {"text": "t"}, timeout=LIMIT) and None},
            inner={"text": stubborn},
        ).checked()
        assert settle(p) == 0
        assert tried == ["swallowed", "EntryStopped"]
        assert "text deaf late" not in journal
        tried.clear()
        answering(
            p,
            journal=journal,
            agent={"text": text},
            box={"do": stubborn_tool},
        ).checked()
        assert settle(p) == 0
    assert tried == ["swallowed", "EntryStopped"]
    assert "do deep 1" not in journal


def test_a_call_is_not_tried_again_after_its_time_out() -> None:
    calls: list[int] = []
    with released() as flag, opened(*LONE) as p:
        hang = {"do": lambda i, n: [calls.append(n), flag.wait(20)]}  # type: ignore[func-returns-value]
        answering(p, agent={"text": lambda i, t: calling(ToolTimeout, i, "box.do", timeout=0.05) and None}, box=hang).checked()
        flag.set()
        settle(p)
    assert calls == [0]


class Guarded(Node[None]):
    """text → text; what it opens, it closes."""

    spec = NodeSpec("guarded", title="Guarded")
    log = Log()

    @contextmanager
    def made(self, what: str) -> Iterator[str]:
        self.log.say(f"open {what}")
        yield what
        self.log.say(f"close {what} on {threading.current_thread().name.rpartition('-')[0]}")

    def worker(self) -> Any:
        return self.made("worker")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.enter(self.made("instance"))
        instance.per_worker(self.worker)
        told = script(instance, "text")
        if told is not None:
            told(instance, text)
        instance.emit(TEXT, text)

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        self.log.say(f"closed {threading.current_thread().name.rpartition('-')[0]}")


def test_an_abandoned_thread_closes_what_it_opened_itself_when_it_returns() -> None:
    Guarded.log = log = Log()
    lines = ["agent: agent < text start", "sub: sub", "inner: guarded < text sub", "r: respond < text inner", "agent -tool-> sub"]
    with opened(*lines, nodes=[Guarded]) as p:
        scripts: dict[str, Any] = {
            "agent": {"text": lambda i, t: calling(ToolTimeout, i, "sub.run", {"text": "t"}, timeout=LIMIT) and None},
            "inner": {"text": lambda i, t: time.sleep(LIMIT + 0.3)},
        }
        answering(p, **scripts).checked()
        assert log == ["open instance", "open worker"]  # it hangs still
        assert settle(p) == 0
        assert log == [
            "open instance", "open worker", "closed rocketride-timed", "close instance on rocketride-timed",
            "close worker on rocketride-timed",
        ]  # fmt: skip
    assert len(log) == 5


def test_only_the_lock_that_an_abandoned_thread_holds_is_renewed() -> None:
    """One that only waited for its turn must not let others in before theirs."""
    log = Log()
    begun, go = threading.Event(), threading.Event()

    def slow(instance: Instance, n: int) -> int:
        log.say(f"begin {n}")
        if n == 1:
            begun.set()
            assert go.wait(20)
        log.say(f"end {n}")
        return n

    def text(instance: Instance, text: str) -> Any:
        first = threading.Thread(target=lambda: instance.tools.call("box.do", {"n": 1}))
        first.start()
        assert begun.wait(20)
        calling(ToolTimeout, instance, "box.do", {"n": 2}, timeout=0.1)
        third = threading.Thread(target=lambda: instance.tools.call("box.do", {"n": 3}))
        third.start()
        time.sleep(0.2)
        go.set()
        first.join(20)
        third.join(20)

    with opened(*LONE) as p:
        answering(p, agent={"text": text}, box={"do": slow}).checked()
        assert settle(p) == 0
    assert log == ["begin 1", "end 1", "begin 3", "end 3"]


def test_after_a_time_out_its_component_can_be_called_again_those_it_was_calling_too() -> None:
    lines = [*LONE, "deep: box", "box -tool-> deep", "agent -tool-> deep"]

    def text(instance: Instance, text: str) -> list[Any]:
        error = calling(ToolTimeout, instance, "box.do", {"n": 1}, timeout=LIMIT)
        assert error.component == "deep"
        return [instance.tools.call("box.other", {"n": 2}), instance.tools.call("deep.other", {"n": 3})]

    with released() as flag, opened(*lines) as p:
        scripts: dict[str, Any] = {
            "box": {"do": lambda i, n: i.tools.call("deep.do", {"n": n})},
            "deep": {"do": lambda i, n: flag.wait(20)},
        }
        found = answering(p, agent={"text": text}, **scripts)
    assert found.checked()[TEXT] == ["[2, 3]"]


def test_who_waits_for_a_call_that_hangs_gets_its_turn_when_that_is_given_up() -> None:
    said: list[Any] = []

    def text(instance: Instance, text: str) -> None:
        waiting = threading.Thread(target=lambda: said.append(instance.tools.call("box.other", {"n": 2})))

        def start() -> None:
            time.sleep(0.05)
            waiting.start()

        threading.Thread(target=start).start()
        calling(ToolTimeout, instance, "box.do", {"n": 1}, timeout=0.3)
        time.sleep(0.01)
        waiting.join(20)

    with released() as flag, opened(*LONE) as p:
        answering(p, agent={"text": text}, box={"do": lambda i, n: flag.wait(20)}).checked()
    assert said == [2]


def test_a_tool_with_a_limit_that_calls_one_with_another() -> None:
    """The outer one expires first: the inner call is given up with it. The inner one first: the outer goes on."""
    lines = [*LONE, "deep: box", "box -tool-> deep"]
    seen: list[Any] = []

    def inner_first(instance: Instance, n: int) -> str:
        return calling(ToolTimeout, instance, "deep.do", timeout=0.05).component

    def outer_first(instance: Instance, n: int) -> Any:
        try:
            return instance.tools.call("deep.do", {}, timeout=20)
        except BaseException as error:
            seen.append(type(error))
            raise

    def text(instance: Instance, text: str) -> str:
        said = instance.tools.call("box.do", {}, timeout=20)
        error = calling(ToolTimeout, instance, "box.other", timeout=LIMIT)
        return f"{said} {error.tool} {error.component}"

    with released() as flag, opened(*lines) as p:
        box = {"do": inner_first, "other": outer_first}
        found = answering(p, agent={"text": text}, box=box, deep={"do": lambda i, n: flag.wait(20)})
        assert p.bound.toolrunner.timed.abandoned >= 1
        flag.set()
        assert settle(p) == 0
    assert found.checked()[TEXT] == ["deep box.other deep"]
    assert seen == [EntryStopped]


def test_a_tool_is_told_that_its_call_was_given_up() -> None:
    """By `cancelled`, `on_cancel`, and the end of what it awaits."""
    told: list[str] = []
    closed = threading.Event()

    def listening(instance: Instance, n: int) -> None:
        here, there = socket.socketpair()

        def hang_up() -> None:
            told.append("callback")
            here.shutdown(socket.SHUT_RDWR)

        with there, here, instance.on_cancel(hang_up):
            try:
                told.append(f"received {here.recv(1)!r}")
            finally:
                told.append(f"cancelled {instance.cancelled}")
                closed.set()

    with opened(*LONE) as p:
        text = lambda i, t: calling(ToolTimeout, i, "box.do", timeout=LIMIT) and None  # noqa: E731
        answering(p, agent={"text": text}, box={"do": listening}).checked()
        assert closed.wait(20)
        assert settle(p) == 0
    assert told[0] == "callback"
    assert told[-1] == "cancelled True"


def test_what_a_tool_awaits_is_cancelled_with_its_call() -> None:
    import asyncio

    ended = threading.Event()

    async def ask() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.set()
            raise

    with opened(*LONE) as p:
        text = lambda i, t: calling(ToolTimeout, i, "box.do", timeout=LIMIT) and None  # noqa: E731
        answering(p, agent={"text": text}, box={"do": lambda i, n: i.wait(ask())}).checked()
        assert ended.wait(5)
        assert settle(p) == 0


# ---- the caller is stopped meanwhile


def test_a_caller_that_is_cancelled_does_not_wait_for_its_tool() -> None:
    begun = threading.Event()
    with released() as flag, opened(*LONE) as p:
        hang = {"do": lambda i, n: [begun.set(), flag.wait(30)]}  # type: ignore[func-returns-value]
        run = p.start(entry("e", agent={"text": lambda i, t: i.tools.call("box.do", {}, timeout=30)}, box=hang), TEXT("go"))
        with run as running:
            assert begun.wait(20)
            start = time.monotonic()
            running.cancel()
            error = error_of(running.result(20))
        assert time.monotonic() - start < SLACK
        flag.set()
        assert settle(p) == 0
    assert isinstance(error, Cancelled)


@pytest.mark.parametrize("of_tool", [None, 30.0])
def test_a_caller_over_its_own_limit_does_not_wait_for_its_tool_either(of_tool: float | None) -> None:
    """The entry fails, as it would anywhere else: not the tool, which the agent might handle and go on."""
    went_on: list[str] = []

    def text(instance: Instance, text: str) -> None:
        try:
            instance.tools.call("box.do", {}, timeout=of_tool)
        except ToolError:
            went_on.append("handled")

    with released() as flag, opened(*LONE) as p:
        for _ in range(5):
            start = time.monotonic()
            found = answering(p, timeout=LIMIT, agent={"text": text}, box={"do": lambda i, n: flag.wait(30)})
            assert time.monotonic() - start < LIMIT + SLACK
            assert isinstance(error_of(found), RunTimeout)
        flag.set()
        assert settle(p) == 0
    assert went_on == []


def test_a_limit_of_a_nested_entry_ends_a_tool_call_inside_it() -> None:
    lines = [
        "agent: agent < text start", "sub: sub", "inner: agent < text sub", "box: box", "r: respond < text inner",
        "r2: respond < text agent", "agent -tool-> sub", "inner -tool-> box",
    ]  # fmt: skip

    def limited(instance: Instance, text: str) -> str:
        with instance.nested(timeout=LIMIT) as child:
            child.send(TEXT(text))
            return type(child.result().error).__name__

    with released() as flag, opened(*lines) as p:
        found = answering(
            p,
            agent={"text": lambda i, t: i.tools.call("sub.run", {"text": t})},
            sub={"with": limited},
            inner={"text": lambda i, t: i.tools.call("box.do", {})},
            box={"do": lambda i, n: flag.wait(30)},
        )
        flag.set()
        assert settle(p) == 0
    assert found.checked()[TEXT] == ["RunTimeout"]


# ---- calls of one turn


def test_a_turn_gives_results_in_order_and_errors_as_values() -> None:
    def fail(instance: Instance, n: int) -> int:
        if n == 2:
            raise ValueError("two")
        return n

    def text(instance: Instance, text: str) -> None:
        calls: list[Any] = [("box.both", {"n": n}) for n in range(4)]
        calls += [("box.none", {}), ("box.do", {"n": "x"}), ("box.do", {"n": 9}), ("nobody", None), ("box.both", {"n": 7})]
        found = list(instance.tools.call_all(calls))
        assert [f for f in found if not isinstance(f, Exception)] == [0, 1, 3, 9, 7]
        assert [type(f) for f in found if isinstance(f, Exception)] == [ToolFailure, UnknownTool, ToolInput, UnknownTool]
        assert isinstance(found[2], ToolFailure)
        assert instance.tools.call_all([]) == []

    with opened(*LONE) as p:
        answering(p, agent={"text": text}, box={"both": fail}).checked()


def test_concurrent_calls_of_a_turn_overlap() -> None:
    together = threading.Barrier(4)
    with opened(*LONE, kernel={"workers": 4}) as p:
        found = answering(
            p,
            agent={"text": lambda i, t: list(i.tools.call_all([("box.both", {"n": n}) for n in range(4)]))},
            box={"both": lambda i, n: (together.wait(20), n)[1]},
        )
    assert found.checked()[TEXT] == ["[0, 1, 2, 3]"]


def test_calls_of_two_components_overlap_and_those_of_one_keep_their_order() -> None:
    lines = [*LONE, "two: box", "agent -tool-> two"]
    together = threading.Barrier(2)
    journal: list[str] = []

    def meet(instance: Instance, n: int) -> int:
        if n == 0:
            together.wait(20)
        return n

    with opened(*lines) as p:
        calls = [(f"{id}.{name}", {"n": n}) for n in range(3) for id in ("box", "two") for name in ("do", "other")]
        found = answering(
            p,
            journal=journal,
            agent={"text": lambda i, t: list(i.tools.call_all(calls))},
            box={"do": meet},
            two={"do": meet},
        )
    assert found.checked()[TEXT] == [repr([n for n in range(3) for _ in range(4)])]
    for id in ("box", "two"):
        mine = [line for line in journal if line.split()[0] in ("do", "other") and line.split()[1] == id]
        assert mine == [f"{name} {id} {n}" for n in range(3) for name in ("do", "other")]


def test_calls_of_one_component_never_overlap_whoever_calls() -> None:
    inside: list[int] = []
    most: list[int] = []

    def count(instance: Instance, n: int) -> int:
        inside.append(n)
        most.append(len(inside))
        time.sleep(0.002)
        inside.remove(n)
        return n

    def text(instance: Instance, text: str) -> None:
        threads = [
            threading.Thread(target=lambda k=k: instance.tools.call_all([("box.do", {"n": k}), ("box.other", {"n": -k})]))
            for k in range(1, 9)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    with opened(*LONE) as p:
        answering(p, agent={"text": text}, box={"do": count, "other": count}).checked()
    assert max(most) == 1
    assert len(most) == 16


def test_two_objects_are_not_serialised_against_each_other() -> None:
    together = threading.Barrier(2)
    with opened(*LONE, kernel={"workers": 2}) as p:
        script = {"text": lambda i, t: i.emit(TEXT, str(i.tools.call("box.do", {})))}
        work = ((entry(str(n), agent=script, box={"do": lambda i, n: together.wait(20) * 0}), (TEXT("go"),)) for n in range(2))
        assert [found.checked()[TEXT] for found in p.map(work)] == [["0"], ["0"]]


def test_a_time_out_in_a_turn_is_a_value_and_the_others_answer() -> None:
    with released() as flag, opened(*LONE, kernel={"tool_timeout": LIMIT}) as p:
        found = answering(
            p,
            agent={"text": lambda i, t: [type(f).__name__ for f in i.tools.call_all([("box.both", {"n": n}) for n in range(4)])]},
            box={"both": lambda i, n: flag.wait(20) if n == 1 else n},
        )
    assert found.checked()[TEXT] == ["['int', 'ToolTimeout', 'int', 'int']"]


def test_an_entry_that_is_stopped_ends_its_turn() -> None:
    begun = threading.Barrier(3)
    after: list[Any] = []

    def hang(instance: Instance, n: int) -> int:
        begun.wait(20)
        while not instance.cancelled:
            time.sleep(0.005)
        return n

    def text(instance: Instance, text: str) -> None:
        after.extend(instance.tools.call_all([("box.both", {"n": 1}), ("two.both", {"n": 2})]))
        instance.tools.call("box.do", {})
        after.append("called")

    with opened(*LONE, "two: box", "agent -tool-> two") as p:
        run = p.start(entry("e", agent={"text": text}, box={"both": hang}, two={"both": hang}), TEXT("go"))
        with run as running:
            begun.wait(20)
            running.cancel()
            assert isinstance(running.result(20).error, Cancelled)
    assert "called" not in after


def test_what_no_tool_error_is_ends_the_turn_too() -> None:
    """Ctrl-C in one of the calls is not a value."""

    def interrupt(instance: Instance, n: int) -> int:
        if n == 1:
            raise KeyboardInterrupt
        return n

    with opened(*LONE) as p, pytest.raises(KeyboardInterrupt):
        answering(
            p, agent={"text": lambda i, t: i.tools.call_all([("box.both", {"n": n}) for n in range(3)])}, box={"both": interrupt}
        )


def test_an_abandoned_call_takes_its_whole_turn_with_it() -> None:
    """A tool under a limit makes calls of its own in parallel: on expiry they end, with their entries."""
    lines = [
        "agent: agent < text start", "box: box", "sub: sub", "inner: do < text sub", "r: respond < text inner",
        "agent -tool-> box", "box -tool-> sub",
    ]  # fmt: skip
    ended = Log()

    def hang(instance: Instance, text: str) -> None:
        try:
            while True:
                time.sleep(0.001)
        finally:
            ended.say(instance.entry.name)

    with opened(*lines) as p:
        found = answering(
            p,
            agent={"text": lambda i, t: calling(ToolTimeout, i, "box.do", timeout=LIMIT).component and None},
            box={"do": lambda i, n: i.tools.call_all([("sub.run", {"text": str(k)}) for k in range(4)])},
            inner={"text": hang},
        )
        found.checked()
        assert settle(p) == 0
        end = time.monotonic() + 10
        while len(ended) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.1)
        workers = p.bound.toolrunner.helpers
        assert workers.drain(10)
    assert len(ended) >= 2  # those that had begun; the rest never does


@pytest.mark.slow
def test_no_deadlock_three_deep_with_every_worker_busy() -> None:
    """8 objects on 8 workers, each agent with 4 calls a turn into a sub-pipeline whose agent does the same, twice more."""
    lines = ["agent: agent < text start", "r: respond < text agent"]
    for n, above in enumerate(["agent", "a1", "a2"], 1):
        lines += [f"s{n}: sub", f"a{n}: agent < text s{n}", f"r{n}: respond < text a{n}", f"{above} -tool-> s{n}"]

    def turn(n: int) -> dict[str, Any]:
        def text(instance: Instance, text: str) -> None:
            found = instance.tools.call_all([(f"s{n}.run", {"text": f"{text}{k}"}) for k in range(4)])
            instance.emit(TEXT, ",".join(map(str, found)))

        return {"text": text}

    scripts: dict[str, Any] = {"agent": turn(1), "a1": turn(2), "a2": turn(3), "a3": {"text": lambda i, t: i.emit(TEXT, t)}}
    with opened(*lines, kernel={"workers": 8}) as p:
        work = ((entry(str(n), **scripts), (TEXT(f"{n}-"),)) for n in range(8))
        found = list(p.map(work, ordered=True))
    for n, result in enumerate(found):
        assert result.checked()[TEXT] == [",".join(f"{n}-{a}{b}{c}" for a in range(4) for b in range(4) for c in range(4))]


@pytest.mark.slow
def test_sixty_four_calls_at_once_give_sixty_four_right_answers() -> None:
    lines = [
        "agent: agent < text start",
        "sub: sub",
        "inner: mark < text sub",
        "r: respond < text agent",
        "r2: respond < text inner",
        "agent -tool-> sub",
    ]

    def text(instance: Instance, text: str) -> None:
        found = instance.tools.call_all([("sub.run", {"text": f"{text}{k}"}) for k in range(8)])
        instance.emit(TEXT, ",".join(map(str, found)))

    with opened(*lines, kernel={"workers": 8}) as p:
        for _ in range(5):
            found = list(p.map(((entry(str(n), agent={"text": text}), (TEXT(f"{n}:"),)) for n in range(8)), ordered=True))
            assert [f.checked()[TEXT] for f in found] == [[",".join(f"{n}:{k}>inner" for k in range(8))] for n in range(8)]


def test_memories_of_calls_of_one_turn_are_apart() -> None:
    lines = [*LONE, "mem: store", "box -memory-> mem", "agent -memory-> mem"]
    together = threading.Barrier(3)

    def remember(instance: Instance, n: int) -> Any:
        memory = instance.one(MEMORY)
        memory.put("n", n)
        together.wait(20)
        return [memory.get("n"), list(memory.keys())]

    def text(instance: Instance, text: str) -> Any:
        instance.one(MEMORY).put("mine", 1)
        found = list(instance.tools.call_all([("box.both", {"n": n}) for n in range(3)]))
        return [found, list(instance.one(MEMORY).keys())]

    with opened(*lines, kernel={"workers": 3}) as p:
        found = answering(p, agent={"text": text}, box={"both": remember})
    assert found.checked()[TEXT] == [repr([[[n, ["n"]] for n in range(3)], ["mine"]])]


def test_a_memory_belongs_to_the_call_that_is_on_a_helper_thread_too() -> None:
    lines = [*LONE, "mem: store", "box -memory-> mem"]
    with opened(*lines) as p:
        found = answering(
            p,
            agent={"text": lambda i, t: [i.tools.call("box.do", {"n": n}, timeout=20) for n in range(2)]},
            box={"do": lambda i, n: (i.one(MEMORY).put(str(n), n), list(i.one(MEMORY).keys()))[1]},
        )
    assert found.checked()[TEXT] == ["[['0'], ['1']]"]


# ---- the end


def test_closing_a_pipeline_does_not_wait_for_ever_for_what_hangs() -> None:
    with released() as flag:
        start = 0.0
        with opened(*LONE) as p:
            answering(
                p,
                agent={"text": lambda i, t: calling(ToolTimeout, i, "box.do", timeout=0.05) and None},
                box={"do": lambda i, n: flag.wait(30)},
            ).checked()
            start = time.monotonic()
        assert time.monotonic() - start < 2 + SLACK


HANGING = """
import socket, sys, threading, time
sys.path.insert(0, {tests!r})
from tool_kit import answering, opened
from rocketride_core import TEXT, ToolTimeout

def spin(*_):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass

here, there = socket.socketpair()
HANGS = dict(spin=spin, sleep=lambda *_: time.sleep(1000), socket=lambda *_: here.recv(1))
LINES = ["agent: agent < text start", "sub: sub", "inner: do < text sub", "r: respond < text agent", "r2: respond < text inner", "agent -tool-> sub"]

def text(instance, text):
    found = []
    for n in range(3):
        try:
            instance.tools.call("sub.run", dict(text="t"), timeout=1.0)
        except ToolTimeout as error:
            found.append(error.component)
    return ",".join(found)

with opened(*LINES) as p:
    found = answering(p, agent=dict(text=text), inner=dict(text=HANGS[{how!r}]))
    print(found.checked()[TEXT][0], p.bound.toolrunner.timed.abandoned, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["spin", "sleep", "socket"])
def test_a_process_ends_with_rc_0_while_threads_hang(how: str, tmp_path: Path) -> None:
    program = tmp_path / "hanging.py"
    program.write_text(textwrap.dedent(HANGING.format(tests=str(Path(__file__).parent), how=how)))
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (ran.returncode, ran.stdout.strip()) == (0, "inner,inner,inner 3"), ran.stderr
    assert "Traceback" not in ran.stderr
    assert "terminate" not in ran.stderr
