# SPDX-License-Identifier: MIT
"""Twelve pipelines such as people write: what each must show, with models, HTTP and stores in this process."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    EMBEDDING,
    QUESTIONS,
    TAGS,
    TEXT,
    Blob,
    Caller,
    Document,
    Entry,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    Profile,
    Question,
    on,
    serves,
)
from rocketride_core.pipefile import parse_pipe
from rocketride_core.testing import FakeEmbedder
from rocketride_llm.testing import CallTools, Say, ScriptedServer

Part = dict[str, Any]
WORDS = FakeEmbedder()


class Embedding(Node[None]):
    """The format's own provider and profile, with vectors that need no model."""

    spec = NodeSpec("embedding_transformer", title="Embedding", categories=["embedding"], profiles=[Profile("miniLM", {})])

    @on(DOCUMENTS, emits=[DOCUMENTS])
    def documents(self, instance: Instance, documents: list[Document]) -> None:
        import attrs

        vectors = WORDS.embed([document.text for document in documents])
        made = [attrs.evolve(d, embedding=v, embedding_model=WORDS.model) for d, v in zip(documents, vectors, strict=True)]
        instance.emit(DOCUMENTS, made)

    @on(QUESTIONS, emits=[QUESTIONS])
    def question(self, instance: Instance, question: Question) -> None:
        import attrs

        vectors = WORDS.embed(list(question.texts), query=True)
        instance.emit(QUESTIONS, attrs.evolve(question, embeddings=tuple(vectors), embedding_model=WORDS.model))

    @serves(EMBEDDING)
    def embedder(self, instance: Instance, caller: Caller) -> Any:
        return WORDS


def part(id: str, provider: str, config: Mapping[str, Any] | None = None, *links: str, **more: Any) -> Part:
    """`lane from` for a lane link, `@class from` for a control link."""
    pairs = [link.split() for link in links]
    made: Part = {"id": id, "provider": provider, "config": dict(config or {})}
    inputs = [{"lane": lane, "from": source} for lane, source in pairs if lane[0] != "@"]
    controls = [{"classType": name[1:], "from": caller} for name, caller in pairs if name[0] == "@"]
    return made | ({"input": inputs} if inputs else {}) | ({"control": controls} if controls else {}) | more


def read(parts: list[Part], wraps: int = 0, **top: Any) -> PipeFile:
    body: Any = {"components": parts, **top}
    for _ in range(wraps):
        body = {"pipeline": body}
    pipe, problems = parse_pipe(json.dumps(body), "it.pipe")
    assert not problems
    return pipe


def said(pipe: PipeFile, source: str = "", env: Mapping[str, str] | None = None) -> set[tuple[str, str]]:
    return {(p.code, p.component) for p in kernel(env).check(pipe, source=source) if p.severity == "error"}


def kernel(env: Mapping[str, str] | None = None) -> Kernel:
    return Kernel(nodes=[Embedding], env=env or {})


def swapped(parts: list[Part], **providers: tuple[str, Mapping[str, Any]]) -> list[Part]:
    """With other nodes, or configs, for some ids."""
    out = copy.deepcopy(parts)
    for one in out:
        if one["id"] in providers:
            one["provider"], one["config"] = providers[one["id"]][0], dict(providers[one["id"]][1])
    return out


def asked(pipe: PipeFile, text: str, *, source: str = "", env: Mapping[str, str] | None = None) -> list[str]:
    with kernel(env).load(pipe, source=source) as pipeline:
        result = pipeline.run(Entry("it"), QUESTIONS(Question.of(text)))
        assert result.error is None, result.error
        return [answer.text for answer in result[ANSWERS]]


ECHO = {"profile": "echo", "echo": {"wholePrompt": True}}


def crew(tool: str) -> Mapping[str, Any]:
    return {"script": [{"call": f"{tool}.run_pipe", "arguments": {"data": "{input}"}}, {"answer": "{last}"}]}


