# SPDX-License-Identifier: MIT
"""Payload classes: frozen, and their JSON there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketride_core import ANSWERS, DOCUMENTS, QUESTIONS, TEXT, Answer, Document, Lane, Packet, Question
from rocketride_core.payloads import vector

TEXTS = st.text(max_size=12)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), max_size=2).map(tuple)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | TEXTS, lambda inner: st.lists(inner, max_size=2), max_leaves=4
)
VECTORS = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=4).map(vector)


def plain(value: Any) -> Any:
    """Comparable: float32 buffers compare by content."""
    return list(value.tolist()) if isinstance(value, memoryview) else value


@st.composite
def documents(draw: st.DrawFn) -> Document:
    embedded = draw(st.booleans())
    return Document(
        draw(TEXTS),
        draw(st.dictionaries(TEXTS, JSON, max_size=3)),
        draw(VECTORS) if embedded else None,
        draw(st.text(min_size=1, max_size=5)) if embedded else "",
        draw(st.none() | st.floats(0, 1)),
    )


@st.composite
def questions(draw: st.DrawFn) -> Question:
    texts = tuple(draw(st.lists(TEXTS, max_size=3)))
    embedded = bool(texts) and draw(st.booleans())
    return Question(
        texts,
        tuple(draw(VECTORS) for _ in texts) if embedded else (),
        "model" if embedded else "",
        filter=draw(st.dictionaries(TEXTS, st.integers(), max_size=2)),
        role=draw(TEXTS),
        expect_json=draw(st.booleans()),
        instructions=draw(PAIRS),
        examples=draw(PAIRS),
        history=draw(PAIRS),
        context=tuple(draw(st.lists(TEXTS, max_size=2))),
        goals=tuple(draw(st.lists(TEXTS, max_size=2))),
        documents=tuple(draw(st.lists(documents(), max_size=2))),
    )


@given(documents())
def test_a_document_goes_through_json_and_back(document: Document) -> None:
    again = Document.from_json(json.loads(json.dumps(document.to_json())))
    assert again.to_json() == document.to_json()
    assert plain(again.embedding) == plain(document.embedding)


@given(questions())
def test_a_question_goes_through_json_and_back(question: Question) -> None:
    again = Question.from_json(json.loads(json.dumps(question.to_json())))
    assert again.to_json() == question.to_json()
    assert attrs.evolve(again, embeddings=(), documents=()) == attrs.evolve(question, embeddings=(), documents=())


@pytest.mark.parametrize(
    "data", [{}, {"questions": None, "role": None, "documents": None, "filter": {"limit": None}}, {"new": 1}]
)
def test_nulls_and_unknown_keys_are_read(data: Mapping[str, Any]) -> None:
    assert Question.from_json(data) == Question()
    assert Document.from_json({**data, "page_content": None}) == Document("")


def test_nulls_in_lists_are_skipped_and_values_become_json_text() -> None:
    read = Question.from_json(
        {
            "questions": [None, {"text": None}, {"text": "q", "embedding": None, "embedding_model": None}],
            "history": [{"role": "user", "content": None}, None],
            "examples": [{"given": {"a": 1}, "result": ["ü"]}],
            "context": [{"k": None}, "c", None],
            "documents": [None, {"page_content": "d", "metadata": None, "score": None, "highlight_score": 1, "tokens": 3}],
        }
    )
    assert read.texts == ("", "q")
    assert read.history == (("user", ""),)
    assert read.examples == (('{"a": 1}', '["ü"]'),)
    assert read.context == ('{"k": null}', "c")
    assert read.documents == (Document("d"),)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (7, "a question is a JSON object, not int"),
        ({"history": {"role": "user"}}, "'history' is a list, not dict"),
        ({"history": ["hi"]}, "an item of 'history' is a JSON object, not str"),
        ({"questions": [3]}, "an item of 'questions' is a JSON object, not int"),
        ({"questions": [{"text": "a", "embedding": ["x"]}]}, "'embedding' is a list of numbers"),
        ({"documents": [[]]}, "a document is a JSON object, not list"),
        ({"filter": [1]}, "'filter' is a JSON object, not list"),
    ],
)
def test_what_is_no_question_says_what_is_wrong(data: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Question.from_json(data)


def test_an_answer_is_read_and_written_as_clients_do() -> None:
    assert Answer("a").to_json() == {"answer": "a", "expectJson": False}
    assert Answer([1]).to_json() == {"answer": [1], "expectJson": True}
    assert Answer.from_json({"answer": '{"a": null}', "expectJson": True}) == Answer({"a": None})
    for content in ("text", {"a": 1}, [1, None], None, "7"):
        assert Answer.from_json(Answer(content).to_json()) == Answer(content)
    assert Answer.from_json({"answer": "what I found"}) == Answer({"answer": "what I found"})
    with pytest.raises(ValueError, match="'answer' is to be JSON, and is not"):
        Answer.from_json({"answer": "prose", "expectJson": True})


def test_short_forms_are_read() -> None:
    assert Question.from_json("why?") == Question.of("why?")
    assert Question.from_json({"questions": ["a", {"text": "b"}]}).texts == ("a", "b")
    assert Document.from_json("plain") == Document("plain")


def test_a_question_embedded_in_part_counts_as_not_embedded() -> None:
    asked = {"questions": [{"text": "a", "embedding": [1.0]}, {"text": "b"}]}
    assert Question.from_json(asked).embeddings == ()


def test_a_vector_is_a_float32_buffer() -> None:
    view = vector([0.5, 1])
    assert (view.format, view.itemsize, view.shape, view.tolist()) == ("f", 4, (2,), [0.5, 1.0])


@pytest.mark.parametrize("payload", [Document("t"), Question.of("q"), Answer("a"), TEXT("x")])
def test_payloads_are_frozen(payload: Any) -> None:
    name = "content" if isinstance(payload, Answer) else "texts" if isinstance(payload, Question) else "text"
    with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
        setattr(payload, "payload" if isinstance(payload, Packet) else name, "other")


def test_the_text_of_an_answer_is_text_or_json_never_a_repr() -> None:
    assert Answer("a").text == "a"
    assert Answer({"ä": [None, True]}).text == '{"ä": [null, true]}'
    assert Answer(None).text == "null"


def test_a_prompt_has_its_sections_in_order_and_no_empty_ones() -> None:
    question = Question(
        ("Why?",),
        role="You judge.",
        expect_json=True,
        instructions=(("Tone", "Be brief.\nBe kind."),),
        examples=(("1", "one"),),
        history=(("user", "hi"),),
        context=("c1",),
        goals=("win",),
        documents=(Document("d1"),),
    )
    prompt = question.prompt()
    heads = [line for line in prompt.split("\r\n") if line.startswith("### ")]
    assert heads == [
        "### System Instructions:",
        "### Examples:",
        "### Conversation History:",
        "### Context:",
        "### Documents:",
        "### Ultimate Goal:",
        "### Current Task:",
    ]
    assert prompt.startswith("You judge.\r\n")
    assert prompt.endswith("Why?")
    assert "\n" not in prompt.replace("\r\n", "")
    assert "JSON" in prompt.split("### Examples:")[0]
    assert Question.of("Why?").prompt() == "### Current Task:\r\nWhy?"
    assert Question().prompt() == ""


def test_a_lane_is_its_name() -> None:
    other: Lane[Any] = Lane.of("text", bytes)
    assert other == TEXT
    assert hash(other) == hash(TEXT)
    assert Lane.of("texts", str) != TEXT
    assert TEXT("x") == Packet(TEXT, "x")


def test_lanes_say_how_clients_see_their_payloads() -> None:
    assert ANSWERS.to_json(Answer([1])) == [1]
    assert ANSWERS.from_json("a") == Answer("a")
    assert DOCUMENTS.from_json({"page_content": "t"}) == [Document("t")]
    assert QUESTIONS.from_json("q") == Question.of("q")
    assert Lane.of("acme.n", int, to_json=str, from_json=lambda s: int(str(s))).from_json("7") == 7
    assert Lane.many_of("acme.d", Document).to_json([Document("t")]) == [{"type": "Document", "page_content": "t"}]
