# SPDX-License-Identifier: MIT
"""Traces: the tree is whole, the levels, files, what is hidden, and targets that break."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from nodes import alone, entry, first, opened, raising, run, straight, wire

from rocketride_core import TEXT, Entry, Instance, Node, NodeSpec, on

LINE = "a: do < text start", "b: collect < text a", "r: respond < text b"
Record = dict[str, Any]


def traced(*lines: str, level: str = "calls", **config: Any) -> tuple[Any, list[Record]]:
    records: list[Record] = []
    return opened(*lines, kernel={"trace": level, "trace_to": records.append}, **config), records


def outline(records: list[Record]) -> list[str]:
    """Indented by parents: `kind component lane`."""
    depth: dict[str, int] = {"": -1}
    lines = []
    for record in records:
        depth[record["span"]] = level = depth[record["parent"]] + 1
        words = [record["kind"], record.get("component", record.get("name", "")), record.get("lane", "")]
        lines.append("  " * level + " ".join(word for word in words if word))
    return lines


def test_the_tree_of_one_entry_is_whole() -> None:
    pipeline, records = traced(*LINE)
    with pipeline as p:
        run(p, TEXT("x")).checked()
    assert outline(records) == [
        "entry e",
        "  open a",
        "  handler a text",
        "    handler b text",
        "  flush a",
        "  flush b",
        "    handler r text",
        "  close a",
    ]


def test_every_record_has_its_id_times_and_status() -> None:
    before = time.time()
    pipeline, records = traced(*LINE)
    with pipeline as p:
        run(p, TEXT("x"), a=first(lambda *_: time.sleep(0.05))).checked()
    assert len({r["span"] for r in records}) == len(records)
    assert all(r["status"] == "ok" for r in records)
    by_span = {r["span"]: r for r in records}
    for record in records:
        assert before - 0.1 <= record["start"] <= time.time() + 0.1
        assert 0 <= record["seconds"] < 5
        if record["parent"]:
            outer = by_span[record["parent"]]
            assert outer["start"] - 0.01 <= record["start"]
            assert record["start"] + record["seconds"] <= outer["start"] + outer["seconds"] + 0.01
    (slow,) = [r for r in records if r["kind"] == "handler" and r["component"] == "a"]
    assert slow["seconds"] >= 0.05
    assert records[0]["object_id"]


def test_a_failure_is_told_where_it_happened_and_what_it_unwound() -> None:
    pipeline, records = traced("a: do < text start", "b: do < text a", "r: respond < text b")
    with pipeline as p:
        run(p, TEXT("x"), b={"text": raising(ValueError("inside"))})
    told = {(r["kind"], r.get("component", "")): r["status"] for r in records}
    assert told[("entry", "")] == "failed"
    assert told[("handler", "b")] == "failed"
    assert told[("close", "a")] == "ok"
    assert ("flush", "a") not in told
    error = records[0]["error"]
    assert (error["component"], error["phase"], error["lane"]) == ("b", "handler", "text")
    assert "inside" in error["message"]


def test_a_handler_that_was_unwound_did_not_fail() -> None:
    pipeline, records = traced("a: do < text start", "b: do < text a", "r: respond < text b")
    with pipeline as p:
        run(p, TEXT("x"), b={"text": raising(ValueError("inside"))})
    assert {r["component"]: r["status"] for r in records if r["kind"] == "handler"} == {"a": "stopped", "b": "failed"}


def test_deliveries_put_off_past_the_limit_are_in_the_tree() -> None:
    pipeline, records = traced(*straight("mark", 100))
    with pipeline as p:
        run(p, TEXT("x")).checked()
    assert sum(r["kind"] == "handler" for r in records) == 101
    assert {r["parent"] for r in records} <= {"", *(r["span"] for r in records)}


def test_warnings_are_in_the_record_of_the_entry() -> None:
    pipeline, records = traced(*LINE)
    with pipeline as p:
        run(p, TEXT("x"), a={"text": lambda i, _: i.warn("odd", "something is odd")}).checked()
    assert records[0]["warnings"] == [{"component": "a", "code": "odd", "message": "something is odd"}]


def test_children_are_entries_of_their_own() -> None:
    pipeline, records = traced(*LINE)
    with pipeline as p:
        run(p, TEXT("x"), a={"text": lambda i, _: i.spawn(Entry("child"), TEXT("y"))}).checked()
    assert [r["name"] for r in records if r["kind"] == "entry"] == ["child", "e"]


# ---- levels


def test_off_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    records: list[Record] = []
    with opened(*LINE, kernel={"trace": "off", "trace_to": records.append}) as p:
        run(p, TEXT("x")).checked()
        assert p.bound.tracer is None
    assert records == []
    assert list(tmp_path.iterdir()) == []


def test_calls_have_no_payload() -> None:
    pipeline, records = traced(*LINE)
    with pipeline as p:
        run(p, TEXT("very secret text")).checked()
    assert "very secret text" not in json.dumps(records)


def test_payloads_are_shown_as_clients_see_them() -> None:
    pipeline, records = traced(*LINE, level="payloads")
    with pipeline as p:
        run(p, TEXT('a "b" ü')).checked()
    shown = {r["component"]: r["payload"] for r in records if r["kind"] == "handler"}
    assert shown == {"a": '"a \\"b\\" ü"', "b": '"a \\"b\\" ü"', "r": '"b(a \\"b\\" ü)"'}


def test_long_payloads_are_cut() -> None:
    pipeline, records = traced(*LINE, level="payloads")
    with pipeline as p:
        run(p, TEXT("x" * 100_000)).checked()
    (shown,) = [r["payload"] for r in records if r.get("component") == "a" and r["kind"] == "handler"]
    assert len(shown) < 10_100
    assert "(100002 characters)" in shown


def test_a_payload_that_cannot_be_shown_harms_nobody() -> None:
    from rocketride_core import Lane

    class Odd:
        def to_json(self) -> Any:
            raise LookupError("no picture of me")

    odd = Lane.of("acme.odd", Odd)

    class Maker(Node[None]):
        spec = NodeSpec("maker", title="Maker")

        @on(TEXT, emits=[odd])
        def text(self, instance: Instance, text: str) -> None:
            instance.emit(odd, Odd())

    class Taker(Node[None]):
        spec = NodeSpec("taker", title="Taker", responds=True)

        @on(odd)
        def take(self, instance: Instance, payload: Odd) -> None:
            instance.respond("odd", TEXT("taken"))

    records: list[Record] = []
    kernel = {"trace": "payloads", "trace_to": records.append}
    with opened("a: maker < text start", "b: taker < acme.odd a", nodes=[Maker, Taker], kernel=kernel) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["taken"]
    assert "no picture of me" in records[-1]["payload"]


# ---- files


def test_a_file_gets_one_json_a_line_and_is_appended_to(tmp_path: Path) -> None:
    target = tmp_path / "t.jsonl"
    for level in ("calls", "payloads"):
        with opened(*LINE, kernel={"trace": level, "trace_to": target}) as p:
            run(p, TEXT("ä")).checked()
            list(p.map((Entry(str(n)), [TEXT("x")]) for n in range(20)))
    records = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    assert sum(r["kind"] == "entry" for r in records) == 42
    assert len(records) == 42 * 8
    spans = [r["span"] for r in records]
    assert len(set(spans)) == len(spans), "ids are unique over all that append to one file"
    assert {r["parent"] for r in records} <= {"", *spans}


def test_both_levels_write_the_same_keys(tmp_path: Path) -> None:
    kept: dict[str, list[Record]] = {}
    for level in ("calls", "payloads"):
        target, records = tmp_path / f"{level}.jsonl", list[Record]()
        for to in (target, records.append):
            with opened(*LINE, kernel={"trace": level, "trace_to": to}) as p:
                run(p, TEXT("x"), a={"text": raising(ValueError("v"))})
        kept[level] = [json.loads(line) for line in target.read_text().splitlines()]
        assert [sorted(r) for r in kept[level]] == [sorted(r) for r in records]
        assert outline(kept[level]) == outline(records)
    assert [sorted({*r, "payload"} if r["kind"] == "handler" else r) for r in kept["calls"]] == [
        sorted(r) for r in kept["payloads"]
    ]


def test_without_a_target_it_is_a_file_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(*LINE, kernel={"trace": "calls"}) as p:
        run(p, TEXT("x")).checked()
    assert len((tmp_path / "rocketride-trace.jsonl").read_text().splitlines()) == 8


def test_the_entries_of_many_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    target = tmp_path / "t.jsonl"
    with opened(*LINE, kernel={"trace": "calls", "trace_to": target, "workers": 8}) as p:
        for result in p.map((Entry(str(n)), [TEXT("x")]) for n in range(300)):
            result.checked()
    group = ""
    for line in target.read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "entry":
            group = record["span"]
        assert record["span"] == group or record["span"].startswith(f"{group}.")


# ---- targets that break


def test_a_target_that_cannot_be_written_is_a_warning_not_a_failure(tmp_path: Path) -> None:
    with opened(*LINE, kernel={"trace": "calls", "trace_to": tmp_path / "no" / "where.jsonl"}) as p:
        result = run(p, TEXT("x")).checked()
        assert result[TEXT] == ["b(x)"]
        assert [w.code for w in result.warnings] == ["trace-failed"]
        assert "where.jsonl" in result.warnings[0].message
        assert p.start(Entry("e"), TEXT("x")).result(5).checked()[TEXT] == ["b(x)"]


def test_a_callable_that_raises_is_a_warning_on_every_way() -> None:
    def broken(record: Any) -> None:
        raise ConnectionError("the collector is gone")

    with opened(*LINE, kernel={"trace": "calls", "trace_to": broken}) as p:
        results = [run(p, TEXT("x")), p.start(Entry("e"), TEXT("x")).result(5), *p.map([(Entry("e"), [TEXT("x")])])]
    for result in results:
        assert [(w.code, w.severity) for w in result.checked().warnings] == [("trace-failed", "warning")]


# ---- what is hidden


def hidden(tmp_path: Path, value: str, text: str, level: str = "payloads") -> str:
    """The trace of an entry through a node that knows a variable's value."""

    def tell(instance: Instance, text: str) -> None:
        instance.warn("told", f"I know {text}")
        instance.emit(TEXT, text)
        raise ValueError(f"I tell {text}")

    target = tmp_path / "t.jsonl"
    records: list[Record] = []
    for to in (target, records.append):
        kernel = alone(env={"ROCKETRIDE_KEY": value}, trace=level, trace_to=to)
        pipe = wire("a: do < text start", "h: testing_hostile < text a", "r: respond < text h", h={"when": "${ROCKETRIDE_KEY}"})
        with kernel.load(pipe) as p:
            p.run(entry(text, a={"text": tell}), TEXT(text))
    lines = target.read_text("utf-8").splitlines()
    for line in lines:
        json.loads(line)
    return "\n".join(lines) + "\n" + "\n".join(repr(record) for record in records)


