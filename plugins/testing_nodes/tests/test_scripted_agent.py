# SPDX-License-Identifier: MIT
"""The agent that follows a script: over a lane, as a tool, with tools, an LLM and a memory."""

from __future__ import annotations

import threading
import time
from typing import Annotated, Any

import pytest

from rocketride_core import (
    ANSWERS,
    LLM,
    MEMORY,
    QUESTIONS,
    Answer,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    Param,
    PipeError,
    PipeFile,
    Question,
    RunError,
    tool,
)
from rocketride_core.testing import FakeChatModel, FakeMemory, NodeSuite, run_node
from rocketride_testing_nodes import ScriptedAgent


class TestAgentAlone(NodeSuite):
    node = ScriptedAgent


class TestAgentWithModelAndMemory(NodeSuite):
    node = ScriptedAgent
    config = {"script": [{"ask": "{input}!"}, {"put": "k"}, {"get": "k"}]}
    controls = {LLM: FakeChatModel(), MEMORY: FakeMemory()}


class Tools(Node[None]):
    spec = NodeSpec("tools", title="Tools")

    @tool
    def shout(self, instance: Instance, text: Annotated[str, Param("What to shout", min_length=1)]) -> str:
        """Upper case."""
        return text.upper()

    @tool
    def numbers(self, instance: Instance, least: int = 0) -> list[int]:
        """Three numbers."""
        return [least, least + 1, least + 2]

    @tool(concurrent=True)
    def meet(self, instance: Instance) -> bool:
        """Wait for a second call."""
        self.barrier.wait(5)
        return True

    @tool
    def slow(self, instance: Instance) -> str:
        """Too slow."""
        time.sleep(0.3)
        return "late"

    @tool
    def broken(self, instance: Instance) -> str:
        """Raise."""
        raise ValueError("no luck")

    barrier = threading.Barrier(2)


def asked(*texts: str, script: list[Any], **config: Any) -> Any:
    """The result of one entry with these questions, for an agent with `Tools`."""
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            Component("agent_1", "test_agent", {"script": script, **config}, input=[LaneLink("questions", "chat_1")]),
            Component("tools_1", "tools", control=[ControlLink("tool", "agent_1")]),
            Component("response_1", "response_answers", input=[LaneLink("answers", "agent_1")]),
        ],
        source="chat_1",
    )
    with Kernel(nodes=[Tools]).load(pipe) as pipeline:
        return pipeline.run(Entry("x"), *[QUESTIONS(Question.of(text)) for text in texts])


def answer_of(script: list[Any], text: str = "hello", **config: Any) -> str:
    [answer] = asked(text, script=script, **config).checked()[ANSWERS]
    return str(answer.text)


def test_without_a_script_it_echoes() -> None:
    assert answer_of([]) == "hello"


def test_a_tool_call_and_its_result() -> None:
    assert answer_of([{"call": "tools_1.shout", "arguments": {"text": "<{input}>"}}]) == "<HELLO>"


def test_a_place_alone_keeps_the_type_of_the_result() -> None:
    script = [
        {"call": "tools_1.numbers"},
        {"call": "tools_1.numbers", "arguments": {"least": 7}},
    ]
    assert answer_of([*script, {"answer": "{0} and {1}"}]) == "0\n1\n2 and 7\n8\n9"
    assert answer_of([script[0], {"call": "tools_1.shout", "arguments": {"text": "{0}"}}]).startswith(
        "ToolInput: $.text: expected str"
    )
    assert answer_of([{"call": "tools_1.numbers", "arguments": "{input}"}]).startswith("ToolInput")


def test_places_in_a_question_are_left_alone() -> None:
    assert answer_of([{"answer": "{input}"}], "{last} {0} {input}") == "{last} {0} {input}"


def test_an_answer_ends_the_script() -> None:
    assert answer_of([{"answer": "done"}, {"call": "tools_1.broken"}]) == "done"


def test_a_place_without_a_result_says_so() -> None:
    result = asked("q", script=[{"answer": "{3}"}])
    assert "'{3}' has no result yet: 0 steps are done" in str(result.error)


