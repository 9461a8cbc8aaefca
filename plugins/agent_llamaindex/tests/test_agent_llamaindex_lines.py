# SPDX-License-Identifier: MIT
"""What users of agents ask for and the faults they report: one test a line of the collection, section "Agent (ReAct)"."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from typing import Any

import pytest

from rocketride_agent import ERROR, READ, STOPPED
from rocketride_agent.testing import PlayedModel, PlayedToolModel, agent_bench
from rocketride_agent_llamaindex import LlamaIndexAgent
from rocketride_core import (
    LLM,
    Caller,
    ChatModel,
    Component,
    ControlLink,
    Instance,
    Kernel,
    LaneLink,
    Message,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    Tool,
    ToolFailure,
    hookimpl,
    serves,
    tool,
)

ANSWER = "Thought: I know.\nAnswer: It is done."


def act(name: str, arguments: str = "{}") -> str:
    return f"Thought: I look.\nAction: {name}\nAction Input: {arguments}"


class Shop(Node[None]):
    spec = NodeSpec("shop", title="Shop")

    @tool
    def price(self, instance: Instance, item: str) -> str:
        """What it costs."""
        if item == "unicorn":
            raise ValueError("there are no unicorns")
        return f"{item}: {len(item)} coins"


@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        (["Thought: The answer is 42."], "The answer is 42."),
        (["Thought: I know it: 42.\nAction: None", "Thought: I know it: 42.\nAction: None"], "I know it: 42."),
        (["Thought: It is 42.\nAction: price\nAction Input: {1 +", "Thought: It is 42.\nAction: price {"], "It is 42."),
        (["**Thought:** sum it up\n**Answer:** 42"], "42"),
        (["Thought: a\nAnswer: 42\nObservation: 43\nThought: b"], "42"),
    ],
)
def test_line_38_no_scaffolding_reaches_the_user(replies: list[str], answer: str) -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel(replies), tools=[Shop]) as bench:
        told = bench.ask("?")
    assert told.content == "".join(told.tokens) == answer


def test_line_39_an_answer_at_the_limit_is_marked_and_the_steps_are_kept() -> None:
    model = PlayedModel([*(act("shop_1.price", json.dumps({"item": "x" * n})) for n in range(1, 10)), act("shop_1.price")])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        told = bench.ask("?")
    assert told.content == STOPPED
    assert (told.meta["stop_reason"], told.meta["iterations"], told.meta["tool_calls"]) == ("max_iterations", 10, 9)
    assert [step["action_input"]["item"] for step in told.stack] == ["x" * n for n in range(1, 10)]
    assert [warning.code for warning in told.result.warnings] == ["max-iterations"]
    assert model.left == 0


def test_line_40_the_last_step_is_asked_for_the_best_answer_so_far() -> None:
    steps = [act("shop_1.price", json.dumps({"item": "x" * n})) for n in range(1, 10)]
    model = PlayedModel([*steps, "Thought: enough\nAnswer: About nine coins."])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        told = bench.ask("?")
    assert told.content == "About nine coins."
    assert (told.meta["stop_reason"], len(told.stack)) == ("max_iterations", 9)
    assert "No more tools" in model.asked[9].texts[-1]
    assert not any("No more tools" in asked.texts[-1] for asked in model.asked[:9])


def test_line_42_a_malformed_reply_is_asked_for_again_and_counted() -> None:
    good = act("shop_1.price", '{"item": "hat"}')
    model = PlayedModel(["Thought: a\nAction: shop_1.price\nAction Input: {item", good, ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        told = bench.ask("?")
    assert (told.content, told.meta["retries"], told.meta["iterations"]) == ("It is done.", 1, 2)
    assert len(told.stack) == 1


def test_line_42_a_malformed_reply_twice_is_not_asked_for_a_third_time() -> None:
    broken = "Thought: It costs much.\nAction: shop_1.price\nAction Input: {item"
    model = PlayedModel([broken, broken, "never asked"])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        assert bench.ask("?").content == "It costs much."
    assert model.left == 1


def test_line_44_the_same_call_three_times_in_a_row_is_stopped_with_a_message() -> None:
    same = act("shop_1.price", '{"item": "hat"}')
    model = PlayedModel([same, same, same, ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        told = bench.ask("?")
    assert [step["observation"] for step in told.stack[:2]] == ["hat: 3 coins"] * 2
    assert told.stack[2]["observation"]["type"] == "RepeatedCall"
    assert "same arguments" in model.asked[3].texts[-1]
    assert told.meta["tool_calls"] == 2


def test_line_44_unknown_tools_and_bad_arguments_list_what_is_valid() -> None:
    model = PlayedModel([act("shop_1.cost"), act("shop_1.price", '{"thing": "hat"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        told = bench.ask("?")
    unknown, bad = (step["observation"] for step in told.stack)
    assert (unknown["type"], bad["type"]) == ("UnknownTool", "ToolInput")
    assert "shop_1.price" in unknown["error"]
    assert "item (string, required)" in bad["error"]
    assert told.meta["tool_calls"] == 0


def test_line_45_an_exception_of_a_tool_is_an_observation() -> None:
    model = PlayedModel([act("shop_1.price", '{"item": "unicorn"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        told = bench.ask("?")
    assert told.content == "It is done."
    seen = told.stack[0]["observation"]
    assert (seen["tool"], seen["type"]) == ("shop_1.price", "ValueError")
    assert "no unicorns" in seen["error"]
    assert told.result.error is None


def test_line_45_chosen_exceptions_end_the_run() -> None:
    model = PlayedModel([act("shop_1.price", '{"item": "unicorn"}'), ANSWER])
    config = {"raise_tool_errors": ["ValueError"]}
    with agent_bench(LlamaIndexAgent, model, config=config, tools=[Shop]) as bench:
        told = bench.ask("?", check=False)
    assert told.result.error is not None
    assert isinstance(told.result.error.__cause__, ToolFailure)
    assert "no unicorns" in str(told.content)
    assert model.left == 1


def test_line_46_after_a_failing_tool_calls_and_results_alternate() -> None:
    model = PlayedModel(
        [act("shop_1.price", '{"item": "unicorn"}'), act("shop_1.cost"), act("shop_1.price", '{"thing": 1}'), ANSWER]
    )
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        bench.ask("How much?")
    for n, asked in enumerate(model.asked):
        question, *reasoning = asked.texts
        assert question == "How much?"
        assert [text.partition(":")[0] for text in reasoning] == ["Thought", "Observation"] * n


def test_line_46_the_same_in_native_calling() -> None:
    failing = PlayedToolModel.calls(("shop_1.price", {"item": "unicorn"}), ("shop_1.cost", {}), ("shop_1.price", {}))
    model = PlayedToolModel([failing, "It is done."])
    with agent_bench(LlamaIndexAgent, model, config={"tool_mode": "native"}, tools=[Shop]) as bench:
        bench.ask("How much?")
    _, _, assistant, *results = model.turns[1]
    assert isinstance(assistant, Message)
    assert [message.call_id for message in results] == [call.id for call in assistant.calls]
    assert {message.role for message in results} == {"tool"}


def test_line_47_a_failure_of_the_model_is_an_error_and_no_answer() -> None:
    model = PlayedModel([act("shop_1.price", '{"item": "hat"}'), ConnectionError("the model is away")])
    with agent_bench(LlamaIndexAgent, model, tools=[Shop]) as bench:
        told = bench.ask("?", check=False)
    assert told.result.error is not None
    assert isinstance(told.result.error.__cause__, ConnectionError)
    assert told.result.error.component == "agent"
    assert (told.content, told.tokens, told.meta["stop_reason"]) == ("the model is away", [], "error")
    assert [entry.get("kind", "step") for entry in told.stack] == ["step", ERROR]


class Rows(Node[None]):
    spec = NodeSpec("rows", title="Rows")

    @tool
    def all(self, instance: Instance) -> list[dict[str, Any]]:
        """All of them."""
        return [{"number": n, "name": f"item {n}", "note": "n" * 40} for n in range(1, 51)]


def test_line_48_item_37_of_50_is_found_and_truncation_is_stated() -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel([act("rows_1.all"), ANSWER]), tools=[Rows]) as bench:
        seen = bench.ask("?").stack[0]["observation"]
    assert seen[36]["name"] == "item 37", "fifty rows fit by default"

    class Reader(PlayedModel):
        """Follows the note under each page until it sees the item."""

        def next(self) -> Message:
            last = self.asked[-1].texts[-1]
            on = re.search(r"read_observation with (\{.*?\})", last)
            if len(self.asked) == 1:
                return Message("assistant", act("rows_1.all"))
            if "item 37" in last or on is None:
                return Message("assistant", f"Answer: {'yes' if 'item 37' in last else 'no'}")
            return Message("assistant", act(READ, on[1]))

    model = Reader()
    with agent_bench(LlamaIndexAgent, model, config={"observation_limit": 1000}, tools=[Rows]) as bench:
        told = bench.ask("?")
    assert told.content == "yes"
    assert "[cut: this is character 0 to" in model.asked[1].texts[-1]
    assert "list of 50 items" in model.asked[1].texts[-1]
    assert (told.meta["tool_calls"], len(told.stack)) == (1, len(model.asked) - 1)
    assert len(model.asked) > 3


def test_line_50_names_are_the_same_in_every_run_and_only_the_component_is_before_them() -> None:
    model = PlayedModel([ANSWER, ANSWER])
    for _ in range(2):
        with agent_bench(LlamaIndexAgent, model, tools=[Shop, Rows]) as bench:
            bench.ask("?")
    first, second = (re.findall(r"> Tool Name: (.*)", asked.role) for asked in model.asked)
    assert first == second == ["shop_1.price", "rows_1.all"]


def test_line_51_a_name_that_never_existed_is_an_unknown_tool_and_a_later_one_is_found() -> None:
    names = ["first"]

    class Growing(Node[None]):
        spec = NodeSpec("growing", title="Growing")

        @hookimpl
        def list_tools(self, instance: Instance) -> Sequence[Tool]:
            return [Tool(name, "One.", {"type": "object"}, lambda _, given: "called") for name in names]

    model = PlayedModel([act("growing_1.second"), ANSWER, act("growing_1.second"), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Growing]) as bench:
        told = bench.ask("?")
        assert told.stack[0]["observation"]["type"] == "UnknownTool"
        assert told.stack[0]["observation"]["error"].startswith("Tool growing_1.second not found in tool catalog")
        names.append("second")
        told = bench.ask("?")
    assert told.stack[0]["observation"] == "called", "no list is kept from one entry to the next"


def test_line_52_an_agent_under_an_agent_has_its_own_model() -> None:
    child = Component("child", "agent_llamaindex", control=[ControlLink("tool", "agent")])

    inner = PlayedModel(["Thought: easy\nAnswer: forty-two"])

    class Second(Node[None]):
        spec = NodeSpec("second_llm", title="Second")

        @serves(LLM)
        def chat(self, instance: Instance, caller: Caller) -> ChatModel:
            return inner

    link = Component("second", "second_llm", control=[ControlLink("llm", "child")])
    model = PlayedModel([act("child.run_agent", '{"query": "What is it?"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, more=[child, link], nodes=[Second]) as bench:
        told = bench.ask("?")
    assert told.stack[0]["observation"]["content"] == "forty-two"
    assert inner.asked[0].texts == ("What is it?",)
    assert "".join(told.tokens) == "It is done."


def test_line_52_recursion_to_itself_is_refused() -> None:
    components = [
        Component("source", "chat"),
        Component("agent", "agent_llamaindex", input=[LaneLink("questions", "source")], control=[ControlLink("tool", "agent")]),
        Component("llm", "test_llm", control=[ControlLink("llm", "agent")]),
        Component("out", "response_answers", input=[LaneLink("answers", "agent")]),
    ]
    with pytest.raises(PipeError) as caught, Kernel(env={}).load(PipeFile(components, source="source")):
        pass
    assert [p.code for p in caught.value.problems if p.severity == "error"] == ["control-cycle"]


def test_line_53_a_timed_out_call_is_not_made_again() -> None:
    made: list[str] = []

    class Paid(Node[None]):
        spec = NodeSpec("paid", title="Paid")

        @tool(timeout=0.1)
        def order(self, instance: Instance, item: str) -> str:
            """Orders it, for money."""
            made.append(item)
            for _ in range(200):
                time.sleep(0.01)
            return "ordered"

    model = PlayedModel([act("paid_1.order", '{"item": "hat"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Paid]) as bench:
        told = bench.ask("?")
    assert made == ["hat"]
    seen = told.stack[0]["observation"]
    assert seen["type"] == "ToolTimeout"
    assert "may have been carried out all the same" in seen["error"]
    assert (told.content, told.meta["tool_calls"]) == ("It is done.", 1)