DIAMOND = [
    part("chat_1", "chat"),
    part("agent_1", "agent_crewai", {"instructions": ["Use the tool once."]}, "questions chat_1"),
    part("llm_1", "test_llm", ECHO, "@llm agent_1"),
    part("memory_1", "memory_internal", {}, "@memory agent_1"),
    part(
        "sides_1",
        "tool_pipe",
        {"profile": "default", "default": {"tool_description": "Both sides.", "return_type": "answers"}},
        "@tool agent_1",
    ),
    part("pro_1", "prompt", {"instructions": ["Speak for it."]}, "text sides_1"),
    part("contra_1", "prompt", {"instructions": ["Speak against it."]}, "text sides_1"),
    part("join_1", "prompt", {"instructions": ["Decide."]}, "questions pro_1", "questions contra_1"),
    part("inner_llm_1", "test_llm", ECHO, "questions join_1"),
    part("inner_end_1", "response_answers", {}, "answers inner_llm_1"),
    part("end_1", "response_answers", {}, "answers agent_1"),
]


def test_1_both_branches_of_a_diamond_reach_the_join_once() -> None:
    assert said(read(DIAMOND, source="chat_1")) == {("unknown-provider", "agent_1")}
    [answer] = asked(read(swapped(DIAMOND, agent_1=("test_agent", crew("sides_1"))), source="chat_1"), "Tea or coffee?")
    for once in ("Speak for it.", "Speak against it.", "Decide."):
        assert answer.count(once) == 1
    assert "Tea or coffee?" in answer


def test_1_a_slot_that_an_agent_does_not_have_is_a_warning() -> None:
    pipe = read(swapped(DIAMOND, agent_1=("agent_llamaindex", {})), source="chat_1")
    found = [(p.code, p.component, p.severity) for p in kernel().check(pipe)]
    assert found == [("undeclared-slot", "memory_1", "warning")]


def test_2_sub_pipelines_inside_each_other_keep_apart() -> None:
    outer = [
        part("chat_1", "chat"),
        part("agent_1", "test_agent", crew("outer_1"), "questions chat_1"),
        part("outer_1", "tool_pipe", {"return_type": "answers"}, "@tool agent_1"),
        part("agent_2", "test_agent", crew("inner_1"), "questions outer_1"),
        part("inner_1", "tool_pipe", {"return_type": "answers"}, "@tool agent_2"),
        part("ask_1", "prompt", {"instructions": ["Deep down."]}, "text inner_1"),
        part("llm_1", "test_llm", ECHO, "questions ask_1"),
        part("inner_end", "response_answers", {}, "answers llm_1"),
        part("outer_end", "response_answers", {"laneName": "other"}, "answers agent_2"),
        part("end", "response_answers", {}, "answers agent_1"),
    ]
    [answer] = asked(read(outer, source="chat_1"), "hello")
    assert answer.count("Deep down.") == 1
    named = swapped(outer, agent_1=("agent_crewai", {}), agent_2=("agent_crewai", {}))
    assert said(read(named, source="chat_1")) == {("unknown-provider", "agent_1"), ("unknown-provider", "agent_2")}


def test_3_an_agent_reasons_with_a_tool_and_no_source_is_named() -> None:
    with (
        ScriptedServer() as site,
        ScriptedServer(
            [CallTools([("http_1.http_request", {"method": "GET", "url": f"{site.url}/v1/models"})]), Say("Two models.")]
        ) as server,
    ):
        parts = [
            part("chat_1", "chat", {"mode": "Source"}),
            part("agent_1", "agent_llamaindex", {"instructions": ["Be brief."]}, "questions chat_1"),
            part(
                "llm_1",
                "llm_openai",
                {"profile": "openai-4o", "openai-4o": {"apikey": "any"}, "base_url": server.base_url("openai")},
                "@llm agent_1",
            ),
            part(
                "http_1",
                "tool_http_request",
                {"urlWhitelist": [{"whitelistPattern": ".*"}], "allowPrivateAddresses": True},
                "@tool agent_1",
            ),
            part("end_1", "response_answers", {"laneName": "answers"}, "answers agent_1"),
        ]
        assert asked(read(parts), "How many models?") == ["Two models."]
        assert len(server.chats) == 2


