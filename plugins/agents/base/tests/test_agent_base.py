# SPDX-License-Identifier: MIT
"""What every agent shares, on an agent of a few lines."""

import json
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import pytest

from rocketride_agent import (
    CONTEXT,
    ERROR,
    GUARD,
    NEEDS,
    PROFILES,
    AgentConfig,
    AgentNode,
    AgentRun,
    ToolCallRequiredError,
    finished,
)
from rocketride_agent.testing import PlayedModel, Told, agent_bench
from rocketride_core import (
    LLM,
    Component,
    ControlLink,
    Instance,
    Json,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    Param,
    PipeError,
    PipeFile,
    Question,
    RunError,
    Tool,
    ToolCall,
    ToolFailure,
    ToolInput,
    hookimpl,
    tool,
)
from rocketride_core.testing import NodeSuite


class Once(AgentNode[AgentConfig]):
    """Asks the model; where that names a tool, calls it with the rest and answers with what it gave."""

    spec = NodeSpec("agent_once", title="Once", categories=["agent", "tool"], needs=NEEDS, profiles=PROFILES)
    framework = "once"
    label = "Once"

    def solve(self, run: AgentRun) -> Json:
        run.turn()
        text = run.llm.ask(Question.of("\n".join((*run.question.texts, *run.question.context))), on_token=None).text
        name, _, rest = text.partition(" ")
        if "." in name:
            return run.tools.call(name, json.loads(rest or "{}"))
        return finished(run, text)


class Shop(Node[None]):
    spec = NodeSpec("shop", title="Shop")

    @tool
    def price(self, instance: Instance, item: Annotated[str, Param("which", min_length=1)]) -> str:
        """What it costs."""
        if item == "unicorn":
            raise ValueError("there are no unicorns")
        return f"{item}: {len(item)} coins"


class TestOnce(NodeSuite):
    node = Once
    installed = False
    controls = {LLM: PlayedModel(["yes"] * 50)}


def test_an_answer_goes_to_the_lane_with_its_run_as_an_event() -> None:
    with agent_bench(Once, PlayedModel(['shop_1.price {"item": "hat"}']), tools=[Shop]) as bench:
        told = bench.ask("How much is a hat?")
    assert told.content == "hat: 3 coins"
    assert told.said("thinking", "message") == ["Starting Once agent...", "Calling shop_1.price..."]
    assert told.tokens == ["hat: 3 coins"]
    meta = told.meta
    assert (meta["framework"], meta["agent_id"], meta["tool_calls"], meta["iterations"]) == ("once", "agent", 1, 1)
    assert "stop_reason" not in meta
    UUID(meta["run_id"])
    assert datetime.fromisoformat(meta["started_at"]) <= datetime.fromisoformat(meta["ended_at"])
    assert told.stack == [{"action": "shop_1.price", "action_input": {"item": "hat"}, "observation": "hat: 3 coins"}]
    assert told.result.usage["agent"] == {"tool_calls": 1, "iterations": 1}


def test_called_as_a_tool_it_returns_the_payload_and_says_no_token() -> None:
    model = PlayedModel(['shop_1.price {"item": "hat"}'])
    with agent_bench(Once, model, tools=[Shop], called=True) as bench:
        told = bench.call({"query": "How much is a hat?", "context": {"shop": "Löwen"}, "mood": "ignored"})
    assert list(told.payload) == ["content", "meta", "stack"]
    assert told.payload["content"] == "hat: 3 coins"
    assert told.payload["stack"] == told.stack
    assert told.tokens == []
    query, context = model.asked[0].texts[0].split("\n")
    assert query == "How much is a hat?"
    assert json.loads(context) == {"type": CONTEXT, "context": {"shop": "Löwen"}}
    assert "Löwen" in context


@pytest.mark.parametrize(
    ("arguments", "said", "path"),
    [
        ({}, "agent tool: input.query must be a non-empty string", "$.query"),
        ({"query": ""}, "agent tool: input.query must be a non-empty string", "$.query"),
        ({"query": "  "}, "agent tool: input.query must be a non-empty string", "$.query"),
        ({"query": 5}, "agent tool: input.query must be a non-empty string", "$.query"),
        ({"query": "q", "context": "text"}, "agent tool: input.context must be an object if provided", "$.context"),
        ({"query": "q", "context": []}, "agent tool: input.context must be an object if provided", "$.context"),
        ({"query": "q", "context": False}, "agent tool: input.context must be an object if provided", "$.context"),
        ([], "agent tool: input must be an object", "$"),
    ],
)
def test_bad_input_is_refused_in_the_words_of_the_reference(arguments: Any, said: str, path: str) -> None:
    model = PlayedModel([])
    with agent_bench(Once, model, called=True) as bench:
        told = bench.call(arguments, check=False)
    assert told.result.error is not None
    cause = told.result.error.__cause__
    assert isinstance(cause, ToolInput)
    assert (str(cause), cause.path, cause.tool) == (said, path, "agent.run_agent")
    assert model.asked == []


