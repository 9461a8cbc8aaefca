# SPDX-License-Identifier: MIT
"""The postgres node: profiles, index in one pipeline and ask in another, config of every shape, probes, lazy import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
from rocketride_store_postgres import Postgres, PostgresConfig

README = Path(__file__).resolve().parents[1] / "README.md"
CATALOG = Path(__file__).resolve().parents[5] / "shared" / "reference" / "catalog.json"
QUESTION = Question(("?",), embeddings=(memoryview(array("f", [1, 0, 0])),), embedding_model="m")


def document(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: Any) -> Document:
    return attrs.evolve(chunk(object_id, number, text, at, **metadata), embedding_model="m")


class TestPostgres(NodeSuite):
    node = Postgres
    send = {"documents": [[document("a", 0)]], "questions": [QUESTION]}

    @pytest.fixture(autouse=True)
    def _where(self, postgres: Any, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "config", postgres.config(schema=schema))


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
            Component("store", "postgres", config, input=[LaneLink("documents", "in"), LaneLink("questions", "in")]),
            Component("out", "out", input=[LaneLink("documents", "store")]),
        ]
    )


def load(config: dict[str, Any]) -> Any:
    return Kernel(nodes=[Source, Postgres, Sink]).load(pipe(config))


def found(pipeline: Any, question: Question = QUESTION) -> list[tuple[str, float | None]]:
    [documents] = pipeline.run(Entry("ask"), QUESTIONS(question)).checked()[DOCUMENTS]
    return [(document.text, document.score) for document in documents]


@pytest.fixture
def config(postgres: Any, schema: str) -> Any:
    return postgres.config(schema=schema)


def test_one_pipeline_indexes_and_another_one_asks(config: dict[str, Any]) -> None:
    with load(config) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "near"), document("a", 1, "far", at=120)])).checked()
    with load(config) as pipeline:
        assert found(pipeline) == [("near", 1.0), ("far", 0.25)]
    with load(config | {"score": 0.5}) as pipeline:
        assert found(pipeline) == [("near", 1.0)]
        assert found(pipeline, Question(("FAR",), type="keyword")) == [("far", None)]
        assert len(found(pipeline, Question((), type="get"))) == 2


def test_indexing_twice_gives_the_same_and_a_shorter_version_no_tail(config: dict[str, Any]) -> None:
    with load(config) as pipeline:
        for count in (700, 700, 1):
            pipeline.run(Entry("a"), DOCUMENTS([document("a", number) for number in range(count)])).checked()
            assert len(found(pipeline, attrs.evolve(QUESTION, filter={"limit": 1000}))) == count


def test_two_pipelines_of_eight_workers_write_one_collection(config: dict[str, Any]) -> None:
    def work(name: str) -> Any:
        return ((Entry(f"{name}{n}"), [DOCUMENTS([document(f"{name}{n}", number) for number in range(5)])]) for n in range(40))

    with load(config) as one, load(config) as two:
        running = [one.map(work("x"), workers=8), two.map(work("y"), workers=8)]
        for left, right in zip(*running, strict=True):
            left.checked(), right.checked()
        stored = found(one, attrs.evolve(QUESTION, filter={"limit": 1000}))
        assert sorted(text for text, _ in stored) == sorted(f"{w}{n} {c}" for w in "xy" for n in range(40) for c in range(5))


def test_another_model_is_refused_also_after_a_new_start(config: dict[str, Any]) -> None:
    with load(config) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)])).checked()
    with load(config) as pipeline:
        with pytest.raises(RunError, match="The collection uses m but the document was encoded with other"):
            pipeline.run(Entry("b"), DOCUMENTS([attrs.evolve(document("b", 0), embedding_model="other")])).checked()
        assert len(found(pipeline)) == 1


@pytest.mark.parametrize("metric", ["ip", "inner_product"])
def test_inner_product_is_ip(config: dict[str, Any], metric: str) -> None:
    with load(config | {"similarity": metric}) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, at=90)])).checked()
        [(_, score)] = found(pipeline)
        assert score == pytest.approx(0.5, abs=1e-5)
    with pytest.raises(RunError, match="The collection compares by ip but the config says cosine"), load(config):
        pass


def shapes(postgres: Any, schema: str) -> dict[str, dict[str, Any]]:
    place = postgres.config(schema=schema)
    place_without = {key: value for key, value in place.items() if key != "port"}
    uri = postgres.uri
    bare = {"uri": uri.replace(f":{quote(postgres.password, safe='')}@", "@"), "password": postgres.password, "schema": schema}
    pairs = f"host={postgres.host} port={postgres.port} user={postgres.user} password={postgres.password}"
    return {
        "flat": place,
        "profile": {"profile": "local", "local": place},
        "no profile named": {"local": place},
        "profile and flat": {"profile": "local", "local": place_without, "port": postgres.port},
        "port as text": place | {"port": str(postgres.port)},
        "nulls": place | {"sslmode": None, "uri": None, "index": None},
        "uri": {"uri": uri, "schema": schema, "score": 0},
        "uri with options": {"uri": f"{uri}?sslmode=disable&application_name=mine", "schema": schema, "score": 0},
        "uri without password": bare | {"score": 0},
        "key=value": {"uri": f"{pairs} dbname={postgres.database}", "schema": schema, "score": 0},
        "more": place
        | {"sslmode": "prefer", "timeout": 5, "connectTimeout": 3, "poolSize": 2, "index": "hnsw", "serverName": "x"},
    }


def test_every_shape_of_config_loads(postgres: Any, schema: str) -> None:
    for name, config in shapes(postgres, schema).items():
        with load(config) as pipeline:
            pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, name)])).checked()
            assert found(pipeline) == [(name, 1.0)], name


def test_the_catalogues_profile_is_ours() -> None:
    [profile] = Postgres.spec.profiles
    assert profile.id == "local"
    assert profile.values["host"] == "your-postgres-host.example.com"
    if not CATALOG.is_file():
        pytest.skip("the catalogue (../shared/reference) is not here")
    [told] = [service for service in json.loads(CATALOG.read_text())["services"] if service["name"] == "postgres"]
    assert dict(profile.values) == {key: value for key, value in told["profiles"]["local"].items() if key != "title"}
    assert profile.title == told["profiles"]["local"]["title"]
    assert list(Postgres.spec.tile) == told["tile"]


@pytest.mark.parametrize("config", [{}, {"profile": "local"}, {"database": "x"}])
def test_a_config_without_a_host_says_so(config: dict[str, Any]) -> None:
    with pytest.raises(RunError, match='store has no host; write "host" in its config, or "uri"'), load(config):
        pass


@pytest.mark.parametrize("uri", ["postgresql://u:s3cret-word@h:port/x", "mysql://u:s3cret-word@h/x", "s3cret-word"])
def test_a_uri_that_is_none_is_not_repeated(uri: str) -> None:
    with pytest.raises(RunError) as caught, load({"uri": uri, "connectTimeout": 1, "maxAttempts": 1}):
        pass
    assert "s3cret-word" not in str(caught.value)


def test_a_uri_of_a_wrong_form_says_how_one_looks() -> None:
    with (
        pytest.raises(RunError, match="it looks like postgresql://user:password@host:5432/database"),
        load({"uri": "mysql://h/x"}),
    ):
        pass


@pytest.mark.parametrize("schema", ["", "x" * 64, "100%"])
def test_a_schema_that_cannot_be_says_so(schema: str) -> None:
    with pytest.raises(RunError, match="cannot use the schema"), load({"host": "localhost", "schema": schema}):
        pass


def test_a_server_that_is_not_there_fails_when_the_pipeline_is_loaded() -> None:
    with (
        pytest.raises(RunError, match=r"PostgreSQL Vector Store cannot be reached at 127.0.0.1:1; is it running") as caught,
        load({"host": "127.0.0.1", "port": 1}),
    ):
        pass
    assert caught.value.component == "store"
    with pytest.raises(RunError, match=r"cannot be reached at 127.0.0.1:1;"), load({"uri": "postgresql://x@127.0.0.1:1/y"}):
        pass


@pytest.mark.parametrize("name", ["rocketride", "ROCKETRIDE", "_a1", "a" * 63, "select"])
def test_good_names(name: str) -> None:
    assert Postgres.name_rule(name) == ""


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "ä", "a" * 64, "a\n", 'a"; --'])
def test_a_bad_name_says_the_rule_when_the_file_is_checked(name: str) -> None:
    config = {"host": "localhost", "collection": name}
    [problem] = [p for p in Kernel(nodes=[Source, Postgres, Sink]).check(pipe(config)) if p.severity == "error"]
    assert (problem.code, problem.component) == ("invalid-value", "store")
    assert "up to 63 letters" in problem.hint


def probed(config: dict[str, Any]) -> list[str]:
    told = Kernel(nodes=[Source, Postgres, Sink]).check(pipe(config), probe=True)
    return [problem.message for problem in told if problem.code == "probe-failed"]


def test_a_probe_says_what_is_wrong(postgres: Any, config: dict[str, Any]) -> None:
    with load(config) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)])).checked()
    assert not [message for message in probed(config) if "store" in message.lower()]
    [message] = probed(config | {"password": "wrong-secret"})
    assert "refused the key or password" in message
    assert "wrong-secret" not in message
    [message] = probed(config | {"similarity": "l2"})
    assert "compares by cosine" in message


HIDDEN = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("psycopg", "psycopg_binary", "psycopg_c", "pgvector"):
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Hide())
from rocketride_core.cli import main
sys.exit(main(["nodes", "show", "postgres"]))
"""


def test_the_node_is_shown_without_its_client() -> None:
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "PostgreSQL Vector Store" in done.stdout


def test_importing_the_plugin_does_not_import_the_client() -> None:
    program = "import sys, rocketride_store_postgres; sys.exit(any(n in sys.modules for n in ('psycopg', 'numpy', 'pgvector')))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_readme_tells_every_setting_with_its_default() -> None:
    section = README.read_text().partition("## Configuration")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", section, re.MULTILINE))
    base = {attribute.name for attribute in attrs.fields(PostgresConfig.__mro__[1])} - {"collection", "similarity"}
    renamed = {"connect_timeout": "connectTimeout", "pool_size": "poolSize"}
    made = PostgresConfig()
    wanted = {}
    for attribute in attrs.fields(PostgresConfig):
        if attribute.name not in base:
            value = getattr(made, attribute.name)
            shown = "" if attribute.name in ("password", "uri") else value
            wanted[renamed.get(attribute.name, attribute.name)] = json.dumps(shown)
    assert told == wanted
