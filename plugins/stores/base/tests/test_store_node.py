# SPDX-License-Identifier: MIT
"""StoreNode over the store in memory: ingestion, replacement, questions, filters, thresholds, errors."""

from __future__ import annotations

import json
import math
import time
from array import array
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import pytest

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    QUESTIONS,
    Answer,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Pipeline,
    Question,
    RunError,
    on,
)
from rocketride_core.testing import NodeSuite, run_node
from rocketride_store import (
    Collection,
    InMemory,
    MemoryStore,
    StoreConfig,
    StoreError,
    StoreNode,
    VectorStore,
    Where,
    chunk_key,
    flat,
    from_flat,
)
from rocketride_store.filters import Request
from rocketride_store.testing import chunk


def vector(*values: float) -> memoryview:
    return memoryview(array("f", values))


def question(text: str = "?", at: Sequence[float] = (1.0, 0.0, 0.0), **more: Any) -> Question:
    return Question((text,), embeddings=(vector(*at),), **{"embedding_model": "m", **more})


def document(object_id: str, number: int, text: str = "", at: float = 0.0, **metadata: Any) -> Document:
    return attrs.evolve(chunk(object_id, number, text, at, **metadata), embedding_model="m")


class TestMemoryStore(NodeSuite):
    node = MemoryStore
    send = {"documents": [[document("a", 0)]], "questions": [question()]}


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[DOCUMENTS, QUESTIONS])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))

    @on(ANSWERS)
    def answers(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))

    @on(QUESTIONS)
    def questions(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))


def pipe(*lanes: str, provider: str = "store_memory", **config: Any) -> PipeFile:
    return PipeFile(
        [
            Component("in", "in"),
            Component("store", provider, config, input=[LaneLink("documents", "in"), LaneLink("questions", "in")]),
            *([Component("out", "out", input=[LaneLink(lane, "store") for lane in lanes])] if lanes else []),
        ]
    )


def load(*lanes: str, nodes: Sequence[type[Node[Any]]] = (), **config: Any) -> Any:
    return Kernel(nodes=[Source, MemoryStore, Sink, *nodes]).load(pipe(*lanes, **config))


def put(pipeline: Pipeline, name: str, *documents: Document) -> None:
    pipeline.run(Entry(name), DOCUMENTS(documents)).checked()


def ask(pipeline: Pipeline, asked: Question) -> list[Document]:
    [found] = pipeline.run(Entry("ask"), QUESTIONS(asked)).checked()[DOCUMENTS]
    return list(found)


def keys(documents: Sequence[Document]) -> list[tuple[str, int]]:
    return [chunk_key(document) for document in documents]


def test_what_is_stored_is_found_best_first() -> None:
    with load("documents") as pipeline:
        put(pipeline, "a", document("a", 0, at=60), document("a", 1, at=0))
        put(pipeline, "b", document("b", 0, at=120))
        found = ask(pipeline, question())
    assert keys(found) == [("a", 1), ("a", 0)]
    assert [hit.score for hit in found] == pytest.approx([1.0, 0.75], abs=1e-5)


def test_one_object_can_store_and_ask() -> None:
    send: dict[str, list[Any]] = {"documents": [[document("a", 0)]], "questions": [question()]}
    out = run_node(MemoryStore, send=send)
    assert keys(out["documents"][0]) == [("a", 0)]


@pytest.mark.parametrize(("score", "count"), [(0, 4), (0.0, 4), (0.5, 3), (0.75, 2), (1.0, 1)])
def test_the_threshold_cuts_and_zero_is_a_threshold(score: float, count: int) -> None:
    with load("documents", score=score) as pipeline:
        put(pipeline, "a", *(document("a", number, at=angle) for number, angle in enumerate((0, 60, 90, 180))))
        assert len(ask(pipeline, question())) == count


def test_storing_again_replaces_and_a_shorter_version_leaves_no_tail() -> None:
    with load("documents", score=0) as pipeline:
        put(pipeline, "a", *(document("a", number, f"old {number}") for number in range(5)))
        put(pipeline, "b", document("b", 0))
        for _ in range(2):
            put(pipeline, "a", *(document("a", number, f"new {number}") for number in range(2)))
            found = ask(pipeline, question())
            assert sorted(hit.text for hit in found) == ["b 0", "new 0", "new 1"]


