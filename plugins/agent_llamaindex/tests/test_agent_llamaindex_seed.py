# SPDX-License-Identifier: MIT
"""Every statement of the article about agent_llamaindex (seeds/002), one test each."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import pytest

from rocketride_agent import CONTEXT, GUARD, READ, STOPPED, ToolCallRequiredError
from rocketride_agent.testing import PlayedModel, agent_bench
from rocketride_agent_llamaindex import LlamaIndexAgent
from rocketride_agent_llamaindex.scaffold import Scaffold
from rocketride_core import (
    ANSWERS,
    LLM,
    MANY,
    ONE,
    QUESTIONS,
    TOOL,
    Arguments,
    Component,
    ControlLink,
    Instance,
    Node,
    NodeSpec,
    Param,
    Question,
    Tool,
    ToolInput,
    hookimpl,
    tool,
)
from rocketride_store import MemoryStore

ANSWER = "Thought: I know.\nAnswer: It is done."


def act(name: str, arguments: str = "{}") -> str:
    return f"Thought: I look.\nAction: {name}\nAction Input: {arguments}"


class Http(Node[None]):
    spec = NodeSpec("http", title="HTTP")

    @tool(concurrent=True)
    def request(self, instance: Instance, url: Annotated[str, Param("Where to.")]) -> dict[str, Any]:
        """Asks an API."""
        if "broken" in url:
            raise ConnectionError("no route to it")
        return {"status": 200, "body": "18 °C"}


def test_seed_it_is_an_agent_and_a_tool_between_questions_and_answers() -> None:
    spec, manifest = LlamaIndexAgent.spec, LlamaIndexAgent.manifest
    assert (spec.provider, spec.title, list(spec.categories)) == ("agent_llamaindex", "LlamaIndex", ["agent", "tool"])
    assert dict(spec.needs) == {LLM: ONE, TOOL: MANY}
    assert [lane for lane, _, _ in manifest.on.values()] == [QUESTIONS]
    assert list(manifest.outs) == [ANSWERS]
    assert [profile.id for profile in spec.profiles] == ["default"]


def test_seed_its_framework_is_llamaindex() -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel([ANSWER])) as bench:
        assert bench.ask("?").meta["framework"] == "llamaindex"


def test_seed_any_model_that_writes_text_drives_it() -> None:
    """The model here has `ask` and nothing else."""
    model = PlayedModel([act("http_1.request", '{"url": "weather"}'), ANSWER])
    assert not hasattr(model, "converse")
    with agent_bench(LlamaIndexAgent, model, tools=[Http]) as bench:
        assert bench.ask("?").content == "It is done."


def test_seed_without_tools_it_is_a_single_shot_question_answerer() -> None:
    model = PlayedModel(["Paris."])
    with agent_bench(LlamaIndexAgent, model) as bench:
        assert bench.ask("Capital of France?").content == "Paris."
    assert len(model.asked) == 1


def test_seed_scenario_one_it_decides_itself_when_to_call_an_api() -> None:
    model = PlayedModel([act("http_1.request", '{"url": "weather"}'), "Thought: ok\nAnswer: It is 18 °C."])
    with agent_bench(LlamaIndexAgent, model, tools=[Http]) as bench:
        assert bench.ask("How warm is it?").content == "It is 18 °C."
    assert "18 °C" in model.asked[1].texts[-1]
    with agent_bench(LlamaIndexAgent, PlayedModel(["Answer: Hello!"]), tools=[Http]) as bench:
        told = bench.ask("Hello")
    assert (told.content, told.stack) == ("Hello!", [])


def test_seed_scenario_two_it_searches_a_store_when_it_has_to() -> None:
    document = {
        "content": "The observatory was founded in 1887.",
        "object_id": "a",
        "embedding": [1.0, 0.0],
        "embedding_model": "m",
    }
    model = PlayedModel(
        [
            act("store_memory_1.upsert", json.dumps({"documents": [document]})),
            act("store_memory_1.search", '{"query": "founded"}'),
            "Thought: ok\nAnswer: In 1887.",
        ]
    )
    with agent_bench(LlamaIndexAgent, model, tools=[MemoryStore]) as bench:
        told = bench.ask("When was it founded?")
    assert told.content == "In 1887."
    assert told.stack[1]["observation"]["results"][0]["content"] == document["content"]


def test_seed_scenario_three_a_parent_chooses_it_by_its_description_alone() -> None:
    config = {
        "agent_description": "Searches internal documentation and answers with citations.",
        "instructions": ["Secret rule."],
    }
    child = Component("docs", "agent_llamaindex", config, control=[ControlLink("tool", "agent")])
    http = Component("http_9", "http", control=[ControlLink("tool", "docs")])
    llm = Component(
        "llm_2", "test_llm", {"mode": "script", "answers": ["Answer: See page 3."]}, control=[ControlLink("llm", "docs")]
    )
    model = PlayedModel([act("docs.run_agent", '{"query": "Where is it?"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, more=[child, http, llm], nodes=[Http]) as bench:
        told = bench.ask("?")
    prompt = model.asked[0].prompt()
    assert "> Tool Name: docs.run_agent" in prompt
    assert "This agent: Searches internal documentation and answers with citations. Invoke this agent as a tool." in prompt
    assert "Secret rule" not in prompt
    assert "http_9" not in prompt
    assert told.stack[0]["observation"]["content"] == "See page 3."


def test_seed_the_default_profile_needs_no_configuration() -> None:
    configs: list[dict[str, Any]] = [{}, {"profile": "default"}, {"default": {}}]
    for config in configs:
        with agent_bench(LlamaIndexAgent, PlayedModel([ANSWER]), config=config) as bench:
            told = bench.ask("?")
        assert told.content == "It is done."


def test_seed_each_instruction_follows_the_built_in_prompt() -> None:
    model = PlayedModel([ANSWER])
    lines = ["prefer primary sources", "answer in the user's language"]
    with agent_bench(LlamaIndexAgent, model, config={"instructions": lines}, tools=[Http]) as bench:
        bench.ask("?")
    prompt = model.asked[0].prompt()
    assert prompt.index("ALWAYS start with a Thought") < prompt.index(lines[0]) < prompt.index(lines[1])


def test_seed_require_tool_call_is_off_by_default() -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel([ANSWER]), tools=[Http]) as bench:
        assert bench.ask("?").content == "It is done."


def test_seed_the_guard_gives_an_error_in_place_of_a_narrated_answer() -> None:
    narrated = "I searched the API and it says 21 °C."
    with agent_bench(LlamaIndexAgent, PlayedModel([narrated]), config={"require_tool_call": "true"}, tools=[Http]) as bench:
        told = bench.ask("?", check=False)
    assert told.result.error is not None
    assert isinstance(told.result.error.__cause__, ToolCallRequiredError)
    assert told.stack[-1]["kind"] == GUARD == "RocketRide.agent.guard.v1"
    assert "21 °C" not in json.dumps([told.content, told.stack, told.meta, told.tokens], ensure_ascii=False)
    with agent_bench(LlamaIndexAgent, PlayedModel([narrated]), config={"require_tool_call": True}, called=True) as bench:
        payload = bench.call({"query": "?"}).payload
    assert (payload["meta"]["stop_reason"], payload["stack"][-1]["kind"]) == ("guard", GUARD)


def test_seed_the_guard_counts_real_tool_calls_and_no_local_reads() -> None:
    config = {"require_tool_call": True}
    real = act("http_1.request", '{"url": "broken"}')
    with agent_bench(LlamaIndexAgent, PlayedModel([real, ANSWER]), config=config, tools=[Http]) as bench:
        assert bench.ask("?").meta["tool_calls"] == 1, "it was called, though it failed"
    for unreal in (act(READ, '{"id": 1}'), act("http_1.fetch"), act("http_1.request", '{"uri": "x"}')):
        with agent_bench(LlamaIndexAgent, PlayedModel([unreal, ANSWER]), config=config, tools=[Http]) as bench:
            told = bench.ask("?", check=False)
        assert (told.meta["stop_reason"], told.meta["tool_calls"]) == ("guard", 0)


@pytest.mark.parametrize("arguments", [{}, {"query": ""}, {"query": 1}, {"query": "q", "context": "c"}])
def test_seed_run_agent_checks_its_input(arguments: Arguments) -> None:
    with agent_bench(LlamaIndexAgent, PlayedModel(), called=True) as bench:
        told = bench.call(arguments, check=False)
    assert told.result.error is not None
    assert isinstance(told.result.error.__cause__, ToolInput)


def test_seed_run_agent_gives_the_context_on_and_returns_content_meta_and_stack() -> None:
    model = PlayedModel([act("http_1.request", '{"url": "weather"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Http], called=True) as bench:
        payload = bench.call({"query": "How warm?", "context": {"city": "Köln"}}).payload
    (entry,) = model.asked[0].context
    assert json.loads(entry) == {"type": CONTEXT, "context": {"city": "Köln"}}
    assert CONTEXT == "RocketRide.agent.tool_context.v1"
    assert list(payload) == ["content", "meta", "stack"]
    assert payload["content"] == "It is done."
    assert [list(step) for step in payload["stack"]] == [["action", "action_input", "observation"]]
    UUID(payload["meta"]["run_id"])
    assert datetime.fromisoformat(payload["meta"]["started_at"]).tzinfo is not None
    assert payload["meta"]["agent_id"] == "agent"


def test_seed_called_as_a_tool_it_writes_nothing_to_its_lane() -> None:
    """The bench answers with what the caller got; were the agent's own answer there too, there would be two."""
    with agent_bench(LlamaIndexAgent, PlayedModel([ANSWER]), called=True) as bench:
        told = bench.call({"query": "?"})
    assert len(told.result[ANSWERS]) == 1


