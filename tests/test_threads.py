# SPDX-License-Identifier: MIT
"""One object stays on one thread; what is legal on others; counting from many; coroutines of handlers."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from nodes import Parts, Script, entry, opened, run

from rocketride_core import TEXT, Cancelled, Entry, EntryStopped, Instance, Node, NodeSpec, RunError, RunTimeout, hookimpl, on

LINE = "a: do < text start", "b: do < text a", "r: respond < text b"


def elsewhere(call: Any) -> Any:
    """What a call gives, or raises, on another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(10)


# ---- the entry's thread


def test_every_hook_and_handler_of_an_entry_runs_on_one_thread() -> None:
    seen: dict[str, set[int]] = {}

    class Where(Node[None]):
        spec = NodeSpec("where", title="Where")

        def _here(self, instance: Instance) -> None:
            seen.setdefault(instance.entry.name, set()).add(threading.get_ident())
            time.sleep(0.001)

        @hookimpl
        def open_instance(self, instance: Instance) -> None:
            self._here(instance)

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None:
            self._here(instance)
            instance.emit(TEXT, text)

        @hookimpl
        def flush_instance(self, instance: Instance) -> None:
            self._here(instance)

        @hookimpl
        def close_instance(self, instance: Instance) -> None:
            self._here(instance)

    lines = "a: where < text start", "b: where < text a", "r: respond < text b"
    with opened(*lines, nodes=[Where], kernel={"workers": 4}) as p:
        for result in p.map((Entry(str(n)), [TEXT("x"), TEXT("y")]) for n in range(40)):
            result.checked()
        assert all(len(threads) == 1 for threads in seen.values())
        assert threading.get_ident() not in set().union(*seen.values())
        assert len(set().union(*seen.values())) > 1
        p.run(Entry("here"), TEXT("x")).checked()
    assert seen["here"] == {threading.get_ident()}


def test_emit_on_another_thread_is_refused() -> None:
    def from_another(instance: Instance, text: str) -> None:
        elsewhere(lambda: instance.emit(TEXT, text))

    with opened(*LINE) as p:
        error = run(p, TEXT("x"), a={"text": from_another}).error
    assert error is not None
    assert (error.code, error.component, error.phase) == ("wrong-thread", "a", "handler")
    assert "a emitted on 'text' on another thread than the entry's" in str(error)


def test_state_on_another_thread_is_refused() -> None:
    with opened(*LINE) as p:
        error = run(p, TEXT("x"), a={"text": lambda i, _: elsewhere(lambda: i.state(Parts))}).error
    assert error is not None
    assert error.code == "wrong-thread"
    assert "Parts" in str(error)


