# SPDX-License-Identifier: MIT
"""The node in pipelines: lanes, metadata, errors of one object, limits, workers."""

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rocketride_core import TABLE, TAGS, TEXT, Blob, Component, Entry, Instance, Kernel, LaneLink, Node, NodeSpec, PipeFile, on
from rocketride_core.errors import RunError
from rocketride_core.testing import NodeSuite, run_node
from rocketride_parse import Parse
from rocketride_parse.errors import Damaged, TimeLimit

CSV = b"a,b\n1,2\n"
TABLE_OF_CSV = "| a | b |\n| --- | --- |\n| 1 | 2 |"


class TestParse(NodeSuite):
    node = Parse
    send = {"tags": [Blob.of(b"Some text.", name="a.txt"), Blob.of(CSV, name="a.csv")]}


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[TAGS])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))

    @on(TABLE)
    def table(self, instance: Instance, table: str) -> None:
        instance.respond("table", TABLE(table))


def load(*lanes: str, workers: int = 0, **config: object):
    links = [LaneLink(lane, "parse_1") for lane in lanes or ("text", "table")]
    file = PipeFile(
        [
            Component("in", "in"),
            Component("parse_1", "parse", config, input=[LaneLink("tags", "in")]),
            Component("out", "out", input=links),
        ]
    )
    return Kernel(nodes=[Source, Parse, Sink], workers=workers).load(file)


def test_text_and_table_on_their_lanes():
    page = b"<!doctype html><p>Before.</p><table><tr><td>a<td>b<tr><td>1<td>2</table><p>After.</p>"
    got = run_node(Parse, send={"tags": [Blob.of(page, name="a.html")]})
    assert got["text"] == ["Before.", "After."]
    assert got["table"] == [TABLE_OF_CSV]


@pytest.mark.parametrize(
    ("lanes", "tables", "text", "table"),
    [
        (("text", "table"), "auto", 0, 1),
        (("text",), "auto", 1, 0),
        (("text", "table"), "both", 1, 1),
        (("text",), "both", 1, 0),
        (("text",), "table", 0, 0),
    ],
)
def test_where_tables_go(lanes, tables, text, table):
    with load(*lanes, tables=tables) as pipeline:
        result = pipeline.run(Entry("a.csv"), TAGS(Blob.of(CSV, name="a.csv"))).checked()
    assert result[TEXT] == [TABLE_OF_CSV] * text
    assert result[TABLE] == [TABLE_OF_CSV] * table


def test_metadata_is_on_the_entry_and_the_hosts_wins():
    page = b"<html lang=de><title>The title</title><meta name=author content=Zoe><p>x</p>"
    with load() as pipeline:
        result = pipeline.run(Entry("a", metadata={"title": "Mine"}), TAGS(Blob.of(page))).checked()
    metadata = result.to_json()["metadata"]
    assert metadata == {**metadata, "title": "Mine", "author": "Zoe", "language": "de", "format": "html", "encoding": "utf-8"}


def test_name_and_type_of_the_entry_are_hints_too():
    with load() as pipeline:
        assert pipeline.run(Entry("a.csv"), TAGS(Blob.of(CSV))).checked()[TABLE] == [TABLE_OF_CSV]
        assert pipeline.run(Entry("a", mime_type="text/csv"), TAGS(Blob.of(CSV))).checked()[TABLE] == [TABLE_OF_CSV]
        assert pipeline.run(Entry("a"), TAGS(Blob.of(CSV))).checked()[TABLE] == []


def test_one_bad_file_fails_alone(make, tmp_path):
    good = make["docx"](tmp_path / "good.docx")
    bad = tmp_path / "bad.docx"
    bad.write_bytes(good.read_bytes()[:3000])
    locked = make["pdf"](tmp_path / "locked.pdf", password="spoke")
    work = [(Entry(path.name), [TAGS(Blob.of(path))]) for path in (good, bad, locked, good)]
    with load() as pipeline:
        first, second, third, fourth = pipeline.map(work, ordered=True, workers=2)
    assert first.error is None
    assert len(first[TEXT]) == len(fourth[TEXT]) == 1
    assert isinstance(second.error, RunError)
    assert isinstance(second.error.__cause__, Damaged)
    assert "bad.docx: damaged, not a Word document that opens" in str(second.error)
    assert second.error.component == "parse_1"
    assert second[TEXT] == []
    assert "locked.pdf: encrypted with a password" in str(third.error)


def test_empty_and_blank_files_are_warnings():
    with load() as pipeline:
        empty = pipeline.run(Entry("a"), TAGS(Blob.of(b"", name="empty.pdf"))).checked()
        blank = pipeline.run(Entry("b"), TAGS(Blob.of(b" \n\n ", name="blank.txt"))).checked()
    assert [(w.code, w.message) for w in empty.warnings if w.code == "empty-file"] == [
        ("empty-file", "empty.pdf: skipped because the file is empty")
    ]
    assert [w.code for w in blank.warnings if w.code == "no-text"] == ["no-text"]
    assert empty[TEXT] == blank[TEXT] == []


def test_time_limits_of_the_node_and_of_the_entry(slow_xlsx):
    blob = Blob.of(slow_xlsx)
    with load(max_seconds=1.0) as pipeline:
        result = pipeline.run(Entry("a"), TAGS(blob))
        assert isinstance(result.error.__cause__, TimeLimit)
        assert pipeline.run(Entry("b"), TAGS(Blob.of(b"fine"))).checked()[TEXT] == ["fine"]
    with load() as pipeline:
        began = time.monotonic()
        assert pipeline.run(Entry("a"), TAGS(blob), timeout=1).error is not None
        assert time.monotonic() - began < 10


def test_cancel_stops_the_parser(slow_xlsx):
    with load() as pipeline:
        began = time.monotonic()
        with pipeline.start(Entry("a"), TAGS(Blob.of(slow_xlsx))) as run:
            threading.Timer(0.5, run.cancel).start()
            result = run.result(timeout=30)
        assert result.error is not None
        assert time.monotonic() - began < 5
        assert pipeline.run(Entry("b"), TAGS(Blob.of(b"fine"))).checked()[TEXT] == ["fine"]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS and /proc")
def test_memory_limit_and_nothing_left_behind(bomb_docx, make, tmp_path):
    files = [make[kind](tmp_path / f"a.{kind}") for kind in ("pdf", "docx", "pptx", "xlsx")]
    children, descriptors = Path(f"/proc/{os.getpid()}/task"), Path("/proc/self/fd")

    def left() -> tuple[int, int]:
        running = []
        for task in children.iterdir():
            with suppress(FileNotFoundError):  # a thread that ended meanwhile
                running += (task / "children").read_text().split()
        return len(running), len(list(descriptors.iterdir()))

    with load(max_memory=200) as pipeline:
        assert "needs more than the 200 MiB" in str(pipeline.run(Entry("bomb"), TAGS(Blob.of(bomb_docx))).error)
    before = left()
    with load(max_memory=200, workers=4) as pipeline:
        work = ((Entry(str(number)), [TAGS(Blob.of(files[number % 4]))]) for number in range(200))
        assert sum(1 for result in pipeline.map(work, workers=4) if result.checked()[TEXT]) == 200
        assert left()[0] <= before[0] + 4
    assert left() == before


def test_encoding_can_be_forced():
    with load(encoding="cp1251") as pipeline:
        assert pipeline.run(Entry("a"), TAGS(Blob.of("Ж".encode("cp1251"), name="a.txt"))).checked()[TEXT] == ["Ж"]
    with pytest.raises(RunError, match="unknown encoding 'klingon'"), load(encoding="klingon"):
        pass