def test_an_object_of_one_chunk_stays_findable_while_it_is_replaced() -> None:
    seen: list[int] = []

    class Watched(InMemory):
        def upsert(self, documents: Sequence[Document], /) -> None:
            super().upsert(documents)
            seen.append(len(self.ids(Where())))

        def delete(self, ids: Sequence[str], /) -> None:
            super().delete(ids)
            seen.append(len(self.ids(Where())))

    class WatchedStore(StoreNode[StoreConfig]):
        spec = NodeSpec("watched", title="Watched", stores=True)

        def connect(self) -> VectorStore:
            return Watched(self.config.collection)

    with load(nodes=[WatchedStore], provider="watched") as pipeline:
        put(pipeline, "a", document("a", 0, "old"), document("a", 1, "old tail"))
        put(pipeline, "a", document("a", 0, "new"))
    assert seen == [2, 2, 1]


def test_an_object_that_fails_keeps_what_was_stored() -> None:
    with load("documents", score=0) as pipeline:
        put(pipeline, "a", document("a", 0, "old"), document("a", 1, "old tail"))
        bad = attrs.evolve(document("a", 1), embedding=None)
        assert pipeline.run(Entry("a"), DOCUMENTS([document("a", 0, "new")]), DOCUMENTS([bad])).error
        assert {hit.text for hit in ask(pipeline, question())} == {"old", "old tail"}


def test_more_than_a_batch() -> None:
    with load("documents", score=0, top_k=5000) as pipeline:
        put(pipeline, "a", *(document("a", number) for number in range(1203)))
        assert len(ask(pipeline, question())) == 1203


def test_chunks_without_numbers_and_colliding_ones_are_all_kept() -> None:
    bare = Document("bare", embedding=vector(1, 0, 0), embedding_model="m")
    with load("documents", score=0) as pipeline:
        entry = Entry("file", object_id="own", path="d/file.txt")
        packets = [DOCUMENTS([bare, document("own", 0, "same number")]), DOCUMENTS([bare])]
        for _ in range(2):
            pipeline.run(entry, *packets).checked()
        found = ask(pipeline, question())
    assert sorted(keys(found)) == [("own", 0), ("own", 1), ("own", 2)]
    assert {hit.metadata["parent"] for hit in found if hit.text == "bare"} == {"d/file.txt"}


def test_answers_and_questions_go_where_they_are_wired() -> None:
    with load("answers", "questions", "documents") as pipeline:
        put(pipeline, "a", document("a", 0, "Grüße"))
        result = pipeline.run(Entry("ask"), QUESTIONS(question(filter={"limit": 5}))).checked()
    [answer], [asked], [found] = result[ANSWERS], result[QUESTIONS], result[DOCUMENTS]
    assert isinstance(answer.content, str)
    assert "Grüße" in answer.content
    assert json.loads(answer.content) == [hit.to_json() for hit in found]
    assert list(asked.documents) == list(found)
    assert asked.filter == {"limit": 5, "objectIds": ["a"]}


def test_an_answer_is_a_list_where_json_is_expected() -> None:
    with load("answers") as pipeline:
        put(pipeline, "a", document("a", 0))
        [answer] = pipeline.run(Entry("ask"), QUESTIONS(question(expect_json=True))).checked()[ANSWERS]
    assert [hit["page_content"] for hit in answer.content] == ["a 0"]


def test_nothing_found_is_an_empty_list_and_an_unchanged_question() -> None:
    asked = question(at=(0.0, 0.0, 1.0), documents=())
    with load("documents", "questions", score=0.9) as pipeline:
        put(pipeline, "a", document("a", 0))
        result = pipeline.run(Entry("ask"), QUESTIONS(asked)).checked()
    assert result[DOCUMENTS] == [[]]
    assert result[QUESTIONS] == [asked]


def test_documents_of_the_question_are_kept_once() -> None:
    brought = Document("brought along")
    again = attrs.evolve(document("a", 0), embedding=None, score=0.6)
    with load("documents") as pipeline:
        put(pipeline, "a", document("a", 0))
        found = ask(pipeline, question(documents=(brought, again)))
    assert [(hit.text, hit.score) for hit in found] == [("a 0", 1.0), ("brought along", None)]


def test_several_texts_are_several_searches() -> None:
    asked = Question(("x", "y"), embeddings=(vector(1, 0, 0), vector(-1, 0, 0)), embedding_model="m", filter={"limit": 1})
    with load("documents") as pipeline:
        put(pipeline, "a", *(document("a", number, at=angle) for number, angle in enumerate((0, 10, 170, 180))))
        assert sorted(keys(ask(pipeline, asked))) == [("a", 0), ("a", 3)]


def test_offset_and_limit() -> None:
    with load("documents", score=0) as pipeline:
        put(pipeline, "a", *(document("a", number, at=number) for number in range(10)))
        assert keys(ask(pipeline, question(filter={"offset": 3, "limit": 2}))) == [("a", 3), ("a", 4)]
        assert len(ask(pipeline, question(filter={"offset": 9}))) == 1
        assert ask(pipeline, question(filter={"objectIds": []})) == []


