# SPDX-License-Identifier: MIT
"""examples/langgraph_agent.py: a LangGraph agent answers from the demo's documents through a pipeline; and the other way round."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    QUESTIONS,
    TAGS,
    Blob,
    Document,
    Entry,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    Question,
    on,
)
from rocketride_core.pipefile import Component, ControlLink, LaneLink, PipeFile
from rocketride_langgraph import pipeline_tools

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ASKED = "Who founded the observatory, and in what year?"

pytest.importorskip("langgraph")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


langgraph_agent = example("langgraph_agent")


class Shelf(Node[None]):
    """Finds what it is asked for; nothing where that is `nothing`."""

    spec = NodeSpec("le_shelf", title="Shelf", stores=True)

    @on(QUESTIONS, emits=[DOCUMENTS])
    def question(self, instance: Instance, question: Question) -> None:
        [text] = question.texts
        if text == "broken":
            raise OSError("the shelf is broken")
        if text != "nothing":
            instance.event("looking", text=text)
            instance.emit(DOCUMENTS, [Document(f"{text}  indeed", {"parent": "a/b.txt"})])


SHELF = PipeFile(
    [
        Component("chat_1", "chat"),
        Component("shelf_1", "le_shelf", {}, [LaneLink("questions", "chat_1")]),
        Component("response_1", "response_documents", {}, [LaneLink("documents", "shelf_1")]),
    ],
    "chat_1",
)


def answers(agent: Any, *texts: str) -> list[str]:
    return [agent.invoke({"messages": [HumanMessage(text)]})["messages"][-1].text for text in texts]


def test_the_agent_looks_and_quotes() -> None:
    with pipeline_tools(SHELF, nodes=[Shelf], name="shelf") as tools:
        agent = langgraph_agent.make_agent(langgraph_agent.ScriptedModel(), tools)
        done = agent.invoke({"messages": [HumanMessage("why")]})["messages"]
        assert [type(message) for message in done] == [HumanMessage, AIMessage, ToolMessage, AIMessage]
        assert done[1].tool_calls[0]["args"] == {"question": "why"}
        assert done[2].artifact["documents"][0].metadata == {"parent": "a/b.txt"}
        assert done[3].text == "b.txt says: why indeed"
        nothing, broken = answers(agent, "nothing", "broken")
        assert nothing == "The documents do not tell: The pipeline gave no response."
        assert "the shelf is broken" in broken


def test_asynchronously_with_what_the_pipeline_says_on_its_way() -> None:
    async def go() -> tuple[list[Any], list[Any]]:
        async with pipeline_tools(SHELF, nodes=[Shelf], name="shelf") as tools:
            agent = langgraph_agent.make_agent(langgraph_agent.ScriptedModel(), tools)
            asked: Any = {"messages": [HumanMessage("why")]}
            said = [one async for one in agent.astream(asked, stream_mode="custom")]
            done = await asyncio.gather(*(agent.ainvoke({"messages": [HumanMessage(str(n))]}) for n in range(4)))
        return said, [one["messages"][-1].text for one in done]

    said, texts = asyncio.run(go())
    assert [(one["kind"], one["component"], one["data"]) for one in said] == [("looking", "shelf_1", {"text": "why"})]
    assert texts == [f"b.txt says: {n} indeed" for n in range(4)]


def test_a_langchain_tool_answers_an_agent_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "le_tools.py").write_text(
        "from langchain_core.tools import tool\n@tool\ndef hours(day: str) -> str:\n    'When it is open.'\n    return f'{day}: 9 to 17'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    script = [{"turn": [{"call": "hours_1.hours", "arguments": {"day": "Sunday"}}]}]
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            Component("agent_1", "test_agent", {"script": script}, [LaneLink("questions", "chat_1")]),
            Component("hours_1", "tool_langchain", {"tool": "le_tools:hours"}, control=[ControlLink("tool", "agent_1")]),
            Component("response_1", "response_answers", {}, [LaneLink("answers", "agent_1")]),
        ],
        "chat_1",
    )
    with Kernel().load(pipe) as pipeline:
        [answer] = pipeline.run(Entry("q"), QUESTIONS(Question.of("When?"))).checked()[ANSWERS]
    assert answer.text == "Sunday: 9 to 17"


@pytest.mark.slow
def test_it_answers_from_the_demo_s_documents(tmp_path: Path) -> None:
    """Indexed with autopipe.pipe, searched through ask.pipe, run as its docstring says."""
    store = {"ROCKETRIDE_DEMO_STORE": str(tmp_path / "store")}
    with Kernel(env=store).load(EXAMPLES / "autopipe.pipe") as pipeline:
        for name in ("history.txt", "prices.csv"):
            pipeline.run(Entry(name, path=name), TAGS(Blob.of(EXAMPLES / "documents" / name))).checked()
    command = [sys.executable, str(EXAMPLES / "langgraph_agent.py"), ASKED, "How much is a household membership?"]
    done = subprocess.run(command, env={**os.environ, **store}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    founded, price = done.stdout.splitlines()
    assert founded.startswith("history.txt says: ")
    assert "Edith Marlowe" in founded
    assert price.startswith("prices.csv says: ")
