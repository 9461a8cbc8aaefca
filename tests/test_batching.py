# SPDX-License-Identifier: MIT
"""Batches across entries: full, or as soon as nobody is left who could add, or after five milliseconds; nobody's fault is another's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from rocketride_core import (
    MANY,
    TEXT,
    TOOL,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Pipeline,
    Result,
    RunError,
    RunTimeout,
    hookimpl,
    on,
    tool,
)
from rocketride_core.batching import LONGEST

Items = Sequence[str]


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[TEXT])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))


def upper(items: Items) -> Items:
    return [item.upper() for item in items]


@contextmanager
def batching(
    fn: Callable[[Items], Items], *, size: int = 64, workers: int = 4, early: Items = ()
) -> Iterator[tuple[Pipeline, Any]]:
    """A pipeline whose node asks a batcher for the letters of each text; and what the function was called with."""
    calls: list[list[str]] = []
    node_of: list[Any] = []

    def recorded(items: Items) -> Items:
        calls.append(list(items))
        return fn(items)

    class Asks(Node[None]):
        spec = NodeSpec("asks", title="Asks")

        @hookimpl
        def begin_global(self) -> None:
            node_of.append(self)
            self.ask = self.batcher(recorded, size=size)
            self.early = list(self.ask(early))

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None:
            if text.startswith("slow"):
                time.sleep(0.3)
                text = text[4:]
            instance.emit(TEXT, "".join(self.ask(list(text))))

    pipe = PipeFile(
        [
            Component("in", "in"),
            Component("asks", "asks", input=[LaneLink("text", "in")]),
            Component("out", "out", input=[LaneLink("text", "asks")]),
        ]
    )
    with Kernel(nodes=[Source, Asks, Sink], workers=workers).load(pipe) as pipeline:
        pipeline.calls, pipeline.node = calls, node_of[0]  # type: ignore[attr-defined]
        yield pipeline, calls


def texts(results: Sequence[Result]) -> list[str]:
    return [result.checked()[TEXT][0] for result in results]


def mapped(pipeline: Pipeline, words: Sequence[str], **options: Any) -> list[Result]:
    return list(pipeline.map(((Entry(word), [TEXT(word)]) for word in words), ordered=True, **options))


def test_one_entry_alone_waits_for_nobody() -> None:
    with batching(upper) as (pipeline, calls):
        taken = []
        for _ in range(20):
            begun = time.perf_counter()
            assert texts([pipeline.run(Entry("a"), TEXT("abc"))]) == ["ABC"]
            taken.append(time.perf_counter() - begun)
        assert calls == [["a", "b", "c"]] * 20
        assert min(taken) < 0.004  # the fallback is 5 ms


def test_entries_at_once_share_a_call_and_each_gets_its_own() -> None:
    barrier = threading.Barrier(4)

    def fn(items: Items) -> Items:
        return upper(items)

    with batching(fn) as (pipeline, calls):
        # All four stand at the batcher together: each text is held back until all four entries are in flight.
        original = pipeline.node.ask

        def together(items: Items) -> Items:
            barrier.wait(5)
            return original(items)

        pipeline.node.ask = together
        words = ["ab", "cd", "ef", "gh"]
        assert texts(mapped(pipeline, words)) == [word.upper() for word in words]
        assert sorted(letter for call in calls for letter in call) == sorted("".join(words))
        assert len(calls) < 4


def test_a_batch_has_no_more_items_than_its_size() -> None:
    with batching(upper, size=4) as (pipeline, calls):
        assert texts([pipeline.run(Entry("a"), TEXT("abcdefghij"))]) == ["ABCDEFGHIJ"]
        assert calls == [list("abcd"), list("efgh"), list("ij")]


def test_what_waits_for_a_slow_entry_is_computed_after_five_milliseconds() -> None:
    with batching(upper, workers=2) as (pipeline, calls):
        found = {result.entry.name: result for result in pipeline.map((Entry(w), [TEXT(w)]) for w in ("slowxy", "ab"))}
        assert texts([found["ab"], found["slowxy"]]) == ["AB", "XY"]
        assert calls == [["a", "b"], ["x", "y"]]


def test_who_comes_while_a_batch_is_computed_waits_for_company() -> None:
    def slow(items: Items) -> Items:
        time.sleep(0.003)
        return upper(items)

    with batching(slow, workers=8) as (pipeline, calls):
        words = [f"word{i}" for i in range(80)]
        assert texts(mapped(pipeline, words)) == [word.upper() for word in words]
        assert len(calls) < 40  # 80 where each goes alone


def test_the_end_of_an_entry_sets_off_what_waited_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketride_core.batching.LONGEST", 30.0)
    with batching(upper, workers=2) as (pipeline, calls):
        begun = time.monotonic()
        results = mapped(pipeline, ["slow", "ab"])  # nothing is asked for the first
        assert texts(results) == ["", "AB"]
        assert calls == [["a", "b"]]
        assert time.monotonic() - begun < 10


def test_a_failure_is_that_of_the_entry_which_caused_it() -> None:
    def fn(items: Items) -> Items:
        time.sleep(0.002)
        if "x" in items:
            raise ValueError("x is not for me")
        return upper(items)

    words = [f"{'x' if n % 10 == 0 else 'o'}{n}" for n in range(100)]
    with batching(fn, workers=8) as (pipeline, _):
        results = mapped(pipeline, words)
    assert [result.entry.name for result in results if result.error] == [word for word in words if word.startswith("x")]
    assert all("x is not for me" in str(result.error) for result in results if result.error)
    assert texts([result for result in results if not result.error]) == [w.upper() for w in words if not w.startswith("x")]


def test_another_number_of_results_is_an_error_that_says_so() -> None:
    with batching(lambda items: items[:-1]) as (pipeline, _):
        error = pipeline.run(Entry("a"), TEXT("abc")).error
    assert "asks: the function of a batcher gave 2 results for 3 items" in str(error)


def test_nothing_is_asked_for_nothing_and_begin_global_may_ask_too() -> None:
    with batching(upper, size=2, early="abc") as (pipeline, calls):
        assert pipeline.node.early == ["A", "B", "C"]
        assert texts([pipeline.run(Entry("a"), TEXT(""))]) == [""]
        assert calls == [["a", "b"], ["c"]]


def test_a_time_limit_ends_the_wait_for_somebody_elses_call() -> None:
    hold, held = threading.Event(), threading.Event()

    def fn(items: Items) -> Items:
        if "h" in items:
            held.set()
            hold.wait(10)
        return upper(items)

    with batching(fn, workers=2, size=2) as (pipeline, _):
        first = pipeline.start(Entry("first"), TEXT("h"))
        with first:
            assert held.wait(5)
            # Its items are in a batch of its own: the other one goes on.
            assert texts([pipeline.run(Entry("second"), TEXT("ab"))]) == ["AB"]
            hold.set()
        assert texts([first.result()]) == ["H"]


def test_a_stopped_entry_leaves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketride_core.batching.LONGEST", 30.0)
    with batching(upper, workers=2) as (pipeline, calls):
        with pipeline.start(Entry("in flight")) as open_run:  # its input has not ended: somebody who may add
            begun = time.monotonic()
            error = pipeline.run(Entry("b"), TEXT("ab"), timeout=0.2).error
            assert isinstance(error, RunTimeout)
            assert time.monotonic() - begun < 5
            open_run.send(TEXT("cd"))
            assert texts([open_run.result()]) == ["CD"]
        assert calls == [["c", "d"]]


def test_a_signal_in_who_computes_leaves_the_others_their_results() -> None:
    calls = []

    def fn(items: Items) -> Items:
        calls.append(list(items))
        if len(calls) == 1:
            time.sleep(0.05)
            raise KeyboardInterrupt
        return upper(items)

    with batching(fn, workers=2, size=2) as (pipeline, _):
        with pytest.raises(KeyboardInterrupt):
            pipeline.run(Entry("a"), TEXT("abc"))
        assert texts([pipeline.run(Entry("b"), TEXT("de"))]) == ["DE"]
    assert calls[-1] == ["d", "e"]


def test_eight_workers_and_a_thousand_entries_of_any_length() -> None:
    words = ["ab" * (n % 50) for n in range(1000)]
    with batching(upper, workers=8, size=16) as (pipeline, calls):
        assert texts(mapped(pipeline, words)) == [word.upper() for word in words]
        assert max(map(len, calls)) <= 16
        assert sum(map(len, calls)) == sum(map(len, words))
        assert len(pipeline.node.ask._queue) == 0
        assert not pipeline.node.ask._batching._waiting


def test_a_batcher_needs_a_running_pipeline_and_a_size() -> None:
    class Alone(Node[None]):
        spec = NodeSpec("alone", title="Alone")

    with pytest.raises(RunError, match="batcher needs a running pipeline; call it in begin_global"):
        Alone().batcher(upper)
    with pytest.raises(ValueError, match="one item or more, not 0"):
        Alone().batcher(upper, size=0)


def test_a_tool_under_a_time_limit_asks_for_its_entry() -> None:
    """It runs on a thread of its own: the entry whose thread waits for it is the one that waits in the batcher."""
    calls: list[list[str]] = []

    class Finds(Node[None]):
        spec = NodeSpec("finds", title="Finds")

        @hookimpl
        def begin_global(self) -> None:
            self.ask = self.batcher(lambda items: calls.append(list(items)) or upper(items))

        @tool
        def find(self, instance: Instance, word: str) -> str:
            """Find a word."""
            return "".join(self.ask([word]))

    class Agent(Node[None]):
        spec = NodeSpec("agent", title="Agent", needs={TOOL: MANY})

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None:
            begun = time.perf_counter()
            found = [instance.tools.call("finds.find", {"word": text}, timeout=10) for _ in range(10)]
            assert time.perf_counter() - begun < 10 * LONGEST
            both = instance.tools.call_all([("finds.find", {"word": word}) for word in ("x", "y")])
            instance.emit(TEXT, "".join(map(str, [*found, *both])))

    pipe = PipeFile(
        [
            Component("in", "in"),
            Component("agent", "agent", input=[LaneLink("text", "in")]),
            Component("finds", "finds", control=[ControlLink("tool", "agent")]),
            Component("out", "out", input=[LaneLink("text", "agent")]),
        ]
    )
    with Kernel(nodes=[Source, Agent, Finds, Sink]).load(pipe) as pipeline:
        assert texts([pipeline.run(Entry("a"), TEXT("w"))]) == ["W" * 10 + "XY"]
    assert calls[:10] == [["w"]] * 10
