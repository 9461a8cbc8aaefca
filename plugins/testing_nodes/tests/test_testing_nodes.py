# SPDX-License-Identifier: MIT
"""The language model without a model, and the recorder."""

from __future__ import annotations

from typing import Any

import pytest

from rocketride_core import (
    ANSWERS,
    QUESTIONS,
    TEXT,
    Answer,
    Component,
    Entry,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    RunError,
)
from rocketride_core.testing import NodeSuite, run_node
from rocketride_testing_nodes import Record, ScriptedLLM, Tap, recording


class TestEcho(NodeSuite):
    node = ScriptedLLM
    send = {"questions": [Question.of("why?")]}


class TestScript(NodeSuite):
    node = ScriptedLLM
    config = {"profile": "script", "script": {"answers": ["a", "b"]}}
    send = {"questions": [Question.of("one"), Question.of("two")]}


class TestTap(NodeSuite):
    node = Tap
    send = {"text": ["a"], "questions": [Question.of("q")]}


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[QUESTIONS, TEXT])


def chat(**config: Any) -> PipeFile:
    return PipeFile(
        [
            Component("in", "in"),
            Component("llm", "test_llm", config, input=[LaneLink("questions", "in")]),
            Component("tap", "test_tap", {"recording": "chat"}, input=[LaneLink("answers", "llm"), LaneLink("text", "in")]),
        ]
    )


def kernel() -> Kernel:
    return Kernel(nodes=[Source, ScriptedLLM, Tap])


def ask(*questions: Question, **config: Any) -> Any:
    with kernel().load(chat(**config)) as pipeline:
        return pipeline.run(Entry("x"), *[QUESTIONS(question) for question in questions])


def test_an_echo() -> None:
    assert run_node(ScriptedLLM, send={"questions": [Question(("one", "two"))]})["answers"] == [Answer("one\ntwo")]


def test_an_echo_of_the_whole_prompt() -> None:
    question = Question(("why?",), context=("because",))
    assert ask(question, wholePrompt=True).checked()[ANSWERS] == [Answer(question.prompt())]


def test_a_script_begins_anew_for_each_object() -> None:
    with kernel().load(chat(mode="script", answers=["a", "b"])) as pipeline:
        work = ((Entry(str(n)), [QUESTIONS(Question.of("1")), QUESTIONS(Question.of("2"))]) for n in range(50))
        for result in pipeline.map(work, workers=8):
            assert result.checked()[ANSWERS] == [Answer("a"), Answer("b")]


def test_a_question_more_than_the_script_is_an_error() -> None:
    result = ask(Question.of("1"), Question.of("2"), mode="script", answers=["a"])
    assert result[ANSWERS] == [Answer("a")]
    with pytest.raises(RunError, match="the script has 1 answers and this is question 2"):
        result.checked()


def test_json_where_json_is_expected() -> None:
    question = Question(("give me json",), expect_json=True)
    assert ask(question, mode="script", answers=['{"a": [1]}']).checked()[ANSWERS] == [Answer({"a": [1]})]
    with pytest.raises(RunError, match="the question expects JSON"):
        ask(question, mode="script", answers=["no"]).checked()


def test_it_counts_and_streams() -> None:
    with kernel().load(chat()) as pipeline, pipeline.start(Entry("x"), QUESTIONS(Question.of("one two  three"))) as run:
        tokens = [event.data["text"] for event in run if event.kind == "token"]
        usage = run.result().checked().usage["llm"]
    assert tokens == ["one", " two", "  three"]
    assert usage["output_tokens"] == 3
    assert usage["input_tokens"] == len(Question.of("one two  three").prompt().split())


def test_a_recording_has_what_came_in_order() -> None:
    with kernel().load(chat()) as pipeline, recording("chat") as records, recording("other") as others:
        entry = Entry("x")
        pipeline.run(entry, TEXT("t"), QUESTIONS(Question.of("q")), TEXT("u")).checked()
        assert records == [
            Record("tap", entry, "text", "t"),
            Record("tap", entry, "answers", Answer("q")),
            Record("tap", entry, "text", "u"),
        ]
        assert others == []


def test_a_recording_has_every_worker_and_ends_with_its_block() -> None:
    with kernel().load(chat()) as pipeline:
        with recording("chat") as records:
            for result in pipeline.map(((Entry(str(n)), [TEXT(str(n))]) for n in range(100)), workers=8):
                result.checked()
        pipeline.run(Entry("late"), TEXT("late"))
    assert sorted(int(record.payload) for record in records) == list(range(100))


@pytest.mark.parametrize("respond", [True, False])
def test_a_tap_responds_unless_told_otherwise(respond: bool) -> None:
    file = PipeFile([Component("in", "in"), Component("tap", "test_tap", {"respond": respond}, input=[LaneLink("text", "in")])])
    with kernel().load(file) as pipeline:
        assert pipeline.run(Entry("x"), TEXT("a")).checked()[TEXT] == (["a"] if respond else [])
