# SPDX-License-Identifier: MIT
"""The index between pipelines, processes and faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocketride_core import Component, Document, Kernel, LaneLink, PipeFile
from rocketride_indexer.asking import Asker
from rocketride_indexer.shared import SharedIndex
from rocketride_store import Request, StoreError, Where

FAR = 60.0


def chunk(id: str, text: str, number: int = 0) -> Document:
    return Document(text, {"objectId": id, "chunkId": number, "isDeleted": False})


def put(index: SharedIndex, id: str, *texts: str, pause: float = FAR, wait: float = 0) -> int:
    return index.replace({id: [chunk(id, text, number) for number, text in enumerate(texts)]}, wait=wait, pause=pause)


def content(index: SharedIndex) -> dict[tuple[str, int], str]:
    found = Asker(index.searcher(), "index").select(Where())
    return {(str(one.metadata["objectId"]), int(str(one.metadata["chunkId"]))): one.text for one in found}


def folder(tmp_path: Path) -> Path:
    made = tmp_path / "index"
    made.mkdir(exist_ok=True)
    return made


def test_a_commit_serves_all_who_wait_for_it(tmp_path):
    index = SharedIndex(folder(tmp_path))
    numbers = [put(index, str(i), "text") for i in range(5)]
    commits = []
    writer = index._writer

    class Counting:
        def commit(self):
            commits.append(1)
            return writer.commit()

        def __getattr__(self, name):
            return getattr(writer, name)

    index._writer = Counting()
    for number in numbers:
        index.commit(number)
    assert len(commits) == 1
    index.close()


def test_others_find_it_after_a_while_without_being_asked(tmp_path):
    writing, reading = SharedIndex(folder(tmp_path)), SharedIndex(folder(tmp_path))
    put(writing, "a", "text", pause=0.05)
    ends = time.monotonic() + 60
    while not content(reading) and time.monotonic() < ends:
        time.sleep(0.02)
    assert content(reading) == {("a", 0): "text"}
    while writing._writer is not None and time.monotonic() < ends:
        time.sleep(0.02)
    put(reading, "b", "now it is the other's turn", wait=20)
    with pytest.raises(StoreError, match="is being written by another process, which did not finish in 0 s; wait for it"):
        put(writing, "c", "text")
    reading.close()
    put(writing, "c", "text")
    assert len(content(writing)) == 3
    writing.close()


def test_who_waits_for_another_writer_gets_its_turn(tmp_path):
    import threading

    one, two = SharedIndex(folder(tmp_path)), SharedIndex(folder(tmp_path))
    put(one, "a", "text")
    threading.Timer(0.15, one.close).start()
    put(two, "b", "text", wait=20)
    assert len(content(two)) == 2
    two.close()


def test_who_is_no_longer_wanted_does_not_wait(tmp_path):
    one, two = SharedIndex(folder(tmp_path)), SharedIndex(folder(tmp_path))
    put(one, "a", "text")
    start = time.monotonic()
    with pytest.raises(StoreError, match="another process"):
        two.replace({"b": []}, wait=60, gone=lambda: True)
    assert time.monotonic() - start < 10
    one.close()
    two.close()


class Broken:
    """A writer whose disk is full."""

    def __init__(self, where):
        self.where = where

    def delete_documents_by_term(self, name, value):
        pass

    def add_document(self, document):
        if self.where == "add":
            raise OSError("No space left on device (os error 28)")

    def commit(self):
        raise OSError("No space left on device (os error 28)")

    def wait_merging_threads(self):
        pass


def test_a_commit_that_fails_is_told_to_each_who_waited_and_the_index_goes_on(tmp_path):
    index = SharedIndex(folder(tmp_path))
    put(index, "a", "old")
    index.commit()
    index._writer = Broken("commit")
    first, second = put(index, "a", "new"), put(index, "b", "new")
    for number in (first, second, first):
        with pytest.raises(
            StoreError, match=r"There is no room left for the index in .* \(2 objects that were not on the disk yet are lost"
        ) as caught:
            index.commit(number)
    assert caught.value.kind == "full"
    third = put(index, "c", "new")
    index.commit(third)
    assert content(index) == {("a", 0): "old", ("c", 0): "new"}
    index.close()


def test_a_failure_that_nobody_waited_for_is_told_to_the_next(tmp_path):
    index = SharedIndex(folder(tmp_path))
    real = index._index

    class FullOnce:
        def writer(self, heap, threads):
            index._index = real
            return Broken("commit")

    index._index = FullOnce()
    put(index, "b", "text", pause=0.02)
    ends = time.monotonic() + 60
    while index._unsaid is None and time.monotonic() < ends:
        time.sleep(0.01)
    with pytest.raises(StoreError, match="no room left"):
        put(index, "c", "text")
    put(index, "c", "text")
    assert content(index) == {("c", 0): "text"}
    index.close()


def test_a_write_that_fails_loses_nothing_that_was_committed(tmp_path):
    index = SharedIndex(folder(tmp_path))
    put(index, "a", "old")
    index.commit()
    index._writer = Broken("add")
    with pytest.raises(StoreError, match="no room left"):
        put(index, "a", "new")
    assert content(index) == {("a", 0): "old"}
    index.close()


def test_closing_tells_what_is_lost(tmp_path):
    index = SharedIndex(folder(tmp_path))
    index._writer = Broken("commit")
    put(index, "a", "text")
    with pytest.raises(StoreError, match="1 objects that were not on the disk yet are lost"):
        index.close()


# ---- folders that are none


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "notes.md").write_text("Mine.")
    with pytest.raises(StoreError, match="has other files and no index"):
        SharedIndex(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.md"]


def test_an_index_of_another_kind_is_refused(tmp_path):
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("title")
    tantivy.Index(schema.build(), path=str(tmp_path))
    with pytest.raises(StoreError, match="has an index that something else made, or another version"):
        SharedIndex(tmp_path)


def test_a_damaged_index_says_what_to_do(tmp_path):
    SharedIndex(folder(tmp_path)).close()
    (tmp_path / "index" / "meta.json").write_text("{")
    with pytest.raises(StoreError, match="is damaged; remove the folder, and index again"):
        SharedIndex(folder(tmp_path))


def pipe(path: Path) -> PipeFile:
    return PipeFile(
        [
            Component("dropper_1", "dropper"),
            Component("parse_1", "parse", input=[LaneLink("tags", "dropper_1")]),
            Component("index_1", "indexer", {"path": str(path)}, [LaneLink("text", "parse_1")]),
        ]
    )


def test_the_probe_looks_and_makes_nothing(tmp_path):
    assert not Kernel().check(pipe(tmp_path / "new" / "index"), probe=True)
    assert not list(tmp_path.iterdir())
    SharedIndex(folder(tmp_path)).close()
    assert not Kernel().check(pipe(tmp_path / "index"), probe=True)
    (tmp_path / "index" / "meta.json").write_text("{")
    [problem] = Kernel().check(pipe(tmp_path / "index"), probe=True)
    assert (problem.code, problem.component) == ("probe-failed", "index_1")
    assert "damaged" in problem.message
    (tmp_path / "file").write_text("")
    [problem] = Kernel().check(pipe(tmp_path / "file" / "index"), probe=True)
    assert "cannot be made" in problem.message


def test_the_index_is_where_the_config_says_or_in_indexer(tmp_path, monkeypatch):
    from rocketride_indexer import IndexerConfig

    assert IndexerConfig().path == "indexer"
    assert not list(
        Kernel().check(
            PipeFile(
                [*pipe(tmp_path).components[:2], Component("i", "indexer", {"indexOutput": "x"}, [LaneLink("text", "parse_1")])]
            )
        )
    )


def test_importing_it_loads_no_engine():
    code = "import sys, rocketride_indexer; assert 'tantivy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- processes

VICTIM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_indexer_shared import FAR, SharedIndex, put, version
index = SharedIndex(Path({place!r}))
print("ready", flush=True)
for id, texts in version(1).items():
    number = put(index, id, *texts, wait=30)
    if int(id) % 3 == 0:
        index.commit(number)
index.close()
print("done", flush=True)
"""


