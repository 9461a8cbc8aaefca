# SPDX-License-Identifier: MIT
"""The prompt node: exactly one question an object, with instructions."""

from __future__ import annotations

from typing import Any

import pytest

from rocketride_core import (
    QUESTIONS,
    TEXT,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    on,
)
from rocketride_core.testing import NodeSuite, run_node
from rocketride_prompt import Prompt

DEFAULT = ("User Instruction", "Please provide a detailed and helpful response to the following question:")


class TestPrompt(NodeSuite):
    node = Prompt
    send = {"questions": [Question.of("why?")], "text": ["because"]}


def ask(send: dict[str, Any], **config: Any) -> list[Question]:
    return list(run_node(Prompt, config=config, send=send)["questions"])


def test_everything_comes_in_one_question() -> None:
    document = Document("found")
    asked = ask({"documents": [[document]], "text": ["some text", " "], "questions": [Question.of("why?")], "table": ["|a|b|"]})
    assert asked == [Question(("why?",), context=("some text", "|a|b|"), documents=(document,), instructions=(DEFAULT,))]


def test_nothing_asks_nothing() -> None:
    assert ask({}) == []
    assert ask({"text": [" \n"], "documents": [[]]}) == []


def test_text_alone_is_asked_about() -> None:
    assert ask({"text": ["a"]}) == [Question(context=("a",), instructions=(DEFAULT,))]


@pytest.mark.parametrize(
    ("given", "titles"),
    [
        (["one"], [("User Instruction", "one")]),
        ("one", [("User Instruction", "one")]),
        (["one", "", "two"], [("User Instruction 1", "one"), ("User Instruction 2", "two")]),
        ([], []),
    ],
)
def test_instructions(given: Any, titles: list[tuple[str, str]]) -> None:
    [question] = ask({"questions": [Question.of("q")]}, instructions=given)
    assert list(question.instructions) == titles


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[QUESTIONS, TEXT])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(QUESTIONS)
    def keep(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))


def prompt(id: str, *inputs: LaneLink, instruction: str = "") -> Component:
    return Component(id, "prompt", {"instructions": [instruction]}, input=inputs)


def test_a_diamond_joins_once_with_both_branches() -> None:
    file = PipeFile(
        [
            Component("in", "in"),
            prompt("a", LaneLink("questions", "in"), instruction="A"),
            prompt("b", LaneLink("questions", "in"), instruction="B"),
            prompt("join", LaneLink("questions", "a"), LaneLink("questions", "b"), instruction="both"),
            Component("out", "out", input=[LaneLink("questions", "join")]),
        ]
    )
    with Kernel(nodes=[Source, Prompt, Sink]).load(file) as pipeline:
        [asked] = pipeline.run(Entry("x"), QUESTIONS(Question.of("q"))).checked()[QUESTIONS]
    assert asked.texts == ("q",)
    assert [text for _, text in asked.instructions] == ["A", "B", "both"]


def test_objects_do_not_mix_on_many_workers() -> None:
    links = (LaneLink("questions", "in"), LaneLink("text", "in"))
    file = PipeFile([Component("in", "in"), prompt("p", *links), Component("out", "out", input=[LaneLink("questions", "p")])])
    with Kernel(nodes=[Source, Prompt, Sink]).load(file) as pipeline:
        work = ((Entry(str(n)), [QUESTIONS(Question.of(f"q{n}")), TEXT(f"t{n}")]) for n in range(200))
        for result in pipeline.map(work, workers=8):
            name = result.entry.name
            assert result.checked()[QUESTIONS] == [Question((f"q{name}",), context=(f"t{name}",))]
