# SPDX-License-Identifier: MIT
"""The node in a real pipeline, with a model that plays replies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest

from rocketride_agent import READ, STOPPED
from rocketride_agent.testing import PlayedModel, PlayedToolModel, agent_bench
from rocketride_agent_llamaindex import LlamaIndexAgent
from rocketride_core import (
    LLM,
    Answer,
    Arguments,
    Component,
    ControlLink,
    Document,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    Param,
    Question,
    Tool,
    hookimpl,
    tool,
)
from rocketride_core.testing import FakeChatModel, NodeSuite

ANSWER = "Thought: I know.\nAnswer: It is done."


def act(name: str, arguments: str = '{"query": "x"}', thought: str = "I look.") -> str:
    return f"Thought: {thought}\nAction: {name}\nAction Input: {arguments}"


class Store(Node[None]):
    spec = NodeSpec("store", title="Store")

    @tool(concurrent=True)
    def search(self, instance: Instance, query: Annotated[str, Param("What to look for.")], top_k: int = 5) -> str:
        """Looks it up."""
        return f"found {query}"


class TestIt(NodeSuite):
    node = LlamaIndexAgent
    controls = {LLM: FakeChatModel()}


class TestItAsAFullyConfiguredNode(NodeSuite):
    node = LlamaIndexAgent
    config = {
        "agent_description": "Answers.",
        "instructions": ["Be brief."],
        "tool_mode": "auto",
        "max_iterations": 3,
        "observation_limit": 100,
        "raise_tool_errors": ["ToolTimeout"],
    }
    controls = {LLM: FakeChatModel()}


def test_llamaindex_is_imported_only_when_a_pipeline_begins() -> None:
    code = """
import sys
import rocketride_agent_llamaindex as package
assert not [name for name in sys.modules if name.startswith(("llama_index", "pydantic", "nltk"))]
node = package.LlamaIndexAgent()
node.begin_global()
assert "llama_index.core" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_the_loop() -> None:
    model = PlayedModel([act("store_1.search"), act("store_1.search", '{"query": "y", "top_k": 2}', "More."), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Store]) as bench:
        told = bench.ask("Where?")
    assert told.content == "It is done."
    assert told.stack == [
        {"action": "store_1.search", "action_input": {"query": "x"}, "observation": "found x"},
        {"action": "store_1.search", "action_input": {"query": "y", "top_k": 2}, "observation": "found y"},
    ]
    assert (told.meta["framework"], told.meta["tool_mode"], told.meta["iterations"]) == ("llamaindex", "react", 3)
    assert model.stops == [("Observation:",)] * 3
    assert model.asked[2].texts == (
        "Where?",
        'Thought: I look.\nAction: store_1.search\nAction Input: {"query": "x"}',
        "Observation: found x",
        'Thought: More.\nAction: store_1.search\nAction Input: {"query": "y", "top_k": 2}',
        "Observation: found y",
    )


def test_the_prompt() -> None:
    question = Question(
        ("Where?",),
        role="A clerk",
        instructions=[("Tone", "Be polite.")],
        history=[("user", "Hi"), ("assistant", "Hello")],
        context=["It rains."],
        goals=["Help"],
        documents=[Document("A page.")],
        examples=[("a", "b")],
        expect_json=True,
    )
    model = PlayedModel([act("store_1.search"), 'Thought: ok\nAnswer: {"place": "here"}'])
    config = {"instructions": ["Cite sources.", "Use English."]}
    with agent_bench(LlamaIndexAgent, model, config=config, tools=[Store]) as bench:
        told = bench.ask(question)
    assert told.content == {"place": "here"}
    assert told.tokens == ['{"place": "here"}']
    for asked in model.asked:
        assert not asked.expect_json, "a step is no JSON"
        assert (asked.history, asked.context, asked.goals) == (question.history, question.context, question.goals)
        assert (asked.documents, asked.examples) == (question.documents, question.examples)
    asked = model.asked[0]
    assert "> Tool Name: store_1.search" in asked.role
    schema = next(iter(re.findall(r"JSON Schema\): (.*)", asked.role)))
    assert json.loads(schema)["properties"]["query"] == {"type": "string", "description": "What to look for."}
    prompt = model.asked[1].prompt()
    order = ["Tool Name", "A clerk", "Be polite.", "Cite sources.", "Use English.", "valid JSON value", "Hello", "It rains."]
    places = [prompt.index(text) for text in [*order, "A page.", "Help", "Where?", "Observation: found x"]]
    assert places == sorted(places)


