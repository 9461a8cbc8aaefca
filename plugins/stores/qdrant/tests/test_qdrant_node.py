# SPDX-License-Identifier: MIT
"""The qdrant node: profiles, index in one pipeline and ask in another, names, addresses, lazy import, pipes of real users."""

from __future__ import annotations

import json
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
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
from rocketride_store import Address
from rocketride_store.testing import chunk
from rocketride_store_qdrant import Qdrant

PIPES = Path(__file__).parents[5] / "shared" / "pipes"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def document(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: Any) -> Document:
    return attrs.evolve(chunk(object_id, number, text, at, **metadata), embedding_model="m")


QUESTION = Question(("?",), embeddings=(memoryview(array("f", [1, 0, 0])),), embedding_model="m")
EMBEDDED = {"profile": "embedded", "embedded": {"path": "index", "score": 0}}


class TestQdrant(NodeSuite):
    node = Qdrant
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
            Component("store", "qdrant", config, input=[LaneLink("documents", "in"), LaneLink("questions", "in")]),
            Component("out", "out", input=[LaneLink("documents", "store")]),
        ]
    )


def load(config: dict[str, Any]) -> Any:
    return Kernel(nodes=[Source, Qdrant, Sink]).load(pipe(config))


def served(double: Any, **more: Any) -> dict[str, Any]:
    local = {"host": "127.0.0.1", "port": double.port, "grpc_port": double.grpc_port, "score": 0}
    return {"profile": "local", "local": local | more}


@pytest.fixture(params=["folder", "rest", "grpc"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "folder":
        return EMBEDDED
    return served(request.getfixturevalue("double"), prefer_grpc=request.param == "grpc")


def found(pipeline: Any, question: Question = QUESTION) -> list[tuple[str, float | None]]:
    [documents] = pipeline.run(Entry("ask"), QUESTIONS(question)).checked()[DOCUMENTS]
    return [(document.text, document.score) for document in documents]


def test_one_pipeline_indexes_and_another_one_asks(config: dict[str, Any]) -> None:
    with load(config) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "near"), document("a", 1, "far", at=120)])).checked()
    with load(config) as pipeline:
        assert found(pipeline) == [("near", 1.0), ("far", 0.25)]
        keyword = Question(("FAR",), type="keyword")
        assert found(pipeline, keyword) == [("far", None)]
    block = config[config["profile"]] | {"score": 0.5}
    with load(config | {config["profile"]: block}) as pipeline:
        assert found(pipeline) == [("near", 1.0)]


def test_indexing_twice_gives_the_same_and_a_shorter_version_no_tail(config: dict[str, Any]) -> None:
    with load(config) as pipeline:
        for count in (620, 620, 3):
            pipeline.run(Entry("a"), DOCUMENTS([document("a", number) for number in range(count)])).checked()
            assert len(found(pipeline, attrs.evolve(QUESTION, filter={"limit": 1000}))) == count


def test_two_pipelines_and_many_workers_write_one_collection(config: dict[str, Any]) -> None:
    def work(name: str) -> Any:
        return ((Entry(f"{name}{n}"), [DOCUMENTS([document(f"{name}{n}", number) for number in range(3)])]) for n in range(12))

    with load(config) as one, load(config) as two:
        running = [one.map(work("x"), workers=4), two.map(work("y"), workers=4)]
        for left, right in zip(*running, strict=True):
            left.checked(), right.checked()
        assert len(found(one, attrs.evolve(QUESTION, filter={"limit": 500}))) == 2 * 12 * 3


def test_another_model_is_refused_also_after_a_new_start(config: dict[str, Any]) -> None:
    with load(config) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)])).checked()
    other = attrs.evolve(document("b", 0), embedding_model="other")
    with load(config) as pipeline:
        with pytest.raises(RunError, match="The collection uses m but the document was encoded with other"):
            pipeline.run(Entry("b"), DOCUMENTS([other])).checked()
        assert len(found(pipeline)) == 1


