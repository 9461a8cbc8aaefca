# SPDX-License-Identifier: MIT
"""How models write their steps, and what is made of it, whole or in pieces."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketride_agent_llamaindex.gate import AnswerGate
from rocketride_agent_llamaindex.replies import Unreadable, arguments_of, cleaned, read
from rocketride_agent_llamaindex.scaffold import Scaffold
from rocketride_core import Tool

SEARCH = Tool(
    "store_1.search",
    "Looks it up.",
    {
        "type": "object",
        "properties": {"query": {"type": "string"}, "top_k": {"type": "integer"}},
        "required": ["query"],
    },
    lambda instance, arguments: None,
)
CLOCK = Tool("clock_1.now", "The time.", {"type": "object", "properties": {}}, lambda instance, arguments: None)
CALC = Tool(
    "calc_1.add",
    "Adds.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
    lambda instance, arguments: None,
)


def call(text: str, tool: Tool = SEARCH) -> tuple[str, object]:
    reply = read(text)
    given = arguments_of(reply, tool)
    return reply.action, Scaffold().arguments(reply.input or "") if given is None else given


WRITTEN = {
    "as told": 'Thought: I look.\nAction: store_1.search\nAction Input: {"query": "x"}',
    "no thought": 'Action: store_1.search\nAction Input: {"query": "x"}',
    "bold": '**Thought:** I look.\n**Action:** store_1.search\n**Action Input:** {"query": "x"}',
    "bold before the colon": 'Thought: I look.\n**Action**: store_1.search\n**Action Input**: {"query": "x"}',
    "lower case": 'thought: I look.\naction: store_1.search\naction input: {"query": "x"}',
    "underscore": 'Thought: I look.\nAction: store_1.search\nAction_Input: {"query": "x"}',
    "heading": '### Thought: I look.\n### Action: store_1.search\n### Action Input: {"query": "x"}',
    "full-width colon": 'Thought：我查。\nAction：store_1.search\nAction Input：{"query": "x"}',
    "backticks": 'Thought: I look.\nAction: `store_1.search`\nAction Input: {"query": "x"}',
    "quotes": 'Thought: I look.\nAction: "store_1.search"\nAction Input: {"query": "x"}',
    "fenced input": 'Thought: I look.\nAction: store_1.search\nAction Input: ```json\n{"query": "x"}\n```',
    "fenced on the next line": 'Thought: I look.\nAction: store_1.search\nAction Input:\n```\n{"query": "x"}\n```',
    "fenced whole": '```\nThought: I look.\nAction: store_1.search\nAction Input: {"query": "x"}\n```',
    "text after it": 'Thought: I look.\nAction: store_1.search\nAction Input: {"query": "x"}\nI wait for {the} result.',
    "invented result": 'Action: store_1.search\nAction Input: {"query": "x"}\nObservation: {"y": 1}\nThought: ok\nAnswer: y',
    "answer as well": 'Thought: I look.\nAction: store_1.search\nAction Input: {"query": "x"}\nAnswer: It is y.',
    "on one line": 'Thought: I look.\nAction: store_1.search {"query": "x"}',
    "called": 'Thought: I look.\nAction: store_1.search()\nAction Input: {"query": "x"}',
    "single quotes": "Thought: I look.\nAction: store_1.search\nAction Input: {'query': 'x'}",
    "trailing comma": 'Thought: I look.\nAction: store_1.search\nAction Input: {"query": "x",}',
    "no braces": 'Thought: I look.\nAction: store_1.search\nAction Input: "query": "x"',
    "bare text": "Thought: I look.\nAction: store_1.search\nAction Input: x",
    "quoted text": 'Thought: I look.\nAction: store_1.search\nAction Input: "x"',
    "named text": "Thought: I look.\nAction: store_1.search\nAction Input: query = x",
    "two calls": 'Action: store_1.search\nAction Input: {"query": "x"}\nAction: calc_1.add\nAction Input: {"a": 1}',
    "answer in the thought": 'Thought: The Answer: unknown. Action: needed.\nAction: store_1.search\nAction Input: {"query": "x"}',
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_call_is_read(text: str) -> None:
    assert call(text) == ("store_1.search", {"query": "x"})


def test_what_is_thought_is_kept() -> None:
    assert read("Thought: I look.\nTwice.\nAction: a\nAction Input: {}").thought == "I look.\nTwice."


@pytest.mark.parametrize("input", ["", "\nAction Input:", "\nAction Input: {}", "\nAction Input: None"])
def test_a_tool_without_arguments_needs_no_input(input: str) -> None:
    assert call(f"Thought: a\nAction: clock_1.now{input}", CLOCK) == ("clock_1.now", {})


BROKEN = {
    "no name": "Thought: a\nAction:\nAction Input: {}",
    "none": "Thought: It is 5.\nAction: None",
    "none, and an invented result": "Thought: a\nAction: None\nObservation: x\nAnswer: y",
    "no action": "Thought: It is 5.\nAction: No action needed, I know it.\nAction Input: {}",
    "input alone": 'Thought: a\nAction Input: {"query": "x"}',
    "input missing": "Thought: a\nAction: store_1.search",
    "input empty": "Thought: a\nAction: store_1.search\nAction Input:",
    "cut off": 'Thought: a\nAction: store_1.search\nAction Input: {"query": "x',
    "no object": "Thought: a\nAction: store_1.search\nAction Input: {query x}",
    "answer empty": "Thought: a\nAnswer:  ",
    "nothing": " \n",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_what_cannot_be_read_is_said(text: str) -> None:
    with pytest.raises(Unreadable, match=r"Action|Answer|empty"):
        call(text)


WHOLE_OR_NOT = [
    '{"query": "x", "top_k": 5 5}',
    '{"query": "x", "top_k": five}',
    '{"query": "x", "more": {"query": "y"},,}',
    '{"query": "say "x" twice", "top_k": 5}',
    '{"query": "x", "top_k": ' + "9" * 5000 + "}",
    '{"query": ' + "[" * 100_000,
]


@pytest.mark.parametrize("given", WHOLE_OR_NOT, ids=range(len(WHOLE_OR_NOT)))
def test_arguments_are_read_whole_or_not_at_all(given: str) -> None:
    """LlamaIndex's parser falls back to the texts that it finds anywhere in there, and drops all the rest."""
    with pytest.raises(Unreadable):
        call(f"Action: store_1.search\nAction Input: {given}")


