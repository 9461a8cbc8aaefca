# SPDX-License-Identifier: MIT
"""One question an object, from its stripped texts."""

from __future__ import annotations

import pytest

from rocketride_core import QUESTIONS, TEXT, Component, Entry, Instance, Kernel, LaneLink, Node, NodeSpec, PipeFile, Question, on
from rocketride_core.testing import NodeSuite, run_node
from rocketride_question import AskText


class TestQuestion(NodeSuite):
    node = AskText
    send = {"text": ["one", " two\n"]}


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        (["  What is new?\n"], [Question(("What is new?",))]),
        (["page one", " \n\t", "page two", ""], [Question(("page one", "page two"))]),
        ([" ", ""], []),
        ([], []),
    ],
)
def test_texts_become_one_question(texts: list[str], asked: list[Question]) -> None:
    assert run_node(AskText, send={"text": texts})["questions"] == asked


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[TEXT])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(QUESTIONS)
    def keep(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))


def test_objects_do_not_mix_on_many_workers() -> None:
    file = PipeFile(
        [
            Component("in", "in"),
            Component("ask", "question", input=[LaneLink("text", "in")]),
            Component("out", "out", input=[LaneLink("questions", "ask")]),
        ]
    )
    with Kernel(nodes=[Source, AskText, Sink]).load(file) as pipeline:
        work = ((Entry(str(number)), [TEXT(f"{number} a"), TEXT(f"{number} b")]) for number in range(200))
        for result in pipeline.map(work, workers=8):
            name = result.entry.name
            assert result.checked()[QUESTIONS] == [Question((f"{name} a", f"{name} b"))]
