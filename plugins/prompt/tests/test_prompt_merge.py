# SPDX-License-Identifier: MIT
"""Merging questions."""

from __future__ import annotations

from array import array

from rocketride_core import Document, Question
from rocketride_prompt import merged


def vector(*values: float) -> memoryview:
    return memoryview(array("f", values))


def test_one_question_stays_itself() -> None:
    question = Question(
        texts=("a", "b"),
        embeddings=(vector(1), vector(2)),
        embedding_model="m",
        type="keyword",
        filter={"limit": 3},
        role="r",
        expect_json=True,
        instructions=(("t", "i"),),
        examples=(("g", "r"),),
        history=(("user", "x"), ("user", "x")),
        context=("c",),
        goals=("g",),
        documents=(Document("d"),),
    )
    assert merged([question]) == question


def test_branches_that_carry_one_question_ask_it_once() -> None:
    one = Question(("why?",), instructions=(("User Instruction", "A"),), context=("both",))
    two = Question(("why?",), instructions=(("User Instruction", "B"),), context=("both", "two"))
    assert merged([one, two]) == Question(
        ("why?",), instructions=(("User Instruction", "A"), ("User Instruction", "B")), context=("both", "two")
    )


def test_the_first_that_says_something_decides() -> None:
    nothing, first = Question(), Question(("a",), type="get", role="r", filter={"limit": 1})
    second = Question(("b",), type="keyword", role="s", filter={"limit": 2, "offset": 5}, expect_json=True)
    made = merged([nothing, first, second])
    assert (made.type, made.role, made.filter, made.expect_json) == ("get", "r", {"limit": 1, "offset": 5}, True)


def test_the_longest_history_is_the_history() -> None:
    short, long = (("user", "x"),), (("user", "x"), ("assistant", "y"))
    assert merged([Question(("a",), history=short), Question(("a",), history=long)]).history == long


def test_embeddings_stay_only_where_all_texts_have_one_of_one_model() -> None:
    a, b = Question(("a",), (vector(1),), "m"), Question(("b",), (vector(2),), "m")
    assert merged([a, b, Question(context=("c",))]).embeddings == (vector(1), vector(2))
    assert merged([a, b]).embedding_model == "m"
    for other in (Question(("b",)), Question(("b",), (vector(2),), "n")):
        assert merged([a, other]).embeddings == ()
        assert merged([a, other]).embedding_model == ""


def test_documents_come_once_with_their_better_score() -> None:
    low, high = (Document("t", {"objectId": "o", "chunkId": 1}, score=score) for score in (0.4, 0.9))
    loose = Document("loose")
    assert merged([Question(documents=(low, loose)), Question(documents=(high, loose))]).documents == (high, loose)


def test_nothing_gives_an_empty_question() -> None:
    assert merged([]) == Question()