@pytest.mark.parametrize("value", ["s3cret-value", 'quo"ted\\value', "two\nlines", "grünes-geheimnis"])
def test_the_value_of_a_variable_is_nowhere_in_a_trace(tmp_path: Path, value: str) -> None:
    shown = hidden(tmp_path, value, f"before {value} after")
    for form in (value, repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(json.dumps(value))[1:-1].strip('\\"')):
        assert form not in shown
    assert "***" in shown


@pytest.mark.parametrize("value", ["1", "e", '"', "span", "handler", "true", "0."])
def test_a_short_value_breaks_no_record(tmp_path: Path, value: str) -> None:
    shown = hidden(tmp_path, value, "plain text")
    assert shown.count('"span"') == shown.count('"kind"') > 0


def test_a_value_that_a_cut_would_halve_is_hidden(tmp_path: Path) -> None:
    shown = hidden(tmp_path, "s3cret-value", "x" * 9_990 + "s3cret-value")
    assert "s3cret" not in shown


def test_tracing_from_many_pipelines_to_one_callable_keeps_ids_apart() -> None:
    records: list[Record] = []
    lock = threading.Lock()

    def keep(record: Any) -> None:
        with lock:
            records.append(record)

    kernel = alone(trace="calls", trace_to=keep)
    with kernel.load(wire(*LINE)) as one, kernel.load(wire(*LINE)) as two:
        run(one, TEXT("x"))
        run(two, TEXT("x"))
    assert len({r["span"] for r in records}) == len(records) == 16


def test_an_entry_s_record_has_what_was_counted() -> None:
    class Counter(Node[None]):
        spec = NodeSpec("counter", title="Counter")

        @on(TEXT, emits=[TEXT])
        def pass_on(self, instance: Instance, text: str) -> None:
            instance.count("input_tokens", 2)
            instance.count("input_tokens", 3)
            instance.emit(TEXT, text)

    records: list[Record] = []
    from rocketride_core.testing import node_harness

    with node_harness(Counter, trace_to=records.append) as harness:
        harness.run({"text": ["a"]})
        harness.run({})
    entries = [r for r in records if r["kind"] == "entry"]
    assert [r.get("usage") for r in entries] == [{"node": {"input_tokens": 5}}, None]
