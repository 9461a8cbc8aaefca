# SPDX-License-Identifier: MIT
"""Many entries: lazy, bounded, in order where asked, and what happens when the work or the reader stops."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nodes import entry, opened

from rocketride_core import TEXT, Cancelled, Entry, Instance, Packet, RunError, RunTimeout, hookimpl

LINE = "a: do < text start", "r: respond < text a"
Item = tuple[Entry, list[Packet]]


def items(count: int, **scripts: Any) -> Iterator[Item]:
    for n in range(count):
        yield entry(str(n), **scripts), [TEXT(str(n))]


def sleepy(seconds: float) -> Any:
    def work(instance: Instance, text: str) -> None:
        time.sleep(seconds)
        instance.emit(TEXT, text)

    return {"text": work}


def test_every_entry_gives_one_result() -> None:
    with opened(*LINE) as p:
        results = list(p.map(items(500), workers=3))
    assert sorted(int(r.entry.name) for r in results) == list(range(500))
    assert all(r.checked()[TEXT] == [r.entry.name] for r in results)


def test_no_work_no_results() -> None:
    with opened(*LINE) as p:
        assert list(p.map([])) == []


def test_ordered_results_come_in_the_order_of_the_work() -> None:
    def work(instance: Instance, text: str) -> None:
        time.sleep(0.02 if int(text) % 5 == 0 else 0)
        instance.emit(TEXT, text)

    with opened(*LINE) as p:
        assert [r.entry.name for r in p.map(items(60, a={"text": work}), ordered=True)] == [str(n) for n in range(60)]


def test_results_come_as_they_are_done_unless_ordered() -> None:
    free = threading.Event()

    def work(instance: Instance, text: str) -> None:
        if text == "0":
            assert free.wait(10)

    with opened(*LINE) as p:
        results = p.map(items(10, a={"text": work}), workers=2)
        first = next(results)
        assert first.entry.name != "0"
        free.set()
        assert sorted([first.entry.name, *(r.entry.name for r in results)]) == [str(n) for n in range(10)]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("ahead", [1, 4, 40])
def test_the_work_is_advanced_only_here_and_only_so_far_ahead(ordered: bool, ahead: int) -> None:
    advanced, threads = 0, set()
    inside = False

    def work() -> Iterator[Item]:
        nonlocal advanced
        for item in items(200):
            threads.add(threading.get_ident())
            assert inside, "it was advanced outside of next()"
            advanced += 1
            yield item

    with opened(*LINE) as p:
        results = p.map(work(), workers=3, ordered=ordered, ahead=ahead)
        time.sleep(0.02)
        assert advanced == 0
        taken = 0
        while True:
            inside = True
            result = next(results, None)
            inside = False
            if result is None:
                break
            assert advanced - taken <= 3 + ahead
            taken += 1
            if taken % 50 == 0:
                time.sleep(0.01)
    assert threads == {threading.get_ident()}
    assert taken == advanced == 200


def test_by_default_two_entries_wait_for_each_worker() -> None:
    advanced = 0

    def work() -> Iterator[Item]:
        nonlocal advanced
        for item in items(100, a=sleepy(0.05)):
            advanced += 1
            yield item

    with opened(*LINE) as p:
        results = p.map(work(), workers=2)
        next(results)
        assert 2 < advanced <= 6
        del results


def test_slow_work_holds_no_result_back() -> None:
    def work() -> Iterator[Item]:
        for item in items(5):
            yield item
            time.sleep(0.15)

    begun = time.monotonic()
    with opened(*LINE) as p:
        results = p.map(work(), workers=8)
        next(results)
        assert time.monotonic() - begun < 0.5
        assert len(list(results)) == 4


def test_many_entries_ahead_hold_no_result_back() -> None:
    advanced = 0

    def work() -> Iterator[Item]:
        nonlocal advanced
        for item in items(400, a=sleepy(0.005)):
            advanced += 1
            yield item

    with opened(*LINE) as p:
        results = p.map(work(), workers=2, ahead=1000)
        next(results)
        assert advanced < 100
        assert len(list(results)) == 399


def test_work_that_raises_gives_the_results_in_flight_first() -> None:
    def work() -> Iterator[Item]:
        yield from items(7, a=sleepy(0.01))
        raise LookupError("the folder is gone")

    got: list[str] = []
    with opened(*LINE) as p:
        with pytest.raises(LookupError, match="the folder is gone"):
            for result in p.map(work()):
                got.append(result.checked().entry.name)
        assert sorted(got) == [str(n) for n in range(7)]
        assert len(list(p.map(items(3)))) == 3


def test_work_that_raises_a_run_error_is_no_different() -> None:
    def work() -> Iterator[Item]:
        yield from items(3, a=sleepy(0.02))
        raise RunError("of somebody else")

    with opened(*LINE) as p:
        results = p.map(work())
        assert [next(results).error for _ in range(3)] == [None] * 3
        with pytest.raises(RunError, match="of somebody else"):
            next(results)


def test_leaving_the_loop_drops_the_queued_and_stops_the_running() -> None:
    state = {"ran": 0, "stopped": 0}

    def work(instance: Instance, text: str) -> None:
        if text == "0":
            return
        state["ran"] += 1
        end = time.monotonic() + 20
        while time.monotonic() < end and not instance.cancelled:
            time.sleep(0.005)
        state["stopped"] += instance.cancelled

    begun = time.monotonic()
    with opened(*LINE) as p:
        for result in p.map(items(1000, a={"text": work}), workers=4):
            assert result.entry.name == "0"
            break
        assert len(list(p.map(items(20)))) == 20
    assert time.monotonic() - begun < 10
    assert state["ran"] == state["stopped"] <= 4


def test_an_error_in_the_loop_stops_it_too() -> None:
    with opened(*LINE) as p:
        with pytest.raises(LookupError):
            for result in p.map(items(1000, a=sleepy(0.002))):
                raise LookupError(result.entry.name)
        assert p.run(Entry("e"), TEXT("x")).checked()[TEXT] == ["x"]


def test_a_time_limit_is_one_of_each_entry() -> None:
    def work(instance: Instance, text: str) -> None:
        if text == "3":
            with instance.on_cancel(free.set):
                free.wait(20)
            instance.emit(TEXT, text)

    free = threading.Event()
    with opened(*LINE) as p:
        results = {r.entry.name: r for r in p.map(items(8, a={"text": work}), timeout=0.3)}
    assert isinstance(results.pop("3").error, RunTimeout)
    assert all(r.error is None for r in results.values())


def test_wrong_numbers_and_shapes_are_refused_in_words() -> None:
    with opened(*LINE) as p:
        with pytest.raises(ValueError, match="0 or more"):
            p.map([], workers=-1)
        with pytest.raises(ValueError, match="0 or more"):
            p.map([], ahead=-1)
        with pytest.raises(TypeError, match=r"\(entry, \[packet\]\)"):
            list(p.map([(Entry("e"), TEXT("x"))]))  # type: ignore[list-item]


def test_two_maps_at_once_share_the_workers() -> None:
    with opened(*LINE, kernel={"workers": 2}) as p:
        one, two = p.map(items(50, a=sleepy(0.001))), p.map(items(50, a=sleepy(0.001)))
        got = [(next(one).entry.name, next(two).entry.name) for _ in range(50)]
        assert len(got) == 50
        assert list(one) == list(two) == []


def test_a_map_inside_a_map() -> None:
    with opened(*LINE, kernel={"workers": 2}) as p:
        assert sum(len(list(p.map(items(5)))) for _ in p.map(items(5))) == 25


def test_a_loop_that_nobody_begins_leaves_nothing() -> None:
    with opened(*LINE) as p:
        p.map(items(5), workers=3)
        gc.collect()
        assert len(list(p.map(items(5)))) == 5


def test_closing_the_pipeline_under_a_map_gives_every_entry_an_outcome() -> None:
    began = threading.Event()

    def work(instance: Instance, text: str) -> None:
        began.set()
        end = time.monotonic() + 20
        while time.monotonic() < end and not instance.cancelled:
            time.sleep(0.005)

    with opened(*LINE) as p:
        closer = threading.Thread(target=lambda: p.close(grace=0.1 if began.wait(5) else 0))
        closer.start()
        got = []
        with pytest.raises(RunError) as caught:
            for result in p.map(items(30, a={"text": work})):
                got.append(result)
        closer.join()
    assert caught.value.code == "pipeline-closed"
    assert all(isinstance(r.error, Cancelled) for r in got)


def test_a_host_plugin_that_breaks_is_told_to_the_loop_not_a_hang() -> None:
    class Broken:
        @hookimpl
        def finish_entry(self, result: Any) -> None:
            if result.entry.name == "5":
                raise LookupError("the ledger is full")

    with opened(*LINE, kernel={"plugins": [Broken()]}) as p, pytest.raises(LookupError, match="the ledger is full"):
        list(p.map(items(20)))


def memory() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_ten_thousand_objects_of_which_one_in_a_hundred_fails() -> None:
    def work(instance: Instance, text: str) -> None:
        if int(text) % 100 == 7:
            raise ValueError(f"bad object {text}")
        instance.emit(TEXT, text)

    with opened(*LINE, "b: collect < text a", "s: respond < text b") as p:
        for _ in p.map(items(2000, a={"text": work}), workers=8):
            pass
        gc.collect()
        before, failed, good, highest = memory(), [], 0, 0
        for n, result in enumerate(p.map(items(10_000, a={"text": work}), workers=8)):
            if result.error is not None:
                failed.append(int(result.entry.name))
                assert str(result.error.__cause__) == f"bad object {result.entry.name}"
            else:
                good += 1
                assert result[TEXT] == [result.entry.name, f"b({result.entry.name})"]
            if n % 1000 == 999:
                highest = max(highest, memory())
    assert sorted(failed) == list(range(7, 10_000, 100))
    assert good == 9900
    assert highest - before < 4 << 20, f"it grew by {(highest - before) >> 10} KiB"
