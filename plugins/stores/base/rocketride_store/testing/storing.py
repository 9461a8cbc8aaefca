# SPDX-License-Identifier: MIT
"""StoreSuite: what is written is there, once, as it was given, and stays."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import Json

from ..backend import Collection, VectorStore, chunk_uuid
from ..errors import StoreError
from ..filters import Request, Where
from ..keeper import Keeper
from .base import ALL, FIRST, Making, at_once
from .chunks import chunk, keys, vector

__all__ = ["Storing"]


class Storing(Making):
    def test_a_collection_records_what_it_was_made_with(self, store: VectorStore) -> None:
        assert store.collection() is None
        assert store.create(FIRST) == store.collection() == Collection("suite", 3, "model-a", "cosine")

    def test_the_first_creation_wins(self, store: VectorStore) -> None:
        store.create(FIRST)
        assert store.create(Collection("suite", 4, "model-b")) == store.collection() == FIRST

    def test_many_creators_make_one_collection(self, store: VectorStore) -> None:
        made: list[Collection] = []
        at_once(lambda number: made.append(store.create(Collection("suite", 3, f"model-{number}"))), workers=4)
        assert len(made) == 4
        assert set(made) == {store.collection()}

    def test_a_collection_without_a_known_model(self, store: VectorStore) -> None:
        assert store.create(Collection("suite", 3)) == store.collection() == Collection("suite", 3, "")

    def test_metadata_comes_back_unchanged(self, store: VectorStore) -> None:
        given: dict[str, Json] = {
            "objectId": "Ä#3 /x",
            "chunkId": 0,
            "parent": "d/e.txt",
            "n": None,
            "deep": {"a": [1, {"b": "ü"}]},
            "none": [],
            "big": 2**70,
            "f": 0.5,
            "no": False,
            "dotted.key with space": "'quoted' \"twice\" \\ %_",
            "isDeleted": False,
        }
        document = attrs.evolve(chunk("", 0, "Text 教程\n\t'\"\\%_ 🙂"), metadata=given, kind="Image")
        self.fill(store, document)
        for found in (store.select(ALL)[0], store.search(vector(1, 0, 0), ALL, 1)[0]):
            assert dict(found.metadata) == given
            assert type(found.metadata["no"]) is bool
            assert (found.text, found.kind) == (document.text, "Image")

    def test_odd_metadata_comes_back_unchanged(self, store: VectorStore) -> None:
        deep: Json = "bottom"
        for turn in range(120):
            deep = [deep] if turn % 2 else {"in": deep}
        odd: dict[str, Any] = {
            "deep": deep,
            "nul": ["a\x00b", {"k\x00": "\x00"}],
            "nan": math.nan,
            "inf": math.inf,
            "list": [-math.inf, {"x": math.nan}],
            **{key: f"of {key}" for key in ("", "$x", "#x", "a.b", "a.b.c", "_id", "id", "a\nb", " ", "ü", "k" * 300)},
            "object": {"": 1, "$x": 2, "a.b": {"#x": 3}},
        }
        given = chunk("a", 0, **odd)
        self.fill(store, given)
        for found in (store.select(ALL)[0], store.search(vector(1, 0, 0), ALL, 1)[0]):
            # As text: NaN is not equal to itself.
            assert json.dumps(found.metadata, sort_keys=True) == json.dumps(given.metadata, sort_keys=True)

    def test_control_characters_in_the_names_of_objects(self, store: VectorStore) -> None:
        names = ["a" + "".join(map(chr, range(1, 32))) + "\x7f\x85\u2028z", "a\n", "a", "a\r\n", "\ta", " a", "a\u200b"]
        self.fill(store, *(chunk(name, 0, parent=name) for name in names))
        for name in names:
            where = Request.of({"objectIds": [name], "parent": name}).where
            assert keys(store.select(where)) == keys(store.search(vector(1, 0, 0), where, 9)) == [(name, 0)], repr(name)
            assert store.ids(where) == [chunk_uuid(chunk(name, 0))]

    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
    def test_a_vector_that_is_not_finite_does_not_reach_it(self, store: VectorStore, number: float) -> None:
        keeper = Keeper(store, "suite", "cosine", lambda error: error)
        odd = attrs.evolve(chunk("a", 0), embedding=vector(1, number, 0))
        with pytest.raises(StoreError, match="numbers that are not finite"):
            keeper.for_documents([chunk("b", 0), odd])
        assert store.collection() is None
        self.fill(store, chunk("b", 0))
        with pytest.raises(StoreError, match="numbers that are not finite"):
            keeper.for_documents([odd])
        assert keys(store.select(ALL)) == [("b", 0)]

    def test_empty_and_long_texts(self, store: VectorStore) -> None:
        long = "wörter " * 20_000
        self.fill(store, attrs.evolve(chunk("a", 0), text=""), chunk("a", 1, long))
        assert sorted(found.text for found in store.select(ALL)) == ["", long]

    def test_writing_a_chunk_again_replaces_it(self, store: VectorStore) -> None:
        self.fill(store, chunk("a", 0, "old", at=0, colour="red"), chunk("a", 1, at=90))
        store.upsert([chunk("a", 0, "new", at=180)])
        assert len(store.ids(ALL)) == 2
        [found] = store.search(vector(-1, 0, 0), ALL, 1)
        assert (found.text, "colour" in found.metadata) == ("new", False)

    def test_a_whole_batch_is_there_when_the_call_is_back(self, store: VectorStore) -> None:
        self.fill(store, *(chunk("a", number, at=number / 10) for number in range(1201)))
        assert len(store.ids(ALL)) == store.count(ALL) == 1201
        assert sorted(keys(store.select(ALL))) == [("a", number) for number in range(1201)]
        assert len(store.search(vector(1, 0, 0), ALL, 600)) == 600

    def test_a_write_of_megabytes_comes_as_large_as_it_says_it_takes(self, store: VectorStore) -> None:
        self.fill(store, *(chunk("a", number, f"{number} {'word ' * 50_000}") for number in range(24)))
        assert sorted(found.text.partition(" ")[0] for found in store.select(ALL)) == sorted(map(str, range(24)))

    def test_as_many_results_as_it_says_it_gives(self, store: VectorStore) -> None:
        most = min(store.capabilities.largest or 1100, 1100)
        self.fill(store, *(chunk("a", number, at=number / 10) for number in range(most)))
        for _ in range(3):  # some write out what they have in memory when they are asked again
            assert len(store.search(vector(1, 0, 0), ALL, most)) == len(store.select(ALL, limit=most)) == most

    def test_ids_and_delete(self, store: VectorStore) -> None:
        self.fill(store, chunk("a", 0), chunk("a", 1), chunk("b", 0))
        assert sorted(store.ids(Where.object("a"))) == sorted(chunk_uuid(chunk("a", number)) for number in (0, 1))
        store.delete([])
        assert store.count(Where.object("a")) == 2
        assert store.count(Where.object("nobody")) == 0
        assert len(store.ids(ALL)) == store.count(ALL) == 3
        store.delete([chunk_uuid(chunk("a", 0)), chunk_uuid(chunk("never", 7))])
        assert sorted(keys(store.select(ALL))) == [("a", 1), ("b", 0)]
        assert sorted(keys(store.search(vector(1, 0, 0), ALL, 5))) == [("a", 1), ("b", 0)]

    def test_as_many_are_deleted_at_once_as_a_call_may_name(self, store: VectorStore) -> None:
        self.fill(store, *(chunk("a", number) for number in range(1100)), chunk("b", 0))
        ids = store.ids(Where.object("a"))
        for start in range(0, 1100, 500):
            store.delete(ids[start : start + 500])
        assert keys(store.select(ALL)) == [("b", 0)]

    def test_a_mark_changes_nothing_else(self, store: VectorStore) -> None:
        self.fill(store, chunk("a", 0, "text", at=60, deep={"x": [1]}), chunk("a", 1), chunk("b", 0))
        visible = Request.of({}).where
        store.mark([], True)
        assert len(store.ids(visible)) == 3
        store.mark(store.ids(Where.object("a")), True)
        assert keys(store.select(visible)) == keys(store.search(vector(1, 0, 0), visible, 5)) == [("b", 0)]
        store.mark(store.ids(Where.object("a")), False)
        assert sorted(keys(store.select(visible))) == [("a", 0), ("a", 1), ("b", 0)]
        [again] = store.search(vector(0.5, 0.8660254, 0), visible, 1)
        assert (again.text, again.metadata["deep"]) == ("text", {"x": [1]})
        assert again.score == pytest.approx(1.0, abs=1e-5)

    def test_many_writers_lose_and_double_nothing(self, store: VectorStore) -> None:
        store.create(FIRST)

        def write(writer: int) -> None:
            for turn in range(5):
                store.upsert([chunk(f"{writer}-{turn}", number, at=writer) for number in range(4)])

        at_once(write)
        assert len(store.ids(ALL)) == len(store.select(ALL)) == 8 * 5 * 4

    def test_many_writers_of_one_chunk_leave_one(self, store: VectorStore) -> None:
        store.create(FIRST)
        at_once(lambda writer: store.upsert([chunk("a", 0, f"by {writer}", at=writer)]))
        [found] = store.select(ALL)
        assert found.text in {f"by {writer}" for writer in range(8)}

    def test_two_connections_are_one_collection(self, store: VectorStore, tmp_path: Path) -> None:
        other = self.opened(tmp_path)
        try:
            self.fill(store, chunk("a", 0))
            if not store.capabilities.persistent:
                assert other.collection() is None
                return
            assert other.collection() == FIRST
            at_once(lambda writer: (store, other)[writer % 2].upsert([chunk(f"w{writer}", n) for n in range(10)]))
            for one in (store, other):
                assert len(one.ids(ALL)) == len(one.search(vector(1, 0, 0), ALL, 100)) == 81
        finally:
            other.close()

    def test_what_is_written_stays(self, store: VectorStore, tmp_path: Path) -> None:
        self.fill(store, chunk("a", 0, at=60))
        store.close()
        again = self.opened(tmp_path)
        try:
            if not store.capabilities.persistent:
                assert again.collection() is None
                return
            assert again.collection() == FIRST
            assert again.search(vector(1, 0, 0), ALL, 1)[0].score == pytest.approx(0.75, abs=1e-5)
        finally:
            again.close()