def test_an_old_server_is_refused_with_both_versions(double: Any) -> None:
    double.engine.version = "1.7.4"
    with pytest.raises(RunError, match=r"1\.10.*1\.7\.4|1\.7\.4.*1\.10"), load(served(double)):
        pass


def test_a_probe_says_what_is_wrong_and_nothing_where_all_is_well(double: Any) -> None:
    kernel = Kernel(nodes=[Source, Qdrant, Sink])
    assert [p for p in kernel.check(pipe(served(double)), probe=True) if p.code == "probe-failed"] == []
    double.engine.key = "the-right-one"
    [problem] = [p for p in kernel.check(pipe(served(double)), probe=True) if p.code == "probe-failed"]
    assert (problem.component, "refused the key" in problem.message) == ("store", True)
    assert double.engine.calls.keys() <= {"exists"}  # it looks, and writes nothing


def test_a_key_that_the_server_refuses(double: Any) -> None:
    double.engine.key = "the-right-one"
    with pytest.raises(RunError, match="refused the key") as caught, load(served(double, apikey="the-wrong-one")):
        pass
    assert "the-wrong-one" not in str(caught.value)
    with load(served(double, apikey="the-right-one")) as pipeline:
        assert found(pipeline) == []


def test_a_server_that_is_not_there_fails_when_the_pipeline_is_loaded() -> None:
    config = {"profile": "local", "local": {"host": "127.0.0.1", "port": 1}}
    with pytest.raises(RunError, match=r"Qdrant cannot be reached at 127.0.0.1:1; is it running") as caught, load(config):
        pass
    assert caught.value.component == "store"


def test_memory_keeps_nothing() -> None:
    config = {"profile": "embedded", "embedded": {"path": ":memory:", "score": 0}}
    with load(config) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "near")])).checked()
        assert found(pipeline) == [("near", 1.0)]
    with load(config) as pipeline:
        assert found(pipeline) == []
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["ROCKETRIDE", "a", "a.b-c_1", "x" * 255, "-a", "..."])
def test_good_names(name: str) -> None:
    assert Qdrant.name_rule(name) == ""


@pytest.mark.parametrize("name", ["a b", "a/b", "x" * 256, "wörter", "abc\n", ".", ".."])
def test_a_bad_name_says_the_rule_when_the_file_is_checked(name: str) -> None:
    config = {"profile": "embedded", "embedded": {"collection": name}}
    [problem] = [p for p in Kernel(nodes=[Source, Qdrant, Sink]).check(pipe(config)) if p.severity == "error"]
    assert (problem.code, problem.component) == ("invalid-value", "store")
    assert "1 to 255 letters" in problem.hint


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"profile": "cloud"}, 'has no host; write "host"'),
        ({"profile": "local", "local": {"host": "", "collection": "x"}}, "has no host"),
        ({"profile": "local", "local": {"collection": ""}}, 'has no collection; write "collection" in its config: 1 to 255'),
        (
            {"profile": "embedded", "embedded": {"path": ""}},
            'has no path; write "path" in its config, the folder of its database',
        ),
        ({"profile": "embedded", "embedded": {"keywords": "words"}}, "cannot find whole words without a server"),
        ({"profile": "local", "local": {"host": "ftp://x"}}, "begins with http:// or https://"),
    ],
)
def test_what_is_missing_is_said_when_the_pipeline_is_loaded(config: dict[str, Any], words: str) -> None:
    with pytest.raises(RunError, match=words), load(config):
        pass


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("localhost", 6333, Address("localhost", 6333, False)),
        ("db", 443, Address("db", 443, True)),
        ("x.eu.cloud.qdrant.io", 6333, Address("x.eu.cloud.qdrant.io", 6333, True)),
        ("https://x.cloud.qdrant.io:6333", 443, Address("x.cloud.qdrant.io", 6333, True)),
        ("http://x.qdrant.io/", 6333, Address("x.qdrant.io", 6333, False)),
        ("https://proxy/qdrant/", 8443, Address("proxy", 8443, True, "/qdrant")),
        (" 10.0.0.5:7000 ", 6333, Address("10.0.0.5", 7000, False)),
    ],
)
def test_addresses(host: str, port: int, expected: Address) -> None:
    assert Qdrant.server("local", host, port) == expected


