# SPDX-License-Identifier: MIT
"""What an agent's words find, what is hidden inside of whole objects and tables, which of two scores counts."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from rocketride_core import Document, Embedder, Question
from rocketride_core.testing import FakeEmbedder
from rocketride_store import Collection, InMemory, Request, StoreError, Where
from rocketride_store.asking import Asker
from rocketride_store.keeper import Keeper
from rocketride_store.results import Found, expanded
from rocketride_store.testing import chunk, keys


class Listening(InMemory):
    """Notes the words it is asked for; the entry ends after some of them."""

    def __init__(self, *documents: Document, ends_after: int = 1000) -> None:
        super().__init__("c")
        self.create(Collection("c", 3, "m"))
        self.upsert(documents)
        self.words: list[str] = []
        self.ends_after = ends_after
        self.entry = SimpleNamespace(cancelled=False)

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        self.words.extend(words)
        self.entry.cancelled = len(self.words) >= self.ends_after
        return super().select(where, words=words, offset=offset, limit=limit)


def asker(store: Listening, embedder: Embedder | None = None) -> Asker:
    keeper = Keeper(store, "c", "cosine", lambda error: error)
    entry: Any = store.entry
    return Asker(store=store, keeper=keeper, least=0.0, limit=25, embedder=embedder, component="store_1", instance=entry)


def test_the_eight_longest_words_of_a_query_are_looked_for() -> None:
    store = Listening(chunk("a", 0, "the harbourmaster"))
    query = "what did the harbourmaster say of " + " ".join("w" * number for number in range(1, 13))
    assert keys(asker(store).matching_any(query, Request.of({}))) == [("a", 0)]
    assert store.words == ["harbourmaster", *("w" * number for number in range(12, 5, -1))]


def test_no_more_words_are_looked_for_when_the_entry_has_ended() -> None:
    store = Listening(chunk("a", 0), ends_after=2)
    with pytest.raises(StoreError, match="the entry ended") as caught:
        asker(store).matching_any("one three seven eleven", Request.of({}))
    assert caught.value.kind == "timeout"
    assert store.words == ["eleven", "three"]


def test_the_best_of_many_chunks_with_a_word_is_found_behind_the_first() -> None:
    many = [chunk("a", number, "a ferry and very many other things of no interest") for number in range(30)]
    store = Listening(*many, chunk("z", 0, "ferry"))
    assert keys(asker(store).matching_any("ferry", Request.of({"limit": 1}))) == [("z", 0)]


def test_a_question_without_a_vector_is_refused_before_it_is_embedded_where_the_model_is_another() -> None:
    class Unasked(FakeEmbedder):
        def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Sequence[memoryview]:
            raise AssertionError("nothing must be embedded")

    store = Listening(chunk("a", 0))
    with pytest.raises(StoreError, match="but the bound embedding was encoded with fake-hash"):
        asker(store, Unasked(3)).find(Question.of("?"))


@pytest.mark.parametrize("scores", [(0.9, 0.4), (0.4, 0.9), (None, 0.4), (0.4, None)])
def test_a_chunk_that_is_found_twice_keeps_its_better_score(scores: tuple[float | None, float | None]) -> None:
    found = Found(0.0)
    for score in scores:
        found.add([attrs.evolve(chunk("a", 0), score=score)])
    assert [one.score for one in found.ranked()] == [max(score for score in scores if score is not None)]


HIDDEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nodeId": ({"nodeId": "n1"}, {"nodeId": "n2"}),
    "permissions": ({"permissionId": 1}, {"permissionId": 2}),
    "isDeleted": ({"isDeleted": False}, {"isDeleted": True}),
}
ASKED: dict[str, dict[str, Any]] = {"nodeId": {"nodeId": "n1"}, "permissions": {"permissions": [1]}, "isDeleted": {}}


@pytest.mark.parametrize("key", HIDDEN)
@pytest.mark.parametrize("whole", ["fullDocuments", "fullTables"])
def test_nothing_that_the_filter_hides_is_inside_of_what_is_whole(key: str, whole: str) -> None:
    seen, hidden = HIDDEN[key]
    table: dict[str, Any] = {"isTable": True, "tableId": 1}
    given = [chunk("a", 0, "open", **table, **seen), chunk("a", 1, "closed", **table, **hidden)]
    store = Listening(*given, chunk("a", 2, "too", **table, **seen))
    [found] = expanded(store, Request.of({whole: True, **ASKED[key]}), given[:1])
    assert found.text == "open\ntoo"


def test_a_whole_table_has_nothing_that_is_no_table() -> None:
    rows = [chunk("a", 0, "row 1", isTable=True, tableId=0), chunk("a", 1, "text", isTable=False, tableId=0)]
    store = Listening(*rows, chunk("a", 2, "row 2", isTable=True, tableId=0))
    assert [one.text for one in expanded(store, Request.of({"fullTables": True}), rows)] == ["row 1\nrow 2", "text"]
