# SPDX-License-Identifier: MIT
"""What the base does for all backends: addresses, folders, distances, pages, time limits, writes in parts."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from rocketride_core import DOCUMENTS, Component, Document, Kernel, LaneLink, Node, NodeSpec, PipeFile, RunError
from rocketride_store import (
    Address,
    Capabilities,
    Distances,
    Folders,
    InMemory,
    Patience,
    Patient,
    StoreConfig,
    StoreError,
    StoreNode,
    VectorStore,
    Where,
    compared,
    page_of,
    paged,
    similarity,
    transport,
    unless,
    within,
)
from rocketride_store.testing import chunk, keys, vector

ONCE = Patience(store="The store", attempts=1)


# ---- addresses


@pytest.mark.parametrize(
    ("host", "port", "url", "in_the_open"),
    [
        ("localhost", 80, "http://localhost:80", False),
        (" box ", 6333, "http://box:6333", True),
        ("box", 443, "https://box:443", False),
        ("http://box:81/base/", 443, "http://box:81/base", True),
        ("https://box", 6333, "https://box:6333", False),
        ("[::1]", 80, "http://[::1]:80", False),
        ("127.0.0.2", 80, "http://127.0.0.2:80", False),
        ("", 80, "http://:80", False),
    ],
)
def test_addresses(host: str, port: int, url: str, in_the_open: bool) -> None:
    found = Address.of(host, port)
    assert (found.url, found.in_the_open) == (url, in_the_open)


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("ftp://box", "a Box host begins with http:// or https://, or has nothing in front, not ftp://"),
        ("box:port", "cannot be read"),
        ("::1", "cannot be read"),
        ("http://", "has no name; write one like localhost"),
        ("//", "has no name"),
    ],
)
def test_a_host_that_is_none_says_what_to_write(host: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Address.of(host, 1, store="Box")


# ---- folders


def test_a_folder_is_open_once_for_all_its_users(tmp_path: Path) -> None:
    folders, told = Folders[list[str]]("Box", locked=True), list[str]()
    for _ in range(2):
        assert folders.take(tmp_path, lambda place: told.append(f"open {place}") or told, lambda _: told.append("close")) is told  # type: ignore[func-returns-value]
    assert folders.get(tmp_path / ".." / tmp_path.name) is told
    folders.give(tmp_path)
    assert told == [f"open {tmp_path}"]
    folders.give(tmp_path)
    assert told == [f"open {tmp_path}", "close"]
    assert folders.get(tmp_path) is None


TAKES = """
import sys
from pathlib import Path
from rocketride_store import Folders
folders = Folders("Box", locked=True)
folders.take(Path(sys.argv[1]), print)
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_folder_of_another_process_is_in_use(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TAKES, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.stdout.readline() == "taken\n"
        folders = Folders[str]("Box", locked=True)
        with pytest.raises(StoreError, match="is in use by another process; run a Box server to share it"):
            folders.take(tmp_path, str)
        process.kill()
        process.wait()
        assert folders.take(tmp_path, str) == str(tmp_path)
    folders.give(tmp_path)


def test_a_folder_that_cannot_be_opened_is_not_kept(tmp_path: Path) -> None:
    folders = Folders[str]("Box", locked=True)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            folders.take(tmp_path, lambda _: str(1 / 0))
    assert folders.take(tmp_path, str) == str(tmp_path)
    folders.give(tmp_path)


# ---- scores


@pytest.mark.parametrize("told", [Distances(), Distances(ip=1.0), Distances(squared=True)])
@pytest.mark.parametrize(("metric", "value"), [("cosine", 0.4), ("ip", 0.4), ("ip", -3.0), ("l2", 0.4), ("l2", 3.0)])
def test_distances_and_scores_are_each_others_inverse(told: Distances, metric: str, value: float) -> None:
    distance = {"cosine": 1 - value, "ip": told.ip - value, "l2": value * value if told.squared else value}[metric]
    score = told.score(metric, distance)
    assert score == similarity(metric, value)
    greatest = told.greatest(metric, score)
    assert greatest is not None
    assert distance < greatest < distance + 1e-3
    assert told.greatest(metric, 0.0) is None


def test_what_is_compared_here_is_ranked_and_cut() -> None:
    chunks = [chunk(f"o{at}", 0, at=at) for at in range(180)] * 4
    rows = [(attrs.evolve(one, embedding=None), one.embedding) for one in chunks]
    found = compared("cosine", vector(1, 0, 0), iter(rows), 6, 0.5)
    assert keys(found) == [("o0", 0)] * 4 + [("o1", 0)] * 2
    assert len(compared("cosine", vector(1, 0, 0), rows, None, 0.5)) == 91 * 4
    assert compared("cosine", vector(1, 0, 0), []) == []


# ---- pages


def test_pages_read_no_more_than_they_need() -> None:
    read = list[int]()

    def chunks() -> Any:
        for number in range(100):
            read.append(number)
            yield Document(f"Text {number}", {"objectId": "a", "chunkId": number})

    assert keys(paged(chunks(), (), 3, 2)) == [("a", 3), ("a", 4)]
    assert len(read) == 5
    assert keys(paged(chunks(), ["TEXT", "9"], 1, 2)) == [("a", 19), ("a", 29)]
    assert len(paged(chunks())) == 100
    assert (page_of((), 3, 2), page_of(["x"], 3, 2), page_of((), 0, None), page_of((), 900, 9, most=50)) == (5, 500, 500, 50)


def test_an_error_of_making_counts_only_where_nothing_is_there() -> None:
    def fail() -> None:
        raise RuntimeError("there already")

    unless(lambda: True, fail)
    with pytest.raises(RuntimeError):
        unless(lambda: False, fail)


# ---- writes in parts


class Parts(InMemory):
    def __init__(self, **able: int) -> None:
        super().__init__("c")
        self.able, self.sizes = Capabilities(exact=True, persistent=False, **able), list[int]()  # type: ignore[arg-type]

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return self.able

    def upsert(self, documents: Sequence[Document], /) -> None:
        self.sizes.append(len(documents))
        super().upsert(documents)


@pytest.mark.parametrize(
    ("able", "texts", "sizes"),
    [
        ({}, [9] * 500, [500]),
        ({"batch": 200}, [9] * 500, [200, 200, 100]),
        ({"request": 1000}, [100, 100, 100], [2, 1]),
        ({"request": 1000}, [100, 5000, 100], [1, 1, 1]),
        ({"request": 1000, "number": 100}, [100, 100], [1, 1]),
        ({"request": 1}, [], []),
    ],
)
def test_writes_come_in_parts_that_a_backend_takes(able: dict[str, int], texts: list[int], sizes: list[int]) -> None:
    store = Parts(**able)
    Patient(store, ONCE).upsert([chunk("a", number, "x" * size) for number, size in enumerate(texts)])
    assert (store.sizes, len(store.ids(Where()))) == (sizes, len(texts))


# ---- time limits


def limits(patience: Patience, instance: Any = None) -> list[float]:
    """What `within(60)` says in each attempt of a call that fails."""
    seen = list[float]()

    def call() -> None:
        seen.append(within(60))
        time.sleep(0.02)
        raise TimeoutError

    with pytest.raises(StoreError):
        patience.do(transport, call, instance)
    return seen


def entry(remaining: float | None) -> Any:
    return SimpleNamespace(remaining=remaining, cancelled=False, event=lambda *_, **__: None)


def test_a_request_has_the_time_that_its_call_has_left() -> None:
    assert within(60) == 60
    assert limits(attrs.evolve(ONCE, seconds=600.0)) == [60]
    first, second = limits(Patience(store="The store", attempts=2, delay=0.001, seconds=5))
    assert 3 < first <= 5
    assert second < first - 0.02
    assert within(60) == 60


def test_a_request_has_the_time_that_its_entry_has_left() -> None:
    [told] = limits(ONCE, entry(0.5))
    assert 0 < told <= 0.5
    assert limits(ONCE, entry(None)) == [60]
    assert limits(ONCE, entry(0.0)) == [0.001]


def test_a_time_limit_is_that_of_its_own_thread() -> None:
    told = list[float]()
    ONCE.do(transport, lambda: run(lambda: told.append(within(60))), entry(0.5))
    assert told == [60]


def run(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


# ---- clients


class Bare(StoreNode[StoreConfig]):
    library = "rocketride_store_bare.backend"
    spec = NodeSpec("bare", title="Bare", description="-")

    def connect(self) -> VectorStore:
        import rocketride_store_bare.backend as module  # type: ignore[import-not-found]

        store: VectorStore = module.connected()
        return store


def bare(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> Any:
    """A pipeline over a store whose package `rocketride_store_bare` has this module `backend`."""
    package = folder / "rocketride_store_bare"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "backend.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    for name in ("rocketride_store_bare", "rocketride_store_bare.backend"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    pipe = PipeFile([Component("in", "in"), Component("store", "bare", {}, input=[LaneLink("documents", "in")])])
    return Kernel(nodes=[Source, Bare]), pipe


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[DOCUMENTS])


def test_a_client_that_is_not_installed_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, pipe = bare(tmp_path, monkeypatch, "import no_such_client\n")
    said = "Bare needs the module no_such_client, which is not installed; pip install rocketride-store-bare"
    with pytest.raises(RunError, match=said), kernel.load(pipe):
        pass
    [problem] = [one for one in kernel.check(pipe, probe=True) if one.code == "probe-failed"]
    assert said in problem.message


def test_a_client_that_raises_when_it_connects_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
from rocketride_store import StoreError
class Refused(Exception): pass
def explain(error): return StoreError("authentication", "no") if isinstance(error, Refused) else None
def connected(): raise Refused("key")
"""
    kernel, pipe = bare(tmp_path, monkeypatch, code)
    with pytest.raises(RunError, match="Bare refused the key or password of the config: no"), kernel.load(pipe):
        pass
    [problem] = [one for one in kernel.check(pipe, probe=True) if one.code == "probe-failed"]
    assert "Bare refused the key or password of the config: no" in problem.message