def test_arguments_as_python_writes_them() -> None:
    assert call("Action: store_1.search\nAction Input: {'query': 'x', 'top_k': 1_000}") == (
        "store_1.search",
        {"query": "x", "top_k": 1000},
    )
    assert call('Action: store_1.search\nAction Input: {"query": "x", "dry_run": True, "top_k": None}')[1] == {
        "query": "x",
        "dry_run": True,
        "top_k": None,
    }


def test_a_text_for_a_tool_with_several_arguments_is_not_guessed() -> None:
    with pytest.raises(Unreadable, match="no JSON object but: 1 and 2"):
        call("Action: calc_1.add\nAction Input: 1 and 2", CALC)


ANSWERS = {
    "Thought: I know.\nAnswer: Paris.": "Paris.",
    "Answer: Paris.": "Paris.",
    "**Thought:** I know.\n**Answer:** **Paris**.": "**Paris**.",
    "Answer:**Paris**": "**Paris**",
    "Thought: a\nFinal Answer: Paris.": "Paris.",
    "thought: a\nanswer: Paris.": "Paris.",
    "答案：巴黎": "答案：巴黎",
    "Thought: 我知道。\nAnswer：巴黎": "巴黎",
    "Paris.": "Paris.",
    "Thought: Paris.": "Paris.",
    " **Thought:** Paris.": "Paris.",
    "Thought: I know it. Answer: Paris.": "Paris.",
    "```\nThought: a\nAnswer: Paris.\n```": "Paris.",
    "Thought: a\nAnswer: Paris.\nObservation: no": "Paris.",
    "Thought: a\nAnswer: Paris.\nThought: b": "Paris.",
    "Thought: a\nAnswer: Paris.\nAction: store_1.search\nAction Input: {}": "Paris.",
    "Thought: a\nAction: None\nAnswer: Paris.": "Paris.",
    "Thought: a\nAction: N/A\nAction Input: N/A\nAnswer: Paris.": "Paris.",
    "Thought: a\nAnswer: To do:\nAction: call Ann\nOwner: Bob": "To do:\nAction: call Ann\nOwner: Bob",
    "The best course of Action: wait.": "The best course of Action: wait.",
    "Use it so:\n```python\nprint(1)\n```": "Use it so:\n```python\nprint(1)\n```",
    "Thought: a\nAnswer: ```python\nprint(1)\n```": "```python\nprint(1)\n```",
    "- Action: wait\n- Answer: no": "- Action: wait\n- Answer: no",
}