def test_keyword_and_get_have_no_score_and_pass_any_threshold() -> None:
    with load("documents", score=1) as pipeline:
        put(pipeline, "a", document("a", 0, "the red fox"), document("a", 1, "a blue fish"))
        found = ask(pipeline, Question(("FOX red",), type="keyword"))
        assert [(hit.text, hit.score) for hit in found] == [("the red fox", None)]
        assert keys(ask(pipeline, Question(type="get", filter={"objectIds": ["a"], "minChunkId": 1}))) == [("a", 1)]
        assert ask(pipeline, Question((" ",), type="keyword")) == []


def test_whole_documents_and_tables() -> None:
    with load("documents", score=0.9) as pipeline:
        put(
            pipeline,
            "a",
            document("a", 0, "head", at=90),
            document("a", 1, "|r1|", at=0, isTable=True, tableId=1),
            document("a", 2, "|r2|", at=90, isTable=True, tableId=1),
            document("a", 10, "end", at=90, permissionId=7),
        )
        [table] = ask(pipeline, question(filter={"fullTables": True}))
        assert (table.text, table.score) == ("|r1|\n|r2|", 1.0)
        [whole] = ask(pipeline, question(filter={"fullDocuments": True}))
        assert whole.text == "head\n|r1|\n|r2|\nend"


def test_a_whole_document_shows_no_chunk_that_the_filter_hides() -> None:
    with load("documents", score=0) as pipeline:
        put(pipeline, "a", document("a", 0, "open", permissionId=1), document("a", 1, "closed", permissionId=2))
        [whole] = ask(pipeline, question(filter={"fullDocuments": True, "permissions": [1]}))
    assert whole.text == "open"


def test_what_is_marked_deleted_is_hidden() -> None:
    with load("documents") as pipeline:
        put(pipeline, "a", document("a", 0), document("a", 1, isDeleted=True))
        assert keys(ask(pipeline, question())) == [("a", 0)]
        assert len(ask(pipeline, question(filter={"isDeleted": True}))) == 2


def test_a_filter_key_that_means_nothing_is_a_warning() -> None:
    with load("documents") as pipeline:
        put(pipeline, "a", document("a", 0))
        result = pipeline.run(Entry("ask"), QUESTIONS(question(filter={"useQuickRank": True})))
    [warning] = result.checked().warnings
    assert (warning.code, warning.component) == ("unknown-filter", "store")
    assert "useQuickRank" in warning.message


def test_a_collection_that_does_not_exist_is_a_warning() -> None:
    with load("documents") as pipeline:
        result = pipeline.run(Entry("ask"), QUESTIONS(question())).checked()
    assert result[DOCUMENTS] == [[]]
    assert [warning.code for warning in result.warnings] == ["no-collection"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (attrs.evolve(document("a", 1), embedding=None), "You must run your documents through an embedding filter"),
        (attrs.evolve(document("a", 1), embedding_model="n"), "The collection uses m but the document was encoded with n"),
        (
            attrs.evolve(document("a", 1), embedding=vector(1, 0)),
            "The collection uses a vector size of 3 but the document has 2 vector size",
        ),
    ],
)
def test_documents_that_do_not_fit_are_refused_before_anything_is_written(bad: Document, message: str) -> None:
    with load("documents") as pipeline:
        put(pipeline, "a", document("a", 0))
        result = pipeline.run(Entry("b"), DOCUMENTS([document("b", 0), bad]))
        with pytest.raises(RunError, match=message) as caught:
            result.checked()
        assert caught.value.component == "store"
        assert keys(ask(pipeline, question())) == [("a", 0)]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Question.of("?"), "You must run your question through an embedding filter"),
        (question(embedding_model="n"), "The collection uses m but the question was encoded with n"),
        (question(at=(1.0, 0.0)), "The collection uses a vector size of 3 but the question has 2 vector size"),
        (question(type="execute"), "cannot answer a question of type 'execute'"),
        (question(filter={"limit": "many"}), "'limit' with 'many'"),
    ],
)
def test_questions_that_cannot_be_answered_are_errors(asked: Question, message: str) -> None:
    with load("documents") as pipeline:
        put(pipeline, "a", document("a", 0))
        with pytest.raises(RunError, match=message):
            pipeline.run(Entry("ask"), QUESTIONS(asked)).checked()


