# SPDX-License-Identifier: MIT
"""What is known of a folder's chunks without looking for them is what is there."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocketride_store import Collection, StoreError, VectorStore, Where
from rocketride_store.backend import chunk_id
from rocketride_store.testing import chunk, keys

ALL = Where()


def folder(place: Path) -> VectorStore:
    from rocketride_store_milvus.backend import MilvusStore
    from rocketride_store_milvus.folder import embedded

    client, opened = embedded(place)
    return MilvusStore(client, "suite", folder=opened)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VectorStore]:
    store = folder(tmp_path / "x.db")
    store.create(Collection("suite", 3, "m"))
    yield store
    store.close()


class Asked:
    """A client that counts queries, and fails when it is told to."""

    def __init__(self, client: Any) -> None:
        self._client, self.queries, self.failing = client, 0, ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query(self, *args: Any, **options: Any) -> Any:
        self.queries += 1
        return self._client.query(*args, **options)

    def upsert(self, *args: Any, **options: Any) -> Any:
        done = self._client.upsert(*args, **options)
        if self.failing == "upsert":
            raise TimeoutError("nobody knows whether it was written")
        return done

    def delete(self, *args: Any, **options: Any) -> Any:
        done = self._client.delete(*args, **options)
        if self.failing == "delete":
            raise TimeoutError("nobody knows whether it was removed")
        return done


def watched(store: VectorStore) -> Asked:
    asked = Asked(store._client)  # type: ignore[attr-defined]
    store._client = asked  # type: ignore[attr-defined]
    return asked


def ids_of(object_id: str, *numbers: int) -> set[str]:
    return {chunk_id(object_id, number) for number in numbers}


def test_a_collection_that_was_made_here_is_never_searched_for_an_objects_chunks(store: VectorStore) -> None:
    asked = watched(store)
    store.upsert([chunk("a", 0), chunk("a", 1), chunk("b", 0)])
    store.upsert([chunk("a", 1), chunk("a", 2)])
    assert set(store.ids(Where.object("a"))) == ids_of("a", 0, 1, 2)
    store.delete([chunk_id("a", 1), chunk_id("nobody", 0)])
    assert set(store.ids(ALL.and_in("objectId", ["b", "a", "c"]))) == ids_of("a", 0, 2) | ids_of("b", 0)
    assert asked.queries == 0
    assert set(store.ids(ALL)) == ids_of("a", 0, 2) | ids_of("b", 0)
    assert asked.queries == 1


def test_a_collection_from_before_is_asked_once_for_each_object(tmp_path: Path) -> None:
    first = folder(tmp_path / "x.db")
    first.create(Collection("suite", 3, "m"))
    first.upsert([chunk("a", 0), chunk("a", 1), chunk("b", 0)])
    first.close()
    store = folder(tmp_path / "x.db")
    store.create(Collection("suite", 3, "m"))
    asked = watched(store)
    store.upsert([chunk("a", 0), chunk("c", 0)])
    for _ in range(2):
        assert set(store.ids(Where.object("a"))) == ids_of("a", 0, 1)
        assert set(store.ids(ALL.and_in("objectId", ["a", "c"]))) == ids_of("a", 0, 1) | ids_of("c", 0)
    assert asked.queries == 2
    store.upsert([chunk("c", 7)])
    store.delete([chunk_id("c", 0)])
    assert set(store.ids(Where.object("c"))) == ids_of("c", 7)
    assert asked.queries == 2
    store.close()


@pytest.mark.parametrize("failing", ["upsert", "delete"])
def test_what_failed_is_looked_for_again(store: VectorStore, failing: str) -> None:
    asked = watched(store)
    store.upsert([chunk("a", 0), chunk("a", 1), chunk("b", 0)])
    asked.failing = failing
    with pytest.raises(TimeoutError):
        store.upsert([chunk("a", 2)]) if failing == "upsert" else store.delete([chunk_id("a", 1)])
    asked.failing = ""
    assert set(store.ids(Where.object("a"))) == (ids_of("a", 0, 1, 2) if failing == "upsert" else ids_of("a", 0))
    assert asked.queries == 1
    assert set(store.ids(Where.object("b"))) == ids_of("b", 0)
    assert asked.queries == 1
    assert set(store.ids(Where.object("c"))) == set()
    assert asked.queries == 2


def test_two_stores_of_a_folder_know_the_same(tmp_path: Path, store: VectorStore) -> None:
    other = folder(tmp_path / "x.db")
    other.upsert([chunk("a", 0)])
    store.upsert([chunk("a", 1)])
    assert set(store.ids(Where.object("a"))) == set(other.ids(Where.object("a"))) == ids_of("a", 0, 1)
    other.delete(list(ids_of("a", 0)))
    other.close()
    assert set(store.ids(Where.object("a"))) == ids_of("a", 1)


def test_threads_that_write_and_remove_leave_no_chunk_unknown(store: VectorStore) -> None:
    def work(seed: int) -> None:
        for turn in range(15):
            number = (seed * 7 + turn) % 5
            store.upsert([chunk("a", number), chunk(f"o{seed}", turn)])
            store.delete([chunk_id("a", (number + 2) % 5)])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    there = {object_id: {number for of, number in keys(store.select(ALL)) if of == object_id} for object_id in ("a", "o0", "o3")}
    assert all(set(store.ids(Where.object(one))) == ids_of(one, *numbers) for one, numbers in there.items())
    assert len(there["o3"]) == 15


def test_a_full_disk_is_told_and_nothing_is_half_written(store: VectorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketride_store_milvus.opening import _kind

    store.upsert([chunk("a", 0)])
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    for write in (lambda: store.upsert([chunk("a", 1)]), lambda: store.mark(store.ids(ALL), True)):
        with pytest.raises(StoreError, match="0 MiB are free") as caught:
            write()
        assert caught.value.kind == "full"
    assert keys(store.select(ALL)) == [("a", 0)]
    assert _kind(65535, "[Errno 28] No space left on device") == "full"
