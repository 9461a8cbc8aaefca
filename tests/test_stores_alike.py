# SPDX-License-Identifier: MIT
"""All stores answer alike: the same documents and questions give the same ranking, whatever keeps them."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from store_kit import DISTRIBUTIONS, PLACES, STORES, Place, ask, content, needed, opened, store

from rocketride_core import Document, Pipeline, Question
from rocketride_core.structure import keys_of
from rocketride_store import StoreNode, chunk_key
from rocketride_store.testing import QUESTIONS, corpus, embedded, expected

CLIENTS = {
    "chroma": "chromadb",
    "milvus": "pymilvus",
    "postgres": "psycopg",
    "qdrant": "qdrant_client",
    "weaviate": "weaviate",
}
BOAT = "her red boat"


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with opened(request.param, tmp_path_factory.mktemp("store")) as made:
        yield made


def fill(pipeline: Pipeline) -> None:
    for object_id, chunks in groupby(corpus(), lambda chunk: chunk_key(chunk)[0]):
        store(pipeline, object_id, list(chunks))


def semantic(text: str, **filter: Any) -> Question:
    return Question((text,), embeddings=(embedded(text),), embedding_model="hash-32", filter=filter)


def keys(documents: Sequence[Document]) -> list[tuple[str, int]]:
    return [chunk_key(document) for document in documents]


def test_the_same_questions_have_the_same_answers(place: Place) -> None:
    """Through the node: ranking, scores, pages, filter, keywords. What is expected is what the store in memory computes exactly."""
    with place.load() as pipeline:
        fill(pipeline)
        for text in QUESTIONS:
            exact = expected(text, 72)
            found = ask(pipeline, semantic(text, limit=20))
            assert keys(found) == keys(exact[:20]), text
            assert [one.score for one in found] == pytest.approx([one.score for one in exact[:20]], abs=1e-4)
            assert [one.text for one in found] == [one.text for one in exact[:20]]
            assert keys(ask(pipeline, semantic(text, offset=5, limit=7))) == keys(exact[5:12])
            mine = [key for key in keys(exact) if key[0] == BOAT]
            assert keys(ask(pipeline, semantic(text, objectIds=[BOAT]))) == mine
        words = ask(pipeline, Question(("BOAT bras",), type="keyword"))
        assert {one.text for one in words} == {one.text for one in corpus() if "boat" in one.text and "brass" in one.text}
        assert {one.score for one in words} == {None}
        assert content(pipeline) == {chunk_key(one): one.text for one in corpus()}


def test_a_threshold_leaves_out_the_same_everywhere(place: Place) -> None:
    text = QUESTIONS[0]
    exact = expected(text, 72)
    least = ((exact[9].score or 0) + (exact[10].score or 0)) / 2
    strict = Place(place.node, {**place.config, "score": least})
    with strict.load() as pipeline:
        fill(pipeline)  # once more where it was filled already: nothing changes
        assert keys(ask(pipeline, semantic(text, limit=72))) == keys(exact[:10])
        assert len(ask(pipeline, Question(("brass",), type="keyword"))) == 24


def documented(provider: str) -> dict[str, str]:
    """The column of a store in the table of docs/stores.md."""
    lines = (STORES.parents[1] / "docs" / "stores.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    head = next(row for row in rows if any(cell.startswith("[store_memory]") for cell in row))
    column = next(at for at, cell in enumerate(head) if cell.startswith(f"[{provider}]"))
    return {row[0]: row[column] for row in rows if len(row) == len(head)}


def test_the_book_says_what_it_can(place: Place) -> None:
    told = documented(place.node.spec.provider)
    with place.load() as pipeline:
        node: Any = next(node for node in pipeline.bound.nodes if node.id == "store")  # type: ignore[attr-defined]
        can = node.backend.capabilities
    assert told["compares with every vector"].startswith("yes" if can.exact else "no")
    assert told["cuts at the threshold itself"].startswith("yes" if can.threshold else "no")
    assert told["metrics"] == ", ".join(can.metrics)
    assert not can.minimum or can.minimum in told["oldest server"].replace(",", "").split()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_store_with_a_key_says_whether_it_travels_in_the_open(name: str) -> None:
    module = importlib.import_module(f"rocketride_store_{name}")
    [node] = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, StoreNode)]
    if "apikey" in keys_of(node.config_class):
        hosts = ("http://box", "https://box", "http://127.0.0.1", "http://localhost", "http://[::1]")
        told = [host for host in hosts if node.in_the_open("cloud", host, 8080)]
        assert told == ["http://box"], f"{node.__name__} has a key, and in_the_open() is true of {told}"


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_page_of_a_store_tells_how_to_start_a_server_its_settings_and_its_limits(name: str) -> None:
    page = (STORES / name / "README.md").read_text()
    sections = re.findall(r"(?m)^## (.+)$", page)
    assert {"Start a server", "Configuration"} <= set(sections)
    assert {"Good to know", "Limits"} & set(sections)
    assert "```\n" in page.partition("## Start a server")[2].partition("\n## ")[0]
    assert "| tools | `search`, `upsert`, `delete` |" in page


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_store_passes_the_suite_in_its_own_tests(name: str) -> None:
    """StoreSuite itself fails on an override and on a skip; here, that nobody goes without it."""
    suites = 0
    for path in (STORES / name / "tests").glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)] if isinstance(node, ast.ClassDef) else []
            suites += "StoreSuite" in bases
    assert suites, f"plugins/stores/{name}/tests has a class on StoreSuite"


def test_these_are_all_stores_of_the_repository() -> None:
    folders = {path.parent.name for path in STORES.glob("*/pyproject.toml")}
    assert folders == {"base", *DISTRIBUTIONS}
    assert set(CLIENTS) == set(DISTRIBUTIONS)


WITHOUT = """
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {client!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Gone())
import {package}
from rocketride_core.cli import main
code = main({words!r})
there = sorted(set({client!r}) & set(sys.modules))
sys.exit(code or (f"{{there}} was imported" if there else 0))
"""


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_node_is_shown_without_its_client(name: str) -> None:
    """One process a store: its package is imported, and `nodes show` printed, where the client cannot be imported at all."""
    package = f"rocketride_store_{name}"
    needed(package)
    engines = [CLIENTS[name], "qdrant_edge", "milvus_lite", "grpc", "numpy"]
    code = WITHOUT.format(client=engines, package=package, words=["nodes", "show", name, "--json"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={**os.environ})
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert name in json.dumps(shown)


PREPARED = """
import sys
import {package}
[node] = [one for one in vars({package}).values() if isinstance(one, type) and hasattr(one, "prepare")]
assert {client!r} not in sys.modules
node().prepare()
assert {client!r} in sys.modules
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_probe_imports_the_client_before_it_looks_at_the_clock(name: str) -> None:
    needed(CLIENTS[name])
    code = PREPARED.format(package=f"rocketride_store_{name}", client=CLIENTS[name])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


