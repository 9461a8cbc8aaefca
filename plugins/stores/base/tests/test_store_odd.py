# SPDX-License-Identifier: MIT
"""What no database should be asked or given: empty vectors, halves of surrogate pairs, values that JSON does not have."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from rocketride_core import EMBEDDING, Document, NodeSpec, Question, RunError
from rocketride_core.testing import FakeEmbedder, node_harness
from rocketride_store import InMemory, StoreConfig, StoreNode, Where
from rocketride_store.filters import Condition
from rocketride_store.testing import chunk, keys, vector


class Strict(InMemory):
    """Refuses text as databases do."""

    def select(self, where: Where, /, *, words: Any = (), **page: Any) -> Any:
        for text in (*words, *(one for condition in where for one in _texts(condition))):
            text.encode()
            assert "\x00" not in text
        for condition in where:
            values = condition.value if condition.operator == "in" else [condition.value]
            assert len({type(value) for value in values}) == 1, "databases compare with values of one type"
            assert condition.key != "tableId" or type(values[0]) is int
        return super().select(where, words=words, **page)


def _texts(condition: Condition) -> list[str]:
    values = condition.value if condition.operator == "in" else [condition.value]
    return [value for value in values if isinstance(value, str)]


class Odd(StoreNode[StoreConfig]):
    spec = NodeSpec("odd", title="Odd")
    database: ClassVar[InMemory]

    def connect(self) -> InMemory:
        return self.database


@pytest.fixture
def harness() -> Iterator[Any]:
    Odd.database = Strict("odd")
    with node_harness(Odd) as made:
        yield made


def put(harness: Any, document: Document) -> None:
    harness.run({"documents": [[attrs.evolve(document, embedding_model="m")]]})


def ask(harness: Any, text: str, type: str, **filter: Any) -> list[Document]:
    [found] = harness.run({"questions": [Question((text,), type=type, filter=filter)]})["documents"]
    return list(found)


def test_an_empty_vector_makes_no_collection(harness: Any) -> None:
    with pytest.raises(RunError, match=r"vector is empty"):
        put(harness, attrs.evolve(chunk("a", 0), embedding=vector()))
    assert Odd.database.collection() is None
    put(harness, chunk("a", 0))
    with pytest.raises(RunError, match="vector size of 3 but the document has 0"):
        put(harness, attrs.evolve(chunk("a", 0), embedding=vector()))
    assert keys(ask(harness, "", "get")) == [("a", 0)]


def test_what_is_looked_for_is_written_as_what_is_stored(harness: Any) -> None:
    put(harness, chunk("a", 0, "one\x00two \ud800", parent="caf\udce9.txt"))
    assert keys(ask(harness, "", "get", parent="caf\udce9.txt")) == [("a", 0)]
    assert ask(harness, "", "get", objectIds=["\ud800"]) == []
    assert keys(ask(harness, "E\x00T \ud800", "keyword")) == [("a", 0)]


@pytest.mark.parametrize("odd", [b"x", {"deep": [b"x"]}, {"a": {1: 2}}, {1, 2}, dt.date(2026, 1, 1), np.float32(1)], ids=str)
def test_metadata_is_json(harness: Any, odd: Any) -> None:
    with pytest.raises(RunError, match="which JSON does not have"):
        put(harness, chunk("a", 0, odd=odd))
    assert Odd.database.collection() is None


def test_metadata_may_be_numbers_of_other_classes(harness: Any) -> None:
    put(harness, chunk("a", 0, odd=np.float64(1.5), some=(1, None), tableId=2.0, permissionId=1.5))
    [found] = ask(harness, "", "get", tableIds=[2])
    assert found.metadata["odd"] == 1.5
    assert (type(found.metadata["tableId"]), found.metadata["permissionId"]) == (int, 1.5)


@pytest.mark.parametrize(("value", "wanted"), [(5, True), ("5", False), (True, False), (None, False)])
def test_only_numbers_are_greater(value: Any, wanted: bool) -> None:
    assert Condition("chunkId", "ge", 1).holds({"chunkId": value}) is wanted
    assert Condition("chunkId", "le", 9).holds({"chunkId": value}) is wanted


def test_what_is_embedded_is_what_is_stored() -> None:
    Odd.database = Strict("odd")
    with node_harness(Odd, controls={EMBEDDING: FakeEmbedder()}) as harness:
        harness.run({"documents": [[Document("one\x00two \ud800", {"objectId": "a"})]]})
        [found] = ask(harness, "one\x00two \ud800", "question")
    assert (found.text, found.score) == ("one\ufffdtwo \ufffd", 1.0)


@pytest.mark.parametrize("table", [True, None, [1], 1.5, "1"])
def test_a_table_without_a_number_stays_a_chunk(harness: Any, table: Any) -> None:
    put(harness, chunk("a", 0, "row", isTable=True, tableId=table))
    assert [found.text for found in ask(harness, "", "get", fullTables=True)] == ["row"]