@pytest.mark.parametrize("context", [None, {}])
def test_no_context_adds_nothing(context: Any) -> None:
    model = PlayedModel(["yes"])
    with agent_bench(Once, model, called=True) as bench:
        bench.call({"query": "q", "context": context})
    assert model.asked[0].texts == ("q",)


def test_the_description_is_what_a_parent_reads() -> None:
    seen: list[Any] = []

    class Parent(Once):
        spec = NodeSpec("agent_parent", title="Parent", needs=NEEDS)

        def solve(self, run: AgentRun) -> Json:
            seen.extend(run.tools.offered())
            return "seen"

    config = {"agent_description": " Searches the manuals and answers with citations. "}
    child = Component("child", "agent_once", config, control=[ControlLink("tool", "agent")])
    plain = Component("plain", "agent_once", control=[ControlLink("tool", "agent")])
    llm = Component("llm_2", "bench_llm", control=[ControlLink("llm", "child"), ControlLink("llm", "plain")])
    with agent_bench(Parent, PlayedModel(), more=[child, plain, llm], nodes=[Once]) as bench:
        bench.ask("?")
    usage = "Invoke this agent as a tool. Input: {query: string, context?: object}. Output: {content, meta, stack}."
    assert [(tool.name, tool.description) for tool in seen] == [
        ("child.run_agent", f"This agent: Searches the manuals and answers with citations. {usage}"),
        ("plain.run_agent", usage),
    ]
    assert all(tool.concurrent for tool in seen)


# ---- failures


class Refused(Exception):
    pass


def test_a_failure_is_an_error_of_the_entry_and_readable_on_the_lane() -> None:
    with agent_bench(Once, PlayedModel([Refused("the model is asleep")])) as bench:
        told = bench.ask("?", check=False)
    assert isinstance(told.result.error, RunError)
    assert isinstance(told.result.error.__cause__, Refused)
    assert told.result.error.component == "agent"
    assert told.content == "the model is asleep"
    assert told.meta["stop_reason"] == "error"
    assert told.stack == [{"kind": ERROR, "name": "exception", "payload": {"type": "Refused", "message": "the model is asleep"}}]
    assert told.tokens == []


def test_an_exception_without_words_has_its_type() -> None:
    with agent_bench(Once, PlayedModel([Refused()])) as bench:
        assert bench.ask("?", check=False).content == "Refused (no message)"


SECRET = "sk-0123456789-very-secret"
KEYED: dict[str, Any] = {
    "config": {"instructions": ["The key is ${ROCKETRIDE_SECRET_KEY}."]},
    "env": {"ROCKETRIDE_SECRET_KEY": SECRET},
}


def told_everywhere(told: Told) -> str:
    return json.dumps([told.result.to_json(), str(told.result.error), [[event.kind, event.data] for event in told.events]])


@pytest.mark.parametrize("error", [RuntimeError(f"401 for {SECRET}"), RunError(f"401 for {SECRET}")], ids=["any", "kernel's own"])
def test_a_failure_never_tells_a_secret(error: Exception) -> None:
    with agent_bench(Once, PlayedModel([error]), **KEYED) as bench:
        told = bench.ask("?", check=False)
    assert told.content == told.stack[-1]["payload"]["message"] == "401 for ***"
    assert SECRET not in told_everywhere(told).replace(str(told.result.error), "")
    with agent_bench(Once, PlayedModel([error]), called=True, **KEYED) as bench:
        told = bench.call({"query": "?"})
    assert told.payload["content"] == told.payload["stack"][-1]["payload"]["message"] == "401 for ***"
    assert SECRET not in told_everywhere(told)