@pytest.mark.parametrize(
    ("host", "warned"), [("10.0.0.5", True), ("localhost", False), ("127.0.0.1", False), ("https://x", False)]
)
def test_a_key_without_encryption_is_a_warning_where_it_leaves_the_machine(host: str, warned: bool) -> None:
    config = {"profile": "local", "local": {"host": host, "apikey": "${KEY}"}}
    problems = Kernel(nodes=[Source, Qdrant, Sink], env={"KEY": "secret-key"}).check(pipe(config))
    assert [problem.code for problem in problems if "key" in problem.message] == (["unencrypted-key"] if warned else [])
    assert "secret-key" not in str(problems)


def test_profiles() -> None:
    profiles = {profile.id: profile.values for profile in Qdrant.spec.profiles}
    assert list(profiles) == ["cloud", "local", "embedded"]
    assert (profiles["local"]["host"], profiles["local"]["port"]) == ("localhost", 6333)
    assert (profiles["cloud"]["host"], profiles["cloud"]["port"], profiles["cloud"]["apikey"]) == ("", 6333, "")
    assert all(values["collection"] == "ROCKETRIDE" for values in profiles.values())


def test_importing_the_plugin_and_showing_the_node_need_no_client() -> None:
    program = (
        "import sys\n"
        "sys.modules['qdrant_client'] = sys.modules['qdrant_edge'] = sys.modules['grpc'] = None\n"
        "from rocketride_core.cli import main\n"
        "sys.exit(main(['nodes', 'show', 'qdrant']))\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "grpc_port" in shown.stdout
    assert "6334" in shown.stdout
    program = "import sys, rocketride_store_qdrant; sys.exit(bool({'qdrant_client', 'numpy', 'grpc'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def configs() -> Iterator[tuple[str, dict[str, Any]]]:
    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if value.get("provider") == "qdrant" and isinstance(value.get("config"), dict):
                yield value["config"]
            for part in value.values():
                yield from walk(part)
        elif isinstance(value, list):
            for part in value:
                yield from walk(part)

    for path in sorted(PIPES.rglob("*")) if PIPES.is_dir() else ():
        if path.suffix in (".pipe", ".json"):
            try:
                content = json.loads(path.read_text())
            except ValueError:
                continue
            yield from ((str(path.relative_to(PIPES)), config) for config in walk(content))


def test_the_configs_of_real_pipes_are_read() -> None:
    collected = {json.dumps(config, sort_keys=True): (name, config) for name, config in configs()}
    if not collected:
        pytest.skip("the collection of public pipes is not here")
    assert len(collected) > 10
    names = ("HOST", "APIKEY", "COLLECTION")
    env = {f"ROCKETRIDE_QDRANT_{name}": "x" for name in names} | {
        "ROCKETRIDE_QDRANT_PORT": "6333",
        "ROCKETRIDE_COLLECTION_NAME": "x",
    }
    kernel = Kernel(nodes=[Source, Qdrant, Sink], env=env)
    for name, given in collected.values():
        without = {key: value for key, value in given.items() if key != "embedding"}  # its node is not one of this kernel
        problems = [p for p in kernel.check(pipe(without)) if p.severity == "error"]
        assert problems == [], name


@pytest.mark.parametrize("there", [True, False])
def test_a_probe_makes_no_folder(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "deep" / "er"
    if there:
        folder.mkdir(parents=True)
    kernel = Kernel(nodes=[Source, Qdrant, Sink])
    config = {"mode": "embedded", "path": str(folder)}
    assert [p for p in kernel.check(pipe(config), probe=True) if p.code == "probe-failed"] == []
    assert [one.name for one in tmp_path.rglob("*")] == (["deep", "er"] if there else [])
    (tmp_path / "file").write_text("x")
    config["path"] = str(tmp_path / "file" / "folder")
    [problem] = [p for p in kernel.check(pipe(config), probe=True) if p.code == "probe-failed"]
    assert "cannot be made" in problem.message
