# SPDX-License-Identifier: MIT
"""Weaviate's backend passes the suite of backends, with the real client and our double of a server; what it does beyond that."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from rocketride_core import Document, Json
from rocketride_store import Address, Collection, Patience, Patient, StoreError, VectorStore, Where, chunk_uuid
from rocketride_store.filters import Condition, Request
from rocketride_store.testing import StoreSuite, chunk, keys, vector
from rocketride_store_weaviate.node import Weaviate, calls_at

FIRST = Collection("suite", 3, "model-a")


def connected(double: Any, name: str = "suite", key: str = "", **limits: float) -> Any:
    from rocketride_store_weaviate.backend import WeaviateStore, opened

    rest, calls = Address("127.0.0.1", double.port), Address("127.0.0.1", double.grpc_port)
    return WeaviateStore(opened(rest, calls, key, **limits), name)


class TestWeaviate(StoreSuite):
    @pytest.fixture(autouse=True)
    def _double(self, double: Any) -> None:
        self.double = double

    def make(self, folder: Path) -> VectorStore:
        store: VectorStore = connected(self.double)
        return store


@pytest.fixture
def store(double: Any) -> Any:
    store = connected(double)
    yield store
    store.close()


def test_ids_stay_as_they_are(store: Any, double: Any) -> None:
    store.create(FIRST)
    store.upsert([chunk("file.pdf#3", 7, "text")])
    assert list(double.objects["Suite"]) == [chunk_uuid(chunk("file.pdf#3", 7))]
    [found] = store.select(Request.of({"objectIds": ["file.pdf#3"]}).where)
    assert (found.metadata["objectId"], found.metadata["chunkId"]) == ("file.pdf#3", 7)


def test_nothing_of_the_schema_is_left_to_guesses(store: Any, double: Any) -> None:
    store.create(FIRST)
    made = double.classes["Suite"]
    odd: dict[str, Json] = {
        "when": "2026-01-01T00:00:00Z",
        "id": 1,
        "vector": [1, 2],
        "words": "mine",
        "key": None,
        "_x": {"y": 1},
    }
    document = attrs.evolve(chunk("a", 0), metadata={"objectId": "a", "chunkId": 2**60, "isTable": 1, "nodeId": 5, **odd})
    store.upsert([document])
    assert dict(store.select(Where())[0].metadata) == dict(document.metadata)
    types = {one["name"]: (one["dataType"][0], one.get("tokenization")) for one in made["properties"]}
    assert types["objectId"] == types["parent"] == ("text", "field")
    assert (types["chunkId"][0], types["isDeleted"][0]) == ("int", "boolean")
    assert made["vectorConfig"]["default"]["vectorIndexConfig"]["skipDefaultQuantization"] is True
    assert made["invertedIndexConfig"]["stopwords"]["preset"] == "none"
    assert set(double.objects["Suite"][chunk_uuid(document)][0]) <= set(types)
    assert json.loads(made["description"].removeprefix("RocketRide chunks ")) == {"vectorSize": 3, "modelName": "model-a"}


def test_pages_reach_beyond_ten_thousand(store: Any, double: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import rocketride_store_weaviate.backend as module

    monkeypatch.setitem(vars(__import__("sys").modules["weaviate_double"]), "MOST", 40)
    for name, value in {"_MOST": 40, "_PAGE": 20, "_SMALL_PAGE": 40}.items():
        monkeypatch.setattr(module, name, value)
    store.create(FIRST)
    store.upsert([chunk("a", number, at=number) for number in range(100)])
    everything = [("a", number) for number in range(100)]
    assert len(store.ids(Where())) == 100
    assert sorted(keys(store.select(Where()))) == everything
    pages = [keys(store.select(Where(), offset=offset, limit=30)) for offset in range(0, 120, 30)]
    assert [len(page) for page in pages] == [30, 30, 30, 10]
    assert sorted(key for page in pages for key in page) == everything
    assert keys(store.search(vector(1, 0, 0), Where(), 100)) == everything
    assert keys(store.search(vector(1, 0, 0), Where(), 100, least=0.75)) == everything[:61]


@pytest.mark.parametrize("word", ["[", "c++", "a\\", "(x", "^", "$", "*", "?", "{2}", "a|b", "a.b"])
def test_a_word_of_special_characters_means_itself(store: Any, word: str) -> None:
    store.create(FIRST)
    store.upsert([chunk("a", 0, f"before x{word.upper()}y after"), chunk("b", 0, "axb c--- xay (y) 22 ab")])
    assert keys(store.select(Where(), words=[word])) == [("a", 0)]
    assert store.select(Where(), words=[word, "never"]) == []


def test_a_word_may_hold_a_blank(store: Any) -> None:
    store.create(FIRST)
    store.upsert([chunk("a", 0, "the quick fox"), chunk("b", 0, "quick the fox")])
    assert keys(store.select(Where(), words=["The quick"])) == [("a", 0)]


def test_conditions_that_the_server_cannot_decide(store: Any) -> None:
    store.create(FIRST)
    store.upsert(
        [chunk("a", number, at=number, parent=" " if number == 399 else "x", colour=number % 2) for number in range(400)]
    )
    for condition, count in (
        (Condition("parent", "eq", " "), 1),
        (Condition("parent", "ne", "x"), 1),
        (Condition("objectId", "ge", "b"), 0),
        (Condition("chunkId", "ge", 390.5), 9),
        (Condition("colour", "eq", 1), 200),
        (Condition("never", "ne", 1), 400),
    ):
        where = Where((condition,))
        assert len(store.search(vector(1, 0, 0), where, 500)) == len(store.select(where)) == count, condition
    assert keys(store.search(vector(1, 0, 0), Where((Condition("parent", "eq", " "),)), 1)) == [("a", 399)]


def test_every_object_that_was_refused_is_told(store: Any, double: Any) -> None:
    store.create(FIRST)
    double.refuse = {"bad": "store is read-only", "worse": "no room"}
    with pytest.raises(StoreError, match=r"2 of 4 chunks: a#1: store is read-only; a#3: no room") as caught:
        store.upsert([chunk("a", number, text) for number, text in enumerate(["good", "bad", "fine", "worse"])])
    assert caught.value.kind == "not-confirmed"
    with pytest.raises(StoreError, match="none of 1 chunks: .*read-only") as caught:
        store.upsert([chunk("a", 9, "bad")])
    assert caught.value.kind == "not-confirmed"


def test_a_vector_of_another_length_is_not_confirmed(store: Any) -> None:
    store.create(FIRST)
    store.upsert([chunk("a", 0)])
    with pytest.raises(StoreError, match="vector with length 2"):
        store.upsert([attrs.evolve(chunk("b", 0), embedding=vector(1, 0))])


def test_a_delete_that_was_refused_is_told(store: Any, double: Any) -> None:
    store.create(FIRST)
    store.upsert([chunk("a", 0), chunk("a", 1)])
    kept = chunk_uuid(chunk("a", 1))
    double.refuse = {kept: "store is read-only"}
    with pytest.raises(StoreError, match="1 chunks were not deleted: store is read-only"):
        store.delete([chunk_uuid(chunk("a", 0)), kept])
    assert list(store.ids(Where())) == [kept]


def test_a_mark_of_what_is_not_there_is_no_error(store: Any) -> None:
    store.create(FIRST)
    store.mark([str(uuid.uuid4())], True)


def test_large_batches_are_sent_in_parts(store: Any, double: Any) -> None:
    store.create(FIRST)
    whole = Patient(store, Patience(store="Weaviate"))
    whole.upsert([chunk("a", number, "x" * 2_000_000) for number in range(5)])
    assert double.calls["BatchObjects"] == 5
    assert len(store.ids(Where())) == 5


# ---- making a collection


def test_a_cluster_that_allows_hfresh_alone(store: Any, double: Any) -> None:
    double.indexes = ("hfresh",)
    assert store.create(attrs.evolve(FIRST, metric="l2")) == store.collection() == attrs.evolve(FIRST, metric="l2")
    assert double.classes["Suite"]["vectorConfig"]["default"]["vectorIndexType"] == "hfresh"
    assert double.calls["POST schema"] == 2


def test_the_first_refusal_is_the_one_that_is_shown(store: Any, double: Any) -> None:
    double.indexes = ("flat",)
    with pytest.raises(Exception, match="hnsw is not allowed") as caught:
        store.create(FIRST)
    told = store.explain(caught.value)
    assert (told.kind, told.status, double.calls["POST schema"]) == ("invalid", 422, 2)
    assert store.collection() is None


def test_a_search_without_a_collection(store: Any) -> None:
    with pytest.raises(StoreError, match="no collection suite") as caught:
        store.search(vector(1, 0, 0), Where(), 1)
    assert caught.value.kind == "not-found"


def test_a_collection_that_was_removed_meanwhile(store: Any, double: Any) -> None:
    store.create(FIRST)
    double.classes.clear()
    with pytest.raises(StoreError, match="could not find class Suite") as caught:
        store.search(vector(1, 0, 0), Where(), 1)
    assert caught.value.kind == "not-found"
    with pytest.raises(StoreError, match="no collection suite"):
        store.upsert([chunk("a", 0)])
    assert double.calls["BatchObjects"] == 0  # Weaviate would make a collection for it
    assert store.collection() is None


# ---- collections of others


def foreign(double: Any, *, named: bool, control: bool) -> None:
    index = {"vectorIndexType": "hnsw", "vectorIndexConfig": {"distance": "cosine"}}
    vectors = {"vectorConfig": {"text": index | {"vectorizer": {"none": {}}}}} if named else index | {"vectorizer": "none"}
    texts = ("content", "objectId", "parent", "modelName")
    fields = [{"name": name, "dataType": ["text"]} for name in texts]
    fields += [{"name": name, "dataType": ["int"]} for name in ("chunkId", "vectorSize")]
    double.make({"class": "Suite", "properties": [*fields, {"name": "isDeleted", "dataType": ["boolean"]}], **vectors})
    point = np.array([1, 0, 0], np.float32)
    if control:
        hidden = {"objectId": "schema", "chunkId": 0, "isDeleted": True, "content": "", "vectorSize": 3, "modelName": "miniLM"}
        double.put("Suite", str(uuid.uuid4()), hidden, 0 * point)
    for number in range(30):
        kept = {"objectId": f"a-{number % 2}", "chunkId": number, "content": f"text {number}", "isDeleted": False}
        double.put("Suite", str(uuid.uuid4()), kept, point)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("control", [True, False])
def test_a_collection_of_rocketride_is_understood(store: Any, double: Any, named: bool, control: bool) -> None:
    foreign(double, named=named, control=control)
    assert store.collection() == Collection("suite", 3, "miniLM" if control else "", "cosine")
    where = Request.of({"objectIds": ["a-1"]}).where
    found = store.search(vector(1, 0, 0), where, 20)
    metadata: dict[str, Json] = {"objectId": "a-1", "chunkId": 1, "isDeleted": False}
    assert Document("text 1", metadata, score=1.0) == min(found, key=lambda one: one.metadata["chunkId"])
    assert len(found) == len(store.select(where)) == len(store.ids(where)) == 15
    assert keys(store.select(Request.of({}).where, words=["TEXT 29"])) == [("a-1", 29)]


def test_a_collection_of_others_is_not_changed(store: Any, double: Any) -> None:
    foreign(double, named=True, control=True)
    store.collection()
    changes: list[Callable[[], None]] = [lambda: store.upsert([chunk("b", 0)]), lambda: store.mark(["x"], True)]
    for change in changes:
        with pytest.raises(StoreError, match="made by another program") as caught:
            change()
        assert caught.value.kind == "mismatch"
    assert len(double.objects["Suite"]) == 31
    assert double.calls["BatchObjects"] == double.calls["PATCH objects"] == 0
    store.delete(store.ids(Request.of({"objectIds": ["a-0"]}).where))
    assert len(double.objects["Suite"]) == 16


def test_another_metric_is_called_by_its_name(store: Any, double: Any) -> None:
    double.make(
        {"class": "Suite", "vectorIndexType": "hnsw", "vectorIndexConfig": {"distance": "manhattan"}, "vectorizer": "none"}
    )
    assert store.collection() == Collection("suite", 0, "", "manhattan")


# ---- addresses


def addresses(mode: str, host: str, port: int, grpc_host: str = "", grpc_port: int = 50051) -> tuple[Address, Address]:
    rest = Weaviate.server(mode, host, port)
    return rest, calls_at(rest, mode, grpc_host, grpc_port)


@pytest.mark.parametrize(
    ("given", "url", "grpc"),
    [
        (("local", "localhost", 8080), "http://localhost:8080", "localhost:50051"),
        (("local", "http://box:81/", 8080), "http://box:81", "box:50051"),
        (("local", "box", 443), "https://box:443", "box:50051"),
        (("local", "https://box", 8443), "https://box:8443", "box:50051"),
        (("local", "::1", 8080, "", 50051), "", ""),
        (("local", "[::1]", 8080), "http://[::1]:8080", "::1:50051"),
        (("cloud", "abc.c0.weaviate.cloud", 443, "", 443), "https://abc.c0.weaviate.cloud:443", "grpc-abc.c0.weaviate.cloud:443"),
        (
            ("cloud", "https://abc.weaviate.network", 443, "", 443),
            "https://abc.weaviate.network:443",
            "abc.grpc.weaviate.network:443",
        ),
        (("cloud", "example.com", 443, "", 50051), "https://example.com:443", "example.com:50051"),
        (("cloud", "example.com", 443, "grpc.example.com", 443), "https://example.com:443", "grpc.example.com:443"),
        (("cloud", "http://127.0.0.1", 9), "http://127.0.0.1:9", "127.0.0.1:50051"),
    ],
)
def test_addresses(given: Any, url: str, grpc: str) -> None:
    if not url:
        with pytest.raises(ValueError, match="cannot be read|has no name"):
            addresses(*given)
        return
    rest, calls = addresses(*given)
    assert (rest.url, f"{calls.host}:{calls.port}", rest.secure) == (url, grpc, calls.secure)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("cloud", "example.com", 443, "", 443), "REST and gRPC cannot both be at example.com:443"),
        (("local", "ftp://x", 1), "begins with http:// or https://"),
        (("local", "//", 1), "write one like localhost"),
        (("local", "box:port", 1), "cannot be read"),
    ],
)
def test_wrong_addresses_say_what_to_write(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        addresses(*given)