def test_what_a_child_fails_with_tells_no_secret_to_its_parent() -> None:
    class Parent(Once):
        spec = NodeSpec("agent_parent", title="Parent", needs=NEEDS)

        def solve(self, run: AgentRun) -> Json:
            return run.tools.call("child.run_agent", {"query": "?"})

    child = Component("child", "agent_once", KEYED["config"], control=[ControlLink("tool", "agent")])
    llm = Component("llm_2", "bench_llm", control=[ControlLink("llm", "child")])
    model = PlayedModel([RuntimeError(f"401 for {SECRET}")])
    with agent_bench(Parent, model, more=[child, llm], nodes=[Once], env=KEYED["env"]) as bench:
        told = bench.ask("?")
    assert json.loads(str(told.content))["content"] == "401 for ***"
    assert SECRET not in told_everywhere(told)


def test_the_text_of_a_tool_error_is_redacted_before_it_is_cut() -> None:
    class Leak(Node[None]):
        spec = NodeSpec("leak", title="Leak")

        @tool
        def look(self, instance: Instance) -> str:
            """Fails."""
            raise ToolInput(f"not with {SECRET}")

    config = {**KEYED["config"], "observation_limit": 20}
    with agent_bench(Once, PlayedModel(["leak_1.look {}"]), tools=[Leak], config=config, env=KEYED["env"]) as bench:
        told = bench.ask("?")
    assert "not with ***" in str(told.content)
    assert SECRET[:4] not in told_everywhere(told)


class Mute(Exception):
    def __str__(self) -> str:
        raise TypeError("it has no words")


def test_an_exception_whose_own_text_fails_is_told_like_any_other() -> None:
    with agent_bench(Once, PlayedModel([Mute()])) as bench:
        told = bench.ask("?", check=False)
    assert told.content == "Mute (its message cannot be shown: TypeError)"
    assert told.stack[-1]["payload"]["type"] == "Mute"

    class Silent(Node[None]):
        spec = NodeSpec("silent", title="Silent")

        @tool
        def look(self, instance: Instance) -> str:
            """Fails."""
            raise Mute

    with agent_bench(Once, PlayedModel(["silent_1.look {}"]), tools=[Silent]) as bench:
        told = bench.ask("?")
    (step,) = told.stack
    assert json.loads(str(told.content)) == step["observation"]
    assert (step["action"], step["observation"]["tool"]) == ("silent_1.look", "silent_1.look")
    assert step["observation"]["error"]


def test_a_turn_of_an_entry_that_was_stopped_is_not_begun() -> None:
    turns: list[int] = []

    class Patient(Once):
        spec = NodeSpec("agent_patient", title="Patient", needs=NEEDS)

        def solve(self, run: AgentRun) -> Json:
            run.turn()
            while not run.instance.cancelled:
                time.sleep(0.005)
            run.turn()
            turns.append(run.iterations)
            return "too late"

    with agent_bench(Patient, PlayedModel()) as bench:
        told = bench.ask("?", check=False, timeout=0.2)
    assert told.result.error is not None
    assert turns == []


@pytest.mark.parametrize(
    ("pieces", "rest"), [(["It ", "is"], [" so."]), (["It is so."], []), (["Other"], []), ([], ["It is so."])]
)
def test_what_was_not_told_of_the_answer_is_told_at_its_end(pieces: list[str], rest: list[str]) -> None:
    class Talker(Once):
        spec = NodeSpec("agent_talker", title="Talker", needs=NEEDS)

        def solve(self, run: AgentRun) -> Json:
            for piece in pieces:
                run.token(piece)
            return "It is so."

    with agent_bench(Talker, PlayedModel()) as bench:
        assert bench.ask("?").tokens == [*pieces, *rest]


def test_called_as_a_tool_a_failure_is_a_payload_that_says_so() -> None:
    with agent_bench(Once, PlayedModel([Refused("asleep")]), called=True) as bench:
        told = bench.call({"query": "?"})
    assert told.payload["content"] == "asleep"
    assert told.payload["meta"]["stop_reason"] == "error"
    assert told.payload["stack"][-1]["kind"] == ERROR
    assert [(w.code, w.component, w.message) for w in told.result.warnings] == [
        ("agent-failed", "agent", "agent.run_agent: asleep")
    ]


def test_an_answer_without_a_tool_call_is_refused_where_one_is_required() -> None:
    with agent_bench(Once, PlayedModel(["I searched and found 7."]), config={"require_tool_call": True}, tools=[Shop]) as bench:
        told = bench.ask("?", check=False)
    assert told.result.error is not None
    assert isinstance(told.result.error.__cause__, ToolCallRequiredError)
    assert "require_tool_call" in str(told.content)
    assert "found 7" not in json.dumps([told.content, told.stack, told.tokens, told.result.to_json()])
    assert (told.meta["stop_reason"], told.meta["tool_calls"]) == ("guard", 0)
    (entry,) = told.stack
    assert (entry["kind"], entry["name"]) == (GUARD, "require_tool_call")
    assert entry["payload"] == {"type": "ToolCallRequiredError", "message": told.content}