@pytest.mark.parametrize(("text", "answer"), ANSWERS.items(), ids=range(len(ANSWERS)))
def test_an_answer_is_read(text: str, answer: str) -> None:
    reply = read(text)
    assert (reply.action, reply.answer) == ("", answer)


@pytest.mark.parametrize("line", [" " * 200_000 + "x", "Action" + " " * 200_000, "Action: " + "!" * 200_000 + "x"], ids=range(3))
def test_a_model_that_writes_blanks_without_end_costs_no_time(line: str) -> None:
    """A regular expression that backtracks holds the whole process, and no time limit helps."""
    begun = time.process_time()
    read(f"Thought: a\n{line}")
    assert time.process_time() - begun < 5


def test_scaffolding_is_cleaned_away() -> None:
    text = "Thought: It is Paris.\nAction: search\nAction Input: {broken\nObservation: nothing\nThought: So I say so."
    assert cleaned(text) == "It is Paris.\nSo I say so."
    assert cleaned("Action: a\nAction Input: {}") == ""
    assert cleaned("plain\ntext") == "plain\ntext"


# ---- in pieces


def gated(pieces: list[str]) -> list[str]:
    told: list[str] = []
    gate = AnswerGate(told.append)
    for piece in pieces:
        gate(piece)
    return told


def test_the_answer_comes_while_it_is_written_and_nothing_else() -> None:
    pieces = ["Thou", "ght: I am", " sure.\nAns", "wer", ":", " Par", "is is ", "nice", ".\nVery.", "\nObser", "vation: x"]
    assert gated(pieces) == ["Par", "is is", " nice", ".\nVery."]


@pytest.mark.parametrize("text", [*WRITTEN.values(), *BROKEN.values(), "Paris.", "Thought: Paris."])
def test_nothing_of_a_call_a_thought_or_a_bare_text_is_told(text: str) -> None:
    assert gated(list(text)) == []


PARTS = [
    "Thought:",
    "Action:",
    "Action Input:",
    "Observation:",
    "Answer:",
    "**Answer:**",
    "final answer:",
    "\n",
    "\n\n",
    " ",
    "a",
]
PARTS += ["*", "**", "Act", "Answ", "{}", "Paris.", "`", "#", "None", "：", "Action", "_"]


@given(st.lists(st.sampled_from(PARTS), max_size=14), st.integers(1, 9), st.booleans())
@example(["Answer:", "a", "\n", "Action:", "\n", "Paris.", "\n", "Action Input:", "{}"], 1, False)
@example(["Answer:", "\n", "Action:", "a", "\n", "Act"], 2, False)
def test_what_is_told_is_how_the_answer_begins(parts: list[str], size: int, thought: bool) -> None:
    text = ("Thought: hm\n" if thought else "") + "".join(parts)
    told = "".join(gated([text[start : start + size] for start in range(0, len(text), size)]))
    if told:
        reply = read(text)
        assert reply.action == ""
        assert reply.answer.startswith(told)


@given(st.text(alphabet=st.sampled_from("abAction:nswerThougt Input\n*`{}\"'：")))
def test_whatever_a_model_writes_is_read_or_refused(text: str) -> None:
    try:
        reply = read(text)
    except Unreadable:
        return
    assert reply.action or reply.answer