def test_json_of_the_answer_is_validated_by_asking_once_more() -> None:
    model = PlayedModel(["Thought: ok\nAnswer: it is here", '{"place": "here"}'])
    with agent_bench(LlamaIndexAgent, model) as bench:
        told = bench.ask(Question(("Where?",), expect_json=True))
    assert told.content == {"place": "here"}
    assert [asked.expect_json for asked in model.asked] == [False, True]
    assert model.stops[1] == ()


# ---- how many tools


def test_without_tools_it_answers_at_once() -> None:
    model = PlayedModel(["Paris."])
    with agent_bench(LlamaIndexAgent, model, config={"instructions": ["Be brief."]}) as bench:
        told = bench.ask("Capital of France?")
    assert (told.content, told.tokens, told.meta["tool_calls"]) == ("Paris.", ["Paris."], 0)
    prompt = model.asked[0].prompt()
    assert "Action" not in prompt, "nothing invites it to call tools"
    assert "Be brief." in prompt


def test_a_tool_that_a_model_invents_without_any_is_an_observation() -> None:
    model = PlayedModel([act("web.search"), ANSWER])
    with agent_bench(LlamaIndexAgent, model) as bench:
        told = bench.ask("?")
    assert told.content == "It is done."
    assert "no tools are connected" in told.stack[0]["observation"]["error"]


class Fifty(Node[None]):
    spec = NodeSpec("fifty", title="Fifty")

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        schema: Arguments = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return [Tool(f"tool_{n}", f"Number {n}.", schema, numbered(n)) for n in range(50)]


def numbered(n: int) -> Callable[[Instance, Arguments], object]:
    return lambda instance, given: {"tool": n, **given}


def test_fifty_tools() -> None:
    model = PlayedModel([act("fifty_1.tool_37", '{"n": 1}'), act("tool_50", "{}"), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Fifty]) as bench:
        told = bench.ask("?")
    assert told.stack[0]["observation"] == {"tool": 37, "n": 1}
    assert model.asked[0].role.count("> Tool Name:") == 50
    assert all(f"fifty_1.tool_{n}" in told.stack[1]["observation"]["error"] for n in range(50))
    assert told.meta["tool_calls"] == 1


# ---- replies


def test_a_name_as_models_write_it_is_recorded_as_it_is() -> None:
    model = PlayedModel(['**Action:** `search`\n**Action Input:** ```json\n{"query": "x"}\n```', ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Store]) as bench:
        told = bench.ask("?")
    assert told.stack[0]["action"] == "store_1.search"
    assert "Action: store_1.search" in model.asked[1].texts[1]


def test_each_step_may_be_asked_for_again_once() -> None:
    broken = "Thought: a\nAction: store_1.search\nAction Input: {broken"
    model = PlayedModel([broken, act("store_1.search"), broken, ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Store]) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["retries"], told.meta["iterations"]) == ("It is done.", 2, 2)
    assert broken in model.asked[1].texts[-1]
    assert "no JSON object that can be read" in model.asked[1].texts[-1]
    assert broken not in model.asked[2].prompt(), "the mistake is not part of the reasoning"


def test_what_is_broken_twice_is_said_to_be() -> None:
    """The answer is what is left of the reply, so a program has to be able to tell."""
    broken = "Thought: I will look it up.\nAction: store_1.search\nAction Input: {broken"
    for called in (False, True):
        with agent_bench(LlamaIndexAgent, PlayedModel([broken] * 2), tools=[Store], called=called) as bench:
            told = bench.call({"query": "?"}) if called else bench.ask("?")
        assert (told.payload["content"] if called else told.content) == "I will look it up."
        assert (told.meta["stop_reason"], told.meta["retries"], told.meta["tool_calls"]) == ("unreadable", 1, 0)
        (warning,) = told.result.warnings
        assert (warning.code, warning.component) == ("unreadable-call", "agent")
        assert "cannot be read" in warning.message
    with agent_bench(LlamaIndexAgent, PlayedModel([broken, ANSWER]), tools=[Store]) as bench:
        told = bench.ask("?")
    assert ("stop_reason" in told.meta, told.result.warnings) == (False, [])