def test_event_count_and_warn_are_legal_on_any_thread() -> None:
    def work(instance: Instance, text: str) -> None:
        def tell() -> None:
            for _ in range(500):
                instance.count("calls", 1)
            instance.warn("odd", "something is odd")
            instance.event("thinking", message="hm")

        threads = [threading.Thread(target=tell) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with opened(*LINE) as p, p.start(entry("e", a={"text": work}), TEXT("x")) as going:
        events = list(going)
        result = going.result(10).checked()
    assert result.usage == {"a": {"calls": 8000}}
    assert [(w.component, w.code, w.severity) for w in result.warnings] == [("a", "odd", "warning")] * 16
    assert [(e.kind, e.component, e.data) for e in events] == [("thinking", "a", {"message": "hm"})] * 16


def test_usage_is_summed_per_component_and_name() -> None:
    tokens: Script = {"text": lambda i, t: (i.count("input_tokens", 3), i.count("input_tokens", 0.5), i.emit(TEXT, t))}
    calls: Script = {"text": lambda i, _: i.count("calls", 1)}
    with opened(*LINE) as p:
        first = run(p, TEXT("x"), TEXT("y"), a=tokens, b=calls)
        second = run(p, TEXT("x"), a=tokens)
    assert first.usage == {"a": {"input_tokens": 7}, "b": {"calls": 2}}
    assert second.usage == {"a": {"input_tokens": 3.5}}


def test_state_is_one_per_instance_and_class_and_gone_with_the_entry() -> None:
    class Mine(Parts):
        """A subclass has its own."""

    seen: list[Parts] = []

    def look(instance: Instance, text: str) -> None:
        assert instance.state(Parts) is instance.state(Parts)
        assert instance.state(Mine) is not instance.state(Parts)
        instance.state(Parts).append(text)
        seen.append(instance.state(Parts))
        instance.emit(TEXT, text)

    with opened(*LINE) as p:
        run(p, TEXT("x"), TEXT("y"), a={"text": look}, b={"text": look}).checked()
        assert [list(parts) for parts in seen] == [["x", "y"]] * 4
        assert len({id(parts) for parts in seen}) == 2
        run(p, TEXT("z"), a={"text": look}).checked()
        assert list(seen[-1]) == ["z"]


def test_a_state_whose_class_raises_is_tried_again() -> None:
    tries: list[int] = []

    class Shy:
        def __init__(self) -> None:
            tries.append(1)
            if len(tries) == 1:
                raise ValueError("not yet")

    def twice(instance: Instance, text: str) -> None:
        with pytest.raises(ValueError, match="not yet"):
            instance.state(Shy)
        assert instance.state(Shy) is instance.state(Shy)

    with opened(*LINE) as p:
        run(p, TEXT("x"), a={"text": twice}).checked()
    assert len(tries) == 2


def test_many_threads_of_the_host_run_entries_at_once() -> None:
    with opened("a: collect < text start", "b: mark < text a", "r: respond < text b") as p, ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(p.run, Entry(str(n)), TEXT(str(n)), TEXT("y")) for n in range(400)]
        assert [f.result()[TEXT] for f in futures] == [[f"a({n}+y)>b"] for n in range(400)]


def test_a_handler_may_run_another_entry_of_its_own_pipeline() -> None:
    with opened(*LINE) as p:
        inside: Script = {"text": lambda i, t: i.emit(TEXT, p.run(Entry("inner"), TEXT(t + "!")).checked()[TEXT][0])}
        assert run(p, TEXT("x"), a=inside).checked()[TEXT] == ["x!"]


def test_two_pipelines_may_feed_each_other_on_one_thread() -> None:
    with opened(*LINE) as one, opened(*LINE) as two:
        there: Script = {"text": lambda i, t: i.emit(TEXT, two.run(Entry("there"), TEXT(t + "!")).checked()[TEXT][0])}
        assert run(one, TEXT("x"), a=there).checked()[TEXT] == ["x!"]


# ---- coroutines


def test_wait_gives_what_the_coroutine_returns_or_raises() -> None:
    async def double(text: str) -> str:
        await asyncio.sleep(0.01)
        return text * 2

    async def fail() -> None:
        raise LookupError("inside")

    def work(instance: Instance, text: str) -> None:
        with pytest.raises(LookupError, match="inside"):
            instance.wait(fail())
        instance.emit(TEXT, instance.wait(double(text)))

    with opened(*LINE) as p:
        assert run(p, TEXT("x"), a={"text": work}).checked()[TEXT] == ["xx"]


def test_all_coroutines_of_a_pipeline_share_one_loop_on_one_thread() -> None:
    async def where() -> tuple[int, int]:
        return id(asyncio.get_running_loop()), threading.get_ident()

    seen: list[tuple[int, int]] = []
    ask: Script = {"text": lambda i, _: seen.append(i.wait(where()))}
    with opened(*LINE) as p:
        for result in p.map((entry(str(n), a=ask), [TEXT("x")]) for n in range(10)):
            result.checked()
    assert len(set(seen)) == 1
    assert seen[0][1] != threading.get_ident()