def rag(store: str, config: Mapping[str, Any], *, split: bool = True) -> list[Part]:
    """Writing from a webhook, asking from a chat: with two stores and embedders, or with one of each."""
    second = "2" if split else "1"
    parts = [
        part("webhook_1", "webhook", {"mode": "Source"}),
        part("parse_1", "parse", {}, "tags webhook_1"),
        part(
            "split_1",
            "preprocessor_langchain",
            {"profile": "default", "default": {"mode": "strlen", "strlen": 512}},
            "text parse_1",
        ),
        part("embed_1", "embedding_transformer", {"profile": "miniLM"}, "documents split_1"),
        part("store_1", store, config, "documents embed_1"),
        part("chat_1", "chat", {"mode": "Source"}),
        part(
            "ask_1", "prompt", {"instructions": ["From the documents."]}, f"documents store_{second}", f"questions store_{second}"
        ),
        part("llm_1", "test_llm", ECHO, "questions ask_1"),
        part("end_1", "response_answers", {"laneName": "answers"}, "answers llm_1"),
    ]
    if split:
        parts += [
            part("embed_2", "embedding_transformer", {"profile": "miniLM"}, "questions chat_1"),
            part("store_2", store, config, "questions embed_2"),
        ]
    else:
        parts[3]["input"].append({"lane": "questions", "from": "chat_1"})
        parts[4]["input"].append({"lane": "questions", "from": "embed_1"})
    return parts


def run_rag(pipe: PipeFile) -> None:
    with kernel().load(pipe, source="webhook_1") as pipeline:
        blob = Blob.of(b"The otter eats mussels.", mime_type="text/plain", name="otter.txt")
        result = pipeline.run(Entry("otter.txt"), TAGS(blob))
        assert result.error is None, result.error
    [answer] = asked(pipe, "What does the otter eat?", source="chat_1")
    assert "The otter eats mussels." in answer


@pytest.mark.parametrize("split", [True, False])
def test_4_and_12_two_sources_want_a_choice_and_either_runs(tmp_path: Path, split: bool) -> None:
    pytest.importorskip("qdrant_client")
    config = {"profile": "embedded", "embedded": {"path": str(tmp_path / "q"), "collection": "c", "score": 0.1}}
    pipe = read(rag("qdrant", config, split=split), version=1)
    [problem] = [p for p in kernel().check(pipe) if p.severity == "error"]
    assert (problem.code, problem.message) == ("ambiguous-source", "choose a source: webhook_1, chat_1")
    with pytest.raises(PipeError, match="webhook_1, chat_1"):
        kernel().open(pipe)
    run_rag(pipe)


def test_12_a_store_that_is_not_written_is_named() -> None:
    pipe = read(rag("elasticsearch", {"profile": "local", "local": {"index": "x"}}, split=False))
    found = {(p.component, p.hint) for p in kernel().check(pipe) if p.code == "unknown-provider"}
    assert found == {("store_1", "nobody has written this node yet")}


def test_5_a_reranker_that_is_missing_is_named_and_the_rest_is_checked() -> None:
    parts = rag("chroma", {"profile": "local", "local": {"host": "localhost", "port": 8000, "collection": "book", "top_k": 20}})
    rank = part(
        "rank_1", "rerank_cohere", {"profile": "rerank-english-v3.0", "rerank-english-v3.0": {"top_n": 5}}, "questions store_2"
    )
    next(one for one in parts if one["id"] == "ask_1")["input"] = [
        {"lane": "documents", "from": "rank_1"},
        {"lane": "questions", "from": "embed_2"},
    ]
    pipe = read([*parts, rank])
    assert said(pipe, "webhook_1") == {("unknown-provider", "rank_1")}
    [problem] = [p for p in kernel().check(pipe, source="webhook_1") if p.code == "unknown-provider"]
    assert problem.hint == "nobody has written this node yet"


