# SPDX-License-Identifier: MIT
"""A store on an agent's tool slot: search, upsert and delete, with an embedding in the config, bound, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    EMBEDDING,
    MANY,
    QUESTIONS,
    TOOL,
    Answer,
    Caller,
    Component,
    ControlLink,
    Document,
    Embedder,
    Entry,
    Instance,
    Json,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Pipeline,
    Problem,
    Question,
    RunError,
    ToolError,
    ToolFailure,
    ToolInput,
    on,
    serves,
    setting,
)
from rocketride_core.testing import FakeEmbedder
from rocketride_store import InMemory, MemoryStore, VectorStore


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[DOCUMENTS, QUESTIONS])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(ANSWERS)
    def answers(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))


@attrs.frozen(kw_only=True)
class HashConfig:
    dimension: int = setting(8)
    model: str = setting("fake-hash")


class HashEmbedding(Node[HashConfig]):
    """The test kit's embedder, as a node."""

    spec = NodeSpec("hash_embedding", title="Hash")

    @serves(EMBEDDING)
    def embedder(self, instance: Instance, caller: Caller) -> Embedder:
        made = FakeEmbedder(self.config.dimension)
        made.model = self.config.model
        if self.config.model == "broken":
            made.embed = self.broken  # type: ignore[method-assign]
        return made

    def broken(self, texts: Sequence[str], /, *, query: bool = False) -> Sequence[memoryview]:
        raise ConnectionError("no vectors today")


class Agent(Node[None]):
    """Calls what it is told: a list of (tool, arguments) as the question's filter `calls`."""

    spec = NodeSpec("agent", title="Agent", needs={TOOL: MANY})

    @on(QUESTIONS, emits=[ANSWERS])
    def ask(self, instance: Instance, question: Question) -> None:
        calls: Any = question.filter["calls"]
        heard.extend(instance.tools.call_all(calls))
        names.update({tool.name: tool for tool in instance.tools})
        instance.emit(ANSWERS, Answer("done"))


heard: list[Json | ToolError] = []
names: dict[str, Any] = {}
NODES = [Source, Sink, Agent, MemoryStore, HashEmbedding]
BLOCK = {"embedding": {"provider": "hash_embedding", "hash_embedding": {"dimension": 16}}}


def pipe(*more: Component, stores: Mapping[str, Mapping[str, Any]], lanes: bool = False) -> PipeFile:
    links = [LaneLink("documents", "in")] if lanes else []
    return PipeFile(
        [
            Component("in", "in"),
            Component("agent", "agent", input=[LaneLink("questions", "in")]),
            *(
                Component(id, "store_memory", config, control=[ControlLink("tool", "agent")], input=links)
                for id, config in stores.items()
            ),
            *more,
            Component("out", "out", input=[LaneLink("answers", "agent")]),
        ]
    )


def load(*more: Component, lanes: bool = False, **stores: Mapping[str, Any]) -> Any:
    return Kernel(nodes=NODES).load(pipe(*more, stores=stores, lanes=lanes))


def call(pipeline: Pipeline, tool: str, **arguments: Any) -> Any:
    heard.clear()
    names.clear()
    pipeline.run(Entry("ask"), QUESTIONS(Question(("?",), filter={"calls": [(tool, arguments)]}))).checked()
    [answer] = heard
    if isinstance(answer, ToolError):
        raise answer
    return answer


def text(object_id: str, content: str, **more: Any) -> dict[str, Any]:
    return {"object_id": object_id, "content": content, **more}


TEXTS = [
    text("cats", "a cat sleeps on the warm roof"),
    text("cats", "a cat hunts mice at night", metadata={"nodeId": "n1"}),
    text("dogs", "the dog barks at the post", metadata={"parent": "pets/dogs.txt"}),
]


@pytest.fixture(params=["block", "bound"])
def store(request: pytest.FixtureRequest) -> Any:
    bound = Component("emb", "hash_embedding", {"dimension": 16}, control=[ControlLink("embedding", "store")])
    if request.param == "block":
        with load(store={"score": 0} | BLOCK) as pipeline:
            yield pipeline
    else:
        with load(bound, store={"score": 0}) as pipeline:
            yield pipeline


