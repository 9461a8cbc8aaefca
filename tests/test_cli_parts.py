# SPDX-License-Identifier: MIT
"""The command line's parts that need no kernel: words, inputs, --set, reports, what people read."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import ANSWERS, DOCUMENTS, TEXT, Answer, Blob, Document, Entry, Instance, Node, NodeSpec, Secret, on, setting
from rocketride_core.cli.arguments import Usage, parse
from rocketride_core.cli.extra import Collected
from rocketride_core.cli.inputs import STDIN, collect, file_object, mime_type, stdin_object
from rocketride_core.cli.interrupt import Interrupt
from rocketride_core.cli.overrides import apply, environment
from rocketride_core.cli.progress import Reporter
from rocketride_core.cli.render import failure, position, response
from rocketride_core.cli.report import lines, missing
from rocketride_core.errors import PluginError, Problem, RunError
from rocketride_core.pipefile import Component, PipeFile
from rocketride_core.registry import Registry
from rocketride_core.results import EntryResult


def result(
    *responses: tuple[int, str, Any, Any],
    entry: Entry | None = None,
    error: RunError | None = None,
    children: Sequence[EntryResult] = (),
    usage: dict[str, dict[str, float]] | None = None,
) -> EntryResult:
    return EntryResult(entry or Entry("a.txt", path="docs/a.txt"), error, (), list(responses), (), usage or {}, None, children)


# ---- words


def test_options_may_stand_between_files() -> None:
    args = parse("run", ["run", "--workers", "3", "p.pipe", "--json", "a", "--set", "x.y=1", "b", "--set", "x.z=2", "-"])
    assert (args.pipe, args.inputs, args.workers, args.json, args.set) == ("p.pipe", ["a", "b", "-"], 3, True, ["x.y=1", "x.z=2"])


@pytest.mark.parametrize(
    "words",
    [["run"], ["run", "p", "--workers", "-1"], ["run", "p", "--timeout", "0"], ["run", "p", "--trace", "loud"], ["check"]],
)
def test_wrong_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(words[0], words)
    assert stop.value.code == 2
    assert "usage: rocketride-core" in capsys.readouterr().err


# ---- inputs


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("docs/b.txt", "docs/a.md", "docs/sub/c.pdf", "docs/.hidden", "docs/.git/x.txt", "docs/sub/.DS_Store"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folders_are_walked_sorted_without_hidden_files(tree: Path) -> None:
    assert [path.as_posix() for path in collect(["docs"])] == ["docs/a.md", "docs/b.txt", "docs/sub/c.pdf"]


def test_every_file_once_and_hidden_ones_only_by_name(tree: Path) -> None:
    names = ["docs/sub/../b.txt", "docs", str(tree / "docs" / "a.md"), "docs/.hidden", "-", "-"]
    found = collect(names)
    assert [path.name for path in found] == ["b.txt", "a.md", "c.pdf", ".hidden", "-"]
    assert found[-1] == STDIN


def test_links_that_lead_nowhere_and_pipes_are_passed_over_in_folders(tree: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    (tree / "docs" / "dead").symlink_to("nowhere")
    os.mkfifo(tree / "docs" / "fifo")
    assert [path.name for path in collect(["docs"])] == ["a.md", "b.txt", "c.pdf"]


def test_a_missing_file_is_a_usage_error(tree: Path) -> None:
    with pytest.raises(Usage, match=r"there is no file or folder nope\.txt"):
        collect(["docs", "nope.txt"])


def test_the_object_of_a_file(tree: Path) -> None:
    os.utime("docs/b.txt", (1_700_000_000, 1_700_000_000))
    entry, blob = file_object(Path("docs/sub/../b.txt"))
    assert (entry.name, entry.path, entry.mime_type) == ("b.txt", "docs/b.txt", "text/plain")
    assert entry.metadata == {"size": 10, "modified": "2023-11-14T22:13:20+00:00"}
    assert (blob.name, blob.mime_type, blob.size) == ("b.txt", "text/plain", 10)
    assert blob.read() == b"docs/b.txt"
    absolute, _ = file_object(tree / "docs" / "b.txt")
    assert absolute.object_id == entry.object_id


def test_a_file_outside_the_working_directory_keeps_its_whole_path(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "docs" / "sub")
    entry, _ = file_object(Path("../b.txt"))
    assert entry.path == (tree / "docs" / "b.txt").as_posix()


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("a.DOCX", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("a.md", "text/markdown"),
        ("a.html", "text/html"),
        ("a.tar.gz", "application/gzip"),
        ("a.pdf", "application/pdf"),
        ("a.eml", "message/rfc822"),
        ("a.png", "image/png"),
        ("noextension", ""),
    ],
)
def test_media_types(name: str, mime: str) -> None:
    assert mime_type(name) == mime


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"plain", "text/plain"),
        ("ü中".encode() * 5000, "text/plain"),
        (b"a" * 8191 + "ü".encode(), "text/plain"),
        (b"\x89PNG\r\n\x1a\n\x00", "application/octet-stream"),
        (b"\xff\xfe" * 9, "application/octet-stream"),
        (b"", "text/plain"),
    ],
)
def test_standard_input_is_one_object(data: bytes, mime: str) -> None:
    entry, blob = stdin_object(io.BytesIO(data))
    assert (entry.name, entry.mime_type, blob.mime_type) == ("stdin", mime, mime)
    assert blob.read() == data


# ---- --set and --env


@attrs.frozen(kw_only=True)
class KeyedConfig:
    api_key: Secret = setting(Secret(), key="apikey")
    model: str | None = setting(None)
    size: int = setting(1)


class Keyed(Node[KeyedConfig]):
    spec = NodeSpec("keyed", title="Keyed")

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None: ...


def config(before: dict[str, Any], *settings: str, id: str = "x") -> dict[str, Any]:
    pipe = PipeFile([Component("first", "keyed"), Component(id, "keyed", before)])
    return dict(apply(pipe, settings, Registry([Keyed], path=[])).components[1].config)


def test_a_value_is_json_or_a_text() -> None:
    assert config({}, "x.size=3", "x.on=false", 'x.list=["a", 1]', "x.word=hello there", "x.eq=a=b", "x.nothing=") == {
        "size": 3,
        "on": False,
        "list": ["a", 1],
        "word": "hello there",
        "eq": "a=b",
        "nothing": "",
    }


def test_a_setting_that_is_a_text_stays_one() -> None:
    assert config({}, "x.apikey=123456", "x.model=4", 'x.other="7"') == {"apikey": "123456", "model": "4", "other": "7"}
    assert config({}, 'x.apikey="quoted"') == {"apikey": "quoted"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"port": 1}, {"port": 9}),
        ({"profile": "local", "local": {"port": 1, "host": "h"}}, {"profile": "local", "local": {"port": 9, "host": "h"}}),
        ({"profile": "local", "port": 1}, {"profile": "local", "port": 1, "local": {"port": 9}}),
        ({"profile": "", "port": 1}, {"profile": "", "port": 9}),
        ({"default": {"port": 1}}, {"default": {"port": 1}, "port": 9}),
        ({"profile": "${ROCKETRIDE_P}"}, {"profile": "${ROCKETRIDE_P}", "port": 9}),
    ],
)
def test_a_value_goes_where_it_counts(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert config(before, "x.port=9") == after


def test_the_profile_itself_and_nested_keys() -> None:
    assert config({"profile": "a", "a": {"k": 1}}, "x.profile=b", "x.k=2") == {"profile": "b", "a": {"k": 1}, "b": {"k": 2}}
    assert config({"parameters": {"a": 1}}, "x.parameters.b.c=2") == {"parameters": {"a": 1, "b": {"c": 2}}}
    assert config({"db.uri": "old"}, "x.db.uri=new") == {"db.uri": "new"}


def test_ids_with_dots() -> None:
    assert config({}, "first.sub.k=1", id="first.sub") == {"k": 1}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("x.k", "write it as ID.KEY=VALUE"),
        ("x=1", "write it as ID.KEY=VALUE"),
        ("x.=1", "write it as"),
        ("y.k=1", "no component has the id y; the file has first, x"),
    ],
)
def test_settings_that_cannot_be_followed(setting: str, message: str) -> None:
    with pytest.raises(Usage, match=message):
        config({}, setting)


def test_the_original_is_untouched() -> None:
    pipe = PipeFile([Component("x", "keyed", {"a": {"b": 1}})])
    apply(pipe, ["x.a.b=2"], Registry([Keyed], path=[]))
    assert pipe.components[0].config == {"a": {"b": 1}}


def test_env_files(tmp_path: Path) -> None:
    file = tmp_path / "x.env"
    file.write_text("A=1\n# no\nexport B='two words'\n")
    assert environment(str(file)) == {"A": "1", "B": "two words"}
    assert environment(None) is None
    with pytest.raises(Usage, match=r"--env .*nope"):
        environment(str(tmp_path / "nope"))


# ---- reports


PROBLEMS = [
    Problem(
        "$.components[2].input[0].lane",
        "unknown-lane",
        "Component chunker_1 input lane txt not found in service definition",
        "it accepts: text",
    ),
    Problem(
        "$.components[4].provider",
        "unknown-provider",
        "no installed node provides 'qdrant'",
        "try: pip install rocketride-store-qdrant",
    ),
    Problem(
        "$.components[5].provider", "unknown-provider", "no installed node provides 'chat'", "try: pip install rocketride-sources"
    ),
    Problem(
        "$.components[6].provider", "unknown-provider", "no installed node provides 'chat'", "try: pip install rocketride-sources"
    ),
    Problem("$.x", "silent-edge", "nothing flows", severity="warning"),
]


def test_the_report() -> None:
    shown = lines(PROBLEMS[:2], "support.pipe")
    assert shown == [
        "support.pipe: 2 problems",
        "  $.components[2].input[0].lane  Component chunker_1 input lane txt not found in service definition  unknown-lane",
        "                                 it accepts: text",
        "  $.components[4].provider       no installed node provides 'qdrant'                                 unknown-provider",
        "                                 try: pip install rocketride-store-qdrant",
    ]
    assert lines([], "a.pipe") == ["a.pipe: ok"]


def test_warnings_are_marked_and_counted_apart_unless_strict() -> None:
    assert lines(PROBLEMS[4:], "a.pipe") == ["a.pipe: ok, 1 warning", "  $.x  nothing flows  silent-edge (warning)"]
    assert lines(PROBLEMS, "a.pipe")[0] == "a.pipe: 4 problems, 1 warning"
    assert lines(PROBLEMS[4:], "a.pipe", strict=True) == ["a.pipe: 1 problem", "  $.x  nothing flows  silent-edge"]


def test_what_to_install_is_said_once() -> None:
    assert missing(PROBLEMS) == ["rocketride-sources", "rocketride-store-qdrant"]


# ---- what people read


def test_a_failure_in_one_line() -> None:
    error = RunError("parse_1: broken", component="parse_1", phase="handler", lane="tags")
    assert failure(error) == "parse_1: broken [handler, lane tags]"
    assert (
        failure(RunError("broken", component="parse_1", phase="flush", code="no-region")) == "parse_1: broken [flush, no-region]"
    )
    assert failure(ValueError("odd")) == "ValueError: odd"
    assert failure(KeyboardInterrupt()) == "KeyboardInterrupt: KeyboardInterrupt"


def test_a_single_answer_is_printed_bare() -> None:
    assert response(result((0, "answers", ANSWERS, Answer("Because.\nReally.")))) == ["Because.", "Really."]
    assert response(result((0, "answers", ANSWERS, Answer({"a": [1]})))) == ['{"a": [1]}']
    assert response(result()) == []


def test_documents_with_file_position_and_score() -> None:
    long = Document("word " * 200, {"parent": "docs/b.pdf", "page": 3, "chunkId": 2, "start": 10, "end": 99}, score=0.8341)
    shown = response(
        result((0, "documents", DOCUMENTS, [long, Document("short", {"objectId": "o", "isTable": True, "tableId": 2})]))
    )
    assert shown[0] == " 1. docs/b.pdf, page 3, chunk 2, characters 10–99  score 0.834"
    assert all(line.startswith("    word") for line in shown[1:-2])
    assert shown[-3].endswith("…")
    assert sum(map(len, shown[1:-2])) < 600
    assert shown[-2:] == [" 2. o, table 2", "    short"]
    assert response(result((0, "documents", DOCUMENTS, []))) == ["no documents"]
    assert position(Document("x")) == "unknown origin"


def test_lanes_are_named_where_there_are_several() -> None:
    both = result((0, "answers", ANSWERS, Answer("A")), (1, "t", TEXT, "one\ntwo"))
    assert response(both) == ["answers:", "A", "text:", "one", "two"]


def test_the_reporter_counts_children_and_usage(capsys: pytest.CaptureFixture[str]) -> None:
    inner = result(entry=Entry("part.txt"), error=RunError("bad", component="p", phase="handler"))
    reporter = Reporter(3)
    reporter.result(result(children=[inner], usage={"llm": {"input_tokens": 3}}))
    reporter.result(result((0, "t", TEXT, "hello"), usage={"llm2": {"input_tokens": 4}}))
    reporter.refused(Entry("gone.txt", path="docs/gone.txt"), FileNotFoundError(2, "No such file", "docs/gone.txt"))
    reporter.summary()
    out, err = capsys.readouterr()
    assert out == "== docs/a.txt\nhello\n\n"
    said = err.splitlines()
    assert said[:3] == [
        "ok      docs/a.txt",
        "failed  part.txt: p: bad [handler]",
        "failed  docs/gone.txt: [Errno 2] No such file: 'docs/gone.txt'",
    ]
    assert said[3].startswith("3 objects, 1 more inside them, 2 failed in ")
    assert said[4] == "used: input_tokens 7"


def test_the_reporter_says_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(5)
    reporter.result(result())
    reporter.summary(stopped=True)
    assert "stopped: 1 object, 0 failed, 4 not done in " in capsys.readouterr().err


def test_json_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(2, as_json=True) as reporter:
        reporter.result(result((0, "t", TEXT, "ü")))
        reporter.refused(Entry("x", path="x"), RunError("no lane", code="undeclared-lane"))
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["t"] == ["ü\n\n"]
    assert second["error"]["code"] == "undeclared-lane"
    assert set(second) == {"name", "path", "objectId", "error"}


def test_blobs_are_described_not_dumped() -> None:
    from rocketride_core import IMAGE

    assert response(result((0, "i", IMAGE, Blob.of(b"123", mime_type="image/png", name="p.png")))) == [
        "p.png (image/png, 3 bytes)"
    ]


# ---- Ctrl-C


def test_the_first_asks_and_the_second_stops() -> None:
    told: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    with Interrupt(lambda: told.append(1)) as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert told == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_while_the_reporter_writes_does_not_lock_up(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter(2)
    with Interrupt(lambda: reporter.note("stopping")), reporter._lock:
        signal.raise_signal(signal.SIGINT)
    assert "stopping" in capsys.readouterr().err


def test_signals_are_left_alone_on_other_threads() -> None:
    seen: list[Any] = []

    def other() -> None:
        with Interrupt(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [before]


# ---- commands of plugins


def test_a_command_may_not_take_a_name_twice() -> None:
    commands = Collected()
    commands.add("audit", lambda args, kernel: 0, help="x")
    for name in ("audit", "run", "--x", "a b"):
        with pytest.raises(PluginError):
            commands.add(name, lambda args, kernel: 0, help="x")
