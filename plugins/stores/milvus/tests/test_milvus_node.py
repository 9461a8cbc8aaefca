# SPDX-License-Identifier: MIT
"""The milvus node: profiles, addresses, names, index in one pipeline and ask in another, without its client."""

from __future__ import annotations

import subprocess
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import (
    DOCUMENTS,
    QUESTIONS,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    RunError,
    on,
)
from rocketride_core.testing import NodeSuite
from rocketride_store.testing import chunk
from rocketride_store_milvus import Milvus


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def document(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: Any) -> Document:
    return attrs.evolve(chunk(object_id, number, text, at, **metadata), embedding_model="m")


QUESTION = Question(("?",), embeddings=(memoryview(array("f", [1, 0, 0])),), embedding_model="m")
EMBEDDED: dict[str, Any] = {"profile": "embedded", "embedded": {"path": "data/index.db", "score": 0}}


class TestMilvus(NodeSuite):
    node = Milvus
    config = EMBEDDED
    send = {"documents": [[document("a", 0)]], "questions": [QUESTION]}


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[DOCUMENTS, QUESTIONS])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))


def pipe(config: dict[str, Any]) -> PipeFile:
    return PipeFile(
        [
            Component("in", "in"),
            Component("store", "milvus", config, input=[LaneLink("documents", "in"), LaneLink("questions", "in")]),
            Component("out", "out", input=[LaneLink("documents", "store")]),
        ]
    )


def load(config: dict[str, Any]) -> Any:
    return Kernel(nodes=[Source, Milvus, Sink]).load(pipe(config))


def found(pipeline: Any, question: Question = QUESTION) -> list[tuple[str, float | None]]:
    [documents] = pipeline.run(Entry("ask"), QUESTIONS(question)).checked()[DOCUMENTS]
    return [(document.text, document.score) for document in documents]


def test_one_pipeline_indexes_and_another_one_asks(tmp_path: Path) -> None:
    with load(EMBEDDED) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "near"), document("a", 1, "far", at=120)])).checked()
    assert (tmp_path / "data" / "index.db" / "collections" / "ROCKETRIDE").is_dir()
    with load(EMBEDDED) as pipeline:
        assert found(pipeline) == [("near", 1.0), ("far", 0.25)]


@pytest.mark.parametrize(("score", "count"), [(0, 4), (0.5, 3), (0.75, 2), (1.0, 1)])
def test_the_threshold_cuts_where_it_says(score: float, count: int) -> None:
    with load(EMBEDDED | {"embedded": {"path": "index.db", "score": score}}) as pipeline:
        chunks = [document("a", number, f"at {angle}", at=angle) for number, angle in enumerate((0, 60, 90, 180))]
        pipeline.run(Entry("a"), DOCUMENTS(chunks)).checked()
        assert found(pipeline) == [("at 0", 1.0), ("at 60", 0.75), ("at 90", 0.5), ("at 180", 0.0)][:count]


def test_a_document_stored_after_a_question_is_found_by_the_next() -> None:
    with load(EMBEDDED) as asking, load(EMBEDDED) as indexing:
        assert found(asking) == []
        indexing.run(Entry("a"), DOCUMENTS([document("a", 0, "new")])).checked()
        assert found(asking) == [("new", 1.0)]


def test_indexing_twice_gives_the_same_and_a_shorter_version_no_tail() -> None:
    with load(EMBEDDED) as pipeline:
        for count in (700, 700, 3, 1, 1):
            pipeline.run(Entry("a"), DOCUMENTS([document("a", number) for number in range(count)])).checked()
            assert len(found(pipeline, attrs.evolve(QUESTION, filter={"limit": 1000}))) == count


def test_two_pipelines_and_many_workers_write_one_collection() -> None:
    def work(name: str) -> Any:
        return ((Entry(f"{name}{n}"), [DOCUMENTS([document(f"{name}{n}", number) for number in range(3)])]) for n in range(20))

    with load(EMBEDDED) as one, load(EMBEDDED) as two:
        running = [one.map(work("x"), workers=8), two.map(work("y"), workers=8)]
        for left, right in zip(*running, strict=True):
            left.checked(), right.checked()
        assert len(found(one, attrs.evolve(QUESTION, filter={"limit": 500}))) == 2 * 20 * 3


def test_another_model_or_metric_is_refused_after_a_new_start() -> None:
    with load(EMBEDDED) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)])).checked()
    other = attrs.evolve(document("b", 0), embedding_model="other")
    with load(EMBEDDED) as pipeline:
        with pytest.raises(RunError, match="The collection uses m but the document was encoded with other"):
            pipeline.run(Entry("b"), DOCUMENTS([other])).checked()
        assert len(found(pipeline)) == 1
    config = {"profile": "embedded", "embedded": {**EMBEDDED["embedded"], "similarity": "l2"}}
    with pytest.raises(RunError, match="The collection compares by cosine but the config says l2"), load(config):
        pass


def test_keyword_get_and_deleted_chunks() -> None:
    with load(EMBEDDED | {"embedded": {"path": "k.db", "score": 1.0}}) as pipeline:
        chunks = [
            document("a", 0, "The Quick fox", at=180),
            document("a", 1, "slow", at=90),
            document("a", 2, "gone", isDeleted=True),
        ]
        pipeline.run(Entry("a"), DOCUMENTS(chunks)).checked()
        keyword = Question(("QUICK fox",), type="keyword")
        assert found(pipeline, keyword) == [("The Quick fox", None)]
        everything = sorted(text for text, _ in found(pipeline, Question(("",), type="get")))
        assert everything == ["The Quick fox", "slow"]


