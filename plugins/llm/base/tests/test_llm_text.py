# SPDX-License-Identifier: MIT
"""The text of a model: thinking, stop words, JSON; and names of tools, and estimates."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketride_llm import ToolNames, estimate
from rocketride_llm.text import Spoken, cleaned, read_json, spoken


def in_pieces(text: str, size: int, stop: tuple[str, ...] = ()) -> str:
    shown = Spoken(stop)
    return "".join([shown.feed(text[n : n + size]) for n in range(0, len(text), size)]) + shown.end()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain", "plain"),
        ("<think>hm</think>yes", "yes"),
        ("  <think>\na\n</think>\n\nyes", "yes"),
        ("<thinking>hm</thinking> <think>x</think> yes", "yes"),
        ("<think></think>", ""),
        ("<think>never closed", ""),
        ("The tag <think> is written so: <think>a</think>", "The tag <think> is written so: <think>a</think>"),
        ("<thin air", "<thin air"),
        ("<th", "<th"),
        ("", ""),
        ("   ", "   "),
    ],
)
def test_thinking_is_taken_out_whole_or_in_pieces(text: str, seen: str) -> None:
    assert spoken(text) == seen
    for size in (1, 2, 3, 7):
        assert in_pieces(text, size) == seen


def test_a_closing_tag_alone_on_its_line_ends_thinking_that_the_prompt_began() -> None:
    assert spoken("so it is\nfive\n</think>\n\nFive.") == "Five."
    assert spoken("Write </think> to close it.") == "Write </think> to close it."


@pytest.mark.parametrize(
    ("text", "stop", "seen"),
    [
        ("a Observation: b", ("Observation:",), "a "),
        ("Observation: b", ("Observation:",), ""),
        ("a Observ", ("Observation:",), "a Observ"),
        ("one END two STOP", ("STOP", "END"), "one "),
        ("aab", ("ab",), "a"),
        ("<think>STOP</think>go STOP on", ("STOP",), "go "),
        ("abc", ("",), "abc"),
        ("xabcd", ("abcd", "bc"), "xa"),
        ("xabc", ("bc", "abc"), "x"),
        ("aaab", ("aab",), "a"),
        ("a]b^c-d", ("^c", "]x", "-"), "a]b"),
    ],
)
def test_stop_words_cut_whole_or_in_pieces(text: str, stop: tuple[str, ...], seen: str) -> None:
    assert spoken(text, stop) == seen
    for size in (1, 2, 3, 5):
        assert in_pieces(text, size, stop) == seen


def quick(seconds: float, stop: Sequence[str], piece: str, pieces: int = 60_000) -> str:
    began = time.process_time()
    shown = Spoken(stop)
    text = "".join([shown.feed(piece) for _ in range(pieces)]) + shown.end()
    assert time.process_time() - began < seconds
    return text


def test_the_time_grows_with_the_text_alone() -> None:
    """What is quadratic takes minutes here."""
    assert quick(1, (), " " * 10).isspace()
    assert quick(4, ["a" * 10_000 + "b"], "a") == "a" * 60_000
    assert quick(4, [f"stop{n}" for n in range(1000)], "a stop ") == "a stop " * 60_000
    assert quick(4, (), "<think></think>") == ""
    began = time.process_time()
    spoken("\n" * 300_000 + " " * 300_000 + "</think")
    spoken("<think></think>" * 40_000)
    with pytest.raises(ValueError):
        read_json("```" + " " * 300_000)
    assert time.process_time() - began < 4


@given(st.text("ab<think>/ \n", max_size=40), st.integers(1, 6), st.sampled_from([(), ("ab",), ("aab", "b<"), ("a",)]))
def test_pieces_show_what_the_whole_shows(text: str, size: int, stop: tuple[str, ...]) -> None:
    # Only the whole text can be seen to begin inside a thought.
    whole = Spoken(stop)
    assert in_pieces(text, size, stop) == whole.feed(text) + whole.end()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1, null] \n", [1, None]),
        ("7", 7),
        ('```json\n{"a": "ü"}\n```', {"a": "ü"}),
        ("Here it is:\n```\n[1]\n```\nAnything else?", [1]),
        ('Sure! {"a": {"b": [1]}} I hope it helps.', {"a": {"b": [1]}}),
        ("The list is [1, 2].", [1, 2]),
    ],
)
def test_the_json_of_a_reply_is_found(text: str, value: Any) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize(
    "text", ["", "prose", "{'a': 1}", '{"a": ', "NaN", "[Infinity]", '{"a": 1} or {"a": 2}', "```json\nno\n```"]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_json(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_every_json_value_is_read_back(value: Any) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(f"```json\n{json.dumps(value, indent=1)}\n```") == value


def test_control_characters_never_reach_a_server() -> None:
    assert cleaned("a\x00b\x07c\td\r\ne\x7f\x9f") == "abc\td\r\ne"


def test_names_of_tools_there_and_back() -> None:
    names = ToolNames(["http_1.http_request", "a.b", "a__b", "wetter.größe", "x" * 90 + ".run", "x" * 90 + ".ran"])
    short = [names.there(name) for name in ("http_1.http_request", "a.b", "a__b", "wetter.größe", "x" * 90 + ".run")]
    assert short[0] == "http_1__http_request"
    assert short[2] == "a__b"
    assert short[1].startswith("a__b_")
    assert all(len(name) <= 64 and name.replace("_", "").isascii() and name.replace("_", "").isalnum() for name in short)
    assert [names.back(name) for name in short] == ["http_1.http_request", "a.b", "a__b", "wetter.größe", "x" * 90 + ".run"]
    assert names.back("never_heard_of") == "never_heard_of"
    assert names.there("gone.tool") == "gone__tool"


@given(st.lists(st.text("ab._-é", min_size=1, max_size=70), max_size=12, unique=True))
def test_every_name_is_one_s_own_and_stable(full: list[str]) -> None:
    names, again = ToolNames(full), ToolNames(list(reversed(full)))
    short = [names.there(name) for name in full]
    assert len(set(short)) == len(full)
    assert [names.back(name) for name in short] == full
    assert [again.there(name) for name in full] == short


def test_an_estimate_of_tokens() -> None:
    assert estimate("") == estimate("a") == 1
    assert estimate("four" * 100) == 100
    assert estimate("你好世界") == 4
    assert 40 <= estimate("The quick brown fox jumps over the lazy dog. " * 4) <= 50


@pytest.mark.parametrize(("text", "seen"), [("a\ud83d\ude00b", "a\U0001f600b"), ("a\ud83d", "a\ufffd"), ("\ude00<", "\ufffd<")])
def test_halves_of_characters_are_joined_whole_or_in_pieces(text: str, seen: str) -> None:
    assert cleaned(text) == spoken(text) == seen
    for size in (1, 2, 3):
        assert in_pieces(text, size) == in_pieces(text, size, ("STOP",)) == seen


def test_halves_inside_a_json_value_are_joined() -> None:
    assert read_json('{"\\ud83d": ["a\\ud83d\\ude00", "\\ude00"]}') == {"\ufffd": ["a\U0001f600", "\ufffd"]}


@pytest.mark.parametrize("text", ["[" * 100_000, "So: " + '{"a":' * 100_000])
def test_json_that_is_nested_too_deeply_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read_json(text)
