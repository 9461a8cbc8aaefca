# SPDX-License-Identifier: MIT
"""The weaviate node: profiles, index in one pipeline and ask in another, names, lazy import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

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
from rocketride_store import StoreError
from rocketride_store.testing import FaultProxy, chunk
from rocketride_store_weaviate import Weaviate, WeaviateConfig

PLUGIN = Path(__file__).resolve().parents[1]
QUESTION = Question(("?",), embeddings=(memoryview(array("f", [1, 0, 0])),), embedding_model="m")


def document(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: Any) -> Document:
    return attrs.evolve(chunk(object_id, number, text, at, **metadata), embedding_model="m")


def local(double: Any, **more: Any) -> dict[str, Any]:
    here = {"host": "127.0.0.1", "port": double.port, "grpc_port": double.grpc_port, "score": 0, "retryDelay": 0.01}
    return {"profile": "local", "local": here | more}


CONFIG: dict[str, Any] = {"profile": "local", "local": {}}


class TestWeaviateNode(NodeSuite):
    node = Weaviate
    config: ClassVar[Mapping[str, Any]] = CONFIG
    send: ClassVar[Mapping[str, Sequence[Any]]] = {"documents": [[document("a", 0)]], "questions": [QUESTION]}

    @pytest.fixture(autouse=True)
    def _server(self, double: Any) -> None:
        CONFIG["local"] = local(double)["local"]


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
            Component("store", "weaviate", config, input=[LaneLink("documents", "in"), LaneLink("questions", "in")]),
            Component("out", "out", input=[LaneLink("documents", "store")]),
        ]
    )


def load(config: dict[str, Any]) -> Any:
    return Kernel(nodes=[Source, Weaviate, Sink]).load(pipe(config))


def found(pipeline: Any, question: Question = QUESTION) -> list[tuple[str, float | None]]:
    [documents] = pipeline.run(Entry("ask"), QUESTIONS(question)).checked()[DOCUMENTS]
    return [(document.text, document.score) for document in documents]


def test_one_pipeline_indexes_and_another_one_asks(double: Any) -> None:
    with load(local(double)) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "near"), document("a", 1, "far", at=120)])).checked()
    assert list(double.classes) == ["ROCKETRIDE"]
    with load(local(double)) as pipeline:
        assert found(pipeline) == [("near", 1.0), ("far", 0.25)]
        assert found(pipeline, attrs.evolve(QUESTION, type="keyword", texts=("FAR",))) == [("far", None)]
    with load(local(double, score=0.5)) as pipeline:
        assert found(pipeline) == [("near", 1.0)]


def test_there_is_no_hidden_floor(double: Any) -> None:
    with load(local(double)) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "opposite", at=180)])).checked()
        assert found(pipeline) == [("opposite", 0.0)]
        assert found(pipeline, attrs.evolve(QUESTION, type="get")) == [("opposite", None)]


def test_a_document_stored_after_a_question_is_found_by_the_next(double: Any) -> None:
    with load(local(double)) as asking, load(local(double)) as indexing:
        assert found(asking) == []
        indexing.run(Entry("a"), DOCUMENTS([document("a", 0, "new")])).checked()
        assert found(asking) == [("new", 1.0)]


def test_indexing_twice_gives_the_same_and_a_shorter_version_no_tail(double: Any) -> None:
    with load(local(double)) as pipeline:
        for count in (600, 600, 3):
            pipeline.run(Entry("a"), DOCUMENTS([document("a", number) for number in range(count)])).checked()
            assert len(found(pipeline, attrs.evolve(QUESTION, filter={"limit": 1000}))) == count


def test_two_pipelines_and_eight_workers_write_one_collection(double: Any) -> None:
    def work(name: str) -> Any:
        return ((Entry(f"{name}{n}"), [DOCUMENTS([document(f"{name}{n}", number) for number in range(3)])]) for n in range(20))

    with load(local(double)) as one, load(local(double)) as two:
        running = [one.map(work("x"), workers=8), two.map(work("y"), workers=8)]
        for left, right in zip(*running, strict=True):
            left.checked(), right.checked()
        assert len(found(one, attrs.evolve(QUESTION, filter={"limit": 500}))) == 2 * 20 * 3
    # Each of the 16 workers that finds no collection asks for it; the server makes one.
    assert 1 <= double.calls["POST schema"] <= 16
    assert len(double.classes) == 1


def test_another_model_is_refused_also_after_a_new_start(double: Any) -> None:
    with load(local(double)) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)])).checked()
    with load(local(double)) as pipeline:
        with pytest.raises(RunError, match="The collection uses m but the document was encoded with other"):
            pipeline.run(Entry("b"), DOCUMENTS([attrs.evolve(document("b", 0), embedding_model="other")])).checked()
        assert len(found(pipeline)) == 1


def test_a_metric_is_fixed_when_the_collection_is_made(double: Any) -> None:
    with load(local(double, similarity="l2")) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, at=90)])).checked()
        [(_, score)] = found(pipeline)
        assert score == pytest.approx(1 / (1 + 2**0.5), abs=1e-5)
    with pytest.raises(RunError, match="The collection compares by l2 but the config says cosine"), load(local(double)):
        pass


@pytest.mark.parametrize("name", ["ROCKETRIDE", "a", "docs_2", "X" * 255])
def test_good_names(name: str) -> None:
    assert Weaviate.name_rule(name) == ""


@pytest.mark.parametrize("name", ["", "2docs", "_a", "a-b", "a b", "wörter", "a\n", "x" * 256])
def test_a_bad_name_says_the_rule_when_the_file_is_checked(name: str) -> None:
    config = {"profile": "local", "local": {"collection": name}}
    [problem] = [p for p in Kernel(nodes=[Source, Weaviate, Sink]).check(pipe(config)) if p.severity == "error"]
    assert (problem.code, problem.component) == ("invalid-value", "store")
    assert "letters, digits or '_', beginning with a letter" in problem.hint


def test_profiles_are_those_of_the_catalogue() -> None:
    profiles = {profile.id: dict(profile.values) for profile in Weaviate.spec.profiles}
    assert list(profiles) == ["cloud", "local"]
    catalogue = PLUGIN.parents[2].parent / "shared" / "reference" / "catalog.json"
    if not catalogue.is_file():
        pytest.skip("no catalogue beside the repository")
    [entry] = [one for one in _nodes(json.loads(catalogue.read_text())) if one.get("name") == "weaviate"]
    assert entry["preconfig"]["default"] == next(iter(profiles))
    for name, values in entry["profiles"].items():
        assert {key: profiles[name].get(key) for key in values if key != "title"} == {
            k: v for k, v in values.items() if k != "title"
        }
    assert profiles["local"]["grpc_port"] == entry["fields"]["vector.local.grpc_port"]["default"]


def _nodes(given: Any) -> Any:
    for value in given.values() if isinstance(given, dict) else given if isinstance(given, list) else ():
        if isinstance(value, dict):
            yield value
        yield from _nodes(value)


def test_every_pipe_with_weaviate_loads() -> None:
    pipes = PLUGIN.parents[2].parent / "shared" / "pipes"
    texts = [path.read_text(errors="replace") for path in pipes.rglob("*") if path.is_file()] if pipes.is_dir() else []
    configs = [
        one.get("config", {})
        for text in texts
        if '"weaviate"' in text
        for one in _nodes(json.loads(text))
        if one.get("provider") == "weaviate"
    ]
    # No published pipe has one; these are the shapes that an editor writes.
    profile = {"host": "localhost", "port": 8080, "grpc_port": 50051, "score": 0.6, "collection": "ROCKETRIDE"}
    configs += [
        {},
        {"profile": "local", "local": profile},
        {"profile": "local", "local": profile | {"port": "8080", "grpc_port": "50051"}, "parameters": {}},
        {"profile": "local", "local": profile | {"port": "${ROCKETRIDE_PORT}", "host": "${ROCKETRIDE_HOST}"}},
        {
            "profile": "cloud",
            "cloud": {"host": "${ROCKETRIDE_HOST}", "apikey": "${ROCKETRIDE_KEY}", "score": 0, "collection": "Docs"},
        },
        {
            "profile": "cloud",
            "cloud": {"host": "https://a.weaviate.cloud", "port": "443", "apikey": "secret", "serverName": "docs"},
        },
        {"host": "box", "port": 80, "similarity": "l2", "payloadLimit": 1000, "top_k": 5},
    ]
    env = {"ROCKETRIDE_PORT": "8080", "ROCKETRIDE_HOST": "box", "ROCKETRIDE_KEY": "k"}
    kernel = Kernel(nodes=[Source, Weaviate, Sink], env=env)
    for config in configs:
        assert [p for p in kernel.check(pipe(config)) if p.severity == "error"] == [], config


def test_a_cloud_of_ones_own_is_reached(double: Any) -> None:
    double.key = "a-secret-key"
    cloud = {"host": "http://127.0.0.1", "port": double.port, "grpc_port": double.grpc_port, "apikey": "a-secret-key", "score": 0}
    with load({"profile": "cloud", "cloud": cloud}) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "near")])).checked()
        assert found(pipeline) == [("near", 1.0)]


@pytest.mark.parametrize(
    ("host", "port", "warned"),
    [
        ("box", 8080, True),
        ("https://box", 8080, False),
        ("box", 443, False),
        ("localhost", 8080, False),
        ("127.0.0.1", 80, False),
    ],
)
def test_a_key_in_the_open_is_a_warning(host: str, port: int, warned: bool) -> None:
    config = {"profile": "local", "local": {"host": host, "port": port, "apikey": "a-secret-key"}}
    problems = Kernel(nodes=[Source, Weaviate, Sink]).check(pipe(config))
    told = [(p.severity, p.message) for p in problems if p.code == "unencrypted-key"]
    assert told == ([("warning", f"the API key is sent unencrypted to {host}")] if warned else [])
    assert not any("a-secret-key" in str(problem) for problem in problems)


def probed(config: dict[str, Any]) -> list[str]:
    told = Kernel(nodes=[Source, Weaviate, Sink]).check(pipe(config), probe=True)
    found = [problem for problem in told if problem.code == "probe-failed"]
    assert all(problem.component == "store" for problem in found)
    return [problem.message for problem in found]


def test_a_probe_says_what_is_wrong(double: Any) -> None:
    assert probed(local(double)) == []
    assert double.calls["Search"] == double.calls["POST schema"] == 0
    with load(local(double, similarity="l2")) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)])).checked()
    [told] = probed(local(double))
    assert "compares by l2 but the config says cosine" in told
    double.key = "the-right-key"
    [told] = probed(local(double, apikey="a-wrong-key"))
    assert "refused the key" in told
    assert "a-wrong-key" not in told
    double.key, double.version = "", "1.20.0"
    [told] = probed(local(double))
    assert "Weaviate 1.20.0 is too old: 1.27.0 or newer is needed" in told
    [told] = probed(local(double, port=1))
    assert "cannot be reached at 127.0.0.1:1" in told


def test_what_an_old_server_says_when_the_pipeline_is_loaded(double: Any) -> None:
    double.version = "1.26.14"
    with pytest.raises(RunError, match=r"store: Weaviate 1.26.14 is too old: 1.27.0 or newer is needed"), load(local(double)):
        pass


def test_a_server_that_is_not_there_fails_when_the_pipeline_is_loaded(double: Any) -> None:
    with (
        pytest.raises(RunError, match=r"store: Weaviate Vector Store cannot be reached at 127.0.0.1:1; is it running") as caught,
        load(local(double, port=1)),
    ):
        pass
    assert caught.value.component == "store"


def test_a_server_that_is_about_to_be_ready_is_waited_for(double: Any) -> None:
    double.not_ready = 2
    with load(local(double)) as pipeline:
        assert found(pipeline) == []


@pytest.mark.parametrize("fault", ["cut", "lose", "stall"])
def test_a_fault_in_the_middle_of_an_ingest_is_bridged(double: Any, fault: str) -> None:
    with FaultProxy("127.0.0.1", double.grpc_port) as proxy:
        config = local(double, grpc_port=proxy.port, insert_timeout=0.8)
        with load(config) as pipeline:
            pipeline.run(Entry("a"), DOCUMENTS([document("a", number) for number in range(5)])).checked()
            getattr(proxy, fault)(b"a needle")
            texts = ["a needle" if number == 510 else "hay " * 100 for number in range(620)]
            pipeline.run(Entry("a"), DOCUMENTS([document("a", n, text) for n, text in enumerate(texts)])).checked()
            assert proxy.hits == 1
            assert len(found(pipeline, attrs.evolve(QUESTION, filter={"limit": 1000}))) == 620
    assert len(double.objects["ROCKETRIDE"]) == 620


def test_a_write_that_was_refused_fails_its_entry_and_nothing_else(double: Any) -> None:
    with load(local(double)) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "good")])).checked()
        double.refuse = {"bad": "store is read-only"}
        error = pipeline.run(Entry("b"), DOCUMENTS([document("b", 0, "good"), document("b", 1, "bad")])).error
        assert isinstance(error.__cause__, StoreError)
        assert (error.__cause__.kind, error.__cause__.attempts) == ("not-confirmed", 1)
        assert "did not confirm a write; what it was to write may be missing: 1 of 2 chunks: b#1: store is read-only" in str(
            error
        )
        double.refuse = {}
        pipeline.run(Entry("b"), DOCUMENTS([document("b", 0, "good"), document("b", 1, "bad")])).checked()
        assert len(found(pipeline)) == 3


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"profile": "cloud"}, "has no host"),
        ({"profile": "cloud", "cloud": {"host": "example.com"}}, "REST and gRPC cannot both be at example.com:443"),
    ],
)
def test_a_config_that_means_no_address_says_so(config: dict[str, Any], said: str) -> None:
    with pytest.raises(RunError, match=said), load(config):
        pass


def test_the_readme_has_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", (PLUGIN / "README.md").read_text(), re.MULTILINE))
    own = {"mode", "host", "port", "grpc_host", "grpc_port", "apikey", "timeout", "insert_timeout", "init_timeout"}
    defaults = {("apikey" if one.name == "api_key" else one.name): one.default for one in attrs.fields(WeaviateConfig)}
    assert set(rows) == own
    for name in own - {"apikey"}:
        assert json.loads(rows[name]) == defaults[name], name
    assert rows["apikey"] == '""'


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)


def test_importing_the_plugin_does_not_import_the_client() -> None:
    heavy = "{'weaviate', 'grpc', 'httpx', 'numpy'} & set(sys.modules)"
    done = run(f"import sys, rocketride_store_weaviate; print({heavy}); sys.exit(bool({heavy}))")
    assert done.returncode == 0, done.stdout


def test_the_node_is_shown_without_the_client() -> None:
    hidden = "sys.modules['weaviate'] = sys.modules['grpc'] = None"
    show = f"import sys; {hidden}; from rocketride_core.cli import main; sys.exit(main(['nodes', 'show', 'weaviate']))"
    done = run(show)
    assert done.returncode == 0, done.stderr
    assert "grpc_port" in done.stdout
