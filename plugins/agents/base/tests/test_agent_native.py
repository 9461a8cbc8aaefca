# SPDX-License-Identifier: MIT
"""The loop over a model that calls tools in its own format."""

from __future__ import annotations

import json
import threading
from typing import Annotated

import pytest

from rocketride_agent import NEEDS, PROFILES, STOPPED, AgentConfig, AgentError, AgentNode, AgentRun, by_mode, conversation
from rocketride_agent.testing import PlayedModel, PlayedToolModel, agent_bench
from rocketride_core import Document, Instance, Json, Message, Node, NodeSpec, Param, Question, ToolCall, tool

calls = PlayedToolModel.calls
NATIVE = {"tool_mode": "native"}


class Modal(AgentNode[AgentConfig]):
    spec = NodeSpec("agent_modal", title="Modal", needs=NEEDS, profiles=PROFILES)
    framework = "modal"
    label = "Modal"

    def solve(self, run: AgentRun) -> Json:
        return by_mode(run, lambda: f"in ReAct after {run.iterations}")


class Sums(Node[None]):
    spec = NodeSpec("sums", title="Sums")

    @tool(concurrent=True)
    def add(self, instance: Instance, a: Annotated[int, Param("first")], b: int = 0) -> int:
        """Adds."""
        if a == 13:
            raise ValueError("unlucky")
        return a + b


class NoTools(Exception):
    kind = "no-tools"


def test_calls_are_made_and_paired_with_their_ids() -> None:
    model = PlayedToolModel([calls(("sums_1.add", {"a": 1, "b": 2}), ("sums_1.add", {"a": 13}), text="Let me see."), "It is 3."])
    with agent_bench(Modal, model, config=NATIVE, tools=[Sums]) as bench:
        told = bench.ask("1 + 2?")
    assert told.content == "It is 3."
    assert told.tokens == ["It is 3."], "the text beside the calls is no answer"
    assert (told.meta["tool_mode"], told.meta["tool_calls"], told.meta["iterations"]) == ("native", 2, 2)
    assert model.offered == [["sums_1.add"], ["sums_1.add"]]
    system, user, assistant, first, second = model.turns[1]
    assert (system.role, user.role, user.content) == ("system", "user", "1 + 2?")
    assert (assistant.role, assistant.content, [call.id for call in assistant.calls]) == (
        "assistant",
        "Let me see.",
        ["call-1", "call-2"],
    )
    assert (first.role, first.call_id, first.content) == ("tool", "call-1", "3")
    assert (second.role, second.call_id, json.loads(second.content)["type"]) == ("tool", "call-2", "ValueError")


def test_the_calls_of_a_turn_run_at_once() -> None:
    both = threading.Barrier(2, timeout=20)

    class Meeting(Node[None]):
        spec = NodeSpec("meeting", title="Meeting")

        @tool(concurrent=True)
        def come(self, instance: Instance, who: str) -> str:
            """Waits for the other one."""
            both.wait()
            return who

    model = PlayedToolModel([calls(("meeting_1.come", {"who": "a"}), ("meeting_1.come", {"who": "b"})), "Both came."])
    with agent_bench(Modal, model, config=NATIVE, tools=[Meeting]) as bench:
        told = bench.ask("?")
    assert [message.content for message in model.turns[1][-2:]] == ["a", "b"]
    assert [step["observation"] for step in told.stack] == ["a", "b"]


def test_broken_arguments_and_unknown_tools_are_observations_and_no_calls() -> None:
    broken = Message("assistant", "", [ToolCall("x", "sums_1.add", {}, broken='{"a": '), ToolCall("y", "sums_1.sub", {"a": 1})])
    model = PlayedToolModel([broken, "I could not."])
    with agent_bench(Modal, model, config=NATIVE, tools=[Sums]) as bench:
        told = bench.ask("?")
    first, second = model.turns[1][-2:]
    assert (first.call_id, json.loads(first.content)["type"]) == ("x", "ToolInput")
    assert "a (integer, required), b (integer, optional)" in first.content
    assert (second.call_id, json.loads(second.content)["type"]) == ("y", "UnknownTool")
    assert told.meta["tool_calls"] == 0


def test_native_that_is_not_offered_is_one_clear_error() -> None:
    for model in (PlayedModel(), cannot()):
        with agent_bench(Modal, model, config=NATIVE) as bench:
            told = bench.ask("?", check=False)
        assert told.result.error is not None
        assert isinstance(told.result.error.__cause__, AgentError)
        assert "tool_mode is native" in str(told.content)
        assert "set tool_mode to react or auto" in str(told.content)


def cannot() -> PlayedToolModel:
    model = PlayedToolModel()
    model.native_tools = False
    return model


def test_auto_takes_native_where_it_is_offered_and_react_where_not() -> None:
    with agent_bench(Modal, PlayedToolModel(["Hello."]), config={"tool_mode": "auto"}) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["tool_mode"]) == ("Hello.", "native")
    for model in (PlayedModel(), cannot()):
        with agent_bench(Modal, model, config={"tool_mode": "auto"}) as bench:
            told = bench.ask("?")
        assert (told.content, told.meta["tool_mode"], told.result.warnings) == ("in ReAct after 0", "react", [])
    with agent_bench(Modal, PlayedToolModel()) as bench:
        assert bench.ask("?").meta["tool_mode"] == "react", "the default"


