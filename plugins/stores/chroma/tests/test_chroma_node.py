# SPDX-License-Identifier: MIT
"""The chroma node: profiles, index in one pipeline and ask in another, names, lazy import."""

from __future__ import annotations

import json
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
from rocketride_store_chroma import Chroma


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def document(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: Any) -> Document:
    return attrs.evolve(chunk(object_id, number, text, at, **metadata), embedding_model="m")


QUESTION = Question(("?",), embeddings=(memoryview(array("f", [1, 0, 0])),), embedding_model="m")
EMBEDDED = {"profile": "embedded", "embedded": {"path": "index", "score": 0}}


class TestChroma(NodeSuite):
    node = Chroma
    config = EMBEDDED
    send = {"documents": [[document("a", 0)]], "questions": [QUESTION]}


class TestInMemory(NodeSuite):
    node = Chroma
    config = {"profile": "embedded", "embedded": {"path": ":memory:", "score": 0}}
    send = {"documents": [[document("a", 0)]], "questions": [QUESTION]}


class TestServer(NodeSuite):
    node = Chroma
    send = {"documents": [[document("a", 0)]], "questions": [QUESTION]}

    @pytest.fixture(autouse=True)
    def _where(self, chroma_server: int) -> None:
        local = {"host": "127.0.0.1", "port": str(chroma_server), "collection": "node-suite", "score": 0}
        self.config = {"profile": "local", "local": local}


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
            Component("store", "chroma", config, input=[LaneLink("documents", "in"), LaneLink("questions", "in")]),
            Component("out", "out", input=[LaneLink("documents", "store")]),
        ]
    )


def load(config: dict[str, Any]) -> Any:
    return Kernel(nodes=[Source, Chroma, Sink]).load(pipe(config))


def found(pipeline: Any, question: Question = QUESTION) -> list[tuple[str, float | None]]:
    [documents] = pipeline.run(Entry("ask"), QUESTIONS(question)).checked()[DOCUMENTS]
    return [(document.text, document.score) for document in documents]


def test_one_pipeline_indexes_and_another_one_asks(tmp_path: Path) -> None:
    with load(EMBEDDED) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "near"), document("a", 1, "far", at=120)])).checked()
    assert (tmp_path / "index" / "chroma.sqlite3").is_file()
    with load(EMBEDDED) as pipeline:
        assert found(pipeline) == [("near", 1.0), ("far", 0.25)]
    with load(EMBEDDED | {"embedded": {"path": "index", "score": 0.5}}) as pipeline:
        assert found(pipeline) == [("near", 1.0)]


def test_a_document_stored_after_a_question_is_found_by_the_next() -> None:
    with load(EMBEDDED) as asking, load(EMBEDDED) as indexing:
        assert found(asking) == []
        indexing.run(Entry("a"), DOCUMENTS([document("a", 0, "new")])).checked()
        assert found(asking) == [("new", 1.0)]


def test_indexing_twice_gives_the_same_and_a_shorter_version_no_tail() -> None:
    with load(EMBEDDED) as pipeline:
        for count in (700, 700, 3):
            pipeline.run(Entry("a"), DOCUMENTS([document("a", number) for number in range(count)])).checked()
            assert len(found(pipeline, attrs.evolve(QUESTION, filter={"limit": 1000}))) == count


def test_two_pipelines_and_many_workers_write_one_collection() -> None:
    def work(name: str) -> Any:
        return ((Entry(f"{name}{n}"), [DOCUMENTS([document(f"{name}{n}", number) for number in range(3)])]) for n in range(20))

    with load(EMBEDDED) as one, load(EMBEDDED) as two:
        running = [one.map(work("x"), workers=4), two.map(work("y"), workers=4)]
        for left, right in zip(*running, strict=True):
            left.checked(), right.checked()
        assert len(found(one, attrs.evolve(QUESTION, filter={"limit": 500}))) == 2 * 20 * 3


def test_another_model_is_refused_also_after_a_new_start() -> None:
    with load(EMBEDDED) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)])).checked()
    other = attrs.evolve(document("b", 0), embedding_model="other")
    with load(EMBEDDED) as pipeline:
        with pytest.raises(RunError, match="The collection uses m but the document was encoded with other"):
            pipeline.run(Entry("b"), DOCUMENTS([other])).checked()
        assert len(found(pipeline)) == 1


def test_a_metric_is_fixed_when_the_collection_is_made() -> None:
    config = {"profile": "embedded", "embedded": {"path": "index", "score": 0, "similarity": "l2"}}
    with load(config) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, at=90)])).checked()
        [(_, score)] = found(pipeline)
        assert score == pytest.approx(1 / (1 + 2**0.5), abs=1e-5)
    with pytest.raises(RunError, match="The collection compares by l2 but the config says cosine"), load(EMBEDDED):
        pass


@pytest.mark.parametrize("name", ["ab", "-abc", "a b c"])
def test_a_bad_name_says_the_rule_when_the_file_is_checked(name: str) -> None:
    config = {"profile": "embedded", "embedded": {"collection": name}}
    [problem] = [p for p in Kernel(nodes=[Source, Chroma, Sink]).check(pipe(config)) if p.severity == "error"]
    assert problem.code == "invalid-value"
    assert "3 to 512 letters" in problem.hint
    assert problem.component == "store"


