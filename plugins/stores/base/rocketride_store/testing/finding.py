# SPDX-License-Identifier: MIT
"""StoreSuite: searches, filters, words and pages mean the same in every store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from ..backend import Collection, VectorStore
from ..filters import Condition, Request, Where
from .base import ALL, Making
from .chunks import chunk, keys, vector
from .ranking import DIMENSION, QUESTIONS, corpus, embedded, expected

__all__ = ["Finding"]

FILTERS: Mapping[str, tuple[Mapping[str, Any], list[tuple[str, int]]]] = {
    "nothing": ({}, [("a", 0), ("a", 1), ("a", 2), ("b'%_", 0), ("c", 0)]),
    "nulls": ({"objectIds": None, "parent": None}, [("a", 0), ("a", 1), ("a", 2), ("b'%_", 0), ("c", 0)]),
    "deleted too": ({"isDeleted": True}, [("a", 0), ("a", 1), ("a", 2), ("b'%_", 0), ("c", 0), ("gone", 0)]),
    "objects": ({"objectIds": ["b'%_", "gone"]}, [("b'%_", 0)]),
    "one of them twice": ({"objectIds": ["c", "c"], "chunkIds": [0, 0]}, [("c", 0)]),
    "an object": ({"objectIds": "a"}, [("a", 0), ("a", 1), ("a", 2)]),
    "chunks": ({"chunkIds": [0, 2]}, [("a", 0), ("a", 2), ("b'%_", 0), ("c", 0)]),
    "from": ({"minChunkId": 1}, [("a", 1), ("a", 2)]),
    "to": ({"maxChunkId": 0}, [("a", 0), ("b'%_", 0), ("c", 0)]),
    "range": ({"minChunkId": 1, "maxChunkId": 1}, [("a", 1)]),
    "no range": ({"minChunkId": 2, "maxChunkId": 1}, []),
    "parent": ({"parent": "x/b 'ü'%.txt"}, [("b'%_", 0)]),
    "no part of a parent": ({"parent": "x"}, []),
    "no pattern": ({"parent": "x/%"}, []),
    "tables": ({"isTable": True}, [("a", 1), ("a", 2)]),
    "no tables": ({"isTable": False}, [("a", 0), ("b'%_", 0)]),
    "some tables": ({"isTable": True, "tableIds": [2, 3]}, [("a", 2)]),
    "permissions": ({"permissions": [2, 9]}, [("a", 2), ("b'%_", 0)]),
    "node": ({"nodeId": "n1"}, [("a", 0), ("a", 1)]),
    "name": ({"name": "report"}, [("c", 0)]),
    "all at once": ({"objectIds": ["a", "c"], "nodeId": "n1", "minChunkId": 1, "permissions": [1], "isTable": True}, [("a", 1)]),
}


class Finding(Making):
    def test_a_search_gives_similarities_best_first(self, store: VectorStore) -> None:
        self.fill(store, chunk("far", 0, at=180), chunk("near", 0, at=0), chunk("side", 0, at=90), chunk("close", 0, at=60))
        found = store.search(vector(1, 0, 0), ALL, 3)
        assert keys(found) == [("near", 0), ("close", 0), ("side", 0)]
        assert [document.score for document in found] == pytest.approx([1.0, 0.75, 0.5], abs=1e-5)
        assert all(document.embedding is None for document in found)
        assert len(store.search(vector(1, 0, 0), ALL, 100)) == 4

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
        store.upsert([chunk("a", 0, at=0), chunk("b", 0, at=180)])
        near, far = store.search(vector(2, 0, 0), ALL, 2)
        assert keys([near, far]) == [("a", 0), ("b", 0)]
        assert near.score == pytest.approx(score, abs=1e-5)
        assert far.score is not None
        assert store.collection() == Collection("suite", 3, "model-a", metric)
        assert keys(store.search(vector(2, 0, 0), ALL, 2, least=round(score, 6)))[0] == ("a", 0)
        if store.capabilities.threshold:
            assert keys(store.search(vector(2, 0, 0), ALL, 2, least=(score + far.score) / 2)) == [("a", 0)]

    def test_a_metric_that_does_not_exist_is_an_error(self, store: VectorStore) -> None:
        with pytest.raises(ValueError, match="manhattan"):
            store.create(Collection("suite", 3, "model-a", "manhattan"))
        assert store.collection() is None

    @pytest.mark.parametrize(("least", "count"), [(0.0, 4), (0.5, 3), (0.75, 2), (1.0, 1)])
    def test_the_threshold_is_the_servers_where_it_can_cut(self, store: VectorStore, least: float, count: int) -> None:
        self.fill(store, *(chunk("a", number, at=angle) for number, angle in enumerate((0, 60, 90, 180))))
        found = store.search(vector(1, 0, 0), ALL, 4, least=least)
        assert keys(found)[:count] == [("a", number) for number in range(count)]
        assert len(found) in ((count,) if store.capabilities.threshold else (count, 4))

    @pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
    def test_the_ranking_is_that_of_every_store(self, store: VectorStore, metric: str) -> None:
        if metric not in store.capabilities.metrics:
            assert metric != "cosine", "every store compares by cosine"
            return
        store.create(Collection("suite", DIMENSION, "hash-32", metric))
        store.upsert(corpus())
        for question in QUESTIONS:
            found, exact = store.search(embedded(question), ALL, 20), expected(question, 20, metric)
            assert keys(found) == keys(exact), question
            assert [one.score for one in found] == pytest.approx([one.score for one in exact], abs=1e-4)

    def test_equal_vectors_hide_nothing(self, store: VectorStore) -> None:
        self.fill(store, *(chunk("same", number, at=0) for number in range(400)), chunk("other", 0, at=60))
        found = store.search(vector(1, 0, 0), ALL, 500)
        assert len(set(keys(found))) == 401
        assert keys(found)[-1] == ("other", 0)
        if store.capabilities.exact:
            assert keys(store.search(vector(0.5, 0.8660254, 0), ALL, 1)) == [("other", 0)]

    def test_a_filter_comes_before_the_limit(self, store: VectorStore) -> None:
        near = (chunk("near", number, at=number / 100) for number in range(400))
        self.fill(store, *near, *(chunk("far", number, at=150 + number) for number in range(3)))
        where = Request.of({"objectIds": ["far"]}).where
        assert keys(store.search(vector(1, 0, 0), where, 3)) == [("far", 0), ("far", 1), ("far", 2)]

    def test_filters(self, store: VectorStore) -> None:
        self.fill(
            store,
            chunk("a", 0, parent="x/a.txt", isTable=False, tableId=0, permissionId=1, nodeId="n1"),
            chunk("a", 1, parent="x/a.txt", isTable=True, tableId=1, permissionId=1, nodeId="n1"),
            chunk("a", 2, parent="x/a.txt", isTable=True, tableId=2, permissionId=2, nodeId="n2"),
            chunk("b'%_", 0, parent="x/b 'ü'%.txt", isTable=False, tableId=0, permissionId=2, nodeId="n2"),
            chunk("c", 0, name="report"),
            chunk("gone", 0, isDeleted=True),
        )
        for name, (filter, wanted) in FILTERS.items():
            where = Request.of(filter).where
            assert sorted(keys(store.select(where))) == wanted, name
            assert sorted(keys(store.search(vector(1, 0, 0), where, 25))) == wanted, name
            assert len(store.ids(where)) == len(wanted), name

    def test_a_missing_key_is_not_equal_to_anything(self, store: VectorStore) -> None:
        bare = chunk("bare", 0)
        del bare.metadata["isDeleted"]  # type: ignore[attr-defined]
        self.fill(store, bare, chunk("full", 0, permissionId=3))
        assert sorted(keys(store.select(Request.of({}).where))) == [("bare", 0), ("full", 0)]
        assert keys(store.select(Where((Condition("permissionId", "ne", 3),)))) == [("bare", 0)]
        assert keys(store.select(Where((Condition("permissionId", "le", 3),)))) == [("full", 0)]

    def test_true_is_not_one_and_a_list_is_none_of_its_values(self, store: VectorStore) -> None:
        odd = chunk("odd", 0, isTable=1, isDeleted=1, tableId=True, permissionId=False)
        listed = chunk("listed", 0, isTable=[True], tableId=[1], permissionId=[0], nodeId=["n"], isDeleted=[True])
        self.fill(store, odd, listed, chunk("fit", 0, isTable=True, tableId=1, permissionId=0, nodeId="n"))
        assert sorted(keys(store.select(Request.of({}).where))) == [("fit", 0), ("listed", 0), ("odd", 0)]
        [found] = store.select(Where.object("listed"))
        assert dict(found.metadata) == dict(listed.metadata)
        for filter in ({"isTable": True}, {"tableIds": [1]}, {"permissions": [0]}, {"nodeId": "n"}):
            assert keys(store.select(Request.of(filter).where)) == [("fit", 0)], filter
            assert keys(store.search(vector(1, 0, 0), Request.of(filter).where, 5)) == [("fit", 0)], filter

    def test_pages_are_disjoint_and_complete(self, store: VectorStore) -> None:
        self.fill(store, *(chunk("a", number) for number in range(7)))
        pages = [keys(store.select(ALL, offset=offset, limit=3)) for offset in (0, 3, 6, 9)]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        assert sorted(key for page in pages for key in page) == [("a", number) for number in range(7)]
        pages = [keys(store.select(ALL, words=["a"], offset=offset, limit=4)) for offset in (0, 4)]
        assert sorted(key for page in pages for key in page) == [("a", number) for number in range(7)]

    def test_keywords_ignore_letter_case_and_mean_themselves(self, store: VectorStore) -> None:
        self.fill(
            store,
            chunk("a", 0, "The Quick (brown) fox"),
            chunk("b", 0, "quick, but no animal"),
            chunk("c", 0, "Übung 教程"),
            chunk("d", 0, "100% of 'it' \\ done_now"),
        )
        found: Mapping[str, list[tuple[str, int]]] = {
            "QUICK": [("a", 0), ("b", 0)],
            "fox quick": [("a", 0)],
            "uick": [("a", 0), ("b", 0)],
            "(brown)": [("a", 0)],
            "übung 教程": [("c", 0)],
            "b.own": [],
            "%": [("d", 0)],
            "100% 'it'": [("d", 0)],
            "e_n": [("d", 0)],
            "q_ick": [],
            "\\": [("d", 0)],
        }
        for words, wanted in found.items():
            assert sorted(keys(store.select(ALL, words=words.split()))) == wanted, words
        where = Request.of({"objectIds": ["b", "c"]}).where
        assert keys(store.select(where, words=["quick"])) == [("b", 0)]