@pytest.mark.parametrize("id", ["my tool", "x(1)"])
def test_a_component_whose_id_has_blanks_or_parentheses_is_called(id: str) -> None:
    model = PlayedModel([act(f"{id}.search"), ANSWER])
    odd = Component(id, "store", control=[ControlLink("tool", "agent")])
    with agent_bench(LlamaIndexAgent, model, more=[odd], nodes=[Store]) as bench:
        told = bench.ask("?")
    assert told.stack == [{"action": f"{id}.search", "action_input": {"query": "x"}, "observation": "found x"}]


def test_the_providers_are_listed_again_once_for_a_miss() -> None:
    asked: list[str] = []

    class Counting(Node[None]):
        spec = NodeSpec("counting", title="Counting")

        @hookimpl
        def list_tools(self, instance: Instance) -> Sequence[Tool]:
            asked.append("listed")
            return [Tool("one", "One.", {"type": "object"}, numbered(1))]

    model = PlayedModel([act("counting_1.two", "{}"), act("counting_1.one", "{}"), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Counting]) as bench:
        told = bench.ask("?")
    assert [step["action"] for step in told.stack] == ["counting_1.two", "counting_1.one"]
    assert asked == ["listed"] * 2


def test_a_trace_in_the_answer_reaches_the_user_whole_and_in_pieces() -> None:
    text = "A trace:\n```\nThought: …\n```\nThat is all."
    with agent_bench(LlamaIndexAgent, PlayedModel([f"Answer: {text}"]), tools=[Store]) as bench:
        told = bench.ask("?")
    assert (told.content, "".join(told.tokens)) == (text, text)
    assert len(told.tokens) > 3


def test_what_is_broken_twice_and_says_nothing_is_a_failure() -> None:
    model = PlayedModel(["Action:\nAction Input: {}"] * 2)
    with agent_bench(LlamaIndexAgent, model, tools=[Store]) as bench:
        told = bench.ask("?", check=False)
    assert "could not be read, twice" in str(told.content)
    assert told.result.error is not None
    assert told.meta["stop_reason"] == "error"


def test_an_empty_reply_is_never_an_answer() -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel([" ", "\n"])) as bench:
        assert bench.ask("?", check=False).result.error is not None


# ---- tokens


def test_only_the_final_answer_is_told_in_pieces() -> None:
    model = PlayedModel([act("store_1.search", thought="Secret plan."), ANSWER], piece=2)
    with agent_bench(LlamaIndexAgent, model, tools=[Store]) as bench:
        told = bench.ask("?")
    assert "".join(told.tokens) == told.content == "It is done."
    assert len(told.tokens) > 3
    kinds = [event.kind for event in told.events]
    assert kinds.index("token") > kinds.index("thinking")


def test_called_as_a_tool_it_tells_no_token() -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel([ANSWER]), called=True) as bench:
        told = bench.call({"query": "?"})
    assert (told.payload["content"], told.tokens) == ("It is done.", [])


def test_no_token_before_the_guard_is_satisfied() -> None:
    config = {"require_tool_call": True}
    with agent_bench(LlamaIndexAgent, PlayedModel([ANSWER]), config=config, tools=[Store]) as bench:
        told = bench.ask("?", check=False)
    assert (told.tokens, told.meta["stop_reason"]) == ([], "guard")
    with agent_bench(LlamaIndexAgent, PlayedModel([act("store_1.search"), ANSWER]), config=config, tools=[Store]) as bench:
        told = bench.ask("?")
    assert "".join(told.tokens) == "It is done."


# ---- native calling


def test_native_calling_and_its_fallback() -> None:
    reply = PlayedToolModel.calls(("store_1.search", {"query": "x"}))
    model = PlayedToolModel([reply, "It is done."])
    with agent_bench(LlamaIndexAgent, model, config={"tool_mode": "auto"}, tools=[Store]) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["tool_mode"], model.asked) == ("It is done.", "native", [])
    with agent_bench(LlamaIndexAgent, PlayedModel([ANSWER]), config={"tool_mode": "auto"}, tools=[Store]) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["tool_mode"]) == ("It is done.", "react")


