# SPDX-License-Identifier: MIT
"""The words of a text, of a query, and the passages of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketride_indexer.passages import passages
from rocketride_indexer.words import LONGEST, phrases, sought, tokens

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=60) | st.text("aé\u0301引擎ไท한 \n.!‍👍🏽İıß_", max_size=60)


@pytest.mark.parametrize(("text", "expected"), [
    ("Boats are RED.", ["boats", "are", "red"]), ("foo_bar 3.14 C++ e-mail", ["foo", "bar", "3", "14", "c", "e", "mail"]),
    ("Straße café naïve", ["strasse", "cafe", "naive"]), ("cafe\u0301", ["cafe"]), ("ﬁne Ｆｕｌｌ", ["fine", "full"]),
    ("ISPARTA ısparta İsparta isparta", ["isparta"] * 4), ("in\u00addex Ёлка", ["index", "елка"]),
    ("Ελλάδα ΕΛΛΆΣ", ["ελλαδα", "ελλασ"]), ("हिन्दी में", ["हिन्दी", "में"]), ("עִבְרִית", ["עברית"]), ("عَرَبِيّ", ["عربي"]),
    ("引擎读取", ["引擎", "擎读", "读取", "取"]), ("引", ["引"]), ("カード", ["カー", "ード", "ド"]), ("ｶｰﾄﾞ", ["カー", "ード", "ド"]),
    ("한국어", ["한국", "국어", "어"]), ("ไทย", ["ไท", "ทย", "ย"]), ("v2引擎x", ["v2", "引擎", "擎", "x"]),
    ("ok 👍🏽👩\u200d👧", ["ok", "👍", "👩", "👧"]), ("", []), (" .,;\n", []), ("x" * 500, ["x" * LONGEST]), ("a\ud800b", ["a", "b"]),
])  # fmt: skip
def test_tokens(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(("query", "expected"), [
    ("red boat", ["red", "boat"]), ('"red boat" engine', ["red boat", "engine"]), ('a"b', ['a"b']), ('"" x', ["x"]), ("", []), ('"red', ["red"]),
])  # fmt: skip
def test_phrases(query, expected):
    assert phrases(query) == expected


@pytest.mark.parametrize(("phrase", "expected"), [
    ("e-mail", ["e", "mail"]), ("引擎", ["引擎"]), ("引擎读", ["引擎", "擎读"]), ("引", ["引"]), ("引擎x", ["引擎", "擎", "x"]), ("aa", ["aa"]), ("哈哈", ["哈哈"]),
])  # fmt: skip
def test_what_is_sought(phrase, expected):
    assert sought(phrase) == expected


def test_any_of_several_runs_leaves_all_last_characters_out():
    assert sought("引擎 读取", together=False) == ["引擎", "读取"]


@given(ANY_TEXT)
def test_a_text_is_found_by_itself(text):
    there, wanted = tokens(text), list(sought(text))
    assert there[: len(wanted)] == wanted
    assert all(token and " " not in token and len(token) <= LONGEST for token in there)


@given(ANY_TEXT)
def test_case_and_composition_make_no_difference(text):
    import unicodedata

    assert tokens(unicodedata.normalize("NFD", text)) == tokens(unicodedata.normalize("NFC", text))


@given(
    st.lists(st.sampled_from(["word ", "A sentence. ", "\n\n", "\n", "y" * 30, "引擎。", "e\u0301", " "]), max_size=40).map(
        "".join
    ),
    st.integers(1, 50),
)
def test_passages_hold_all_but_white_space(text, size):
    spans = list(passages(text, size))
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert all(text[start:end] == text[start:end].strip() != "" and end - start <= size for start, end in spans)


@pytest.mark.parametrize(("text", "size", "expected"), [
    ("aaaa bbbb\n\ncccc dddd", 14, ["aaaa bbbb", "cccc dddd"]), ("aaaa bbbb\ncccc dddd", 14, ["aaaa bbbb", "cccc dddd"]),
    ("Aaaa bb. Cccc dddd", 14, ["Aaaa bb.", "Cccc dddd"]), ("aaaa bbbb cccc", 12, ["aaaa bbbb", "cccc"]), ("a" * 10, 4, ["aaaa", "aaaa", "aa"]),
    ("引擎读取文件。引擎回答问题。", 10, ["引擎读取文件。", "引擎回答问题。"]), ("e\u0301" * 4, 3, ["e\u0301"] * 4), ("short", 100, ["short"]), (" \n ", 2, []),
])  # fmt: skip
def test_passages_end_at_the_best_place(text, size, expected):
    assert [text[start:end] for start, end in passages(text, size)] == expected