def test_profiles() -> None:
    profiles = {profile.id: profile.values for profile in Chroma.spec.profiles}
    assert list(profiles) == ["local", "cloud", "embedded"]
    assert (profiles["local"]["host"], profiles["local"]["port"]) == ("localhost", 8000)
    assert (profiles["cloud"]["host"], profiles["cloud"]["port"]) == ("", 443)
    assert all(values["collection"] == "ROCKETRIDE" for values in profiles.values())


def test_a_cloud_without_a_host_says_so() -> None:
    with pytest.raises(RunError, match="has no host"), load({"profile": "cloud"}):
        pass


def test_a_server_that_is_not_there_fails_when_the_pipeline_is_loaded() -> None:
    config = {"profile": "local", "local": {"host": "127.0.0.1", "port": 1}}
    with (
        pytest.raises(RunError, match=r"store: Chroma Vector Store cannot be reached at 127.0.0.1:1; is it running") as caught,
        load(config),
    ):
        pass
    assert caught.value.component == "store"


@pytest.mark.parametrize(("score", "count"), [(0, 4), (0.5, 3), (0.75, 2), (1.0, 1)])
def test_the_threshold_cuts_where_it_says(score: float, count: int) -> None:
    with load({"profile": "embedded", "embedded": {"path": ":memory:", "score": score}}) as pipeline:
        chunks = [document("a", number, f"at {angle}", at=angle) for number, angle in enumerate((0, 60, 90, 180))]
        pipeline.run(Entry("a"), DOCUMENTS(chunks)).checked()
        assert found(pipeline) == [("at 0", 1.0), ("at 60", 0.75), ("at 90", 0.5), ("at 180", 0.0)][:count]


def real_configs() -> list[Any]:
    """The configs of public pipes, which lie beside the clone where it is developed."""
    pipes = Path(__file__).resolve().parents[4].parent / "shared" / "pipes"
    out = []
    for path in sorted(pipes.rglob("*.pipe")):
        text = path.read_text(errors="replace")
        if '"chroma"' not in text:
            continue
        read = json.loads(text)
        parts = read.get("pipeline", read)["components"]
        out += [pytest.param(one["config"], id=f"{path.stem}-{one['id']}") for one in parts if one["provider"] == "chroma"]
    return out


@pytest.mark.parametrize("config", real_configs() or [pytest.param(None, id="none here")])
def test_configs_of_public_pipes_load(config: Any, chroma_server: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if config is None:
        pytest.skip("the public pipes (../shared/pipes) are not here")
    for name, value in {"CHROMA_HOST": "127.0.0.1", "CHROMA_COLLECTION": "public", "COLLECTION_NAME": "public"}.items():
        monkeypatch.setenv(f"ROCKETRIDE_{name}", value)
    assert config["local"]["port"] in (8000, 8330)
    local = {**config["local"], "port": chroma_server}
    kernel = Kernel(nodes=[Source, Chroma, Sink])
    problems = kernel.check(pipe(config))
    assert [problem for problem in problems if problem.severity == "error"] == []
    with kernel.load(pipe({**config, "local": local})) as pipeline:
        assert isinstance(found(pipeline), list)


HIDDEN = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("chromadb", "chromadb_rust_bindings"):
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Hide())
from rocketride_core.cli import main
sys.exit(main(["nodes", "show", "chroma"]))
"""


def test_the_node_is_shown_without_its_client() -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Chroma" in done.stdout


def test_importing_the_plugin_does_not_import_chromadb() -> None:
    program = "import sys, rocketride_store_chroma; sys.exit('chromadb' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("there", [True, False])
def test_a_probe_makes_no_folder(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "deep" / "er"
    if there:
        folder.mkdir(parents=True)
    kernel = Kernel(nodes=[Source, Chroma, Sink])
    config = {"mode": "embedded", "path": str(folder)}
    assert [p for p in kernel.check(pipe(config), probe=True) if p.code == "probe-failed"] == []
    assert [one.name for one in tmp_path.rglob("*")] == (["deep", "er"] if there else [])
    (tmp_path / "file").write_text("x")
    config["path"] = str(tmp_path / "file" / "folder")
    [problem] = [p for p in kernel.check(pipe(config), probe=True) if p.code == "probe-failed"]
    assert "cannot be made" in problem.message


@pytest.mark.parametrize(
    ("local", "warned"),
    [
        ({"host": "box"}, True),
        ({"host": "http://box", "port": 443}, True),
        ({"host": "https://box"}, False),
        ({"host": "box", "port": 443}, False),
        ({"host": "localhost"}, False),
        ({"host": "127.0.0.1"}, False),
    ],
)
def test_a_key_in_the_open_is_a_warning(local: dict[str, Any], warned: bool) -> None:
    config = {"profile": "local", "local": {**local, "apikey": "a-secret-key"}}
    problems = Kernel(nodes=[Source, Chroma, Sink]).check(pipe(config))
    assert [problem.severity for problem in problems if problem.code == "unencrypted-key"] == ["warning"] * warned
    assert not any("a-secret-key" in str(problem) for problem in problems)
