# SPDX-License-Identifier: MIT
"""`run`, `start`, `submit` and their asyncio forms: input, events, result, cancel, children, sources."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
from typing import Any

import pytest
from nodes import Script, alone, entry, first, opened, raising, run, wire

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    TEXT,
    Cancelled,
    Entry,
    EntryStopped,
    Feed,
    Instance,
    Node,
    NodeSpec,
    RunError,
    RunTimeout,
    hookimpl,
    on,
    source,
)
from rocketride_core.pipeline import RunningPipeline

LINE = "a: do < text start", "b: do < text a", "r: respond < text b"


def until(condition: Any, seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.002)


class Block:
    """A script that blocks until it is let go, or the entry is cancelled."""

    def __init__(self) -> None:
        self.began, self.free = threading.Event(), threading.Event()

    def text(self, instance: Instance, text: str, event: str = "") -> None:
        if event:
            instance.event(event)
        self.began.set()
        with instance.on_cancel(self.free.set):
            assert self.free.wait(20)
        instance.emit(TEXT, text)

    @property
    def script(self) -> Script:
        return {"text": self.text}


def say(count: int) -> Script:
    def text(instance: Instance, text: str) -> None:
        for n in range(count):
            instance.event("step", n=n, text=text)
        instance.emit(TEXT, text)

    return {"text": text}


# ---- start


def test_start_runs_on_a_worker_and_takes_further_input() -> None:
    threads: list[int] = []
    note = first(lambda *_: threads.append(threading.get_ident()))
    with opened(*LINE) as p, p.start(entry("e", a=note), TEXT("x")) as going:
        going.send(TEXT("y"))
        until(lambda: len(threads) == 2)
        going.send(TEXT("z"))
        assert going.result(5).checked()[TEXT] == ["x", "y", "z"]
        assert going.result() is going.result(0)
    assert threading.get_ident() not in threads


def test_without_with_it_begins_at_the_first_result() -> None:
    with opened(*LINE) as p:
        assert p.start(Entry("e"), TEXT("x")).result(5)[TEXT] == ["x"]


def test_leaving_the_block_finishes_it() -> None:
    journal: list[str] = []
    with opened(*LINE) as p:
        with p.start(entry("e", journal), TEXT("x")) as going:
            pass
        assert journal[-1] == "close b"
        assert going.result(0)[TEXT] == ["x"]


def test_leaving_the_block_by_an_error_cancels_the_entry() -> None:
    block = Block()
    with opened(*LINE) as p:
        with pytest.raises(LookupError), p.start(entry("e", a=block.script), TEXT("x")) as going:
            block.began.wait(5)
            raise LookupError
        error = going.result(5).error
    assert isinstance(error, Cancelled)
    assert error.component == "a"


def test_send_never_raises_for_a_failure_inside() -> None:
    with opened(*LINE) as p, p.start(entry("e", a={"text": raising(ValueError("inside"))})) as going:
        for _ in range(5):
            going.send(TEXT("x"))
            time.sleep(0.005)
        result = going.result(5)
    assert result.error is not None
    assert str(result.error.__cause__) == "inside"


def test_send_after_the_end_of_the_input_says_so() -> None:
    with opened(*LINE) as p, p.start(Entry("e"), TEXT("x")) as going:
        going.result(5)
        with pytest.raises(RunError, match="the input of this run has ended"):
            going.send(TEXT("y"))


def test_wants_asks_for_the_lanes_of_the_source() -> None:
    with opened(*LINE) as p, p.start(Entry("e")) as going:
        assert (going.wants(TEXT), going.wants(DOCUMENTS)) == (True, False)


def test_events_come_while_it_runs_and_end_with_it() -> None:
    with opened(*LINE) as p, p.start(entry("e", a=say(3)), TEXT("x")) as going:
        assert [(event.kind, event.component, event.data["n"]) for event in going] == [("step", "a", n) for n in range(3)]
        assert going.result(0).checked()[TEXT] == ["x"]


def test_an_event_comes_before_the_entry_is_over() -> None:
    block = Block()
    both: Script = {"text": lambda i, t: block.text(i, t, "begun")}
    with opened(*LINE) as p, p.start(entry("e", a=both), TEXT("x")) as going:
        assert next(iter(going)).kind == "begun"
        assert block.began.wait(5)
        block.free.set()


def test_events_nobody_listens_to_are_dropped_and_old_ones_go_first() -> None:
    with opened(*LINE) as p:
        run(p, TEXT("x"), a=say(10)).checked()
        with p.start(entry("e", a=say(15_000)), TEXT("x")) as going:
            going.result(20)
            kept = [event.data["n"] for event in going]
    assert kept[-1] == 14_999
    assert 1000 <= len(kept) <= 10_000


def test_cancel_from_another_thread_ends_what_blocks() -> None:
    block, journal = Block(), list[str]()
    with opened(*LINE) as p, p.start(entry("e", journal, a=block.script), TEXT("x")) as going:
        assert block.began.wait(5)
        going.cancel()
        result = going.result(5)
    assert isinstance(result.error, Cancelled)
    assert (result.error.component, result.error.phase, result.error.entry) == ("a", "handler", "e")
    assert result[TEXT] == []
    assert journal[-2:] == ["close a", "close b"]
    assert not any(line.startswith(("flush", "text b")) for line in journal)


def test_cancel_before_it_begins_opens_nothing() -> None:
    journal: list[str] = []
    with opened(*LINE) as p:
        going = p.start(entry("e", journal), TEXT("x"))
        going.cancel()
        assert isinstance(going.result(5).error, Cancelled)
    assert journal == []


def test_cancel_of_a_queued_entry() -> None:
    block, journal = Block(), list[str]()
    with opened(*LINE, kernel={"workers": 1}) as p:
        p.submit(entry("one", a=block.script), TEXT("x"))
        assert block.began.wait(5)
        with p.start(entry("two", journal), TEXT("x")) as two:
            two.cancel()
            block.free.set()
            assert isinstance(two.result(5).error, Cancelled)
    assert journal == []


def test_cancel_after_the_end_changes_nothing() -> None:
    with opened(*LINE) as p, p.start(Entry("e"), TEXT("x")) as going:
        result = going.result(5)
        going.cancel()
        assert going.result(5) is result
        assert result.error is None


def test_cancel_twice_and_after_a_failure_keeps_the_first_error() -> None:
    block = Block()

    def fail_late(instance: Instance, text: str) -> None:
        block.began.set()
        assert block.free.wait(5)
        raise ValueError("too late to count")

    with opened(*LINE) as p, p.start(entry("e", a={"text": fail_late}), TEXT("x")) as going:
        assert block.began.wait(5)
        going.cancel()
        going.cancel()
        block.free.set()
        result = going.result(5)
    assert isinstance(result.error, Cancelled)
    assert [str(note.__cause__) for note in result.notes if note.__cause__] == ["too late to count"]


def test_result_within_a_time_does_not_end_the_entry() -> None:
    block = Block()
    with opened(*LINE) as p, p.start(entry("e", a=block.script), TEXT("x")) as going:
        with pytest.raises(RunTimeout, match=r"e is not over after 0\.05 s"):
            going.result(0.05)
        block.free.set()
        assert going.result(5).checked()[TEXT] == ["x"]


def test_two_threads_may_ask_for_one_result() -> None:
    ran: list[str] = []
    with opened(*LINE) as p:
        going = p.start(entry("e", a={"text": lambda i, t: ran.append(t)}), TEXT("x"))
        results: list[Any] = []
        threads = [threading.Thread(target=lambda: results.append(going.result(5))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({id(result) for result in results}) == 1
    assert ran == ["x"]


def test_a_host_plugin_that_breaks_is_told_not_a_hang() -> None:
    class Broken:
        @hookimpl
        def finish_entry(self, result: Any) -> None:
            raise LookupError("the ledger is full")

    with opened(*LINE, kernel={"plugins": [Broken()]}) as p:
        for _ in range(2):
            with pytest.raises(LookupError, match="the ledger is full"):
                p.start(Entry("e"), TEXT("x")).result(5)
            with pytest.raises(LookupError, match="the ledger is full"):
                p.run(Entry("e"), TEXT("x"))


# ---- submit


class Ledger:
    """A host plugin that keeps every result."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    @hookimpl
    def finish_entry(self, result: Any) -> None:
        self.results.append(result)