def test_another_metric_than_the_collections_is_an_error_at_open() -> None:
    class OldStore(StoreNode[StoreConfig]):
        spec = NodeSpec("old", title="Old", stores=True)

        def connect(self) -> VectorStore:
            store = InMemory(self.config.collection)
            store.create(Collection("ROCKETRIDE", 3, "m", "l2"))
            return store

    with (
        pytest.raises(RunError, match="The collection compares by l2 but the config says cosine"),
        load(nodes=[OldStore], provider="old"),
    ):
        pass
    with load(nodes=[OldStore], provider="old", similarity="l2"):
        pass


def test_many_workers_lose_and_double_nothing() -> None:
    with load("documents", score=0, top_k=10_000) as pipeline:
        for _ in range(2):
            work = ((Entry(str(n)), [DOCUMENTS([document(f"o{n}", number) for number in range(n % 7 + 1)])]) for n in range(150))
            for result in pipeline.map(work, workers=8):
                result.checked()
        found = ask(pipeline, question())
    assert sorted(keys(found)) == sorted((f"o{n}", number) for n in range(150) for number in range(n % 7 + 1))


def test_a_pipeline_may_end_in_a_store() -> None:
    problems = Kernel(nodes=[Source, MemoryStore]).check(pipe())
    assert not [problem for problem in problems if problem.code == "no-response"]


@pytest.mark.parametrize(("key", "value"), [("score", 1.5), ("score", -0.1), ("similarity", "manhattan"), ("top_k", 0)])
def test_bad_settings_are_problems(key: str, value: Any) -> None:
    problems = Kernel(nodes=[Source, MemoryStore]).check(pipe(**{key: value}))
    assert [(p.code, p.path) for p in problems if p.severity == "error"] == [("invalid-value", f"$.components[1].config.{key}")]


@pytest.mark.parametrize("key", ["isDeleted", "fullTables", "fullDocuments", "useGroupRank", "useQuickRank"])
def test_a_flag_of_a_filter_is_a_bool(key: str) -> None:
    with pytest.raises(ValueError, match=key):
        Request.of({key: "false"})


def test_numbers_of_a_filter_fit_a_database() -> None:
    with pytest.raises(ValueError, match="chunkIds"):
        Request.of({"chunkIds": [2**63]})
    assert Request.of({"limit": 2**70, "offset": 2**70}).limit < 2**31


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_vector_has_finite_numbers(odd: float) -> None:
    with load("documents") as pipeline:
        put(pipeline, "a", document("a", 0))
        with pytest.raises(RunError, match="document's vector"):
            put(pipeline, "b", attrs.evolve(document("b", 0), embedding=vector(odd, 0, 0)))
        with pytest.raises(RunError, match="question's vector"):
            ask(pipeline, question(at=(odd, 0, 0)))


def test_a_file_name_that_is_not_utf_8_can_be_stored() -> None:
    with load("documents") as pipeline:
        bare = attrs.evolve(document("a", 0), metadata={"title": {"x": ["\ud83d"]}})
        pipeline.run(Entry("x", path="caf\udce9.txt"), DOCUMENTS([bare])).checked()
        [found] = ask(pipeline, question())
    assert (found.metadata["parent"], found.metadata["title"]) == ("caf\ufffd.txt", {"x": ["\ufffd"]})


@pytest.mark.parametrize("given", [{"x": math.inf}, {"": 1}, {"$x": 1}, {"#x": 1}])
def test_flat_values_are_those_that_databases_keep(given: dict[str, Any]) -> None:
    chunk = attrs.evolve(document("a", 0), metadata=given)
    assert set(flat(chunk)) == {"rocketride.json"}
    assert from_flat("", flat(chunk)).metadata == given


def test_the_end_of_an_entry_ends_the_wait_for_the_record_too() -> None:
    class Down(InMemory):
        down: ClassVar[bool] = False

        def collection(self) -> Collection | None:
            if Down.down:
                raise StoreError("unavailable")
            return super().collection()

    class Late(StoreNode[StoreConfig]):
        spec = NodeSpec("late", title="Late")

        def connect(self) -> VectorStore:
            return Down("c")

    file = PipeFile([Component("in", "in"), Component("store", "late", {"retryDelay": 2.0}, input=[LaneLink("documents", "in")])])
    with Kernel(nodes=[Source, Sink, Late]).load(file) as pipeline:
        Down.down = True
        started = time.monotonic()
        with pytest.raises(RunError):
            pipeline.run(Entry("a"), DOCUMENTS([document("a", 0)]), timeout=1).checked()
        assert time.monotonic() - started < 5


def test_documents_that_a_question_carries_are_kept_whatever_their_score() -> None:
    with load("documents", score=0.9) as pipeline:
        put(pipeline, "a", document("a", 0))
        asked = attrs.evolve(question(), documents=(Document("of another store", {}, score=0.4),))
        assert [hit.text for hit in ask(pipeline, asked)][-1] == "of another store"
