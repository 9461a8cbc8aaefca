# SPDX-License-Identifier: MIT
"""Parts of a text, and replies of a model."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketride_preprocessor_llm.parts import parts, rows
from rocketride_preprocessor_llm.replies import LEFT_OUT, Unusable, question, read

TEXT = "Heading\n\nFirst passage, with “quotes”.\nSecond   passage — it goes on."
ANY_TEXT = st.text(st.sampled_from("ab \n.。é\u0301😀x"), max_size=200) | st.lists(
    st.sampled_from(["word ", "A sentence. ", "\n\n", "\n", "y" * 30])
).map("".join)


def words(text):
    return len(text.split())


def cut(text, spans):
    return [text[start:end] for start, end in spans]


@given(ANY_TEXT, st.integers(1, 20), st.integers(8, 60), st.sampled_from([words, len]))
@settings(max_examples=300, deadline=None)
def test_parts_are_the_text_and_fit(text, most, most_bytes, count):
    spans = parts(text, count, most, most_bytes=most_bytes)
    assert "".join(cut(text, spans)) == (text if text.strip() else "")
    assert all(before == after for (_, before), (after, _) in itertools.pairwise(spans))
    for one in cut(text, spans):
        assert one.strip()
        said = one.strip()
        assert count(said) <= most or len(said) == 1
        assert len(said.encode()) <= most_bytes


@pytest.mark.parametrize(("text", "most", "expected"), [
    ("one two\n\nthree four\n\nfive six", 4, ["one two\n\nthree four\n\n", "five six"]),
    ("one two\nthree four\nfive six", 3, ["one two\n", "three four\n", "five six"]),
    ("One two. Three four! Five six.", 2, ["One two. ", "Three four! ", "Five six."]),
    ("one two three", 2, ["one two ", "three"]),
    ("一二三。四五六。", 1, ["一二三。四五六。"]),
])  # fmt: skip
def test_parts_end_at_the_best_place(text, most, expected):
    assert cut(text, parts(text, words, most)) == expected


def test_parts_of_a_long_word_are_halves():
    assert cut("abcdefgh", parts("abcdefgh", len, 3)) == ["ab", "cd", "ef", "gh"]


def test_rows_stay_whole():
    table = "|a b|\n|c d e f|\n|g|\n|h|"
    assert cut(table, rows(table, words, 2)) == ["|a b|\n", "|c d e f|\n", "|g|\n|h|"]
    assert rows("\n \n", words, 2) == []


def reply(*contents, summary=""):
    return {
        "chunks": [*({"content": content} for content in contents), *([{"content": summary, "summary": True}] if summary else [])]
    }


def passages(answer, text=TEXT):
    found = read(answer, text)
    return [text[start:end] for start, end in itertools.pairwise([*found.starts, len(text)])]


def test_passages_are_found_whatever_the_white_space_and_the_signs():
    answer = reply('Heading First passage, with "quotes".', "Second passage - it goes on.", summary=" Two passages. ")
    assert passages(answer) == ["Heading\n\nFirst passage, with “quotes”.\n", "Second   passage — it goes on."]
    assert read(answer, TEXT).summaries == ["Two passages."]


@pytest.mark.parametrize("wrapped", ["{}", "```json\n{}\n```", "Here they are:\n\n{}\nThat is all.", "<think>a {{ b</think>{}"])
def test_json_is_found_in_what_models_write_around_it(wrapped):
    text = wrapped.replace("{}", json.dumps(reply(TEXT))).replace("{{", "{")
    assert passages(text) == [TEXT]


def test_other_forms_of_the_same_are_taken():
    assert passages([{"content": TEXT}]) == [TEXT]
    assert read({"chunks": [{"content": TEXT, "summary": "It says so."}, {"summary": "And more."}]}, TEXT).summaries == [
        "It says so.",
        "And more.",
    ]
    assert passages('{"chunks": [{"content": "a\nb"}]}', "a\nb") == ["a\nb"]


@pytest.mark.parametrize(("text", "contents", "expected"), [
    ("- One…\n- “Two” — three.\n", ["* One...", '* "Two" - three.'], ["- One…\n", "- “Two” — three.\n"]),
    ("# Head\n\nText.\n\n## Next\n(More.)", ["Head\nText.", "Next\nMore."], ["# Head\n\nText.\n\n", "## Next\n(More.)"]),
    ("He said “No.” “Yes,” she said.", ["He said No.", "Yes, she said."], ["He said “No.” ", "“Yes,” she said."]),
    ("他说。“不。”", ["他说。", "不。"], ["他说。", "“不。”"]), ("ﬁne e\u0301te\u0301 Straße", ["fine", "été STRASSE"], ["ﬁne ", "e\u0301te\u0301 Straße"]),
    ("f(x) == {1: [2]}", ["f(x)", "{1: [2]}"], ["f(x) ", "== {1: [2]}"]), ("** !! **", ["** !! **"], ["** !! **"]),
])  # fmt: skip
def test_signs_may_differ_and_stay_with_their_words(text, contents, expected):
    found = read(reply(*contents), text)
    starts = [0, *found.starts[1:], len(text)]
    assert [text[start:end] for start, end in itertools.pairwise(starts)] == expected


def test_a_little_that_is_left_out_joins_the_passage_before():
    assert passages(reply("First passage, with “quotes”.", "goes on."))[0].startswith("First passage")
    text = "One. " + "x" * LEFT_OUT + " Two."
    assert passages(reply("One.", "Two."), text) == ["One. " + "x" * LEFT_OUT + " ", "Two."]


@pytest.mark.parametrize(("answer", "why"), [
    ("no JSON at all", 'no JSON object with a list "chunks"'),
    ('{"chunks": [{"content": "Head', "its JSON cannot be read"),
    ({"passages": []}, 'a list "chunks"'), (3, 'a list "chunks"'), ({"chunks": "a"}, 'a list "chunks"'),
    ({"chunks": ["a"]}, 'no object with a text "content"'), ({"chunks": [{"content": 1}]}, 'no object with a text "content"'),
    ({"chunks": []}, "there is no passage in it"), (reply(summary="Two."), "there is no passage in it"),
    (reply("Heading", "Frist passage"), "passage 2 is not a copy of the document's words at this place: 'Frist passage'"),
    (reply("Second passage", "First passage"), "passage 2 is not a copy"),
    (reply(TEXT, TEXT), "passage 2 is not a copy"),
])  # fmt: skip
def test_what_cannot_be_used_says_why(answer, why):
    with pytest.raises(Unusable) as caught:
        read(answer, TEXT)
    assert why in str(caught.value)


@pytest.mark.parametrize("text", ["x" * (LEFT_OUT + 1) + "One.", "One." + "x" * (LEFT_OUT + 1)])
def test_much_that_is_left_out_is_refused(text):
    with pytest.raises(Unusable, match=r"101 letters of the document are in no passage, beginning with 'xxx"):
        read(reply("One."), text)


def test_the_question_has_the_text_the_length_and_what_was_wrong():
    prompt = question("The text.", 288, "passage 2 is missing").prompt()
    assert "The text." in prompt
    assert "about 288 words" in prompt
    assert "passage 2 is missing. Answer again" in prompt
    assert "last answer" not in question("The text.", 288).prompt()
