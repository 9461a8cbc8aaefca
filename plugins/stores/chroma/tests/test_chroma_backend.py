# SPDX-License-Identifier: MIT
"""Chroma passes the suite of backends, embedded and over HTTP; what others put into a collection is understood."""

from __future__ import annotations

import socket
import uuid
from pathlib import Path

import chromadb
import httpx
import pytest

from rocketride_core import Document
from rocketride_store import Address, Collection, Patience, Patient, Request, StoreError, VectorStore, Where
from rocketride_store.testing import StoreSuite, chunk, keys, vector
from rocketride_store_chroma import Chroma


class TestEmbedded(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        from rocketride_store_chroma.backend import ChromaStore, embedded

        return ChromaStore(embedded(folder / "chroma"), "suite")


class TestMemory(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        from rocketride_store_chroma.backend import ChromaStore, in_memory

        return ChromaStore(in_memory(), "suite", persistent=False)


class TestServer(StoreSuite):
    @pytest.fixture(autouse=True)
    def _where(self, chroma_server: int) -> None:
        self.port, self.database = chroma_server, f"db-{uuid.uuid4().hex}"

    def make(self, folder: Path) -> VectorStore:
        from rocketride_store_chroma.backend import ChromaStore, server

        # A database of its own for each test, so that the collection does not exist yet.
        url = f"http://127.0.0.1:{self.port}/api/v2/tenants/default_tenant/databases"
        if self.database not in [database["name"] for database in httpx.get(url).json()]:
            httpx.post(url, json={"name": self.database}).raise_for_status()
        return ChromaStore(server(Address("127.0.0.1", self.port), {}, database=self.database), "suite")


def test_a_server_that_is_not_there_is_one_clear_error() -> None:
    from rocketride_store_chroma.backend import server

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(StoreError, match="cannot be reached"):
        server(Address("127.0.0.1", port), {})


def test_two_stores_share_one_folder(tmp_path: Path) -> None:
    from rocketride_store_chroma.backend import ChromaStore, embedded

    one, two = (ChromaStore(embedded(tmp_path), name) for name in ("one", "two"))
    one.create(Collection("one", 3))
    one.upsert([chunk("a", 0)])
    one.close()
    two.create(Collection("two", 3))
    two.upsert([chunk("a", 0)])
    assert len(two.ids(Where())) == 1
    two.close()


@pytest.mark.parametrize("control", [True, False])
def test_a_collection_of_rocketride_is_understood(tmp_path: Path, control: bool) -> None:
    from rocketride_store_chroma.backend import ChromaStore, embedded

    store = ChromaStore(embedded(tmp_path), "old")
    client = embedded(tmp_path)
    made = chromadb.Collection(client.api, client.api.create_collection("old", metadata={"hnsw:space": "cosine"}), None)
    if control:
        hidden = {"objectId": "schema", "chunkId": 0, "isDeleted": True, "vectorSize": 3, "modelName": "miniLM"}
        made.upsert(ids=["c"], embeddings=[[0.0, 0.0, 0.0]], documents=[""], metadatas=[hidden])
    made.upsert(ids=["x"], embeddings=[[1.0, 0.0, 0.0]], documents=["old text"], metadatas=[{"objectId": "a", "chunkId": 0}])
    assert store.collection() == Collection("old", 3, "miniLM" if control else "", "cosine")
    found = store.search(vector(1, 0, 0), Where(), 5)
    assert Document("old text", {"objectId": "a", "chunkId": 0}, score=1.0) in found
    client.close()
    store.close()


def test_the_lists_of_a_filter_have_32000_values(tmp_path: Path) -> None:
    from rocketride_store_chroma.backend import LISTED, ChromaStore, embedded

    store = ChromaStore(embedded(tmp_path), "many")
    store.create(Collection("many", 3))
    store.upsert([chunk("a", 0), chunk("b", 0)])
    ids = ["a", *(f"o{number}" for number in range(LISTED - 1))]
    where = Request.of({"objectIds": ids, "nodeId": None, "parent": None}).where
    assert keys(store.select(where, words=["a"])) == keys(store.search(vector(1, 0, 0), where, 5)) == [("a", 0)]
    assert len(store.ids(where)) == 1
    more = where.and_in("chunkId", [0])
    for call in (lambda: store.select(more), lambda: store.search(vector(1, 0, 0), more, 5), lambda: store.ids(more)):
        with pytest.raises(StoreError, match="at most 32000 texts, or 16000 numbers, in the lists of a filter") as caught:
            call()
        assert caught.value.kind == "invalid"
    numbers = Where().and_in("chunkId", range(LISTED // 2))
    assert keys(store.select(numbers)) == [("a", 0), ("b", 0)]
    with pytest.raises(StoreError, match="16000 numbers"):
        store.select(Where().and_in("chunkId", range(LISTED // 2 + 1)))
    store.close()


def test_a_question_has_500_words(tmp_path: Path) -> None:
    from rocketride_store_chroma.backend import WORDS, ChromaStore, embedded

    store = ChromaStore(embedded(tmp_path), "words")
    store.create(Collection("words", 3))
    words = [f"w{number}" for number in range(WORDS)]
    store.upsert([chunk("a", 0, " ".join(words))])
    assert keys(store.select(Where(), words=words * 2)) == [("a", 0)]
    with pytest.raises(StoreError, match="at most 500 words") as caught:
        store.select(Where(), words=[*words, "more"])
    assert caught.value.kind == "invalid"
    store.close()


@pytest.mark.parametrize("name", ["ROCKETRIDE", "a.b-c_1", "abc", "x" * 512])
def test_good_names(name: str) -> None:
    assert Chroma.name_rule(name) == ""


@pytest.mark.parametrize("name", ["ab", "", "_abc", "abc-", "a b c", "a..b", "x" * 513, "192.168.1.1", "wörter", "abc\n"])
def test_bad_names_say_the_rule(name: str) -> None:
    assert "3 to 512 letters" in Chroma.name_rule(name)


def test_a_small_collection_is_ranked_without_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph depends on the order in which chunks came: of a few dozen like vectors it missed one now and then."""
    from rocketride_store_chroma.backend import ChromaStore, in_memory

    store = Patient(ChromaStore(in_memory(), "small", persistent=False), Patience(store="Chroma"))
    store.create(Collection("small", 3))
    asked: list[int] = []
    query = chromadb.Collection.query
    monkeypatch.setattr(chromadb.Collection, "query", lambda *args, **kw: asked.append(kw["n_results"]) or query(*args, **kw))
    store.upsert([chunk("engine", at, at=0.1 * at) for at in range(100)])
    assert keys(store.search(vector(1, 0, 0), Where(), 20)) == [("engine", at) for at in range(20)]
    assert not asked
    store.upsert([chunk("engine", at, at=0.1 * at) for at in range(100, 200)])
    assert keys(store.search(vector(1, 0, 0), Where(), 20)) == [("engine", at) for at in range(20)]
    assert asked == [20]
    store.close()
