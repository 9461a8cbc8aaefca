# SPDX-License-Identifier: MIT
"""Time limits: who is named, what is called, what goes on."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from nodes import Script, entry, first, opened, raising

from rocketride_core import TEXT, Entry, Instance, RunTimeout

LINE = "a: do < text start", "b: do < text a", "r: respond < text b"


def wait_for_the_end(instance: Instance, text: str) -> None:
    """Blocks until the limit says stop; then goes on as a node would that knows nothing of limits."""
    free = threading.Event()
    with instance.on_cancel(free.set):
        assert free.wait(20), "on_cancel was not called"
    instance.emit(TEXT, text)


SLOW: Script = {"text": wait_for_the_end}


@pytest.mark.parametrize("how", ["run", "start", "map"])
def test_an_entry_over_its_limit_is_stopped_and_the_error_names_the_node(how: str) -> None:
    journal: list[str] = []
    slow = entry("e", journal, b=SLOW)
    with opened(*LINE) as p:
        begun = time.monotonic()
        if how == "run":
            result = p.run(slow, TEXT("x"), timeout=0.15)
        elif how == "start":
            result = p.start(slow, TEXT("x"), timeout=0.15).result(10)
        else:
            (result,) = p.map([(slow, [TEXT("x")])], timeout=0.15)
        assert 0.15 <= time.monotonic() - begun < 5
        assert p.run(Entry("next"), TEXT("y"), timeout=5).checked()[TEXT] == ["y"]
    error = result.error
    assert isinstance(error, RunTimeout)
    assert (error.component, error.phase, error.entry) == ("b", "handler", "e")
    assert "e took more than 0.15 s" in str(error)
    assert result[TEXT] == []
    assert journal[-2:] == ["close a", "close b"]
    assert not any(line.startswith("flush") for line in journal)


async def test_the_limit_of_arun() -> None:
    with opened(*LINE) as p:
        assert isinstance((await p.arun(entry("e", a=SLOW), TEXT("x"), timeout=0.1)).error, RunTimeout)


def test_a_node_that_loops_is_stopped_at_its_next_emit() -> None:
    emitted = 0

    def loop(instance: Instance, text: str) -> None:
        nonlocal emitted
        while True:
            instance.emit(TEXT, text)
            emitted += 1

    with opened(*LINE) as p:
        result = p.run(entry("e", a={"text": loop}, b={"text": lambda *_: None}), TEXT("x"), timeout=0.1)
    assert isinstance(result.error, RunTimeout)
    assert emitted > 10


def test_the_limit_counts_while_it_waits_for_input() -> None:
    with opened(*LINE) as p, p.start(Entry("e"), TEXT("x"), timeout=0.1) as going:
        time.sleep(0.3)
        going.send(TEXT("late"))
        result = going.result(5)
    assert isinstance(result.error, RunTimeout)
    assert result[TEXT] == ["x"]


def test_remaining_and_cancelled() -> None:
    seen: list[Any] = []
    look = first(lambda i, _: seen.append((i.remaining, i.cancelled)))
    after: Script = {"close": lambda i: seen.append((i.remaining, i.cancelled))}
    with opened(*LINE) as p:
        p.run(entry("e", a=look), TEXT("x")).checked()
        p.run(entry("e", a=look), TEXT("x"), timeout=10).checked()
        p.run(entry("e", b=SLOW, a=after), TEXT("x"), timeout=0.05)
    (none, no), (left, still), (over, yes) = seen
    assert (none, no, still, over, yes) == (None, False, False, 0, True)
    assert 9 < left <= 10


def test_a_limit_that_is_kept_leaves_no_trace() -> None:
    with opened(*LINE) as p:
        for n in range(200):
            assert p.run(Entry(str(n)), TEXT("x"), timeout=30).checked()[TEXT] == ["x"]
        assert len(p.bound.limits._watched) == 0
        assert len(p.bound.limits._heap) <= 64


def test_the_nearest_of_many_limits_comes_first() -> None:
    over: list[tuple[str, float]] = []
    begun = time.monotonic()

    def one(name: str, seconds: float) -> None:
        result = p.run(entry(name, a=SLOW), TEXT("x"), timeout=seconds)
        assert isinstance(result.error, RunTimeout)
        over.append((name, time.monotonic() - begun))

    with opened(*LINE) as p:
        threads = [threading.Thread(target=one, args=(str(s), s)) for s in (0.6, 0.1, 0.35)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [name for name, _ in over] == ["0.1", "0.35", "0.6"]


def test_a_callback_is_called_at_once_where_the_entry_has_stopped() -> None:
    calls: list[str] = []

    def close(instance: Instance) -> None:
        with instance.on_cancel(lambda: calls.append("late")):
            pass

    with opened(*LINE) as p:
        p.run(entry("e", a={"text": raising(ValueError("v")), "close": close}), TEXT("x"))
    assert calls == ["late"]


def test_a_callback_is_not_called_outside_of_its_block() -> None:
    calls: list[str] = []

    def work(instance: Instance, text: str) -> None:
        with instance.on_cancel(lambda: calls.append("early")):
            pass
        wait_for_the_end(instance, text)

    with opened(*LINE) as p:
        assert isinstance(p.run(entry("e", a={"text": work}), TEXT("x"), timeout=0.1).error, RunTimeout)
    assert calls == []


def test_a_callback_that_raises_is_a_note_and_hinders_no_other() -> None:
    def work(instance: Instance, text: str) -> None:
        with instance.on_cancel(raising(LookupError("of the callback"))):
            wait_for_the_end(instance, text)

    with opened(*LINE) as p:
        result = p.run(entry("e", a={"text": work}), TEXT("x"), timeout=0.1)
    assert isinstance(result.error, RunTimeout)
    assert [repr(note.__cause__) for note in result.notes] == ["LookupError('of the callback')"]


def test_what_a_stopped_handler_raises_is_a_note() -> None:
    def work(instance: Instance, text: str) -> None:
        free = threading.Event()
        with instance.on_cancel(free.set):
            free.wait(10)
        raise ConnectionError("the client was closed under me")

    with opened(*LINE) as p:
        result = p.run(entry("e", a={"text": work}), TEXT("x"), timeout=0.1)
    assert isinstance(result.error, RunTimeout)
    assert [str(note.__cause__) for note in result.notes] == ["the client was closed under me"]


def test_a_limit_of_nothing_stops_it_at_once() -> None:
    with opened(*LINE) as p:
        assert isinstance(p.run(entry("e", a=SLOW), TEXT("x"), timeout=0).error, RunTimeout)