def test_calls_of_a_turn_run_at_once() -> None:
    assert answer_of([{"turn": [{"call": "tools_1.meet"}, {"call": "tools_1.meet"}]}]) == "true\ntrue"


def test_a_failing_tool_is_observed() -> None:
    script = [
        {"call": "tools_1.broken"},
        {"call": "tools_1.shout", "arguments": {"text": ""}},
        {"call": "tools_1.none"},
        {"turn": [{"call": "tools_1.broken"}, {"call": "tools_1.shout", "arguments": {"text": "x"}}]},
        {"call": "tools_1.slow", "timeout": 0.05},
        {"answer": "{0}\n{1}\n{2}\n{3}\n{4}"},
    ]
    lines = answer_of(script).split("\n")
    assert [line.partition(":")[0] for line in lines] == [
        "ToolFailure",
        "ToolInput",
        "UnknownTool",
        "ToolFailure",
        "X",
        "ToolTimeout",
    ]
    assert "no luck" in lines[0]


def test_a_failing_tool_ends_it_where_that_is_wanted() -> None:
    result = asked("q", script=[{"call": "tools_1.broken"}, {"answer": "never"}], onError="fail")
    assert isinstance(result.error, RunError)
    assert (result.error.component, result.error.phase) == ("agent_1", "handler")
    [answer] = result[ANSWERS]
    assert "no luck" in answer.text


def test_it_asks_its_llm_and_uses_its_memory() -> None:
    model, memory = FakeChatModel(["42"]), FakeMemory()
    script = [
        {"ask": "What is {input}?"},
        {"put": "about {input}"},
        {"put": "more", "value": {"said": "{last}"}},
        {"get": "about it"},
        {"keys": True},
        {"clear": "more"},
        {"clear": True},
        {"answer": "{3} / {4} / {5} / {6}"},
    ]
    out = run_node(
        ScriptedAgent, config={"script": script}, send={"questions": [Question.of("it")]}, controls={LLM: model, MEMORY: memory}
    )
    assert out["answers"] == [Answer("42 / about it\nmore / more / about it")]
    assert [question.texts for question in model.asked] == [("What is it?",)]
    assert [event.data["step"] for event in out.events] == ["ask", "put", "put", "get", "keys", "clear", "clear", "answer"]


def test_as_a_tool_it_answers_with_a_text() -> None:
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            Component(
                "agent_1",
                "test_agent",
                {"script": [{"call": "agent_2.run_agent", "arguments": {"query": "{input}"}}]},
                input=[LaneLink("questions", "chat_1")],
            ),
            Component("agent_2", "test_agent", {"script": [{"answer": "sub {input}"}]}, control=[ControlLink("tool", "agent_1")]),
            Component("response_1", "response_answers", input=[LaneLink("answers", "agent_1")]),
        ],
        source="chat_1",
    )
    with Kernel().load(pipe) as pipeline:
        assert pipeline.run(Entry("x"), QUESTIONS(Question.of("q"))).checked()[ANSWERS] == [Answer("sub q")]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("call", "script[1] is an object with one of call, turn, ask, put, get, keys, clear, answer"),
        ({}, "script[1] is an object with one of"),
        ({"call": "a.b", "ask": "c"}, "script[1] is an object with one of"),
        ({"call": "a.b", "argument": {}}, "script[1]: beside 'call' stands arguments, timeout, not argument"),
        ({"answer": "x", "value": 1}, "script[1]: beside 'answer' stands nothing, not value"),
        ({"turn": "a.b"}, "script[1].turn is a list of calls"),
        ({"turn": [{"call": "a.b"}, {"ask": "c"}]}, "script[1].turn[1] is {"),
        ({"ask": 5}, "script[1].ask is a text"),
        ({"clear": 5}, "script[1].clear is a key, or true for all of them"),
    ],
)
def test_a_wrong_step_is_found_before_anything_runs(step: Any, said: str) -> None:
    with pytest.raises(PipeError) as refused:
        asked("q", script=[{"answer": "x"}, step])
    [problem] = refused.value.problems
    assert said in problem.message
    assert problem.path == "$.components[1].config"