def test_wait_has_a_time_limit_of_its_own() -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def work(instance: Instance, text: str) -> None:
        with pytest.raises(TimeoutError, match=r"no answer within 0\.1 s"):
            instance.wait(slow(), timeout=0.1)
        instance.emit(TEXT, text)

    with opened(*LINE) as p:
        assert run(p, TEXT("x"), a={"text": work}).checked()[TEXT] == ["x"]
        assert cancelled.wait(5)


def test_a_timeout_error_of_the_coroutine_itself_is_given_as_it_is() -> None:
    async def own() -> None:
        await asyncio.sleep(0.2)
        raise TimeoutError("of the client")

    with opened(*LINE) as p:
        error = run(p, TEXT("x"), a={"text": lambda i, _: i.wait(own())}).error
    assert error is not None
    assert str(error.__cause__) == "of the client"


@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_wait_ends_with_the_entry(how: str) -> None:
    began, cancelled, after = threading.Event(), threading.Event(), threading.Event()

    async def slow() -> None:
        began.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def work(instance: Instance, text: str) -> None:
        instance.wait(slow())
        after.set()

    begun = time.monotonic()
    with opened(*LINE) as p, p.start(entry("e", a={"text": work}), TEXT("x"), timeout=0.3 if how == "timeout" else None) as going:
        assert began.wait(5)
        if how == "cancel":
            going.cancel()
        error = going.result(10).error
    assert isinstance(error, Cancelled if how == "cancel" else RunTimeout)
    assert error.component == "a"
    assert cancelled.wait(5)
    assert not after.is_set()
    assert time.monotonic() - begun < 8


def test_a_coroutine_of_a_pipeline_that_is_closed_is_not_begun() -> None:
    kept: list[Instance] = []
    ran = threading.Event()

    async def late() -> None:
        ran.set()

    def work(instance: Instance, text: str) -> None:
        kept.append(instance)
        instance.wait(asyncio.sleep(0))

    with opened(*LINE) as p:
        run(p, TEXT("x"), a={"text": work}).checked()
    coroutine = late()
    with pytest.raises(RunError) as caught:
        kept[0].wait(coroutine)
    assert caught.value.code == "pipeline-closed"
    assert not ran.is_set()


def test_waiting_inside_the_loop_is_refused_not_a_deadlock() -> None:
    async def inner() -> None: ...

    def work(instance: Instance, text: str) -> None:
        async def outer() -> None:
            instance.wait(inner())

        instance.wait(outer())

    with opened(*LINE) as p:
        error = run(p, TEXT("x"), a={"text": work}).error
    assert "inside the kernel's own loop would never end" in str(error)


def test_a_node_may_wait_in_begin_and_end() -> None:
    said: list[str] = []

    class Client(Node[None]):
        spec = NodeSpec("client", title="Client")

        async def connect(self) -> str:
            await asyncio.sleep(0)
            return "connected"

        @hookimpl
        def begin_global(self) -> None:
            said.append(self.wait(self.connect(), timeout=5))

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def end_global(self) -> None:
            said.append(self.wait(self.connect()))

    with opened("a: client < text start", nodes=[Client]):
        pass
    assert said == ["connected", "connected"]
    coroutine = Client().connect()
    with pytest.raises(RunError, match="needs a running pipeline"):
        Client().wait(coroutine)


def test_a_coroutine_cancelled_by_itself_does_not_end_the_entry_in_silence() -> None:
    async def odd() -> None:
        raise asyncio.CancelledError

    with opened(*LINE) as p:
        result = run(p, TEXT("x"), a={"text": lambda i, _: i.wait(odd())})
    assert result.error is not None
    assert result.error.component == "a"


def test_an_entry_stopped_out_of_nowhere_does_not_end_the_entry_in_silence() -> None:
    def odd(*_: object) -> None:
        raise EntryStopped

    with opened(*LINE) as p:
        result = run(p, TEXT("x"), a={"text": odd})
    assert result.error is not None
    assert result.error.component == "a"