def test_submitted_entries_end_in_the_finish_entry_hooks() -> None:
    ledger = Ledger()
    with opened(*LINE, kernel={"plugins": [ledger]}) as p:
        for n in range(50):
            p.submit(Entry(str(n)), TEXT("x"))
    assert sorted(int(r.entry.name) for r in ledger.results) == list(range(50))


def test_submit_blocks_while_the_queue_is_full() -> None:
    block, ledger = Block(), Ledger()
    went: list[int] = []

    def feed() -> None:
        for n in range(12):
            p.submit(entry(str(n), a=block.script), TEXT("x"))
            went.append(n)

    with opened(*LINE, kernel={"plugins": [ledger], "workers": 2}) as p:
        thread = threading.Thread(target=feed)
        thread.start()
        until(lambda: len(went) >= 6)
        time.sleep(0.1)
        assert len(went) <= 7, "two run, four wait"
        block.free.set()
        thread.join(5)
        assert not thread.is_alive()
    assert len(ledger.results) == 12


def test_what_close_drops_is_told_to_the_hooks_as_cancelled() -> None:
    block, ledger = Block(), Ledger()
    with opened(*LINE, kernel={"plugins": [ledger], "workers": 1}) as p:
        for n in range(3):
            p.submit(entry(str(n), a=block.script), TEXT("x"))
        block.began.wait(5)
        p.close(grace=0)
    assert len(ledger.results) == 3
    assert all(isinstance(r.error, Cancelled) for r in ledger.results)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_worker_survives_a_host_plugin_that_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken:
        @hookimpl
        def finish_entry(self, result: Any) -> None:
            if result.entry.name == "bad":
                raise LookupError("the ledger is full")

    told: list[Any] = []
    before, threading.excepthook = threading.excepthook, lambda args: told.append(args.exc_value)
    try:
        with opened(*LINE, kernel={"plugins": [Broken()], "workers": 1}) as p:
            for _ in range(4):
                p.submit(Entry("bad"), TEXT("x"))
            assert p.start(Entry("good"), TEXT("x")).result(5).checked()[TEXT] == ["x"]
    finally:
        threading.excepthook = before
    assert [str(error) for error in told] == ["the ledger is full"] * 4


