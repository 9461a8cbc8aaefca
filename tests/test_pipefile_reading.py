# SPDX-License-Identifier: MIT
"""JSON as people write it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from rocketride_core.reading import child, closest, read_json

set_hypothesis_home_dir(Path(__file__).resolve().parents[1] / "build" / "hypothesis")

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def good(data: str | bytes) -> Any:
    value, problems = read_json(data)
    assert problems == []
    return value


def bad(data: str | bytes) -> str:
    value, problems = read_json(data, "x.pipe")
    assert value is None
    assert [(p.path, p.code, p.severity, p.file) for p in problems] == [("$", "bad-json", "error", "x.pipe")]
    return problems[0].message.removeprefix("bad JSON at ")


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_whatever_json_says_comes_back(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert good(text) == value
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
            assert good(text.encode(encoding)) == value


@settings(max_examples=150, deadline=None)
@given(VALUES.filter(lambda v: isinstance(v, dict | list)))
def test_comments_and_trailing_commas_change_nothing(value: Any) -> None:
    text = json.dumps(value, indent=1)
    parts = [json.dumps(s) for s in ("// no", "/* no */", ",]", 'a\\"', "http://x")]
    littered = f"// first\n[{text} /* between */, {', '.join(parts)} , // last\n/*, ]*/ ] //end"
    assert good(littered) == [value, "// no", "/* no */", ",]", 'a\\"', "http://x"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,\n],\n}', {"a": [1, 2]}),
        ("[1, /* x */ ]", [1]),
        ("[1, // x\n]", [1]),
        ("/**/[]", []),
        ("\ufeff{}", {}),
        ('{"u": "http://a//b", "c": ",}"}', {"u": "http://a//b", "c": ",}"}),
        (r'["\\", "\"//", 1,]', ["\\", '"//', 1]),
    ],
)
def test_tolerated(text: str, value: Any) -> None:
    assert good(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: the file is empty"),
        (" \n ", "line 1, column 1: the file is empty"),
        ('{"a": }', "line 1, column 7: a value is missing here"),
        ('{\n "a": 1\n "b": 2}', "line 2, column 8: a comma or a closing bracket is missing here"),
        ('{"a" 1}', "line 1, column 6: a colon is missing after this key"),
        ("{a: 1}", "line 1, column 2: a key in double quotes is missing here"),
        ('// c\n{"a": 1, /* , */ b}', "line 2, column 18: a key in double quotes is missing here"),
        ('{"a": "x', "line 1, column 7: the text that starts here is never closed"),
        ('["a\nb"]', "line 1, column 4: a line break or another control character inside a text"),
        (r'["\q"]', "line 1, column 3: an unknown escape after a backslash"),
        ("{} {}", "line 1, column 4: there is more text after the end of the JSON"),
        ("[,]", "line 1, column 2: a value is missing here"),
        ("[1,,]", "line 1, column 4: a value is missing here"),
        ("{,}", "line 1, column 2: a key in double quotes is missing here"),
        ("[1 /* never closed", "line 1, column 3: a comma or a closing bracket is missing here"),
        ('{"a": "NaN",\n"b": NaN}', "line 2, column 6: not a JSON number: not finite, or of thousands of digits"),
        ("[1, -Infinity]", "line 1, column 5: not a JSON number: not finite, or of thousands of digits"),
        ("[1e999]", "line 1, column 2: not a JSON number: not finite, or of thousands of digits"),
        ("[1, " + "9" * 5000 + "]", "line 1, column 5: not a JSON number: not finite, or of thousands of digits"),
    ],
)
def test_one_problem_with_line_and_column(text: str, message: str) -> None:
    assert bad(text) == message


def test_bytes_that_are_no_text() -> None:
    assert bad('{\n "a": "ö'.encode() + b'\xff"}') == "line 2, column 9: a byte that is not UTF-8"
    assert "UTF-16" in bad(b"\xff\xfe{\x00\x00\xd8")


@pytest.mark.parametrize("depth", [201, 5_000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting(depth: int, opening: str, closing: str) -> None:
    column = 200 * len(opening) + 1
    assert bad(opening * depth + "1" + closing * depth) == f"line 1, column {column}: nested deeper than 200 levels"
    assert bad(opening * depth).endswith("nested deeper than 200 levels") or depth == 201


def test_nesting_that_is_allowed() -> None:
    assert good("[" * 200 + "]" * 200)


def test_duplicate_keys_are_warned_and_the_last_one_counts() -> None:
    value, problems = read_json('{"a": [{"k": 1, "k": 2, "k": 3}], "b": 1, "b": {"odd key": 1, "odd key": 2}}')
    assert value == {"a": [{"k": 3}], "b": {"odd key": 2}}
    assert sorted((p.path, p.code, p.severity) for p in problems) == [
        ("$.a[0].k", "duplicate-key", "warning"),
        ("$.a[0].k", "duplicate-key", "warning"),
        ("$.b", "duplicate-key", "warning"),
        ('$.b["odd key"]', "duplicate-key", "warning"),
    ]


def test_lone_surrogates_are_replaced_so_that_the_text_can_be_written() -> None:
    value, problems = read_json(r'{"a": ["\ud800x", "\ud83d\ude00"], "\udc00": 1}')
    assert value == {"a": ["\ufffdx", "😀"], "\ufffd": 1}
    assert sorted((p.path, p.code, p.severity) for p in problems) == [
        ("$", "lone-surrogate", "warning"),
        ("$.a[0]", "lone-surrogate", "warning"),
    ]
    json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "unit",
    ['"\\"', "/*", "//", ",", '{"a":1,', '"a', "[1,/**/", "\n", "-", "\\", '"\\\\"'],
)
def test_time_is_linear_in_the_length(unit: str) -> None:
    def seconds(times: int) -> float:
        text = "[" + unit * times
        start = time.perf_counter()
        read_json(text)
        return time.perf_counter() - start

    seconds(100)
    small = max(min(seconds(5_000) for _ in range(3)), 0.002)
    assert min(seconds(80_000) for _ in range(2)) < small * 16 * 6


def test_paths() -> None:
    assert child(child(child("$", "a-b"), 2), "c.d") == '$.a-b[2]["c.d"]'


@pytest.mark.parametrize(("word", "meant"), [("chat1", "chat_1"), ("CHAT_1", "chat_1"), ("xyz", ""), ("", "")])
def test_closest(word: str, meant: str) -> None:
    assert closest(word, ["chat_1", "out"]) == meant