DEAD = """
import sys, time
sys.path.insert(0, {folder!r})
from store_kit import DISTRIBUTIONS, Source
from rocketride_core import Component, Kernel, LaneLink, PipeFile
place = {{"host": "127.0.0.1", "port": {port}, "password": "x"}}
configs = {{name: {{"profile": "local", "local": place}} for name in DISTRIBUTIONS}}
stores = [Component(name, name, config, input=[LaneLink("documents", "in")]) for name, config in configs.items()]
for turn in range(2):
    started = time.monotonic()
    for problem in Kernel(nodes=[Source]).check(PipeFile([Component("in", "in"), *stores]), probe=True):
        if problem.severity == "error":
            print(turn, problem.code, problem.component, problem.message)
print(round(time.monotonic() - started, 1))
"""


@pytest.mark.slow
def test_dead_servers_of_all_stores_are_told_at_once_in_a_new_process() -> None:
    """Their clients import the same libraries: probes that do so at the same moment would find them half made."""
    needed(*CLIENTS.values())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        code = DEAD.format(folder=str(Path(__file__).parent), port=port)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    *told, seconds = done.stdout.splitlines()
    wanted = [f"{turn} probe-failed {name}" for turn in (0, 1) for name in DISTRIBUTIONS]
    assert sorted(" ".join(line.split()[:3]) for line in told) == wanted
    assert all(f"did not answer in time at 127.0.0.1:{port}: 3 s are over" in line for line in told), done.stdout
    assert 2.9 < float(seconds) < 9  # one after another they take 15