# ---- children


class Mail(Node[None]):
    """`a(b,c)` is a mail with two attachments."""

    spec = NodeSpec("mail", title="Mail")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        head, _, rest = text.partition("(")
        for part in rest.rstrip(")").split(",") if rest else []:
            instance.spawn(Entry(f"{instance.entry.name}/{part}"), TEXT(part))
        instance.emit(TEXT, head)


MAIL = "a: mail < text start", "b: do < text a", "r: respond < text b"


def test_children_run_after_their_parent_on_its_thread() -> None:
    journal: list[str] = []

    class Where(Ledger):
        @hookimpl
        def finish_entry(self, result: Any) -> None:
            journal.append(f"{result.entry.name} {threading.get_ident()}")

    with opened(*MAIL, nodes=[Mail], kernel={"plugins": [Where()]}) as p:
        result = p.run(Entry("m"), TEXT("mail(one,two)")).checked()
        assert result[TEXT] == ["mail"]
        assert [(c.entry.name, c[TEXT]) for c in result.children] == [("m/one", ["one"]), ("m/two", ["two"])]
        with p.start(Entry("w"), TEXT("mail(one)")) as going:
            assert going.result(5).children[0].checked()[TEXT] == ["one"]
    here = threading.get_ident()
    assert journal[:3] == [f"m/one {here}", f"m/two {here}", f"m {here}"]
    assert len({line.split()[1] for line in journal[3:]}) == 1
    assert result.to_json()["children"][1]["name"] == "m/two"