def test_seed_the_stop_word_is_observation() -> None:
    model = PlayedModel([act("http_1.request", '{"url": "a"}') + "\nObservation: 99 °C\nAnswer: 99 °C", ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Http]) as bench:
        told = bench.ask("?")
    assert set(model.stops) == {("Observation:",)}
    assert told.content == "It is done."
    assert "99" not in model.asked[1].prompt()


def test_seed_tools_are_metadata_whose_description_has_the_input_schema() -> None:
    schema: Arguments = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    called: list[Any] = []
    prompt, steps = Scaffold().prompt([Tool("http_1.request", "Asks.", schema, lambda *given: called.append(given))], [])
    assert "> Tool Name: http_1.request\nTool Description: Asks.\n" in prompt
    assert json.dumps(schema) in prompt
    assert '{"properties": {"input"' not in prompt, "an argument that the library would invent"
    assert (steps, called) == ([], [])


def test_seed_tools_are_called_by_the_kernel() -> None:
    seen: list[str] = []

    class Guard:
        @hookimpl(wrapper=True)
        def invoke_tool(self, node: Any, instance: Instance, name: str, arguments: Arguments) -> Any:
            seen.append(name)
            return (yield)

    model = PlayedModel([act("http_1.request", '{"url": "weather"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Http], plugins=[Guard()]) as bench:
        bench.ask("?")
    assert seen == ["http_1.request"]


def test_seed_after_ten_steps_it_stops_with_that_text() -> None:
    model = PlayedModel([act("http_1.request", json.dumps({"url": str(n)})) for n in range(10)])
    with agent_bench(LlamaIndexAgent, model, tools=[Http]) as bench:
        told = bench.ask("?")
    assert told.content == STOPPED == "Agent stopped after reaching the maximum number of reasoning steps."
    assert (len(model.asked), model.left) == (10, 0)


def test_seed_what_is_no_step_is_a_direct_answer_without_thought() -> None:
    for reply in ("It is 42.", "Thought: It is 42.", "  Thought:   It is 42."):
        with agent_bench(LlamaIndexAgent, PlayedModel([reply]), tools=[Http]) as bench:
            told = bench.ask("?")
        assert (told.content, told.meta["retries"]) == ("It is 42.", 0)


def test_seed_a_tool_error_is_an_observation_and_the_model_corrects_itself() -> None:
    model = PlayedModel([act("http_1.request", '{"url": "broken"}'), act("http_1.request", '{"url": "weather"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Http]) as bench:
        told = bench.ask("?")
    first, second = (step["observation"] for step in told.stack)
    assert list(first) == ["tool", "error", "type"]
    assert (first["tool"], first["type"]) == ("http_1.request", "ConnectionError")
    assert second["status"] == 200
    assert json.loads(model.asked[1].texts[-1].removeprefix("Observation: ")) == first


def test_seed_progress_is_told() -> None:
    model = PlayedModel([act("http_1.request", '{"url": "weather"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Http]) as bench:
        told = bench.ask("?")
    assert told.said("thinking", "message") == ["Starting LlamaIndex agent...", "Calling http_1.request..."]


def test_seed_every_tool_call_is_in_the_stack_on_the_lane_as_well() -> None:
    model = PlayedModel([act("http_1.request", '{"url": "weather"}'), ANSWER])
    with agent_bench(LlamaIndexAgent, model, tools=[Http]) as bench:
        stack = bench.ask("?").stack
    assert stack == [
        {"action": "http_1.request", "action_input": {"url": "weather"}, "observation": {"status": 200, "body": "18 °C"}}
    ]


def test_seed_looking_at_a_file_does_not_load_the_framework() -> None:
    code = """
import sys
from rocketride_core import Kernel, PipeFile, Component, LaneLink, ControlLink
pipe = PipeFile([
    Component("chat", "chat"),
    Component("agent", "agent_llamaindex", {"instructions": 5}, input=[LaneLink("questions", "chat")]),
    Component("llm", "test_llm", control=[ControlLink("llm", "agent")]),
    Component("out", "response_answers", input=[LaneLink("answers", "agent")]),
])
assert "invalid-value" in [problem.code for problem in Kernel(env={}).check(pipe)]
assert not [name for name in sys.modules if name.startswith("llama_index")]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_seed_the_history_goes_in_as_a_conversation() -> None:
    model = PlayedModel([ANSWER])
    with agent_bench(LlamaIndexAgent, model) as bench:
        bench.ask(Question(("And now?",), history=[("user", "Hi"), ("assistant", "Hello")]))
    prompt = model.asked[0].prompt()
    assert prompt.index("user: Hi") < prompt.index("assistant: Hello") < prompt.index("And now?")