@pytest.mark.parametrize(
    ("reply", "passes"),
    [
        ('shop_1.price {"item": "hat"}', True),
        ('shop_1.price {"item": "unicorn"}', True),  # it reached the tool, which failed
        ('shop_1.price {"item": ""}', False),
        ('shop_1.prize {"item": "hat"}', False),
    ],
)
def test_what_counts_as_a_tool_call(reply: str, passes: bool) -> None:
    with agent_bench(Once, PlayedModel([reply]), config={"require_tool_call": True}, tools=[Shop]) as bench:
        told = bench.ask("?", check=False)
    assert (told.result.error is None) is passes


def test_a_chosen_tool_error_fails_the_run_and_is_raised_for_a_caller() -> None:
    config, reply = {"raise_tool_errors": ["ValueError"]}, 'shop_1.price {"item": "unicorn"}'
    with agent_bench(Once, PlayedModel([reply]), config=config, tools=[Shop]) as bench:
        told = bench.ask("?", check=False)
    assert told.result.error is not None
    assert isinstance(told.result.error.__cause__, ToolFailure)
    assert "no unicorns" in str(told.content)
    assert [entry.get("kind", entry.get("action")) for entry in told.stack] == ["shop_1.price", ERROR]
    with agent_bench(Once, PlayedModel([reply]), config=config, tools=[Shop], called=True) as bench:
        told = bench.call({"query": "?"}, check=False)
    assert told.result.error is not None
    assert "no unicorns" in str(told.result.error)
    with agent_bench(Once, PlayedModel([reply]), config={"raise_tool_errors": ["KeyError"]}, tools=[Shop]) as bench:
        assert json.loads(str(bench.ask("?").content))["type"] == "ValueError"


def test_a_provider_that_cannot_list_its_tools_fails_the_run() -> None:
    class Away(Node[None]):
        spec = NodeSpec("away", title="Away")

        @hookimpl
        def list_tools(self, instance: Instance) -> Sequence[Tool]:
            raise ConnectionError("the server is away")

    reply = 'shop_1.price {"item": "hat"}'
    with agent_bench(Once, PlayedModel([reply]), tools=[Shop, Away]) as bench:
        told = bench.ask("?", check=False)
    assert told.result.error is not None
    assert "the server is away" in str(told.content)
    with agent_bench(Once, PlayedModel([reply]), tools=[Shop, Away], called=True) as bench:
        payload = bench.call({"query": "?"}).payload
    assert "the server is away" in payload["content"]
    assert (payload["meta"]["stop_reason"], payload["stack"][-1]["payload"]["type"]) == ("error", "ToolFailure")


def test_json_is_validated_and_asked_for_once_more() -> None:
    question = Question(("?",), expect_json=True)
    with agent_bench(Once, PlayedModel(['```json\n{"a": [1]}\n```'])) as bench:
        told = bench.ask(question)
    assert (told.content, told.tokens) == ({"a": [1]}, ['{"a": [1]}'])
    model = PlayedModel(["a is one", '{"a": 1}'])
    with agent_bench(Once, model) as bench:
        assert bench.ask(question).content == {"a": 1}
    assert [asked.expect_json for asked in model.asked] == [False, True]
    assert "a is one" in model.asked[1].prompt()
    with agent_bench(Once, PlayedModel(["a is one", "still prose"])) as bench:
        told = bench.ask(question, check=False)
    assert told.result.error is not None
    assert "was asked for JSON" in str(told.content)


# ---- many at once