def test_children_may_have_children() -> None:
    def grow(instance: Instance, text: str) -> None:
        if int(text):
            instance.spawn(entry(f"e{text}", a={"text": grow}), TEXT(str(int(text) - 1)))
        instance.emit(TEXT, text)

    with opened(*LINE) as p:
        result = run(p, TEXT("30"), a={"text": grow})
    depth = 0
    while result.children:
        (result,) = result.children
        depth += 1
    assert depth == 30


def test_a_child_that_fails_fails_alone() -> None:
    with opened(*MAIL, "h: testing_hostile < text a", nodes=[Mail], h={"fail": ["handler"], "when": "bad"}) as p:
        result = p.run(Entry("m"), TEXT("mail(bad,good)"))
    assert result.error is None
    assert [c.error is None for c in result.children] == [False, True]


def test_cancel_ends_the_child_that_runs_and_those_that_wait() -> None:
    block = Block()

    def spawn(instance: Instance, text: str) -> None:
        for n in range(3):
            instance.spawn(entry(f"child {n}", a=block.script), TEXT("c"))

    with opened(*LINE) as p, p.start(entry("e", a={"text": spawn}), TEXT("x")) as going:
        going._end_input()
        assert block.began.wait(5)
        going.cancel()
        result = going.result(5)
    assert result.error is None
    assert [type(c.error) for c in result.children] == [Cancelled] * 3


def test_children_of_a_cancelled_entry_are_not_begun() -> None:
    journal: list[str] = []
    block = Block()

    def spawn(instance: Instance, text: str) -> None:
        instance.spawn(entry("child", journal), TEXT("c"))
        block.text(instance, text)

    with opened(*LINE) as p, p.start(entry("e", a={"text": spawn}), TEXT("x")) as going:
        assert block.began.wait(5)
        going.cancel()
        result = going.result(5)
    assert isinstance(result.children[0].error, Cancelled)
    assert journal == []


def test_events_of_children_reach_the_listener_of_their_parent() -> None:
    spawn: Script = {"text": lambda i, _: i.spawn(entry("child", a=say(1)), TEXT("c"))}
    with opened(*LINE) as p, p.start(entry("e", a=spawn), TEXT("x")) as going:
        assert [event.data["text"] for event in going] == ["c"]


# ---- asyncio


async def test_arun() -> None:
    async with alone().aload(wire(*LINE)) as p:
        result = await p.arun(Entry("e"), TEXT("x"))
        assert result.checked()[TEXT] == ["x"]


async def test_many_at_once_on_few_workers_and_the_loop_is_never_blocked() -> None:
    slow = first(lambda *_: time.sleep(0.01))
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            begun = time.monotonic()
            await asyncio.sleep(0.001)
            longest = max(longest, time.monotonic() - begun)

    with opened(*LINE, kernel={"workers": 2}) as p:
        watcher = asyncio.create_task(watch())
        results = await asyncio.gather(*(p.arun(entry(str(n), a=slow), TEXT(str(n))) for n in range(100)))
        watcher.cancel()
    assert [r.checked()[TEXT] for r in results] == [[str(n)] for n in range(100)]
    assert longest < 0.4, f"the event loop stood still for {longest:.2f} s"


async def test_a_full_queue_does_not_block_the_loop() -> None:
    block = Block()
    with opened(*LINE, kernel={"workers": 1}) as p:
        tasks = [asyncio.create_task(p.arun(entry(str(n), a=block.script), TEXT("x"))) for n in range(10)]
        ticks = 0
        for _ in range(20):
            await asyncio.sleep(0.005)
            ticks += 1
        assert ticks == 20
        assert not any(task.done() for task in tasks)
        block.free.set()
        assert all(r.error is None for r in await asyncio.gather(*tasks))


async def test_astart_streams_events_and_then_the_result() -> None:
    with opened(*LINE) as p:
        async with p.astart(entry("e", a=say(5)), TEXT("x")) as going:
            assert [event.data["n"] async for event in going] == list(range(5))
            assert (await going).checked()[TEXT] == ["x"]
        assert (await going)[TEXT] == ["x"]