def test_6_retrieval_as_a_tool_written_flat(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    store = {"profile": "embedded", "embedded": {"path": str(tmp_path / "q"), "collection": "c", "score": 0.1}}
    leftover = {**store, "local": {"host": "old", "port": 1}, "cloud": {"host": "older", "apikey": "x"}}
    with kernel().load(read(rag("qdrant", store)), source="webhook_1") as pipeline:
        pipeline.run(Entry("a.txt"), TAGS(Blob.of(b"Otters hold hands.", mime_type="text/plain", name="a.txt")))
    parts = [
        part("webhook_1", "webhook", {"mode": "Source"}),
        part("agent_1", "test_agent", crew("find_1"), "questions webhook_1"),
        part("llm_1", "test_llm", {}, "@llm agent_1"),
        part("memory_1", "memory_internal", {}, "@memory agent_1"),
        part("http_1", "tool_http_request", {"urlWhitelist": ["^http://localhost"]}, "@tool agent_1"),
        part("again_1", "test_agent", {}, "@tool agent_1"),
        part(
            "find_1",
            "tool_pipe",
            {"type": "tool_pipe", "tool_description": "Finds passages.", "return_type": "documents"},
            "@tool agent_1",
        ),
        part("embed_1", "embedding_transformer", {"profile": "miniLM"}, "questions find_1"),
        part("store_1", "qdrant", leftover, "questions embed_1"),
        part("found_1", "response_documents", {"laneName": "documents"}, "documents store_1"),
        part("end_1", "response_answers", {"laneName": "answers"}, "answers agent_1"),
    ]
    [answer] = asked(read(parts, version=1), "Do otters hold hands?")
    assert "Otters hold hands." in answer


@pytest.mark.parametrize("agent", ["agent_crewai", "test_agent"])
def test_7_a_node_of_two_sub_pipelines_is_refused_with_both_named(agent: str) -> None:
    parts = [
        part("chat_1", "chat"),
        part("agent_1", agent, {}, "questions chat_1"),
        part("one", "tool_pipe", {"return_type": "answers"}, "@tool agent_1"),
        part("two", "tool_pipe", {"return_type": "answers"}, "@tool agent_1"),
        part("both", "prompt", {}, "text one", "text two"),
        part("llm_1", "test_llm", {}, "questions both"),
        part("inner_end", "response_answers", {}, "answers llm_1"),
        part("end", "response_answers", {}, "answers agent_1"),
    ]
    [problem] = [p for p in kernel().check(read(parts, source="chat_1")) if p.code == "two-owners"]
    assert problem.component == "both"
    assert "(one)" in problem.message
    assert "(two)" in problem.message
    with pytest.raises(PipeError, match="two control roots"):
        kernel().open(read(parts, source="chat_1"))


def test_8_documents_from_text_pictures_and_sound() -> None:
    parts = [
        part("dropper_1", "dropper", {"mode": "Source"}),
        part("parse_1", "parse", {}, "tags dropper_1"),
        part(
            "sound_1", "audio_transcribe", {"profile": "default", "default": {"model": "base"}}, "audio parse_1", "video parse_1"
        ),
        part("ocr_1", "ocr", {"engine": "easyocr", "profile": "latin"}, "image parse_1"),
        part(
            "split_1",
            "preprocessor_langchain",
            {"profile": "default", "default": {"mode": "strlen"}},
            "text parse_1",
            "text sound_1",
            "text ocr_1",
        ),
        part("embed_1", "embedding_transformer", {"profile": "miniLM"}, "documents split_1"),
        part("store_1", "store_memory", {"collection": "eight"}, "documents embed_1"),
    ]
    missing = {("unknown-provider", id) for id in ("sound_1", "ocr_1")}
    assert {(code, id) for code, id in missing if id == "sound_1"} <= said(read(parts)) <= missing
    text = [one for one in copy.deepcopy(parts) if one["id"] not in ("sound_1", "ocr_1")]
    text[2]["input"] = text[2]["input"][:1]
    assert said(read(text)) == set()


def test_9_the_old_form_of_a_response_and_two_stores() -> None:
    parts = [
        part("webhook_1", "webhook", {"mode": "Source", "key": "webhook://*", "parameters": {"port": 5565}, "sync": False}),
        part("parse_1", "parse", {}, "tags webhook_1"),
        part("sum_1", "summarization", {}, "text parse_1", "text webhook_1"),
        part("llm_1", "llm_openai", {"profile": "openai-5", "openai-5": {"apikey": ""}}, "@llm sum_1"),
        part("embed_1", "embedding_transformer", {"profile": "miniLM"}, "documents sum_1"),
        part("store_1", "store_memory", {"collection": "summary"}, "documents embed_1"),
        part("split_2", "preprocessor_langchain", {"profile": "default", "default": {"strlen": 1024}}, "text parse_1"),
        part("embed_2", "embedding_transformer", {"profile": "miniLM"}, "documents split_2"),
        part("store_2", "store_memory", {"collection": "content"}, "documents embed_2"),
        part("end_1", "response", {"lanes": []}, "documents sum_1", "text sum_1"),
    ]
    pipe = read(parts, source="webhook_1")
    assert said(pipe) == {("unknown-provider", "sum_1")}
    assert ("renamed-provider", "end_1") in {(p.code, p.component) for p in kernel().check(pipe)}
    old = [parts[0], part("end_1", "response", {"lanes": []}, "text webhook_1")]
    with kernel().load(read(old)) as pipeline:
        assert pipeline.run(Entry("x"), TEXT("whole"))[TEXT] == ["whole"]


@pytest.mark.parametrize("wraps", [0, 1, 2])
def test_10_a_wrapper_short_ids_no_ui_and_variables_in_urls(wraps: int) -> None:
    with ScriptedServer(rules=[("", Say("Found three."))]) as server:
        parts = [
            part("chat", "chat", {"mode": "Source"}),
            part("agent", "agent_llamaindex", {}, "questions chat"),
            part(
                "llm",
                "llm_openai",
                {"baseURL": "${ROCKETRIDE_BASE}/v1", "model": "any/model-4.6", "apikey": "${ROCKETRIDE_KEY}"},
                "@llm agent",
            ),
            part(
                "t_find",
                "tool_http_request",
                {"url": "${ENGINE_URL}/movers", "method": "POST", "headers": {"content-type": "application/json"}},
                "@tool agent",
            ),
            part("out", "response_answers", {"laneName": "answers"}, "answers agent"),
        ]
        env = {"ROCKETRIDE_BASE": server.base_url("openai").removesuffix("/v1"), "ROCKETRIDE_KEY": "k-secret"}
        pipe = read(parts, wraps, source="chat", version=1)
        assert said(pipe) == {("unset-variable", "llm")}
        warned = {(p.code, p.component) for p in kernel(env).check(pipe)}
        assert warned == {("other-variable", "t_find"), ("open-whitelist", "t_find")}
        assert asked(pipe, "What is new?", env=env) == ["Found three."]


def test_11_ids_that_name_another_provider_and_a_shared_model() -> None:
    with ScriptedServer(rules=[("", Say("Restart the node."))]) as server:
        parts = [
            part("webhook_1", "webhook", {"mode": "Source"}),
            part("question_1", "question", {}, "text webhook_1"),
            part("agent_langchain_1", "agent_llamaindex", {"agent_description": "Owns incidents."}, "questions question_1"),
            part(
                "llm_anthropic_1",
                "llm_openai",
                {"profile": "gpt-4-1", "gpt-4-1": {"apikey": "any"}, "base_url": server.base_url("openai")},
                "@llm agent_langchain_1",
                "@llm db_1",
            ),
            part("db_1", "db_supabase", {}, "@tool agent_langchain_1"),
            part("end_1", "response_answers", {"laneName": "answers"}, "answers agent_langchain_1"),
        ]
        assert said(read(parts, source="webhook_1")) == {("unknown-provider", "db_1")}
        ours = read(swapped(parts, db_1=("test_agent", {})), source="webhook_1")
        assert said(ours) == set()
        with kernel().load(ours) as pipeline:
            result = pipeline.run(Entry("incident"), TEXT("The node is down."))
        assert [answer.text for answer in result[ANSWERS]] == ["Restart the node."]