def version(number: int) -> dict[str, list[str]]:
    return {
        str(i): [f"object {i} version {number} part {part} " + "word " * 200 for part in range(i % 5 + number)] for i in range(60)
    }


def whole(number: int) -> dict[tuple[str, int], str]:
    return {(id, at): text for id, texts in version(number).items() for at, text in enumerate(texts)}


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
def test_a_killed_process_leaves_an_index_that_the_next_run_puts_right(tmp_path, delay):
    place = folder(tmp_path)
    before = SharedIndex(place)
    for id, texts in version(0).items():
        put(before, id, *texts)
    before.close()
    program = VICTIM.format(tests=str(Path(__file__).parent), place=str(place))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        time.sleep(delay)
        os.kill(victim.pid, signal.SIGKILL)
    index = SharedIndex(place)
    found = content(index)
    for id in version(0):
        there = {key: text for key, text in found.items() if key[0] == id}
        assert there in ({key: text for key, text in whole(n).items() if key[0] == id} for n in (0, 1)), (
            f"object {id} is half of each"
        )
    for id, texts in version(1).items():
        put(index, id, *texts)
    assert content(index) == whole(1)
    index.close()


@pytest.mark.slow
def test_two_processes_take_turns(tmp_path):
    place = folder(tmp_path)
    program = VICTIM.format(tests=str(Path(__file__).parent), place=str(place))
    index = SharedIndex(place)
    put(index, "mine", "text", pause=0.1)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as other:
        assert other.communicate(timeout=120)[0] == "ready\ndone\n"
    assert content(index) == {**whole(1), ("mine", 0): "text"}
    found = Asker(index.searcher(), "index").words("version part", Request.of({"limit": 500}), every=True)
    assert len(found) == len(whole(1))
    index.close()