async def test_astart_takes_further_input() -> None:
    with opened(*LINE) as p:
        async with p.astart(Entry("e")) as going:
            for text in "abc":
                going.send(TEXT(text))
                await asyncio.sleep(0)
        assert (await going).checked()[TEXT] == ["a", "b", "c"]


async def test_an_event_arrives_while_the_entry_runs() -> None:
    block = Block()
    both: Script = {"text": lambda i, t: block.text(i, t, "begun")}
    with opened(*LINE) as p:
        async with p.astart(entry("e", a=both), TEXT("x"), timeout=20) as going:
            async for event in going:
                assert event.kind == "begun"
                block.free.set()
        assert (await going).checked()[TEXT] == ["x"]


async def test_leaving_the_async_block_by_an_exception_cancels_the_entry() -> None:
    block = Block()
    with opened(*LINE) as p:
        with pytest.raises(LookupError):
            async with p.astart(entry("e", a=block.script), TEXT("x")) as going:
                await asyncio.to_thread(block.began.wait, 5)
                raise LookupError
        assert isinstance((await going).error, Cancelled)


async def test_cancelling_the_task_cancels_the_entry() -> None:
    block, journal = Block(), list[str]()
    with opened(*LINE) as p:
        task = asyncio.create_task(p.arun(entry("e", journal, a=block.script), TEXT("x")))
        await asyncio.to_thread(block.began.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(until, lambda: "close b" in journal)
    assert journal[-2:] == ["close a", "close b"]
    assert "text b x" not in journal


async def test_cancelling_a_task_that_waits_for_room_leaves_the_queue_alone() -> None:
    block = Block()
    with opened(*LINE, kernel={"workers": 1}) as p:
        tasks = [asyncio.create_task(p.arun(entry(str(n), a=block.script), TEXT("x"))) for n in range(6)]
        await asyncio.sleep(0.05)
        tasks[5].cancel()
        block.free.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[5], asyncio.CancelledError)
    assert all(not isinstance(r, BaseException) and r.error is None for r in results[:5])


async def test_a_time_limit_of_asyncio_cancels_the_entry_too() -> None:
    block = Block()
    with opened(*LINE) as p:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(20) as limit:
                running = asyncio.create_task(p.arun(entry("e", a=block.script), TEXT("x")))
                await asyncio.to_thread(block.began.wait, 10)  # on a busy machine the limit would be over before
                limit.reschedule(asyncio.get_running_loop().time())
                await running
        assert block.free.wait(5)


