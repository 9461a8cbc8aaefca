# SPDX-License-Identifier: MIT
"""What every backend must do, as a pytest class.

```python
class TestMine(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        return MyBackend(folder)
```
"""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import pytest

from rocketride_core import Document, Json

from .backend import Collection, VectorStore, chunk_key, chunk_uuid
from .filters import Request, Where

__all__ = ["StoreSuite", "chunk", "vector"]

ALL = Where()


def vector(*values: float) -> memoryview:
    """A float32 buffer."""
    return memoryview(array("f", values))


def chunk(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: object) -> Document:
    """A chunk whose vector stands at the angle `at`, in degrees, in the plane of the first two of three dimensions."""
    angle = math.radians(at)
    values = {"objectId": object_id, "chunkId": number, "isDeleted": False, **metadata}
    return Document(text or f"{object_id} {number}", values, vector(math.cos(angle), math.sin(angle), 0.0))  # type: ignore[arg-type]


def _keys(documents: Sequence[Document]) -> list[tuple[str, int]]:
    return [chunk_key(document) for document in documents]


class StoreSuite:
    """Subclass it and write `make`; each test gets a new folder."""

    def make(self, folder: Path) -> VectorStore:
        """The backend over a collection `suite` that does not exist yet, or exists where this folder was used before."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[VectorStore]:
        store = self.make(tmp_path)
        yield store
        store.close()

    @staticmethod
    def fill(store: VectorStore, *chunks: Document) -> None:
        store.create(Collection("suite", 3, "model-a"))
        store.upsert(chunks)

    def test_a_collection_records_what_it_was_made_with(self, store: VectorStore) -> None:
        assert store.collection() is None
        made = store.create(Collection("suite", 3, "model-a"))
        assert made == store.collection() == Collection("suite", 3, "model-a", "cosine")

    def test_the_first_creation_wins(self, store: VectorStore) -> None:
        store.create(Collection("suite", 3, "model-a"))
        assert store.create(Collection("suite", 4, "model-b")) == Collection("suite", 3, "model-a")

    def test_a_search_gives_similarities_best_first(self, store: VectorStore) -> None:
        self.fill(store, chunk("far", 0, at=180), chunk("near", 0, at=0), chunk("side", 0, at=90), chunk("close", 0, at=60))
        found = store.search(vector(1, 0, 0), ALL, 3)
        assert _keys(found) == [("near", 0), ("close", 0), ("side", 0)]
        assert [document.score for document in found] == pytest.approx([1.0, 0.75, 0.5], abs=1e-5)
        assert all(document.embedding is None for document in found)

    def test_the_length_of_a_vector_does_not_count_for_cosine(self, store: VectorStore) -> None:
        self.fill(store, chunk("a", 0, at=60))
        assert store.search(vector(7, 0, 0), ALL, 1)[0].score == pytest.approx(0.75, abs=1e-5)

    @pytest.mark.parametrize(("metric", "score"), [("ip", 1 / (1 + math.exp(-2))), ("l2", 1 / (1 + 1))])
    def test_other_metrics(self, store: VectorStore, metric: str, score: float) -> None:
        if metric not in store.capabilities.metrics:
            with pytest.raises(ValueError, match=metric):
                store.create(Collection("suite", 3, "model-a", metric))
            return
        store.create(Collection("suite", 3, "model-a", metric))
        store.upsert([chunk("a", 0, at=0)])
        assert store.search(vector(2, 0, 0), ALL, 1)[0].score == pytest.approx(score, abs=1e-5)
        assert store.collection() == Collection("suite", 3, "model-a", metric)

    def test_equal_vectors_hide_nothing(self, store: VectorStore) -> None:
        self.fill(store, *(chunk("same", number, at=0) for number in range(400)), chunk("other", 0, at=60))
        found = store.search(vector(1, 0, 0), ALL, 500)
        assert len({chunk_key(document) for document in found}) == 401
        assert _keys(found)[-1] == ("other", 0)
        if store.capabilities.exact:
            assert _keys(store.search(vector(0.5, 0.8660254, 0), ALL, 1)) == [("other", 0)]

    def test_metadata_comes_back_unchanged(self, store: VectorStore) -> None:
        given: dict[str, Json] = {
            "objectId": "Ä#3 /x",
            "chunkId": 0,
            "parent": "d/e.txt",
            "n": None,
            "deep": {"a": [1, {"b": "ü"}]},
            "big": 2**70,
            "f": 0.5,
            "no": False,
        }
        document = attrs.evolve(chunk("", 0, "Text 教程\n"), metadata=given, kind="Image")
        self.fill(store, document)
        for found in (store.select(ALL)[0], store.search(vector(1, 0, 0), ALL, 1)[0]):
            assert dict(found.metadata) == given
            assert (found.text, found.kind) == ("Text 教程\n", "Image")

    def test_writing_a_chunk_again_replaces_it(self, store: VectorStore) -> None:
        self.fill(store, chunk("a", 0, "old", at=0), chunk("a", 1, at=90))
        store.upsert([chunk("a", 0, "new", at=180)])
        assert len(store.ids(ALL)) == 2
        assert store.search(vector(-1, 0, 0), ALL, 1)[0].text == "new"

    def test_ids_and_delete(self, store: VectorStore) -> None:
        self.fill(store, chunk("a", 0), chunk("a", 1), chunk("b", 0))
        assert set(store.ids(Where.object("a"))) == {chunk_uuid(chunk("a", 0)), chunk_uuid(chunk("a", 1))}
        store.delete([])
        assert len(store.ids(ALL)) == 3
        store.delete([chunk_uuid(chunk("a", 0))])
        assert sorted(_keys(store.select(ALL))) == [("a", 1), ("b", 0)]

    def test_a_mark_changes_nothing_else(self, store: VectorStore) -> None:
        self.fill(store, chunk("a", 0, "text", at=60, deep={"x": [1]}), chunk("a", 1), chunk("b", 0))
        visible = Request.of({}).where
        store.mark([], True)
        assert len(store.ids(visible)) == 3
        store.mark(list(store.ids(Where.object("a"))), True)
        assert _keys(store.select(visible)) == _keys(store.search(vector(1, 0, 0), visible, 5)) == [("b", 0)]
        store.mark(list(store.ids(Where.object("a"))), False)
        assert sorted(_keys(store.select(visible))) == [("a", 0), ("a", 1), ("b", 0)]
        [again] = store.search(vector(0.5, 0.8660254, 0), visible, 1)
        assert (again.text, again.metadata["deep"]) == ("text", {"x": [1]})
        assert again.score == pytest.approx(1.0, abs=1e-5)

    @pytest.mark.parametrize(("least", "keys"), [(0.0, 4), (0.5, 3), (0.75, 2), (1.0, 1)])
    def test_the_threshold_is_the_servers_where_it_can_cut(self, store: VectorStore, least: float, keys: int) -> None:
        self.fill(store, *(chunk("a", number, at=angle) for number, angle in enumerate((0, 60, 90, 180))))
        found = store.search(vector(1, 0, 0), ALL, 4, least=least)
        assert _keys(found)[:keys] == [("a", number) for number in range(keys)]
        assert len(found) == (keys if store.capabilities.threshold else 4)

    def test_filters(self, store: VectorStore) -> None:
        self.fill(
            store,
            chunk("a", 0, parent="x/a.txt", isTable=False, tableId=0, permissionId=1, nodeId="n1"),
            chunk("a", 1, parent="x/a.txt", isTable=True, tableId=1, permissionId=1, nodeId="n1"),
            chunk("a", 2, parent="x/a.txt", isTable=True, tableId=2, permissionId=2, nodeId="n2"),
            chunk("b", 0, parent="x/b.txt", isTable=False, tableId=0, permissionId=2, nodeId="n2"),
            chunk("gone", 0, isDeleted=True),
        )
        expected: dict[str, tuple[dict[str, object], list[tuple[str, int]]]] = {
            "nothing": ({}, [("a", 0), ("a", 1), ("a", 2), ("b", 0)]),
            "deleted too": ({"isDeleted": True}, [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("gone", 0)]),
            "objects": ({"objectIds": ["b", "gone"]}, [("b", 0)]),
            "chunks": ({"chunkIds": [0, 2]}, [("a", 0), ("a", 2), ("b", 0)]),
            "range": ({"minChunkId": 1, "maxChunkId": 1}, [("a", 1)]),
            "parent": ({"parent": "x/b.txt"}, [("b", 0)]),
            "tables": ({"isTable": True, "tableIds": [2, 3]}, [("a", 2)]),
            "permissions": ({"permissions": [2]}, [("a", 2), ("b", 0)]),
            "node": ({"nodeId": "n1"}, [("a", 0), ("a", 1)]),
        }
        for name, (filter, keys) in expected.items():
            where = Request.of(filter).where  # type: ignore[arg-type]
            assert sorted(_keys(store.select(where))) == keys, name
            assert sorted(_keys(store.search(vector(1, 0, 0), where, 25))) == keys, name

    def test_pages_are_disjoint_and_complete(self, store: VectorStore) -> None:
        self.fill(store, *(chunk("a", number) for number in range(7)))
        pages = [_keys(store.select(ALL, offset=offset, limit=3)) for offset in (0, 3, 6, 9)]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert sorted(key for page in pages for key in page) == [("a", number) for number in range(7)]

    def test_keywords_ignore_letter_case_and_mean_themselves(self, store: VectorStore) -> None:
        self.fill(
            store, chunk("a", 0, "The Quick (brown) fox"), chunk("b", 0, "quick, but no animal"), chunk("c", 0, "Übung 教程")
        )
        assert sorted(_keys(store.select(ALL, words=["QUICK"]))) == [("a", 0), ("b", 0)]
        assert _keys(store.select(ALL, words=["fox", "quick"])) == [("a", 0)]
        assert _keys(store.select(ALL, words=["(brown)"])) == [("a", 0)]
        assert _keys(store.select(ALL, words=["übung", "教程"])) == [("c", 0)]
        assert store.select(ALL, words=["b.own"]) == []

    def test_many_writers_lose_and_double_nothing(self, store: VectorStore) -> None:
        store.create(Collection("suite", 3, "model-a"))
        failures: list[BaseException] = []

        def write(writer: int) -> None:
            try:
                for turn in range(5):
                    store.upsert([chunk(f"{writer}-{turn}", number, at=writer) for number in range(4)])
            except BaseException as error:  # noqa: BLE001  (shown below, in the test's own thread)
                failures.append(error)

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(store.ids(ALL)) == 8 * 5 * 4

    def test_what_is_written_stays(self, store: VectorStore, tmp_path: Path) -> None:
        self.fill(store, chunk("a", 0, at=60))
        store.close()
        again = self.make(tmp_path)
        try:
            if not store.capabilities.persistent:
                assert again.collection() is None
                return
            assert again.collection() == Collection("suite", 3, "model-a")
            assert again.search(vector(1, 0, 0), ALL, 1)[0].score == pytest.approx(0.75, abs=1e-5)
        finally:
            again.close()