@pytest.mark.parametrize(
    "question", [QUESTION, Question(("x",), type="keyword"), Question(("",), type="get")], ids=lambda q: q.type
)
def test_more_than_milvus_gives_is_refused_and_not_cut(question: Question) -> None:
    with load(EMBEDDED) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "x")])).checked()
        assert found(pipeline, attrs.evolve(question, filter={"offset": 16_300, "limit": 84})) == []
        with pytest.raises(RunError, match="Milvus gives at most 16384 results at once, offset included"):
            found(pipeline, attrs.evolve(question, filter={"offset": 16_300, "limit": 85}))


@pytest.mark.parametrize("name", ["", "1abc", "a-b", "a b", "a.b", "wörter", "x" * 256, "abc\n"])
def test_bad_names_say_the_rule(name: str) -> None:
    assert "letters, digits or '_'" in Milvus.name_rule(name)


@pytest.mark.parametrize("name", ["ROCKETRIDE", "_a", "a1_B", "x" * 255])
def test_good_names(name: str) -> None:
    assert Milvus.name_rule(name) == ""


def test_a_bad_name_is_told_when_the_file_is_checked() -> None:
    config = {"profile": "embedded", "embedded": {"collection": "my-texts"}}
    [problem] = [p for p in Kernel(nodes=[Source, Milvus, Sink]).check(pipe(config)) if p.severity == "error"]
    assert (problem.code, problem.component) == ("invalid-value", "store")
    assert "letters, digits or '_'" in problem.hint


@pytest.mark.parametrize(
    ("host", "port", "mode", "wanted"),
    [
        ("localhost", 19530, "local", "http://localhost:19530"),
        ("https://db.example", 19530, "local", "https://db.example:19530"),
        ("in01.example.zillizcloud.com", 443, "cloud", "https://in01.example.zillizcloud.com:443"),
        ("https://in01.example:19541/", 443, "cloud", "https://in01.example:19541"),
        ("http://10.0.0.1", 80, "cloud", "http://10.0.0.1:80"),
        (" db:1 ", 2, "local", "http://db:1"),
        ("::1", 19530, "local", None),
        ("[::1]", 19530, "local", "http://[::1]:19530"),
        ("tcp://db", 1, "local", None),
    ],
)
def test_addresses(host: str, port: int, mode: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(ValueError):
            Milvus.server(mode, host, port)
    else:
        assert Milvus.server(mode, host, port).url == wanted


def test_profiles_are_those_of_the_catalogue_and_one_of_ours() -> None:
    profiles = {profile.id: dict(profile.values) for profile in Milvus.spec.profiles}
    assert list(profiles) == ["cloud", "local", "embedded"]
    assert profiles["cloud"] == {"mode": "cloud", "host": "", "port": 443, "apikey": "", "collection": "ROCKETRIDE"}
    assert profiles["local"] == {"mode": "local", "host": "localhost", "port": 19530, "collection": "ROCKETRIDE"}
    assert tuple(Milvus.spec.tile) == (
        "Host/Port: ${parameters.milvus.${profile}.host}:${parameters.milvus.${profile}.port}",
        "Collection: ${parameters.milvus.${profile}.collection}",
    )


@pytest.mark.parametrize("config", [{}, {"profile": "cloud"}, {"profile": "local", "local": {"host": ""}}])
def test_a_server_without_a_host_says_so(config: dict[str, Any]) -> None:
    with pytest.raises(RunError, match="store has no host"), load(config):
        pass


def test_the_port_may_be_text() -> None:
    config = {"profile": "local", "local": {"host": "127.0.0.1", "port": "1", "collection": "c"}}
    with pytest.raises(RunError, match=r"Milvus cannot be reached at 127\.0\.0\.1:1"), load(config):
        pass


HIDDEN = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pymilvus", "milvus_lite", "grpc"):
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Hide())
from rocketride_core.cli import main
sys.exit(main(["nodes", "show", "milvus"]))
"""


def test_the_node_is_shown_without_its_client() -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Milvus" in done.stdout


def test_importing_the_plugin_does_not_import_the_client() -> None:
    heavy = "('pymilvus', 'milvus_lite', 'grpc', 'numpy', 'pandas')"
    program = f"import sys, rocketride_store_milvus; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("there", [True, False])
def test_a_probe_makes_no_folder(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "deep" / "er"
    if there:
        folder.mkdir(parents=True)
    kernel = Kernel(nodes=[Source, Milvus, Sink])
    config = {"mode": "embedded", "path": str(folder)}
    assert [p for p in kernel.check(pipe(config), probe=True) if p.code == "probe-failed"] == []
    assert [one.name for one in tmp_path.rglob("*")] == (["deep", "er"] if there else [])
    (tmp_path / "file").write_text("x")
    config["path"] = str(tmp_path / "file" / "folder")
    [problem] = [p for p in kernel.check(pipe(config), probe=True) if p.code == "probe-failed"]
    assert "cannot be made" in problem.message


@pytest.mark.parametrize(
    ("profile", "host", "warned"),
    [
        ("local", "box", True),
        ("cloud", "http://box", True),
        ("cloud", "box", False),
        ("local", "https://box", False),
        ("local", "127.0.0.1", False),
    ],
)
def test_a_key_in_the_open_is_a_warning(profile: str, host: str, warned: bool) -> None:
    components = [
        Component("chat_1", "chat"),
        Component(
            "m",
            "milvus",
            {"profile": profile, profile: {"host": host, "apikey": "a-secret-key"}},
            input=[LaneLink("questions", "chat_1")],
        ),
    ]
    problems = Kernel().check(PipeFile(components))
    assert [problem.severity for problem in problems if problem.code == "unencrypted-key"] == ["warning"] * warned
    assert not any("a-secret-key" in str(problem) for problem in problems)