def test_upsert_search_delete(store: Pipeline) -> None:
    assert call(store, "store.search", query="cat") == {"results": [], "total": 0, "note": "nothing is stored in store yet"}
    assert call(store, "store.delete", object_ids=["cats"]) == {"success": True, "deleted_count": 0}
    assert call(store, "store.upsert", documents=TEXTS) == {"success": True, "count": 3, "skipped": 0}
    found = call(store, "store.search", query="a cat hunts mice at night", top_k=2)
    assert set(found) == {"results", "total"}
    best = found["results"][0]
    assert found["total"] == 2
    assert (best["content"], best["score"]) == ("a cat hunts mice at night", pytest.approx(1.0, abs=1e-5))
    assert best["metadata"] == {
        "objectId": "cats",
        "chunkId": 1,
        "nodeId": "n1",
        "parent": "",
        "isDeleted": False,
        "isTable": False,
        "tableId": 0,
    }
    assert call(store, "store.delete", object_ids=["cats", "cats", "never"]) == {"success": True, "deleted_count": 1}
    assert [hit["metadata"]["objectId"] for hit in call(store, "store.search", query="cat")["results"]] == ["dogs"]


@pytest.mark.parametrize(
    ("filter", "wanted"),
    [
        (None, 3),
        ({}, 3),
        ({"objectId": "cats"}, 2),
        ({"nodeId": "n1"}, 1),
        ({"parent": "pets/dogs.txt", "objectId": "dogs"}, 1),
        ({"objectId": "dogs", "nodeId": "n1"}, 0),
    ],
)
def test_the_filter(store: Pipeline, filter: Any, wanted: int) -> None:
    call(store, "store.upsert", documents=TEXTS)
    assert call(store, "store.search", query="cat", filter=filter)["total"] == wanted


def test_an_object_that_is_stored_again_is_replaced(store: Pipeline) -> None:
    call(store, "store.upsert", documents=TEXTS)
    assert call(store, "store.upsert", documents=[text("cats", "one cat"), text("cats", " ")])["skipped"] == 1
    found = call(store, "store.search", query="cat", filter={"objectId": "cats"})
    assert [hit["content"] for hit in found["results"]] == ["one cat"]


def test_top_k_has_bounds_and_a_default(store: Pipeline) -> None:
    call(store, "store.upsert", documents=[text(f"o{n}", f"cat {n}") for n in range(120)])
    assert call(store, "store.search", query="cat")["total"] == 10
    assert call(store, "store.search", query="cat", top_k=100)["total"] == 100
    for top_k in (0, 101, -1):
        with pytest.raises(ToolInput) as caught:
            call(store, "store.search", query="cat", top_k=top_k)
        assert caught.value.path == "$.top_k"


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("search", {"query": ""}, "$.query"),
        ("search", {"query": "  "}, "$.query"),
        ("search", {}, "$.query"),
        ("upsert", {"documents": [text(" ", "x")]}, "$.documents[0].object_id"),
        ("upsert", {"documents": [{"content": "x"}]}, "$.documents[0].object_id"),
        ("upsert", {"documents": [text("a", "x"), text("a", "x", metadata={"chunkId": "3"})]}, "$.documents[1].metadata.chunkId"),
        ("delete", {}, "$.object_ids"),
    ],
)
def test_wrong_arguments_name_their_place(store: Pipeline, tool: str, arguments: dict[str, Any], path: str) -> None:
    with pytest.raises(ToolInput) as caught:
        call(store, f"store.{tool}", **arguments)
    assert caught.value.path == path
    assert path in str(caught.value)


def test_nothing_given_touches_nothing(store: Pipeline) -> None:
    call(store, "store.upsert", documents=TEXTS)
    assert call(store, "store.delete", object_ids=[]) == {"success": True, "deleted_count": 0}
    assert call(store, "store.upsert", documents=[]) == {"success": True, "count": 0, "skipped": 0}
    assert call(store, "store.search", query="cat")["total"] == 3


def test_without_an_embedding_it_searches_by_words_and_says_so() -> None:
    given = [text("a", "the refund policy is generous", embedding=[1.0, 0.0]), text("b", "cats", embedding=[0.0, 1.0])]
    with load(store={}) as pipeline:
        assert call(pipeline, "store.upsert", documents=given)["count"] == 2
        found = call(pipeline, "store.search", query="What is the refund policy?")
        assert [(hit["content"], hit["score"]) for hit in found["results"]] == [("the refund policy is generous", None)]
        assert "keyword search" in found["note"]
        assert "store cannot search by meaning, because no embedding is bound to it" in found["note"]
        with pytest.raises(ToolFailure, match="no embedding is bound to it: give each document an `embedding`"):
            call(pipeline, "store.upsert", documents=[text("c", "no vector")])
        assert call(pipeline, "store.search", query="vector")["total"] == 0


