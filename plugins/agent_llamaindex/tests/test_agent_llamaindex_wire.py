# SPDX-License-Identifier: MIT
"""The agent on a real client library, over a real socket, against a scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rocketride_core import (
    ANSWERS,
    QUESTIONS,
    Component,
    ControlLink,
    Entry,
    Event,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    Result,
    tool,
)

pytest.importorskip("rocketride_llm_openai_api")
from rocketride_llm import LLMError
from rocketride_llm.testing import CallTools, Fail, Say, ScriptedServer, Step


class Store(Node[None]):
    spec = NodeSpec("store", title="Store")

    @tool(concurrent=True)
    def search(self, instance: Instance, query: str) -> str:
        """Looks it up."""
        return f"found {query}"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def ask(server: ScriptedServer, steps: list[Step], config: dict[str, Any]) -> tuple[Result, list[Event]]:
    server.script.add(*steps)
    llm: dict[str, Any] = {"model": "m-1", "base_url": server.base_url("openai"), "apikey": "sk-test", "maxAttempts": 1}
    components = [
        Component("chat", "chat"),
        Component("agent", "agent_llamaindex", config, input=[LaneLink("questions", "chat")]),
        Component("llm", "llm_openai_api", llm, control=[ControlLink("llm", "agent")]),
        Component("store_1", "store", control=[ControlLink("tool", "agent")]),
        Component("out", "response_answers", input=[LaneLink("answers", "agent")]),
    ]
    question = QUESTIONS(Question.of("Where is x?"))
    with (
        Kernel(nodes=[Store], env={}).load(PipeFile(components, source="chat")) as pipeline,
        pipeline.start(Entry("test"), question, timeout=60) as run,
    ):
        events = list(run)
        return run.result(), events


REACT: list[Step] = [
    Say('Thought: I look.\nAction: store_1.search\nAction Input: {"query": "x"}\nObservation: invented'),
    Say("Thought: I know.\nAnswer: x is found, here."),
]


def test_react(server: ScriptedServer) -> None:
    result, events = ask(server, REACT, {})
    assert [answer.content for answer in result.checked()[ANSWERS]] == ["x is found, here."]
    assert "".join(str(event.data["text"]) for event in events if event.kind == "token") == "x is found, here."
    assert "found x" in server.requests[1].prompt
    assert "invented" not in server.requests[1].prompt
    assert result.usage["llm"]["requests"] == 2
    assert result.usage["agent"]["tool_calls"] == 1


@pytest.mark.parametrize("mode", ["native", "auto"])
def test_native(server: ScriptedServer, mode: str) -> None:
    steps: list[Step] = [CallTools([("store_1.search", {"query": "x"})]), Say("x is found.")]
    result, events = ask(server, steps, {"tool_mode": mode})
    assert [answer.content for answer in result.checked()[ANSWERS]] == ["x is found."]
    assert [event.data["text"] for event in events if event.kind == "token"] == ["x is found."]
    assert "found x" in server.requests[1].prompt


def test_an_error_of_the_server_is_said(server: ScriptedServer) -> None:
    result, _ = ask(server, [Fail(401)], {})
    assert result.error is not None
    assert isinstance(result.error.__cause__, LLMError)
    (answer,) = result[ANSWERS]
    assert answer.text == str(result.error.__cause__)
    assert answer.text.startswith("Invalid API key")


def test_auto_goes_on_in_react_where_the_server_refuses_tools(server: ScriptedServer) -> None:
    refused = Fail(400, message="registry.ollama.ai/library/x does not support tools")
    result, events = ask(server, [refused, *REACT], {"tool_mode": "auto"})
    assert [answer.content for answer in result.checked()[ANSWERS]] == ["x is found, here."]
    assert "no-native-tools" in [warning.code for warning in result.warnings]
    (meta,) = [event.data["meta"] for event in events if event.kind == "agent"]
    assert isinstance(meta, dict)
    assert (meta["tool_mode"], meta["iterations"]) == ("react", 2)
