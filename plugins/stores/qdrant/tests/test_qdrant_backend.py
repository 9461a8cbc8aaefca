# SPDX-License-Identifier: MIT
"""Qdrant passes the suite of backends: in memory, by REST and by gRPC; what others put into a collection is understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

from rocketride_core import Document
from rocketride_store import Address, Collection, Request, StoreError, VectorStore, Where, chunk_key
from rocketride_store.testing import StoreSuite, chunk, vector

FIRST = Collection("suite", 3, "model-a")


def opened(double: Any, how: str = "rest", name: str = "suite", *, timeout: int = 10, **options: Any) -> VectorStore:
    from rocketride_store_qdrant.backend import QdrantStore
    from rocketride_store_qdrant.opening import server

    where = Address("127.0.0.1", getattr(double, "port", 0), False)
    port = double.grpc_port if how == "grpc" else None
    client = server(where, options.pop("key", ""), grpc_port=port, timeout=timeout)
    return QdrantStore(client, name, kind="server", **options)


class TestMemory(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        from rocketride_store_qdrant.backend import QdrantStore
        from rocketride_store_qdrant.opening import in_memory

        return QdrantStore(in_memory(), "suite", kind="memory")


class TestRest(StoreSuite):
    @pytest.fixture(autouse=True)
    def _served(self, double: Any) -> None:
        self.double = double

    def make(self, folder: Path) -> VectorStore:
        return opened(self.double)


class TestGrpc(StoreSuite):
    @pytest.fixture(autouse=True)
    def _served(self, double: Any) -> None:
        self.double = double

    def make(self, folder: Path) -> VectorStore:
        return opened(self.double, "grpc")


@pytest.fixture(params=["rest", "grpc"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_collection_of_rocketride_is_read_and_ours_looks_the_same(double: Any, how: str) -> None:
    old = double.engine
    old("make", "suite", vectors=models.VectorParams(size=3, distance=models.Distance.COSINE))
    hidden = {"objectId": "schema", "chunkId": 0, "isDeleted": True, "vectorSize": 3, "modelName": "miniLM"}
    theirs: dict[str, Any] = {"objectId": "a", "chunkId": 0, "isDeleted": False}
    points = [
        models.PointStruct(id="00000000-0000-4000-8000-000000000001", vector=[0.0] * 3, payload={"content": "", "meta": hidden}),
        models.PointStruct(
            id="00000000-0000-4000-8000-000000000002", vector=[1.0, 0, 0], payload={"content": "old text", "meta": theirs}
        ),
    ]
    old("upsert", "suite", points=points)
    store = opened(double, how)
    assert store.collection() == store.create(FIRST) == Collection("suite", 3, "miniLM")
    assert store.search(vector(1, 0, 0), Where(), 5) == [Document("old text", theirs, score=1.0)]
    assert store.select(Where(), words=["OLD"]) == [Document("old text", theirs)]
    store.mark(store.ids(Where.object("a")), True)
    assert store.select(Where()) == [Document("old text", theirs | {"isDeleted": True})]
    store.close()
    ours = opened(double, how, "ours")
    ours.create(Collection("ours", 3, "miniLM"))
    ours.upsert([chunk("b", 0, "new text")])
    payloads, _ = old("scroll", "ours", scroll_filter=None, limit=9, with_payload=True)
    assert {"content": "", "meta": hidden} in [point.payload for point in payloads]
    assert {"content": "new text", "meta": dict(chunk("b", 0).metadata)} in [point.payload for point in payloads]
    ours.close()


def test_a_collection_of_others_has_a_size_and_no_model(double: Any) -> None:
    double.engine("make", "suite", vectors=models.VectorParams(size=2, distance=models.Distance.DOT))
    store = opened(double)
    assert store.collection() == Collection("suite", 0, "", "ip")  # empty: it may be one that a killed process has begun
    point = models.PointStruct(id=1, vector=[2.0, 0.0], payload={"other": 1})
    double.engine("upsert", "suite", points=[point])
    assert store.collection() == Collection("suite", 2, "", "ip")
    [found] = store.search(vector(1, 0), Where(), 3)
    assert found.text == ""
    assert found.score == pytest.approx(0.880797, abs=1e-5)
    store.close()


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (
            models.VectorParams(size=3, distance=models.Distance.MANHATTAN),
            "compares by Manhattan; use one that compares by Cosine",
        ),
        ({"text": models.VectorParams(size=3, distance=models.Distance.COSINE)}, "has named vectors"),
    ],
)
def test_a_collection_that_cannot_be_used_says_why(double: Any, vectors: Any, words: str) -> None:
    double.engine("make", "suite", vectors=vectors)
    store = opened(double)
    with pytest.raises(StoreError, match=words):
        store.collection()
    store.close()


def test_an_interrupted_creation_is_completed_and_one_of_another_shape_left_alone(
    double: Any, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocketride_store_qdrant.backend._ANOTHERS", 0.1)
    double.engine("make", "suite", vectors=models.VectorParams(size=3, distance=models.Distance.COSINE))
    store = opened(double, how)
    assert store.create(Collection("suite", 4, "model-b")) == Collection("suite", 3, "")
    assert store.create(FIRST) == store.collection() == FIRST
    store.close()


def test_every_key_that_is_filtered_by_has_an_index(double: Any, how: str) -> None:
    store = opened(double, how, whole_words=True)
    store.create(FIRST)
    keys: dict[str, Any] = {"nodeId": "n", "parent": "p", "name": "n", "isTable": True, "minChunkId": 0, "objectIds": ["a"]}
    where = Request.of(keys | {"tableIds": [1], "permissions": [1]}).where
    store.select(where, words=["two", "words"])
    store.ids(Where())
    asked, indexes = double.engine.asked, double.engine.indexes["suite"]
    assert asked == set(indexes)
    assert indexes["content"] == models.TextIndexParams(
        type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.WORD, min_token_len=2, max_token_len=15, lowercase=True
    )
    store.close()


def test_whole_words_are_found_by_the_index(double: Any, how: str) -> None:
    store = opened(double, how, whole_words=True)
    store.create(FIRST)
    store.upsert([chunk("a", 0, "The Quick brown fox"), chunk("b", 0, "quickly, fox")])
    assert [chunk_key(found) for found in store.select(Where(), words=["QUICK", "fox"])] == [("a", 0)]
    scroll = [asked for asked in double.engine.requests if asked["method"] == "scroll"][-1]
    assert "MatchText" in repr(scroll["scroll_filter"])
    store.close()


def test_the_server_cuts_and_sends_what_is_needed(double: Any, how: str) -> None:
    store = opened(double, how)
    store.create(FIRST)
    store.upsert([chunk("a", 0, at=60)])
    store.search(vector(1, 0, 0), Where(), 7, least=0.75)
    store.ids(Where())
    query, ids = [asked for asked in double.engine.requests if asked["method"] in ("query", "scroll")][-2:]
    assert query["score_threshold"] == pytest.approx(0.5, abs=1e-5)
    assert query["limit"] == 7
    assert not ids["with_payload"]
    store.close()


def test_a_write_that_is_not_confirmed_is_an_error(double: Any, how: str) -> None:
    store = opened(double, how)
    store.create(FIRST)
    double.engine.status = models.UpdateStatus.ACKNOWLEDGED
    id = "00000000-0000-4000-8000-000000000001"
    for write in (
        lambda: store.upsert([chunk("a", 0)]),
        lambda: store.delete([id]),
        lambda: store.mark([id], True),
        lambda: opened(double, how, "other").create(Collection("other", 3)),
    ):
        with pytest.raises(StoreError, match="did not confirm.*Qdrant says acknowledged, not completed"):
            write()
    store.close()


def test_a_write_is_no_larger_than_a_server_takes(double: Any) -> None:
    store = opened(double)
    assert (store.capabilities.request, store.capabilities.number) == (16 << 20, 22)
    store.close()


def test_the_key_is_sent_and_a_wrong_one_is_an_error_without_it(double: Any, how: str) -> None:
    double.engine.key = "right-key"
    store = opened(double, how, key="right-key")
    assert store.about().version == "1.15.4"
    store.close()
    wrong = opened(double, how, key="wrong-key")
    with pytest.raises(Exception, match=r".") as caught:
        wrong.about()
    told = wrong.explain(caught.value)
    assert told is not None
    assert told.kind == "authentication"
    assert "wrong-key" not in str(told)
    wrong.close()


def test_an_approximate_search_says_so_and_finds(double: Any, how: str) -> None:
    store = opened(double, how, exact=False)
    assert not store.capabilities.exact
    store.create(FIRST)
    store.upsert([chunk("a", 0), chunk("b", 0, at=60)])
    assert [chunk_key(found) for found in store.search(vector(1, 0, 0), Where(), 2)] == [("a", 0), ("b", 0)]
    store.close()
    [query] = [asked for asked in double.engine.requests if asked["method"] == "query"]
    assert query["exact"] is False


def test_by_default_a_search_is_exact(double: Any, how: str) -> None:
    store = opened(double, how)
    store.create(FIRST)
    store.search(vector(1, 0, 0), Where(), 2)
    assert double.engine.requests[-1]["exact"] is True
    store.close()