async def test_a_disconnect_while_events_are_streamed_cancels_the_entry() -> None:
    block = Block()
    both: Script = {"text": lambda i, t: block.text(i, t, "begun")}

    async def serve(p: RunningPipeline) -> None:
        async with p.astart(entry("e", a=both), TEXT("x")) as going:
            async for _ in going:
                got.set()

    with opened(*LINE) as p:
        got = asyncio.Event()
        task = asyncio.create_task(serve(p))
        await asyncio.wait_for(got.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert block.free.wait(5), "on_cancel was not called"


def test_runs_outlive_their_event_loop() -> None:
    """A task that is cancelled with its loop leaves a worker that still wants to ring."""
    block = Block()

    def linger(*_: object) -> None:
        block.began.set()
        time.sleep(0.3)

    async def leave(p: RunningPipeline) -> None:
        task = asyncio.create_task(p.arun(entry("e", a=first(linger)), TEXT("x")))
        await asyncio.to_thread(block.began.wait, 5)
        task.cancel()

    with opened(*LINE, kernel={"workers": 1}) as p:
        asyncio.run(leave(p))
        assert p.start(Entry("next"), TEXT("y")).result(5).checked()[TEXT] == ["y"]


async def test_two_tasks_may_await_one_run() -> None:
    with opened(*LINE) as p:
        going = p.astart(Entry("e"), TEXT("x"))

        async def ask() -> Any:
            return await going

        one, two = await asyncio.gather(ask(), ask())
        assert one is two
        assert one.checked()[TEXT] == ["x"]


async def test_aload_begins_and_ends_on_a_thread() -> None:
    seen: list[bool] = []
    loop_thread = threading.get_ident()

    class Slow(Node[None]):
        spec = NodeSpec("slow", title="Slow")

        @hookimpl
        def begin_global(self) -> None:
            seen.append(threading.get_ident() != loop_thread)

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def end_global(self) -> None:
            seen.append(threading.get_ident() != loop_thread)

    async with alone(Slow).aload(wire("a: slow < text start")):
        pass
    assert seen == [True, True]


# ---- sources


class Ticker(Node[None]):
    """An active source: numbers until it is asked to stop."""

    spec = NodeSpec("ticker", title="Ticker")

    @source(emits=[TEXT])
    def tick(self, feed: Feed) -> None:
        feed.ready("ticking")
        for n in itertools.count():
            if feed.stopping(0.001):
                return
            feed.submit(Entry(str(n)), TEXT(str(n)))


def test_serve_runs_the_active_source_until_stop() -> None:
    ledger, said = Ledger(), list[str]()
    kernel = alone(Ticker, plugins=[ledger])
    with kernel.load(wire("start: ticker", "a: mark < text start", "r: respond < text a"), on_ready=said.append) as p:
        thread = threading.Thread(target=p.serve)
        thread.start()
        until(lambda: len(ledger.results) >= 5)
        p.stop()
        thread.join(5)
        assert not thread.is_alive()
        count = len(ledger.results)
        assert [r.entry.name for r in sorted(ledger.results, key=lambda r: int(r.entry.name))] == [str(n) for n in range(count)]
    assert said == ["ticking"]
    assert len(ledger.results) == count


def test_stop_cancels_what_is_left_after_the_time_to_drain() -> None:
    ledger, block = Ledger(), Block()

    class Once(Node[None]):
        spec = NodeSpec("once", title="Once")

        @source(emits=[TEXT])
        def feed(self, feed: Feed) -> None:
            feed.submit(entry("e", a=block.script), TEXT("x"))
            feed.stopping(20)

    with opened("start: once", *LINE, nodes=[Once], kernel={"plugins": [ledger]}) as p:
        thread = threading.Thread(target=p.serve)
        thread.start()
        assert block.began.wait(5)
        p.stop(drain=0.1)
        thread.join(5)
        until(lambda: ledger.results)
    assert isinstance(ledger.results[0].error, Cancelled)


def test_an_error_of_the_source_reaches_who_serves_after_what_runs_is_over() -> None:
    ledger = Ledger()

    class Broken(Node[None]):
        spec = NodeSpec("broken", title="Broken")

        @source(emits=[TEXT])
        def feed(self, feed: Feed) -> None:
            feed.submit(Entry("e"), TEXT("x"))
            raise ConnectionError("the socket is gone")

    with opened("start: broken", *LINE, nodes=[Broken], kernel={"plugins": [ledger]}) as p:
        with pytest.raises(ConnectionError, match="the socket is gone"):
            p.serve()
        assert [r.entry.name for r in ledger.results] == ["e"]


def test_serving_a_passive_source_is_refused_in_words() -> None:
    with opened(*LINE) as p, pytest.raises(RunError, match="waits to be fed: use run, start, submit or map"):
        p.serve()


def test_an_active_source_can_be_fed_by_its_host_too() -> None:
    with opened("start: ticker", "a: mark < text start", "r: respond < text a", nodes=[Ticker]) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>a"]


def test_an_entry_without_input_runs_its_hooks() -> None:
    journal: list[str] = []
    with opened(*LINE) as p:
        result = run(p, journal=journal).checked()
    assert journal == ["open b", "open a", "flush a", "flush b", "close a", "close b"]
    assert result[ANSWERS] == []


def test_entry_stopped_never_leaves_the_kernel() -> None:
    with opened(*LINE) as p:
        try:
            result = run(p, TEXT("x"), b={"text": raising(ValueError("v"))})
        except EntryStopped:  # pragma: no cover
            pytest.fail("it left")
    assert result.error is not None
    gc.collect()