def test_auto_falls_back_only_at_the_first_turn_and_only_for_want_of_tools() -> None:
    with agent_bench(Modal, PlayedToolModel([NoTools("it cannot")]), config={"tool_mode": "auto"}) as bench:
        told = bench.ask("?")
    assert told.content == "in ReAct after 0"
    assert [warning.code for warning in told.result.warnings] == ["no-native-tools"]
    late = PlayedToolModel([calls(("sums_1.add", {"a": 1})), NoTools("it cannot any more")])
    for model in (late, PlayedToolModel([ConnectionError("it is away")])):
        with agent_bench(Modal, model, config={"tool_mode": "auto"}, tools=[Sums]) as bench:
            assert bench.ask("?", check=False).result.error is not None
    with agent_bench(Modal, PlayedToolModel([NoTools("it cannot")]), config=NATIVE) as bench:
        assert bench.ask("?", check=False).content == "it cannot"


def test_the_last_turn_has_no_tools_and_no_calls_in_its_messages() -> None:
    model = PlayedToolModel([*(calls(("sums_1.add", {"a": n})) for n in range(2)), "Up to 1."])
    with agent_bench(Modal, model, config={**NATIVE, "max_iterations": 3}, tools=[Sums]) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["stop_reason"], told.meta["iterations"]) == ("Up to 1.", "max_iterations", 3)
    assert [warning.code for warning in told.result.warnings] == ["max-iterations"]
    assert model.offered[-1] == []
    assert all(not message.calls and message.role in ("system", "user") for message in model.turns[-1])
    assert "sums_1.add was called with {'a': 1}" not in model.turns[-1][-1].content, "JSON, not Python"
    assert 'sums_1.add was called with {"a": 1} and gave:\n1' in model.turns[-1][-1].content
    assert told.tokens == ["Up ", "to ", "1."], "no call can follow, so it is told as it comes"


def test_the_stop_text_is_for_a_model_that_wants_a_tool_again() -> None:
    model = PlayedToolModel([calls(("sums_1.add", {"a": n})) for n in range(3)])
    with agent_bench(Modal, model, config={**NATIVE, "max_iterations": 3}, tools=[Sums]) as bench:
        told = bench.ask("?")
    assert told.content == STOPPED == "Agent stopped after reaching the maximum number of reasoning steps."
    assert told.meta["tool_calls"] == 2


def test_an_empty_reply_is_asked_for_once_more() -> None:
    with agent_bench(Modal, PlayedToolModel([" ", "Here."]), config=NATIVE) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["retries"], told.meta["iterations"]) == ("Here.", 1, 1)
    with agent_bench(Modal, PlayedToolModel(["", ""]), config=NATIVE) as bench:
        assert "answered with nothing" in str(bench.ask("?", check=False).content)


def test_without_tools_the_answer_is_told_as_it_comes() -> None:
    with agent_bench(Modal, PlayedToolModel(["Hello you."]), config=NATIVE) as bench:
        assert bench.ask("?").tokens == ["Hel", "lo ", "you", "."]
    with agent_bench(Modal, PlayedToolModel(["Hello you."]), config=NATIVE, called=True) as bench:
        assert bench.call({"query": "?"}).tokens == []


def test_nothing_is_told_before_the_guard_is_satisfied() -> None:
    config = {**NATIVE, "require_tool_call": True}
    with agent_bench(Modal, PlayedToolModel(["Hello you."]), config=config) as bench:
        told = bench.ask("?", check=False)
    assert told.tokens == []
    assert told.meta["stop_reason"] == "guard"


@pytest.mark.parametrize("mode", ["native", "auto"])
def test_json_is_expected_of_the_answer_alone(mode: str) -> None:
    model = PlayedToolModel([calls(("sums_1.add", {"a": 1})), '{"sum": 1}'])
    with agent_bench(Modal, model, config={"tool_mode": mode}, tools=[Sums]) as bench:
        assert bench.ask(Question(("?",), expect_json=True)).content == {"sum": 1}
    assert "valid JSON" in model.turns[0][0].content


def test_the_question_becomes_a_conversation() -> None:
    question = Question(
        ("And now?",),
        role="A clerk",
        instructions=[("Tone", "Be polite.")],
        history=[("user", "Hi"), ("assistant", "Hello"), ("Model", "Yes?"), ("customer", "Hm")],
        context=["It rains."],
        documents=[Document("A page.")],
        goals=["Help"],
        examples=[("a", "b")],
    )
    config = AgentConfig(instructions=("Cite sources.", "  "), require_tool_call=True)
    system, *history, user = conversation(question, config)
    order = ["A clerk", "Be polite.", "Cite sources.", "Call at least one tool"]
    places = [system.content.index(text) for text in order]
    assert places == sorted(places)
    assert [(m.role, m.content) for m in history] == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("assistant", "Yes?"),
        ("user", "Hm"),
    ]
    for text in ("It rains.", "A page.", "Help", "Given: a", "And now?"):
        assert text in user.content
    assert "polite" not in user.content