# ---- the end of the budget


def test_at_the_last_step_scaffolding_without_an_answer_is_cleaned() -> None:
    model = PlayedModel(["Thought: It is Paris.\nAction: None"])
    with agent_bench(LlamaIndexAgent, model, config={"max_iterations": 1}) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["stop_reason"]) == ("It is Paris.", "max_iterations")
    with agent_bench(LlamaIndexAgent, PlayedModel([" "]), config={"max_iterations": 1}) as bench:
        assert bench.ask("?").content == STOPPED


# ---- long results, many at once, time


def test_a_long_result_is_read_on() -> None:
    class Rows(Node[None]):
        spec = NodeSpec("rows", title="Rows")

        @tool
        def all(self, instance: Instance) -> list[dict[str, int]]:
            """All of them."""
            return [{"row": n} for n in range(50)]

    model = PlayedModel([act("rows_1.all", "{}"), act(READ, '{"id": 1, "find": "37"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, config={"observation_limit": 200}, tools=[Rows]) as bench:
        told = bench.ask("?")
    assert READ not in model.asked[0].role
    assert f"> Tool Name: {READ}" in model.asked[1].role
    assert '{"row": 37}' in model.asked[2].texts[-1]
    assert told.meta["tool_calls"] == 1


class Echo:
    """Looks up what it is asked and answers with what that gave; keeps no state."""

    context_length, output_length = 8192, 1024

    def count_tokens(self, text: str, /) -> int:
        return len(text)

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Any = None) -> Answer:
        last = question.texts[-1]
        if last.startswith("Observation: "):
            return Answer(f"Thought: ok\nAnswer: {last.removeprefix('Observation: ')}")
        return Answer(act("store_1.search", json.dumps({"query": question.texts[0]})))


def test_many_entries_at_once_do_not_mix() -> None:
    with agent_bench(LlamaIndexAgent, Echo(), tools=[Store], workers=8) as bench, ThreadPoolExecutor(8) as threads:
        questions = [f"number {n}" for n in range(40)]
        for question, told in zip(questions, threads.map(bench.ask, questions), strict=True):
            assert told.content == f"found {question}"
            assert [step["action_input"] for step in told.stack] == [{"query": question}]


def test_a_stopped_entry_ends_the_run() -> None:
    begun = threading.Event()

    class Hanging(Node[None]):
        spec = NodeSpec("hanging", title="Hanging")

        @tool
        def hang(self, instance: Instance) -> str:
            """Waits until it is stopped."""
            begun.set()
            while not instance.cancelled:
                threading.Event().wait(0.01)
            return "too late"

    model = PlayedModel([act("hanging_1.hang", "{}"), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Hanging]) as bench:
        told = bench.ask("?", check=False, timeout=0.3)
    assert begun.is_set()
    assert told.result.error is not None
    assert model.left == 1, "nobody asks the model for an entry that is over"


EXAMPLE = Path(__file__).parents[3].parent / "shared/pipes/org-server/examples/agent-llamaindex.pipe"


@pytest.mark.skipif(not EXAMPLE.exists(), reason="the corpus of real files is not here")
def test_the_reference_example_loads_with_its_own_config() -> None:
    kernel = Kernel(env={"ROCKETRIDE_ANTHROPIC_KEY": "k"})
    assert [p for p in kernel.check(EXAMPLE) if p.component == "agent_llamaindex_1" and p.code != "missing-control"] == []


NO_CALLS = [
    "A trace looks so:\n\nThought: I need x\nAction: search\nAction Input: {}\nObservation: y\n\nThat is all.",
    "Here:\n```yaml\n- Effect: Allow\n  Action: s3:GetObject\n```\nDone.",
    "Questions.\n\nQuestion: What?\nAnswer: 42\n\nQuestion: Who?\nAnswer: Ann",
    "Report.\nHypothesis: a\nObservation: b\nConclusion: c",
]


@pytest.mark.parametrize("text", NO_CALLS, ids=range(len(NO_CALLS)))
def test_without_tools_whatever_a_reply_looks_like_is_the_answer(text: str) -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel([text])) as bench:
        assert bench.ask("Explain it.").content == text
