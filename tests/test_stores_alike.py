# SPDX-License-Identifier: MIT
"""All stores answer alike: the same documents and questions give the same ranking, whatever keeps them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pytest
from store_kit import DISTRIBUTIONS, PLACES, STORES, Place, ask, content, needed, opened, store

from rocketride_core import Document, Pipeline, Question
from rocketride_store import chunk_key
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
