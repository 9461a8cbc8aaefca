# SPDX-License-Identifier: MIT
"""A third party's store, outside the repository: 60 lines, one distribution, found by its entry point, and the suite passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = '''\
"""Vectors in one JSON file: slow, exact, and gone only with its file."""
import json
import threading
from pathlib import Path

import attrs

from rocketride_core import Document, NodeSpec, setting
from rocketride_store import Capabilities, Collection, Server, StoreConfig, StoreNode, VectorStore, chunk_uuid, similarities

lock = threading.RLock()


@attrs.frozen(kw_only=True)
class JsonConfig(StoreConfig):
    path: str = setting("store.json", title="File")


class JsonStore(VectorStore):
    capabilities = Capabilities(exact=True, persistent=True, threshold=True)

    def __init__(self, path, name):
        self.path, self.name = Path(path), name

    def _read(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {"made": None, "chunks": {}}

    def _write(self, change):
        with lock:
            data = self._read()
            change(data)
            self.path.with_suffix(".new").write_text(json.dumps(data))
            self.path.with_suffix(".new").replace(self.path)

    def about(self):
        return Server("JSON file", "1")

    def collection(self):
        made = self._read()["made"]
        return Collection(self.name, *made) if made else None

    def create(self, wanted):
        if wanted.metric not in self.capabilities.metrics:
            raise ValueError(f"no metric {wanted.metric}")
        self._write(lambda data: data.update(made=data["made"] or [wanted.dimension, wanted.model, wanted.metric]))
        return self.collection()

    def upsert(self, documents):
        self._write(lambda data: data["chunks"].update({chunk_uuid(one): one.to_json() for one in documents}))

    def search(self, vector, where, limit, /, *, least=0.0):
        import numpy

        found = [one for one in self._chunks() if where.accepts(one.metadata)]
        matrix = numpy.array([one.embedding for one in found], numpy.float32).reshape(len(found), len(vector))
        scores = similarities(self.collection().metric, matrix, vector)
        best = sorted(zip(found, scores, strict=True), key=lambda pair: -pair[1])
        return [attrs.evolve(one, embedding=None, score=score) for one, score in best if score >= least][:limit]

    def select(self, where, /, *, words=(), offset=0, limit=None):
        found = [one for one in self._chunks() if all(word.lower() in one.text.lower() for word in words)]
        chosen = [attrs.evolve(one, embedding=None) for one in found if where.accepts(one.metadata)]
        return chosen[offset:][:limit]

    def delete(self, ids):
        self._write(lambda data: [data["chunks"].pop(id, None) for id in ids])

    def mark(self, ids, deleted):
        self._write(lambda data: [data["chunks"][id]["metadata"].update(isDeleted=deleted) for id in ids])

    def _chunks(self):
        return [attrs.evolve(Document.from_json(one), embedding_model="") for one in self._read()["chunks"].values()]


class Json(StoreNode[JsonConfig]):
    spec = NodeSpec("acme_json", title="JSON file")

    def connect(self):
        return JsonStore(self.config.path, self.config.collection)
'''

TESTS = """\
from rocketride_core.testing import NodeSuite
from rocketride_store.testing import QUESTIONS, StoreSuite, corpus, embedded
from rocketride_core import Question
from acme_json import Json, JsonStore


class TestJson(StoreSuite):
    def make(self, folder):
        return JsonStore(folder / "store.json", "suite")


class TestNode(NodeSuite):
    node = Json
    installed = False
    send = {
        "documents": [corpus()],
        "questions": [Question(QUESTIONS[:1], embeddings=(embedded(QUESTIONS[0]),), embedding_model="hash-32")],
    }
"""


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)


def test_a_store_of_a_third_party_passes_the_suite(tmp_path: Path) -> None:
    code = [line for line in CODE.splitlines() if line.strip()]
    assert len(code) <= 70, "a store is small: about 60 lines"
    (tmp_path / "acme_json.py").write_text(CODE)
    (tmp_path / "test_acme.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert "skipped" not in done.stdout


# ---- the suite cannot be bent


BENT = {
    "overridden": "    def test_filters(self, store): pass",
    "fixture": "    def fill(self, store, *chunks): pass",
    "hidden": "    test_filters = None",
    "marked": "    import pytest; pytestmark = [pytest.mark.xfail]",
}


@pytest.mark.parametrize("way", BENT)
def test_an_override_is_refused_when_the_class_is_made(way: str) -> None:
    from rocketride_store.testing import StoreSuite

    names: dict[str, object] = {"StoreSuite": StoreSuite}
    with pytest.raises(TypeError, match=r"Bent\.\w+ overrides a part of StoreSuite"):
        exec(f"class Bent(StoreSuite):\n{BENT[way]}", names)


SKIPPING = """\
import pytest
from rocketride_store import InMemory
from rocketride_store.testing import StoreSuite


class TestSkipsInMake(StoreSuite):
    def make(self, folder):
        pytest.skip("no server here")


class TestFine(StoreSuite):
    def make(self, folder):
        return InMemory("suite")

"""


def test_a_skip_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
        "-rA",
        "-k",
        "skipped or filters or mark",
    ]
    done = run(command, tmp_path)
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.startswith("SKIPPED")]
    fine = [line for line in lines if line.startswith("PASSED") and "TestFine" in line]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR")) and "TestSkipsInMake" in line]
    assert len(failed) == len(fine) - 1, "all but the test that asks for no store"


def test_every_backend_of_this_repository_runs_the_suite_unmarked() -> None:
    """Of each `plugins/stores/<name>/tests`: a subclass of StoreSuite, without marks that could silence it."""
    import ast

    stores = Path(__file__).resolve().parents[2]
    for folder in sorted(path for path in stores.iterdir() if (path / "pyproject.toml").is_file()):
        found = []
        for path in sorted(folder.glob("tests/*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "StoreSuite" for base in node.bases):
                    found.append(node.name)
                    assert not node.decorator_list, f"{path.name}: {node.name} has decorators"
                    names = {getattr(at, "id", "") for one in node.body for at in getattr(one, "targets", [])}
                    assert "pytestmark" not in names, f"{path.name}: {node.name} has marks"
        assert found or not any(folder.glob("tests/*.py")), f"{folder.name} has no subclass of StoreSuite among its tests"
