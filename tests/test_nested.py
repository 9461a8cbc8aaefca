# SPDX-License-Identifier: MIT
"""Nested entries: a node runs the sub-pipeline on its outputs, with a response, limits, a name and a trace of its own."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from nodes import entry
from tool_kit import answering, calling, error_of, opened

from rocketride_core import (
    ANSWERS,
    TEXT,
    Answer,
    Cancelled,
    Entry,
    Event,
    Instance,
    RunError,
    RunTimeout,
    ToolFailure,
)

ONE_DEEP = (
    "agent: agent < text start", "sub: sub", "inner: do < text sub", "r: respond < text agent", "r2: respond < text inner",
    "agent -tool-> sub",
)  # fmt: skip


def three_deep() -> list[str]:
    lines = ["agent: agent < text start", "r: respond < text agent"]
    for n, above in enumerate(["agent", "a1", "a2"], 1):
        lines += [f"s{n}: sub", f"a{n}: agent < text s{n}", f"r{n}: respond < text a{n}", f"{above} -tool-> s{n}"]
    return lines


def passing_on(depth: int = 3) -> dict[str, Any]:
    def at(n: int) -> dict[str, Any]:
        def text(instance: Instance, text: str) -> None:
            said = instance.tools.call(f"s{n + 1}.run", {"text": f"{text}{n}"}) if n < depth else f"{text}{n}!"
            instance.emit(TEXT, f"{said}<{n}")

        return {"text": text}

    return {"agent": at(0), "a1": at(1), "a2": at(2), "a3": at(3)}


def run_sub(instance: Instance, text: str) -> Any:
    return instance.tools.call("sub.run", {"text": text})


def test_every_levels_answer_comes_back_and_only_the_outermost_is_the_hosts() -> None:
    with opened(*three_deep()) as p:
        found = p.run(entry("e", **passing_on()), TEXT("x")).checked()
    assert found[TEXT] == ["x0123!<3<2<1<0"]
    assert found.to_json()["text"] == ["x0123!<3<2<1<0\n\n"]


def test_a_nested_entry_opens_flushes_and_closes_in_order_with_a_response_of_its_own() -> None:
    journal: list[str] = []
    lines = [*ONE_DEEP[:3], "last: do < text inner", "r: respond < text agent", "r2: respond < text last", "agent -tool-> sub"]
    with opened(*lines) as p:
        found = answering(p, journal=journal, agent={"text": run_sub}).checked()
    assert journal[journal.index("open last") :][:8] == [
        "open last", "open inner", "text inner go", "text last go", "flush inner", "flush last", "close inner", "close last",
    ]  # fmt: skip
    assert found[TEXT] == ["go"]


def test_each_call_is_an_entry_of_its_own() -> None:
    """Nothing of one call is left for the next, or for one at the same time."""
    names: list[tuple[str, str]] = []

    def inner(instance: Instance, text: str) -> None:
        names.append((instance.entry.name, instance.entry.object_id))
        parts = instance.state(list[Any])
        parts.append(text)
        instance.emit(TEXT, "+".join(parts))

    def text(instance: Instance, text: str) -> Any:
        first = [run_sub(instance, "a"), run_sub(instance, "b")]
        return first + list(instance.tools.call_all([("sub.run", {"text": str(n)}) for n in range(8)]))

    with opened(*ONE_DEEP) as p:
        found = answering(p, agent={"text": text}, inner={"text": inner})
        parent = found.entry.object_id
    assert found.checked()[TEXT] == [repr(["a", "b", *map(str, range(8))])]
    assert sorted(names) == sorted((f"sub#{n}", f"{parent}/sub#{n}") for n in range(1, 11))


def test_names_and_ids_tell_the_way_in() -> None:
    seen: list[tuple[str, str]] = []

    def at(n: int) -> dict[str, Any]:
        def text(instance: Instance, text: str) -> None:
            seen.append((instance.entry.name, instance.entry.object_id))
            if n < 3:
                instance.tools.call(f"s{n + 1}.run", {"text": text})

        return {"text": text}

    with opened(*three_deep()) as p:
        p.run(Entry("e", object_id="X", metadata={"agent": at(0), "a1": at(1), "a2": at(2), "a3": at(3)}), TEXT("x")).checked()
    assert seen == [("e", "X"), ("s1#1", "X/s1#1"), ("s1#1/s2#1", "X/s1#1/s2#1"), ("s1#1/s2#1/s3#1", "X/s1#1/s2#1/s3#1")]


def test_metadata_and_path_are_those_of_the_entry_around_and_changes_stay_inside() -> None:
    seen: list[Any] = []

    def inner(instance: Instance, text: str) -> None:
        seen.append((instance.entry.path, instance.metadata["title"]))
        instance.metadata["title"] = "changed"

    def text(instance: Instance, text: str) -> None:
        run_sub(instance, text)
        seen.append(instance.metadata["title"])

    with opened(*ONE_DEEP) as p:
        told: Any = {"agent": {"text": text}, "inner": {"text": inner}, "title": "T"}
        found = p.run(Entry("e", path="a/b.txt", metadata=told), TEXT("x")).checked()
    assert seen == [("a/b.txt", "T"), "T"]
    assert found.metadata["title"] == "T"


# ---- the run that a node is handed


def with_sub(f: Any, **scripts: Any) -> Any:
    said: list[Any] = []
    lines = [
        "agent: agent < text start",
        "sub: sub",
        "inner: do < text sub",
        "r: respond < text inner, answers inner",
        "agent -tool-> sub",
    ]
    with opened(*lines) as p:
        answering(
            p, agent={"text": lambda i, t: run_sub(i, t) and None}, sub={"with": lambda i, t: said.append(f(i))}, **scripts
        ).checked()
    return said[0]


def test_what_a_node_gets_is_a_run() -> None:
    def use(instance: Instance) -> Any:
        with instance.nested() as child:
            assert child.wants(TEXT)
            assert not child.wants(ANSWERS)
            child.send(TEXT("a"))
            child.send(TEXT("b"))
            result = child.result()
            assert child.result() is result
        assert child.result() is result
        assert result.entry.name == "sub#1"
        assert list(child) == []
        return list(result[TEXT])

    assert with_sub(use) == ["a", "b"]


def test_the_result_before_leaving_has_flushed_and_what_is_sent_later_is_lost() -> None:
    journal: list[str] = []

    def use(instance: Instance) -> Any:
        with instance.nested() as child:
            child.send(TEXT("a"))
            result = child.result()
            assert journal[-1] == "close inner"
            child.send(TEXT("late"))
        return list(result[TEXT])

    assert with_sub(use, journal=journal, inner={"flush": lambda i: i.emit(TEXT, "flushed")}) == ["a", "flushed"]
    assert "text inner late" not in journal


def test_without_asking_for_the_result_it_is_finished_all_the_same() -> None:
    journal: list[str] = []

    def use(instance: Instance) -> Any:
        with instance.nested() as child:
            child.send(TEXT("a"))
        return len(child.result()[TEXT])

    assert with_sub(use, journal=journal) == 1
    assert journal.count("close inner") == 1


def test_an_exception_in_the_block_cancels_the_nested_entry() -> None:
    journal: list[str] = []
    results: list[Any] = []

    def use(instance: Instance) -> Any:
        with pytest.raises(KeyError, match="mine"), instance.nested() as child:
            results.append(child)
            child.send(TEXT("a"))
            raise KeyError("mine")
        return "went on"

    assert with_sub(use, journal=journal) == "went on"
    error = results[0].result().error
    assert isinstance(error, Cancelled)
    assert "left by an exception of its caller" in str(error)
    assert "flush inner" not in journal
    assert "close inner" in journal


def test_cancelling_it_ends_it_and_not_its_caller() -> None:
    def use(instance: Instance) -> Any:
        with instance.nested() as child:
            child.cancel()
            child.send(TEXT("a"))
            return type(child.result().error).__name__

    journal: list[str] = []
    assert with_sub(use, journal=journal) == "Cancelled"
    assert "text inner a" not in journal


def test_a_lane_that_the_node_does_not_feed_is_the_results_error() -> None:
    def use(instance: Instance) -> Any:
        with instance.nested() as child:
            child.send(ANSWERS(Answer("a")))
            return child.result().error

    error = with_sub(use)
    assert (error.code, error.phase, error.component) == ("undeclared-lane", "send", "sub")


def test_awaiting_it_gives_the_result_too() -> None:
    async def drain(child: Any) -> Any:
        assert [event async for event in child] == []
        return await child

    def use(instance: Instance) -> Any:
        with instance.nested() as child:
            child.send(TEXT("a"))
            step = drain(child)
            with pytest.raises(StopIteration) as done:
                step.send(None)
            return list(done.value.value[TEXT])

    assert with_sub(use) == ["a"]


# ---- errors


@pytest.mark.parametrize("phase", ["open", "text", "flush", "close"])
def test_an_error_inside_is_a_tool_failure_that_names_the_inner_node(phase: str) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("inside")

    errors: list[ToolFailure] = []
    with opened(*ONE_DEEP) as p:
        found = answering(
            p, agent={"text": lambda i, t: errors.append(calling(ToolFailure, i, "sub.run", {"text": t}))}, inner={phase: fail}
        ).checked()
    (error,) = errors
    assert (error.tool, error.component) == ("sub.run", "inner")
    assert isinstance(error.__cause__, RunError)
    assert error.__cause__.phase == {"text": "handler"}.get(phase, phase)
    assert found[TEXT] == []


def test_an_error_inside_that_nobody_handles_fails_the_caller_with_the_whole_chain() -> None:
    def fail(*_: Any) -> None:
        raise ValueError("inside")

    with opened(*ONE_DEEP) as p:
        error = error_of(answering(p, agent={"text": run_sub}, inner={"text": fail}))
    assert error.component == "agent"
    causes = []
    at: BaseException | None = error
    while at is not None:
        causes.append(type(at).__name__)
        at = at.__cause__
    assert causes == ["RunError", "ToolFailure", "RunError", "ValueError"]


def test_ctrl_c_inside_is_not_a_failure_that_an_agent_handles() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    journal: list[str] = []

    def text(instance: Instance, text: str) -> str:
        try:
            return str(run_sub(instance, text))
        except Exception:
            return "handled"

    with opened(*ONE_DEEP) as p:
        with pytest.raises(KeyboardInterrupt):
            answering(p, journal=journal, agent={"text": text}, inner={"text": interrupt})
        assert journal[-2:] == ["close inner", "close agent"]
        assert answering(p, agent={"text": run_sub}).checked()[TEXT] == ["go"]


def test_a_lane_node_whose_consumers_are_its_producers_has_no_region() -> None:
    with opened("a: do < text start", "b: do < text a", "r: respond < text b") as p:
        error = error_of(answering(p, a={"text": lambda i, t: i.nested().__enter__()}))
    assert (error.code, error.component) == ("no-region", "a")


def test_nesting_is_bounded_and_says_where() -> None:
    """A tool_pipe called from inside itself crosses a data edge: legal, and bounded."""
    depths: list[str] = []

    def inner(instance: Instance, text: str) -> None:
        depths.append(instance.entry.name)
        instance.emit(TEXT, str(instance.tools.call("sub.run", {"text": text})))

    lines = ["agent: agent < text start", "sub: sub", "inner: agent < text sub", "r: respond < text agent", "r2: respond < text inner",
             "agent -tool-> sub", "inner -tool-> sub"]  # fmt: skip
    with opened(*lines) as p:
        error = error_of(answering(p, agent={"text": run_sub}, inner={"text": inner}))
    assert len(depths) == 16
    assert "more than 16 entries inside each other at sub" in str(error)
    at: BaseException = error
    while at.__cause__ is not None:
        at = at.__cause__
    assert isinstance(at, RunError)
    assert at.code == "nesting-depth"


# ---- limits and cancels


def test_a_nested_entrys_limit_is_its_own() -> None:
    def slow(instance: Instance, text: str) -> None:
        assert instance.remaining is not None
        assert instance.remaining <= 0.1
        while True:
            time.sleep(0.005)
            instance.emit(TEXT, text)

    def use(instance: Instance) -> Any:
        assert instance.remaining is None
        with instance.nested(timeout=0.1) as child:
            child.send(TEXT("a"))
            result = child.result()
        assert instance.remaining is None
        return result

    result = with_sub(use, inner={"text": slow})
    assert isinstance(result.error, RunTimeout)
    assert result.error.component == "inner"
    assert len(result[TEXT]) >= 1


def test_the_limit_of_the_entry_around_holds_inside() -> None:
    seen: list[Any] = []

    def slow(instance: Instance, text: str) -> None:
        seen.append(instance.remaining)
        while True:
            time.sleep(0.005)
            instance.emit(TEXT, text)

    with opened(*ONE_DEEP) as p:
        found = answering(p, timeout=0.2, agent={"text": run_sub}, inner={"text": slow})
    assert isinstance(error_of(found), RunTimeout)
    assert 0 < seen[0] <= 0.2


def test_cancelling_the_entry_around_cancels_every_level_inside() -> None:
    begun = threading.Event()
    ended: list[str] = []

    def last(instance: Instance, text: str) -> None:
        begun.set()
        try:
            while True:
                time.sleep(0.002)
                instance.emit(TEXT, "x")
        finally:
            ended.append(f"{instance.entry.name} {instance.cancelled}")

    with opened(*three_deep()) as p:
        run = p.start(entry("e", **{**passing_on(), "a3": {"text": last}}), TEXT("x"))
        with run as running:
            assert begun.wait(20)
            running.cancel()
            assert isinstance(running.result(20).error, Cancelled)
    assert ended == ["s1#1/s2#1/s3#1 True"]


def test_what_waits_inside_is_called_when_the_entry_around_is_cancelled() -> None:
    waiting, called = threading.Event(), threading.Event()

    def inner(instance: Instance, text: str) -> None:
        with instance.on_cancel(called.set):
            waiting.set()
            assert called.wait(20)

    with opened(*ONE_DEEP) as p:
        run = p.start(entry("e", agent={"text": lambda i, t: run_sub(i, t) and None}, inner={"text": inner}), TEXT("x"))
        with run as running:
            assert waiting.wait(20)
            running.cancel()
            assert isinstance(running.result(20).error, Cancelled)


def test_a_stopped_entry_opens_none() -> None:
    opened_names: list[str] = []

    def text(instance: Instance, text: str) -> None:
        instance.flight.cancel()  # type: ignore[attr-defined]
        try:
            with instance.nested():
                opened_names.append("opened")
        except BaseException as error:
            opened_names.append(type(error).__name__)
            raise

    lines = ["agent: agent < text start", "r: respond < text agent"]
    with opened(*lines) as p:
        found = answering(p, agent={"text": text})
    assert isinstance(error_of(found), Cancelled | RunError)
    assert "opened" not in opened_names


# ---- what the host sees


def test_events_usage_and_warnings_reach_the_host() -> None:
    heard: list[Event] = []

    def last(instance: Instance, text: str) -> None:
        instance.event("thinking", at=instance.entry.name)
        instance.count("tokens", 2)
        instance.warn("acme-cut", "it was too long")

    def middle(instance: Instance, text: str) -> None:
        instance.count("tokens", 1)
        for _ in range(2):
            instance.tools.call("s2.run", {"text": text})

    lines = [line for line in three_deep() if not any(id in line for id in ("s3", "a3"))]
    with opened(*lines) as p:
        scripts: dict[str, Any] = {
            "agent": {"text": lambda i, t: i.tools.call_all([("s1.run", {"text": t})] * 3)},
            "a1": {"text": middle},
            "a2": {"text": last},
        }
        flight = p.flight(entry("e", **scripts))
        flight.listener = heard.append
        found = p.complete(flight, (TEXT("x"),)).checked()
    assert found.usage == {"a1": {"tokens": 3}, "a2": {"tokens": 12}}
    assert [(w.component, w.code) for w in found.warnings] == [("a2", "acme-cut")] * 6
    assert len(heard) == 6
    assert {(e.kind, e.component) for e in heard} == {("thinking", "a2")}


def test_what_a_failed_nested_entry_used_is_told_too() -> None:
    def inner(instance: Instance, text: str) -> None:
        instance.count("tokens", 5)
        raise ValueError("after the tokens")

    with opened(*ONE_DEEP) as p:
        found = answering(
            p, agent={"text": lambda i, t: calling(ToolFailure, i, "sub.run", {"text": t}) and None}, inner={"text": inner}
        ).checked()
    assert found.usage == {"inner": {"tokens": 5}}


def tree(records: list[Any]) -> dict[str, Any]:
    """Records by span; every parent is there."""
    by_span = {record["span"]: record for record in records}
    assert len(by_span) == len(records), "a span is written once"
    for record in records:
        assert record["parent"] == "" or record["parent"] in by_span, record
    return by_span


def way(by_span: dict[str, Any], record: Any) -> list[str]:
    """From the outermost entry to a record."""
    found: list[str] = []
    while True:
        found.append(f"{record['kind']} {record.get('name') or record.get('tool') or record.get('component')}")
        if not record["parent"]:
            return found[::-1]
        record = by_span[record["parent"]]


@pytest.mark.parametrize("timeout", [None, 20.0])
def test_the_trace_is_a_tree(timeout: float | None) -> None:
    records: list[Any] = []
    with opened(*three_deep(), kernel={"trace": "payloads", "trace_to": records.append, "tool_timeout": timeout}) as p:
        p.run(entry("e", **passing_on()), TEXT("x")).checked()
    by_span = tree(records)
    (last,) = [r for r in records if r["kind"] == "handler" and r.get("component") == "a3"]
    assert way(by_span, last) == [
        "entry e", "handler agent", "tool s1.run", "entry s1#1", "handler a1", "tool s2.run", "entry s1#1/s2#1", "handler a2",
        "tool s3.run", "entry s1#1/s2#1/s3#1", "handler a3",
    ]  # fmt: skip
    calls = [r for r in records if r["kind"] == "tool"]
    assert [(r["tool"], r["status"], r["arguments"]) for r in calls] == [
        ("s3.run", "ok", '{"text": "x012"}'), ("s2.run", "ok", '{"text": "x01"}'), ("s1.run", "ok", '{"text": "x0"}'),
    ]  # fmt: skip


def test_the_trace_of_a_turn_and_of_calls_inside_calls_is_a_tree() -> None:
    records: list[Any] = []
    lines = [*ONE_DEEP, "box: box", "agent -tool-> box", "box -tool-> sub"]
    with opened(*lines, kernel={"trace": "calls", "trace_to": records.append}) as p:
        answering(
            p,
            agent={"text": lambda i, t: i.tools.call_all([("box.both", {"n": n}) for n in range(3)]) and None},
            box={"both": lambda i, n: list(i.tools.call_all([("sub.run", {"text": str(k)}) for k in range(3)]))},
        ).checked()
    by_span = tree(records)
    inner = [r for r in records if r["kind"] == "handler" and r.get("component") == "inner"]
    assert len(inner) == 9
    for record in inner:
        kinds = [step.split()[0] for step in way(by_span, record)]
        assert kinds == ["entry", "handler", "tool", "tool", "entry", "handler"]


def test_a_call_that_ran_out_of_time_is_traced_once_and_what_it_opened_hangs_below_it() -> None:
    records: list[Any] = []
    with opened(*ONE_DEEP, kernel={"trace": "calls", "trace_to": records.append}) as p:
        from rocketride_core import ToolTimeout

        answering(
            p,
            agent={"text": lambda i, t: calling(ToolTimeout, i, "sub.run", {"text": t}, timeout=0.1) and None},
            inner={"text": lambda i, t: time.sleep(0.4)},
        ).checked()
        timed = p.bound.toolrunner.timed
        end = time.monotonic() + 10
        while timed.abandoned and time.monotonic() < end:
            time.sleep(0.01)
    by_span = tree(records)
    (call,) = [r for r in records if r["kind"] == "tool"]
    assert (call["status"], call["component"]) == ("failed", "sub")
    assert call["error"].startswith("ToolTimeout: sub.run did not answer")
    (late,) = [r for r in records if r["kind"] == "handler" and r.get("component") == "inner"]
    assert way(by_span, late) == ["entry e", "handler agent", "tool sub.run", "entry sub#1", "handler inner"]
    assert late["status"] == "stopped"  # the entry has the error, its handler was unwound


def test_two_agents_and_one_sub_pipeline_at_once() -> None:
    lines = [
        "a: agent < text start", "b: agent < text start", "sub: sub", "inner: collect < text sub", "r: respond < text a, text b",
        "r2: respond < text inner", "a -tool-> sub", "b -tool-> sub",
    ]  # fmt: skip
    with opened(*lines, kernel={"workers": 8}) as p:

        def text(instance: Instance, text: str) -> None:
            found = instance.tools.call_all([("sub.run", {"text": f"{instance.node.id}{text}{n}"}) for n in range(4)])  # type: ignore[attr-defined]
            instance.emit(TEXT, ",".join(map(str, found)))

        work = ((entry(str(n), a={"text": text}, b={"text": text}), (TEXT(str(n)),)) for n in range(8))
        found = list(p.map(work, ordered=True))
    for n, result in enumerate(found):
        assert sorted(result.checked()[TEXT]) == [",".join(f"inner({who}{n}{k})" for k in range(4)) for who in "ab"]
