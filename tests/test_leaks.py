# SPDX-License-Identifier: MIT
"""Memory stays flat over many entries, whatever becomes of them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from nodes import Parts, alone, document, entry, first, opened, raising, straight, wire

from rocketride_core import DOCUMENTS, TEXT, Entry, Instance
from rocketride_core.pipeline import RunningPipeline

STATM = Path("/proc/self/statm")
MEBIBYTE = 1 << 20

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not STATM.exists(), reason="memory is read from /proc")]


def resident() -> int:
    gc.collect()
    return int(STATM.read_text().split()[1]) * 4096


def growth(work: Callable[[], object], warm: int, count: int) -> int:
    """Bytes by which the process grew over `count` calls, after `warm` ones."""
    for _ in range(warm):
        work()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(count):
        work()
    after = resident()
    assert len(gc.get_objects()) - objects < 200, "objects were kept"
    return after - before


def test_a_hundred_thousand_entries() -> None:
    with opened(*straight("mark", 10)) as p:
        grown = growth(lambda: p.run(Entry("e"), TEXT("x")), 5_000, 100_000)
    assert grown <= MEBIBYTE, f"it grew by {grown >> 10} KiB"


def keep_things(instance: Instance, text: str) -> None:
    instance.state(Parts).append(text)
    instance.enter(threading.Lock())
    instance.metadata["k"] = text
    instance.count("n", 1)
    instance.warn("odd", "w")
    instance.event("e")
    with instance.on_cancel(list):
        pass


def cancelled(p: RunningPipeline) -> None:
    run = p.start(Entry("e"), TEXT("x"))
    run.cancel()
    run.result()


def broken(p: RunningPipeline) -> None:
    try:
        with p.start(Entry("e"), TEXT("x")) as run:
            raise LookupError
    except LookupError:
        run.result()


def events(p: RunningPipeline) -> None:
    with p.start(entry("e", n1=first(lambda i, _: i.event("e", n=1))), TEXT("x")) as run:
        assert len(list(run)) == 1


WAYS: dict[str, Callable[[RunningPipeline], object]] = {
    "state, resources, usage, warnings": lambda p: p.run(entry("e", n1=first(keep_things)), TEXT("x")),
    "a failing handler": lambda p: p.run(entry("e", n1={"text": raising(ValueError("v"))}), TEXT("x")),
    "a failing close": lambda p: p.run(entry("e", n1={"close": raising(ValueError("v"))}), TEXT("x")),
    "a failing open": lambda p: p.run(entry("e", n1={"open": raising(ValueError("v"))}), TEXT("x")),
    "an undeclared lane": lambda p: p.run(entry("e", n1={"text": lambda i, t: i.emit(DOCUMENTS, document(t))}), TEXT("x")),
    "a time limit": lambda p: p.run(Entry("e"), TEXT("x"), timeout=60),
    "children": lambda p: p.run(entry("e", n1=first(lambda i, _: i.spawn(Entry("c"), TEXT("c")))), TEXT("x")),
    "start": lambda p: p.start(Entry("e"), TEXT("x")).result(),
    "a run that never begins": lambda p: p.start(Entry("e"), TEXT("x")),
    "a cancelled run": cancelled,
    "an exception in the block": broken,
    "events": events,
    "map": lambda p: [None for _ in p.map([(Entry("e"), [TEXT("x")])] * 5)],
    "map left half-way": lambda p: next(p.map([(Entry("e"), [TEXT("x")])] * 5)),
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_becomes_of_them(way: str) -> None:
    work = WAYS[way]
    with opened(*straight("do", 3)) as p:
        grown = growth(lambda: work(p), 500, 4_000)
    assert grown <= MEBIBYTE, f"it grew by {grown >> 10} KiB"


def test_deferred_deliveries() -> None:
    with opened(*straight("mark", 80)) as p:
        grown = growth(lambda: p.run(Entry("e"), TEXT("x")), 500, 5_000)
        failing = entry("e", n1={})
        grown += growth(lambda: p.run(failing, TEXT("x")), 500, 1_000)
    assert grown <= MEBIBYTE, f"it grew by {grown >> 10} KiB"


@pytest.mark.parametrize("level", ["calls", "payloads"])
def test_traced_entries(level: str) -> None:
    with opened(*straight("mark", 10), kernel={"trace": level, "trace_to": lambda _: None}) as p:
        grown = growth(lambda: p.run(Entry("e"), TEXT("x")), 1_000, 5_000)
    assert grown <= MEBIBYTE, f"it grew by {grown >> 10} KiB"


def test_pipelines_opened_and_closed() -> None:
    kernel, pipe = alone(), wire(*straight("mark", 10))

    def work() -> None:
        with kernel.load(pipe) as p:
            p.run(Entry("e"), TEXT("x"), timeout=5)
            p.start(Entry("e"), TEXT("x")).result()

    grown = growth(work, 50, 300)
    assert grown <= MEBIBYTE, f"it grew by {grown >> 10} KiB"


def test_kernels_made_and_dropped() -> None:
    pipe = wire(*straight("mark", 3))

    def work() -> None:
        with alone().load(pipe) as p:
            p.run(Entry("e"), TEXT("x"))

    grown = growth(work, 50, 200)
    assert grown <= MEBIBYTE, f"it grew by {grown >> 10} KiB"
