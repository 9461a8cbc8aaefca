# SPDX-License-Identifier: MIT
"""Milvus' limits are not a user's: long texts, long metadata, many chunks; and what milvus-lite leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_store import Collection, Condition, StoreError, VectorStore, Where
from rocketride_store.testing import StoreSuite, chunk, keys, vector
from rocketride_store_milvus import layout

ALL = Where()


def folder(place: Path, name: str = "suite", **more: Any) -> VectorStore:
    from rocketride_store_milvus.backend import MilvusStore
    from rocketride_store_milvus.folder import embedded

    client, opened = embedded(place)
    return MilvusStore(client, name, folder=opened, **more)


class TestEmbedded(StoreSuite):
    def make(self, place: Path) -> VectorStore:
        return folder(place / "milvus.db")


class TestIndexed(StoreSuite):
    """With an index that may miss neighbours, as it says of itself."""

    def make(self, place: Path) -> VectorStore:
        return folder(place / "milvus.db", exact=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    store = folder(tmp_path / "x.db")
    store.create(Collection("suite", 3, "m"))
    yield store
    store.close()


@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_an_index_that_was_written_out_hides_nothing(tmp_path: Path, metric: str) -> None:
    """The second question after a write has the chunks written out, and from then on they are found by the index."""
    store = folder(tmp_path / "x.db", exact=False)
    try:
        store.create(Collection("suite", 3, "m", metric))
        store.upsert(
            [chunk("a", number, at=number / 4) for number in range(400)] + [chunk("same", number) for number in range(100)]
        )
        for _ in range(3):
            assert [len(store.search(vector(1, 0, 0), Where(), limit)) for limit in (3, 300, 600)] == [3, 300, 500]
            assert len(store.search(vector(1, 0, 0), Where.object("same"), 200)) == 100
            assert len(store.search(vector(1, 0, 0), Where(), 500, least=0.999999)) < 150
    finally:
        store.close()


# ---- limits


@pytest.mark.parametrize("text", ["", "a", "ü" * 40_000, "a" + "教" * 30_000 + "🙂", "x" * 65_535, "x" * 65_536, "🙂" * 50_000])
def test_a_text_of_any_length_comes_back(text: str) -> None:
    pieces = layout.row(attrs.evolve(chunk("a", 0), text=text))["content"]
    assert "".join(pieces) == text
    assert all(len(piece.encode()) <= 65_535 for piece in pieces)
    assert len(pieces) <= 1 + len(text.encode()) // 65_532


def test_long_metadata_comes_back(store: VectorStore) -> None:
    document = chunk("a", 0, deep=["ü" * 30_000, {"b": "x" * 200_000}])
    store.upsert([document])
    [found] = store.select(ALL)
    assert dict(found.metadata) == dict(document.metadata)


def test_a_text_beyond_all_limits_is_refused() -> None:
    with pytest.raises(ValueError, match="more than Milvus takes of one chunk"):
        layout.row(chunk("a", 0, "x" * (65_535 * 4096 + 1)))


def test_a_name_that_is_too_long_is_refused_and_named() -> None:
    with pytest.raises(ValueError, match=r"'parent' has 80000 bytes; Milvus takes at most 65535"):
        layout.row(chunk("a", 0, parent="ü" * 40_000))


def test_values_of_another_type_are_kept_and_not_filtered_by(store: VectorStore) -> None:
    store.upsert([chunk("a", 0, permissionId="many", tableId=2**70, name=7, isTable=1), chunk("a", 1, permissionId=5)])
    by_number = {found.metadata["chunkId"]: found for found in store.select(ALL)}
    assert [by_number[0].metadata[key] for key in ("permissionId", "tableId", "name", "isTable")] == ["many", 2**70, 7, 1]
    for condition in (Condition("permissionId", "eq", "many"), Condition("tableId", "in", (2**70,)), Condition("name", "eq", 7)):
        assert store.select(Where((condition,))) == []
    assert keys(store.select(Where((Condition("permissionId", "ne", 5),)))) == [("a", 0)]
    assert len(store.select(Where((Condition("permissionId", "ne", "many"),)))) == 2


def test_a_filter_by_anything_else_is_an_error_and_not_ignored(store: VectorStore) -> None:
    with pytest.raises(ValueError, match=r"Milvus has no field for 'colour'; it filters by objectId, chunkId"):
        store.search(vector(1, 0, 0), Where((Condition("colour", "eq", "red"),)), 5)


@pytest.mark.slow
def test_more_chunks_than_one_request_gives(store: VectorStore) -> None:
    many = 16_384 + 300
    for start in range(0, many, 500):
        store.upsert([chunk("a", number) for number in range(start, min(many, start + 500))])
    assert len(set(store.ids(ALL))) == many
    assert len(store.select(ALL, offset=16_300, limit=1000)) == 384
    assert len(store.search(vector(1, 0, 0), ALL, 16_384)) == 16_384
    ids = store.ids(ALL)
    for start in range(0, many, 500):
        store.delete(ids[start : start + 500])
    assert store.ids(ALL) == []


def test_a_mark_does_not_bring_back_what_is_gone(store: VectorStore) -> None:
    store.upsert([chunk("a", 0), chunk("a", 1)])
    ids = store.ids(ALL)
    store.delete(ids[:1])
    store.mark(ids, True)
    assert store.ids(ALL) == ids[1:]


def test_what_is_read_often_is_written_out_and_stays_right(store: VectorStore) -> None:
    opened: Any = store._folder  # type: ignore[attr-defined]
    collection = opened._database.get_collection("suite")
    for turn in range(12):
        store.upsert([chunk(f"o{turn}", number, f"v{turn}", at=number / 10) for number in range(100)])
        assert len(store.search(vector(1, 0, 0), Where.object(f"o{turn}"), 200)) == 100
        if turn:
            store.delete(store.ids(Where.object(f"o{turn - 1}")))
    assert len(collection._segments_snapshot()) > 0
    assert {object_id for object_id, _ in keys(store.select(ALL))} == {"o11"}
    store.upsert([chunk("o11", 0, "new", at=0)])
    assert store.search(vector(1, 0, 0), ALL, 1)[0].text == "new"
    assert len(store.ids(ALL)) == 100


def test_a_second_search_does_not_copy_what_is_in_memory(store: VectorStore) -> None:
    opened: Any = store._folder  # type: ignore[attr-defined]
    memory = opened._database.get_collection("suite")
    store.upsert([chunk("a", number, at=number / 10) for number in range(300)])
    sizes = [(store.search(vector(1, 0, 0), ALL, 1), memory._memtable.size())[1] for _ in range(2)]
    assert sizes == [300, 0]
    assert len(store.ids(ALL)) == 300


# ---- collections of others


def test_a_collection_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    store = folder(tmp_path / "x.db")
    client: Any = store._client  # type: ignore[attr-defined]
    client.create_collection("suite", dimension=3)
    with pytest.raises(StoreError, match=r"made by another program: it has no field content, meta.*use another collection"):
        store.collection()
    assert [field["name"] for field in client.describe_collection("suite")["fields"]] == ["id", "vector"]
    store.close()


def test_a_creation_that_was_killed_is_completed(tmp_path: Path) -> None:
    wanted = Collection("suite", 3, "m", "l2")
    store: Any = folder(tmp_path / "x.db")
    store._make(wanted)
    store.close()
    store = folder(tmp_path / "x.db")
    assert store.collection().dimension == 0
    assert store.create(wanted) == wanted == store.collection()
    store.upsert([chunk("a", 0)])
    assert keys(store.search(vector(1, 0, 0), ALL, 1)) == [("a", 0)]
    store.close()


def test_a_model_is_read_from_where_a_server_keeps_it() -> None:
    told = layout.record("the model")
    assert layout.model_of(told) == layout.model_of({"description": told["description"]}) == "the model"
    assert layout.model_of({"properties": told["properties"]}) == "the model"
    for foreign in ("", "my texts", "[1]", "null", '"x"'):
        assert layout.model_of({"description": foreign}) == ""


# ---- one process, and what it leaves behind


def test_a_second_process_gets_a_clear_error(tmp_path: Path) -> None:
    store = folder(tmp_path / "x.db")
    program = (
        "import sys; from pathlib import Path; from rocketride_store_milvus.folder import embedded\n"
        "try: embedded(Path(sys.argv[1]))\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.db")], capture_output=True, text=True, check=True)
    assert f"The folder {tmp_path / 'x.db'} is in use by another process" in done.stdout
    assert "Traceback" not in done.stderr
    store.close()


def test_a_file_of_an_old_milvus_lite_is_left_alone(tmp_path: Path) -> None:
    old = tmp_path / "milvus.db"
    old.write_bytes(b"SQLite format 3\0")
    with pytest.raises(StoreError, match="as milvus-lite made them before version 3") as caught:
        folder(old)
    assert caught.value.kind == "version"
    assert old.read_bytes() == b"SQLite format 3\0"


def test_nothing_is_left_of_a_folder_that_is_closed(tmp_path: Path) -> None:
    before = {thread.ident for thread in threading.enumerate()}
    one, two = folder(tmp_path / "x.db", "one"), folder(tmp_path / "x.db", "two")
    one.create(Collection("one", 3))
    two.create(Collection("two", 3))
    one.close()
    two.upsert([chunk("a", 0)])
    assert len(two.ids(ALL)) == 1
    two.close()
    two.close()
    left = [thread.name for thread in threading.enumerate() if thread.ident not in before and "milvus" in thread.name]
    assert left == []
    again = folder(tmp_path / "x.db", "one")
    assert again.collection() is not None
    again.close()


def test_a_process_that_is_killed_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from rocketride_store import Collection
from rocketride_store.testing import chunk
from rocketride_store_milvus.backend import MilvusStore
from rocketride_store_milvus.folder import embedded
client, opened = embedded(Path({str(tmp_path / "x.db")!r}))
store = MilvusStore(client, "suite", folder=opened)
store.create(Collection("suite", 3, "m"))
for start in range(0, 100_000, 50):
    store.upsert([chunk("a", start + number) for number in range(50)])
    print(start + 50, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        confirmed = 0
        while confirmed < 500:
            confirmed = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        confirmed = max([confirmed, *(int(line) for line in process.stdout.read().split())])
    store = folder(tmp_path / "x.db")
    numbers = sorted(number for _, number in keys(store.select(ALL)))
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= confirmed
    store.upsert([chunk("a", number) for number in range(100)])
    assert len(store.ids(ALL)) == len(numbers)
    store.close()


def test_a_file_of_variables_does_not_leak_into_the_process(tmp_path: Path) -> None:
    program = (
        "import os, sys, dotenv, dotenv.main\n"
        "dotenv.main.find_dotenv = lambda *a, **k: sys.argv[1]\n"
        "import rocketride_store_milvus.opening\n"
        "print(os.environ.get('LEAKED'), 'PYTHON_DOTENV_DISABLED' in os.environ)"
    )
    (tmp_path / ".env").write_text("LEAKED=yes\n")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / ".env")], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "False"]


@pytest.mark.parametrize("name", ["a\x00b", "a\x01b", "a\x08b", "a\x1fb", "a\tb\r\nc", 'a\\"b'])
def test_an_object_id_may_have_control_characters(name: str, tmp_path: Path) -> None:
    from contextlib import closing

    from rocketride_store import Collection, Where
    from rocketride_store.testing import chunk
    from rocketride_store_milvus.backend import MilvusStore
    from rocketride_store_milvus.folder import embedded

    client, folder = embedded(tmp_path / "db")
    with closing(MilvusStore(client, "c", folder=folder)) as store:
        store.create(Collection("c", 3, "m"))
        store.upsert([chunk(name, 0)])
        assert len(store.ids(Where.object(name))) == 1
