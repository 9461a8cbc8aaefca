# SPDX-License-Identifier: MIT
"""RocketRide's own example files, where they lie beside the clone, with stand-ins for the agent and the model that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketride_core import (
    ANSWERS,
    LLM,
    MANY,
    ONE,
    QUESTIONS,
    TOOL,
    Answer,
    Caller,
    ChatModel,
    Entry,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    Profile,
    Question,
    on,
    serves,
)
from rocketride_core.pipefile import read_pipe
from rocketride_core.testing import FakeChatModel

EXAMPLES = Path(__file__).resolve().parents[4] / "shared" / "pipes" / "org-server" / "examples"
ENV = {"ROCKETRIDE_OLLAMA_MODEL": "m", "ROCKETRIDE_OLLAMA_BASE_URL": "u"}

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="../shared/pipes is not here")


class Crew(Node[None]):
    """Calls its one tool with what it is asked."""

    spec = NodeSpec("agent_crewai", title="CrewAI", needs={LLM: ONE, TOOL: MANY})

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        [tool] = instance.tools
        told = instance.tools.call(tool.name, {"data": "\n".join(question.texts)})
        assert isinstance(told, dict)
        instance.emit(ANSWERS, Answer(f"{self.id} heard: {told['result']}"))


class Model(Node[None]):
    """Echoes the whole prompt."""

    spec = NodeSpec("llm_openai_api", title="OpenAI API", profiles=[Profile("custom", {})])

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        instance.emit(ANSWERS, Answer(question.prompt()))

    @serves(LLM)
    def chat(self, instance: Instance, caller: Caller) -> ChatModel:
        return FakeChatModel()


def kernel() -> Kernel:
    return Kernel(nodes=[Crew, Model], env=ENV)


def answered(name: str) -> str:
    with kernel().load(EXAMPLES / name) as pipeline:
        [answer] = pipeline.run(Entry("x"), QUESTIONS(Question.of("the user's text"))).checked()[ANSWERS]
    return str(answer.text)


def test_the_diamond_gives_both_contributions_once() -> None:
    answer = answered("tool-pipe-diamond.pipe")
    assert answer.startswith("agent_1 heard: ")
    for part in ("Branch A of the diamond saw the input.", "Branch B of the diamond saw the input.", "the user's text"):
        assert answer.count(part) == 1


def test_the_nested_one_answers_through_both_levels() -> None:
    answer = answered("tool-pipe-nested.pipe")
    assert answer.startswith("agent_1 heard: agent_2 heard: ")
    assert "the user's text" in answer


@pytest.mark.parametrize("name", ["tool-pipe-diamond.pipe", "tool-pipe-nested.pipe"])
def test_only_the_memory_that_the_agent_has_no_slot_for_is_warned_of(name: str) -> None:
    assert {(p.code, p.severity) for p in kernel().check(EXAMPLES / name)} <= {("undeclared-slot", "warning")}


@pytest.mark.parametrize("name", sorted(path.name for path in (EXAMPLES / "incorrect").glob("*.pipe")))
def test_the_incorrect_ones_are_refused_with_their_words(name: str) -> None:
    errors = [p for p in kernel().check(EXAMPLES / "incorrect" / name) if p.severity == "error"]
    expected = {
        "incorrect-second-start-feeds-subpipe.pipe": ("pipe_tool_1", "sub_head"),
        "incorrect-second-start-feeds-subpipe-node.pipe": ("pipe_tool_1", "sub_mid"),
    }
    if name in expected:
        tool, node = expected[name]
        assert [p.message for p in errors] == [
            (
                f'Control node "Pipeline Tool" ({tool}) reaches node "Prompt" ({node}) that the main flow owns; '
                "a control node's sub-pipeline must not be shared with the main pipeline or another start"
            )
        ]
    else:
        assert [p.message for p in errors] == [
            (
                'Pipeline node "Prompt" (shared_node) is reachable from two control roots ( "Pipeline Tool" (pipe_tool_1) and '
                '"Pipeline Tool" (pipe_tool_2) ) - a node has exactly one lifecycle owner'
            )
        ]
    assert read_pipe(EXAMPLES / "incorrect" / name).components