def test_eight_runs_at_once_do_not_mix() -> None:
    together = threading.Barrier(8, timeout=30)

    class Slow(Node[None]):
        spec = NodeSpec("slow", title="Slow")

        @tool(concurrent=True)
        def echo(self, instance: Instance, word: str) -> str:
            """Says it again."""
            together.wait()
            return word

    class Thoughtful(Once):
        spec = NodeSpec("agent_thoughtful", title="Thoughtful", needs=NEEDS)

        def solve(self, run: AgentRun) -> Json:
            return run.tools.call("slow_1.echo", {"word": run.question.texts[0]})

    class Asker(AgentNode[AgentConfig]):
        spec = NodeSpec("agent_asker", title="Asker", needs=NEEDS)

        def solve(self, run: AgentRun) -> Json:
            calls = [ToolCall(str(n), "child.run_agent", {"query": f"word {n}"}) for n in range(8)]
            return [json.loads(text)["content"] for text in run.tools.call_all(calls)]

    child = Component("child", "agent_thoughtful", control=[ControlLink("tool", "agent")])
    slow = Component("slow_1", "slow", control=[ControlLink("tool", "child")])
    llm = Component("llm_2", "bench_llm", control=[ControlLink("llm", "child")])
    with agent_bench(Asker, PlayedModel(), more=[child, slow, llm], nodes=[Thoughtful, Slow], workers=8) as bench:
        told = bench.ask("?")
    assert told.content == [f"word {n}" for n in range(8)]


def test_runs_of_several_entries_keep_their_own_steps() -> None:
    class Same(Once):
        spec = NodeSpec("agent_same", title="Same", needs=NEEDS)

        def solve(self, run: AgentRun) -> Json:
            time.sleep(0.01)
            return run.tools.call("shop_1.price", {"item": run.question.texts[0]})

    with agent_bench(Same, PlayedModel(), tools=[Shop]) as bench, ThreadPoolExecutor(8) as threads:
        items = [f"item{'x' * n}" for n in range(24)]
        for item, told in zip(items, threads.map(bench.ask, items), strict=True):
            assert told.content == f"{item}: {len(item)} coins"
            assert [step["action_input"] for step in told.stack] == [{"item": item}]


# ---- files


def test_keys_of_real_files_are_accepted_and_max_waves_means_the_steps() -> None:
    seen: list[AgentConfig] = []

    class Look(Once):
        spec = NodeSpec("agent_look", title="Look", needs=NEEDS, profiles=PROFILES)

        def solve(self, run: AgentRun) -> Json:
            seen.append(run.config)
            return "seen"

    config = {
        "advanced_mode": False,
        "max_waves": 30,
        "name": "Support",
        "parameters": {"google": {}},
        "instructions": ["Be brief."],
        "agent_description": "",
    }
    with agent_bench(Look, PlayedModel(), config=config) as bench:
        assert bench.ask("?").result.warnings == []
    with agent_bench(Look, PlayedModel(), config={"profile": "default", "default": {"instructions": ["a", "b"]}}) as bench:
        bench.ask("?")
    assert (seen[0].max_iterations, seen[0].instructions) == (30, ("Be brief.",))
    assert (seen[1].max_iterations, seen[1].instructions) == (10, ("a", "b"))


def test_an_agent_that_is_its_own_tool_is_refused() -> None:
    components = [
        Component("source", "chat"),
        Component("agent", "agent_once", input=[LaneLink("questions", "source")], control=[ControlLink("tool", "agent")]),
        Component("llm", "test_llm", control=[ControlLink("llm", "agent")]),
        Component("out", "response_answers", input=[LaneLink("answers", "agent")]),
    ]
    with pytest.raises(PipeError) as caught, Kernel(nodes=[Once], env={}).load(PipeFile(components, source="source")):
        pass
    assert [p.code for p in caught.value.problems if p.severity == "error"] == ["control-cycle"]


def test_an_agent_without_a_model_is_refused() -> None:
    components = [
        Component("source", "chat"),
        Component("agent", "agent_once", input=[LaneLink("questions", "source")]),
        Component("out", "response_answers", input=[LaneLink("answers", "agent")]),
    ]
    with pytest.raises(PipeError) as caught, Kernel(nodes=[Once], env={}).load(PipeFile(components, source="source")):
        pass
    assert "missing-control" in [p.code for p in caught.value.problems]


# ---- the README


def test_the_agent_of_the_readme_works() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "readme"}
    for block in blocks:
        exec(block, names)
    names["test_it"]()

    class Source(Node[None]):
        spec = NodeSpec("source_of_news", title="News")

        @tool(concurrent=True)
        def look(self, instance: Instance, query: str) -> str:
            """Looks it up."""
            return f"news of {query}"

    model = PlayedModel(["A summary."])
    with agent_bench(names["AskAll"], model, config={"instructions": ["Be brief."]}, tools=[Source, Shop]) as bench:
        told = bench.ask("whales")
    assert (told.content, told.meta["framework"], told.meta["tool_calls"]) == ("A summary.", "askall", 1)
    assert model.asked[0].context == ["source_of_news_1.look: news of whales"]
    assert len("".join(blocks[:1]).splitlines()) <= 30
