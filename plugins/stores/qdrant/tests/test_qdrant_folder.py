# SPDX-License-Identifier: MIT
"""Qdrant in a folder passes the suite of backends, outlives a kill, and is fast; a second process is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocketride_store import Collection, Patience, Patient, StoreError, VectorStore, Where, chunk_key
from rocketride_store.testing import StoreSuite, chunk, vector

FIRST = Collection("suite", 3, "model-a")


def in_folder(folder: Path, **options: Any) -> VectorStore:
    from rocketride_store_qdrant.backend import FolderClient, QdrantStore

    return QdrantStore(FolderClient(folder), "suite", kind="folder", **options)


class TestFolder(StoreSuite):
    @pytest.fixture(autouse=True)
    def _in_memory(self, tmp_path: Path) -> Iterator[None]:
        """The engine waits for the disk at each creation: where there is one, a file system in memory saves a minute."""
        fast = Path("/dev/shm")
        with tempfile.TemporaryDirectory(
            dir=fast if os.access(fast, os.W_OK) and shutil.disk_usage(fast).free >> 28 else tmp_path
        ) as place:
            self.place = Path(place)
            yield

    def make(self, folder: Path) -> VectorStore:
        return in_folder(self.place)


@pytest.mark.slow
def test_a_folder_outlives_a_kill(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from array import array; from pathlib import Path\n"
        "from rocketride_core import Document\n"
        "from rocketride_store import Collection\n"
        "from rocketride_store_qdrant.backend import FolderClient, QdrantStore\n"
        "store = QdrantStore(FolderClient(Path(sys.argv[1])), 'suite', kind='folder')\n"
        "store.create(Collection('suite', 3, 'model-a'))\n"
        "vector = memoryview(array('f', [1, 0, 0]))\n"
        "store.upsert([Document('text', {'objectId': 'a', 'chunkId': number}, vector) for number in range(300)])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    store = in_folder(tmp_path)
    assert store.collection() == FIRST
    assert len(store.ids(Where())) == 300
    store.close()


def test_two_processes_on_one_folder_are_one_clear_error(tmp_path: Path) -> None:
    store = in_folder(tmp_path)
    store.create(FIRST)
    store.close()
    program = (
        "import sys, qdrant_edge; held = qdrant_edge.EdgeShard.load(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "collections" / "suite")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        store = in_folder(tmp_path)
        with pytest.raises(StoreError) as caught:
            store.collection()
        assert str(caught.value).startswith(f"The folder {tmp_path} is in use by another process; run a Qdrant server")
        other.communicate()
    assert store.collection() == FIRST
    store.close()


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = in_folder(tmp_path / "file")
    with pytest.raises(StoreError, match="Not a directory"):
        Patient(store, Patience(store="Qdrant", attempts=1)).create(FIRST)


def test_without_its_engine_a_folder_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_edge", None)
    with pytest.raises(StoreError, match=r"pip install 'rocketride-store-qdrant\[embedded\]'"):
        in_folder(tmp_path)


def test_a_thousand_points_do_not_take_seconds(tmp_path: Path) -> None:
    """The path mode of qdrant-client takes 9 s for them."""
    store = in_folder(tmp_path)
    store.create(FIRST)
    started = time.monotonic()
    for start in (0, 500):
        store.upsert([chunk("a", number) for number in range(start, start + 500)])
    assert time.monotonic() - started < 4
    store.close()


class Counted:
    """A shard that counts its flushes."""

    def __init__(self, shard: Any) -> None:
        self._shard, self.flushes = shard, 0

    def flush(self) -> None:
        self.flushes += 1
        self._shard.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shard, name)


def test_a_folder_is_flushed_so_that_its_log_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketride_store_qdrant.folder._FLUSH", 5)
    store: Any = in_folder(tmp_path)
    store.create(FIRST)
    shared = store._client._mine["suite"]
    shared.updates, shared.shard = 0, Counted(shared.shard)
    for number in range(12):
        store.upsert([chunk("a", number)])
    assert shared.shard.flushes == 2
    store.close()


def test_an_approximate_search_says_so_and_finds(tmp_path: Path) -> None:
    store = in_folder(tmp_path, exact=False)
    assert not store.capabilities.exact
    store.create(FIRST)
    store.upsert([chunk("a", 0), chunk("b", 0, at=60)])
    assert [chunk_key(found) for found in store.search(vector(1, 0, 0), Where(), 2)] == [("a", 0), ("b", 0)]
    store.close()


def test_metadata_of_any_depth_can_be_read_again(tmp_path: Path) -> None:
    from contextlib import closing

    from rocketride_store import Collection, Where
    from rocketride_store.testing import chunk
    from rocketride_store_qdrant.backend import FolderClient, QdrantStore

    deep: object = 1
    for _ in range(200):
        deep = [deep]
    with closing(QdrantStore(FolderClient(tmp_path), "c", kind="folder")) as store:
        store.create(Collection("c", 3, "m"))
        store.upsert([chunk("a", 0, deep=deep)])
        assert store.select(Where())[0].metadata["deep"] == deep


def test_a_disk_that_is_full_is_told_before_the_engine_dies_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = in_folder(tmp_path / "index")
    free = 95 << 20
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(StoreError, match="95 MiB are free") as caught:
        store.create(FIRST)
    assert caught.value.kind == "full"
    free = 96 << 20
    store.create(FIRST)
    store.upsert([chunk("a", 0)])
    free = 0
    for write in (lambda: store.upsert([chunk("a", 1)]), lambda: store.mark(store.ids(Where()), True)):
        with pytest.raises(StoreError, match="0 MiB are free"):
            write()
    assert len(store.ids(Where())) == 1
    store.close()
    again = in_folder(tmp_path / "index")
    with pytest.raises(StoreError, match="its engine needs 40 MiB"):
        again.ids(Where())
    again.close()


@pytest.mark.parametrize(
    ("said", "kind"), [("Read-only file system (os error 30)", "permission"), ("No space left", "full"), ("?", "invalid")]
)
def test_the_engines_words_are_read(said: str, kind: str) -> None:
    from rocketride_store_qdrant.opening import explain

    told = explain(Exception(f"Service runtime error: {said}"))
    assert told is not None
    assert told.kind == kind
