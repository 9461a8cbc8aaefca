# SPDX-License-Identifier: MIT
"""How models write their steps, and what is made of it, whole or in pieces."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketride_agent_llamaindex.gate import AnswerGate
from rocketride_agent_llamaindex.inputs import Unreadable, arguments_of
from rocketride_agent_llamaindex.replies import cleaned, read
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
    reply = read(text, [tool.name])
    given = arguments_of(reply.input, tool)
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
    "fenced after the thought": 'Thought: I look.\n```\nAction: store_1.search\nAction Input: {"query": "x"}\n```',
    "fenced after prose": 'I look.\n\n```\nAction: store_1.search\nAction Input: {"query": "x"}\n```\n',
    "fence not closed": '```\nThought: I look.\nAction: store_1.search\nAction Input: {"query": "x"}\n',
    "fence in a fence": '```\nThought: I look.\nAction: store_1.search\nAction Input: ```json\n{"query": "x"}\n```\n```',
    "numbered": '1. Thought: I look.\n2. Action: store_1.search\n3. Action Input: {"query": "x"}',
    "numbered without thought": '1. Action: store_1.search\n2. Action Input: {"query": "x"}',
    "quoted": '> Thought: I look.\n> Action: store_1.search\n> Action Input: {"query": "x"}',
    "a list": 'Thought: I look.\nAction: store_1.search\nAction Input: ["x"]',
    "a list of an object": 'Thought: I look.\nAction: store_1.search\nAction Input: [{"query": "x"}]',
    "blob": 'Thought: I look.\nAction:\n```json\n{"action": "store_1.search", "action_input": {"query": "x"}}\n```',
    "blob with text": 'Action:\n```\n{\n  "action": "store_1.search",\n  "action_input": "x"\n}\n```',
    "blob alone": '```json\n{"action": "store_1.search", "action_input": {"query": "x"}}\n```',
    "blob after the thought": 'Thought: I look.\n{"action": "store_1.search", "action_input": {"query": "x"}}',
    "tool_call": 'Thought: I look.\n<tool_call>\n{"name": "store_1.search", "arguments": {"query": "x"}}\n</tool_call>',
    "tool_call alone": '<tool_call>{"name": "store_1.search", "arguments": {"query": "x"}}',
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
    "a list of several": 'Thought: a\nAction: store_1.search\nAction Input: ["x", "y"]',
    "tool_call of another format": "<tool_call>\n<function=search>\n</tool_call>\nDo write `Action:`.",
    "blob without a name": 'Action: {"action": "", "action_input": {}}',
    "blob without an answer": 'Action: {"action": "Final Answer", "action_input": " "}',
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
    "> Thought: I know.\n> Answer: Paris.": "Paris.",
    "Thought: I know.\n> Answer: Paris.": "Paris.",
    "### Thought: I know.\n### Answer: Paris.\n### Thought: So?": "Paris.",
    "1. Thought: I know.\n2. Answer: Paris.": "Paris.",
    "1. Thought: Paris.": "Paris.",
    "1. Action: wait\n2. Action: go": "1. Action: wait\n2. Action: go",
    "1. Answer: yes\n2. Answer: no": "1. Answer: yes\n2. Answer: no",
    "Steps:\n1. Action: wait\n2. Answer: go": "Steps:\n1. Action: wait\n2. Answer: go",
    'Action:\n```json\n{"action": "Final Answer", "action_input": "Paris."}\n```': "Paris.",
    '```json\n{"action": "Final Answer", "action_input": {"a": 1}}\n```': '{"a": 1}',
    'Thought: a\nAnswer: Paris.\n<tool_call>{"name": "x"}</tool_call>': "Paris.",
    "```python\nprint(1)\n```": "```python\nprint(1)\n```",
}


@pytest.mark.parametrize(("text", "answer"), ANSWERS.items(), ids=range(len(ANSWERS)))
def test_an_answer_is_read(text: str, answer: str) -> None:
    reply = read(text)
    assert (reply.action, reply.answer) == ("", answer)


TRACE = "A trace:\n```\nThought: a\nAction: search\nAction Input: {}\nAnswer: b\n```\nThat is all."
CONTENT = {
    "a trace in an answer": (f"Thought: hm\nAnswer: {TRACE}", TRACE),
    "a trace in an answer alone": (f"Answer: {TRACE}", TRACE),
    "a trace after nothing": (TRACE, TRACE),
    "a longer fence": ("Answer: ````\n```\nThought: a\n````\nEnd.", "````\n```\nThought: a\n````\nEnd."),
    "tildes": ("Answer: x\n~~~\nThought: a\n~~~\nEnd.", "x\n~~~\nThought: a\n~~~\nEnd."),
    "in a list": ("Answer: - x\n  ```\n  Thought: a\n  ```\n- y", "- x\n  ```\n  Thought: a\n  ```\n- y"),
    "an open fence": ("Answer: x\n```\nThought: a", "x\n```\nThought: a"),
    "code in a line": ("Answer: ```x``` is code\nThought: b", "```x``` is code"),
    "after a fence": ("Answer: ```\nx\n```\nThought: b", "```\nx\n```"),
    "a policy": ("Here:\n```yaml\n- Effect: a\n  Action: b\n```\nDone.", "Here:\n```yaml\n- Effect: a\n  Action: b\n```\nDone."),
    "a heading": ("Answer: # Ideas\n## Thought: a history\nLong.", "# Ideas\n## Thought: a history\nLong."),
    "a heading of a text": ("# Ideas\n## Thought: a history\nLong.", "# Ideas\n## Thought: a history\nLong."),
    "a deeper heading": ("### Answer: Ideas\n#### Thought: a\nLong.", "Ideas\n#### Thought: a\nLong."),
    "a quotation": ("Answer: He said\n> Thought: a\nSo.", "He said\n> Thought: a\nSo."),
    "numbers": ("Answer: Do\n1. Thought: a\n2. Action: b\nSo.", "Do\n1. Thought: a\n2. Action: b\nSo."),
    "a FAQ": (FAQ := "Question: What?\nAnswer: 42\nQuestion: Who?\nAnswer: 43", FAQ),
    "a FAQ with a to-do": (f"{FAQ}\nAction: ask", f"{FAQ}\nAction: ask"),
    "a FAQ in an answer": (f"Thought: hm\nAnswer: {FAQ}", FAQ),
    "one answer after prose": ("I know it.\nAnswer: 42", "42"),
    "a FAQ after prose and a thought": (f"Well.\nThought: hm\nAnswer: {FAQ}", FAQ),
}


@pytest.mark.parametrize(("text", "answer"), CONTENT.values(), ids=CONTENT.keys())
def test_what_only_looks_like_scaffolding_reaches_the_user_whole(text: str, answer: str) -> None:
    reply = read(text)
    assert (reply.action, reply.answer) == ("", answer)
    told = "".join(gated(list(text)))
    assert answer.startswith(told)
    assert told or "Answer:" not in text.split("\n")[0]


ODD = ["my tool.search", "x(1).search", "x(1).search it", "my.tool"]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("written", ["{}", "`{}`", "**{}**", "{}()", "{} "])
def test_names_with_blanks_and_parentheses(name: str, written: str) -> None:
    reply = read(f'Thought: a\nAction: {written.format(name)}\nAction Input: {{"query": "x"}}', ODD)
    assert (reply.action, reply.input) == (name, '{"query": "x"}')
    reply = read(f'Action: {name} {{"query": "x"}}', ODD)
    assert (reply.action, reply.input) == (name, '{"query": "x"}')


def test_a_name_that_is_only_like_a_known_one() -> None:
    assert read("Action: MY TOOL.Search\nAction Input: {}", ODD).action == "MY TOOL.Search"
    assert read("Action: my_tool_search now\nAction Input: {}", ODD).action == "my_tool_search"
    assert read("Action: my.tools\nAction Input: {}", ODD).action == "my.tools"
    assert read("Action: other thing\nAction Input: {}", ODD).action == "other"


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
PARTS += ["```", "\n```\n", "```json\n", "~~~\n", "## ", "> ", "1. ", "\n- ", "<tool_call>", "\nThought: b", "\nAnswer: 43"]
PARTS += ["*", "**", "Act", "Answ", "{}", "Paris.", "`", "#", "None", "：", "Action", "_"]


@pytest.mark.parametrize(
    "text",
    [
        "Thought: a\nAnswer: " + "word and word, " * 13_000,
        "Thought: a\nAnswer: " + "a line of it\n" * 15_000,
        "Thought: " + "word and word, " * 13_000,
        "Thought: a\n" + "a line of it\n" * 15_000,
        "Answer: x\nAction: " + "word and word, " * 13_000,
        "Answer: x\nAction: a\n" + " " * 200_000,
        "Answer: x" + "\nAction: a\nb\nc" * 5_000,
        "Answer: x\n" + "*" * 200_000,
        "Thought: a\n" + "```\n" * 20_000,
        "**Answer:" + " \n" * 40_000,
    ],
    ids=range(10),
)
def test_a_long_reply_costs_time_in_proportion(text: str) -> None:
    begun = time.process_time()
    gated([text[start : start + 4] for start in range(0, len(text), 4)])
    with suppress(Unreadable):
        read(text)
    assert time.process_time() - begun < 2


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