def test_an_embedding_that_fails_is_told_and_words_are_searched() -> None:
    broken = {"embedding": {"provider": "hash_embedding", "hash_embedding": {"model": "broken"}}}
    with load(store=broken) as pipeline:
        call(pipeline, "store.upsert", documents=[text("a", "red fox", embedding=[1.0] * 8, embedding_model="broken")])
        found = call(pipeline, "store.search", query="fox")
        assert found["total"] == 1
        assert "no vectors today" in found["note"]
        with pytest.raises(ToolFailure, match="no vectors today"):
            call(pipeline, "store.upsert", documents=[text("b", "blue fox")])


def test_two_stores_on_one_agent_are_two_sets_of_tools() -> None:
    with load(one={"score": 0} | BLOCK, two={}) as pipeline:
        call(pipeline, "one.upsert", documents=TEXTS)
        assert call(pipeline, "two.search", query="cat")["total"] == 0
        assert sorted(names) == sorted(f"{id}.{tool}" for id in ("one", "two") for tool in ("search", "upsert", "delete"))
        assert {name: tool.concurrent for name, tool in names.items() if tool.concurrent} == {
            "one.search": True,
            "two.search": True,
        }
        assert names["one.search"].input_schema["properties"]["top_k"]["default"] == 10
        assert set(names["one.search"].output_schema["properties"]) == {"results", "total", "note"}


def test_one_store_on_the_tool_slot_and_on_lanes_at_once() -> None:
    with load(store={"score": 0} | BLOCK, lanes=True) as pipeline:
        pipeline.run(Entry("file"), DOCUMENTS([Document("a text about cats", {"objectId": "file"})])).checked()
        found = call(pipeline, "store.search", query="cats")
        assert [hit["metadata"]["objectId"] for hit in found["results"]] == ["file"]
        assert found["results"][0]["score"] is not None


def problems(pipe: PipeFile) -> list[Problem]:
    return [problem for problem in Kernel(nodes=NODES).check(pipe) if problem.severity == "error"]


def test_a_block_and_a_bound_embedding_are_one_too_many() -> None:
    bound = Component("emb", "hash_embedding", control=[ControlLink("embedding", "store")])
    [problem] = problems(pipe(bound, stores={"store": BLOCK}))
    assert (problem.code, problem.path) == ("too-many-controls", "$.components[2].config.embedding")
    assert "emb is bound to it" in problem.message


def test_a_block_that_names_nothing_installed_is_the_files_problem() -> None:
    [problem] = problems(pipe(stores={"store": {"embedding": {"provider": "embedding_never", "embedding_never": {}}}}))
    assert (problem.code, problem.component) == ("unknown-provider", "store_embedding")


@pytest.mark.parametrize("block", [None, False])
def test_no_block_is_no_embedding(block: Any) -> None:
    assert problems(pipe(stores={"store": {"embedding": block}})) == []


@pytest.mark.parametrize("block", [{"provider": ""}, {"model": "x"}, "hash_embedding"])
def test_a_block_that_names_no_provider_is_a_problem(block: Any) -> None:
    assert [problem.path for problem in problems(pipe(stores={"store": {"embedding": block}}))] == [
        "$.components[2].config.embedding"
    ]


def test_another_model_or_dimension_is_refused_when_an_entry_opens() -> None:
    kept = InMemory("ROCKETRIDE")

    class Kept(MemoryStore):
        spec = attrs.evolve(MemoryStore.spec, provider="kept")

        def connect(self) -> VectorStore:
            return kept

    def file(**config: Any) -> PipeFile:
        made = pipe(stores={"store": {"embedding": {"provider": "hash_embedding", "hash_embedding": config}}})
        return attrs.evolve(
            made, components=[attrs.evolve(c, provider="kept") if c.id == "store" else c for c in made.components]
        )

    kernel = Kernel(nodes=[*NODES, Kept])
    with kernel.load(file(dimension=8)) as pipeline:
        call(pipeline, "store.upsert", documents=TEXTS)
    for config, message in (
        ({"dimension": 16}, "uses a vector size of 8 but the bound embedding has 16 vector size"),
        ({"dimension": 8, "model": "other"}, "uses fake-hash but the bound embedding was encoded with other"),
    ):
        with kernel.load(file(**config)) as pipeline, pytest.raises(RunError, match=message) as caught:
            call(pipeline, "store.upsert", documents=[text("x", "x")])
        assert (caught.value.component, caught.value.phase) == ("store", "open")
    assert len(kept._chunks) == 3
