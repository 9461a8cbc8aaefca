# SPDX-License-Identifier: MIT
"""`fmt`: white space alone changes, and files that editors save do not change at all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketride_core import PipeError
from rocketride_core.cli import main
from rocketride_core.formatting import formatted
from rocketride_core.reading import read_json

SHARED = Path(__file__).resolve().parents[2] / "shared" / "pipes"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=25,
)
LAYOUTS = st.sampled_from([{}, {"indent": 2}, {"indent": "\t"}, {"indent": 4}, {"separators": (",", ":")}])


def words(text: str) -> list[str]:
    """Everything but white space and commas; texts and comments as they are."""
    return re.findall(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[^\s,]', text, re.DOTALL)


@settings(max_examples=200, deadline=None)
@given(VALUES, LAYOUTS, st.booleans())
def test_white_space_alone_changes(value: Any, layout: dict[str, Any], ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii, **layout)
    once = formatted(text)
    assert words(once) == words(text)
    assert read_json(once) == read_json(text)
    assert formatted(once) == once


@settings(max_examples=100, deadline=None)
@given(VALUES, st.sampled_from([2, 4, "\t"]))
def test_what_an_editor_saves_stays_byte_for_byte(value: Any, indent: Any) -> None:
    for end in ("", "\n"):
        text = json.dumps({"a": [value], "b": {}}, indent=indent) + end
        assert formatted(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1.50,"b":1e5,"c":"\\u00e9"}', '{"a":1.50,"b":1e5,"c":"\\u00e9"}'),
        ('{\n"a":1,\n"b":[1,2,],\n}', '{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ]\n}'),
        ('{\n\t"a":{"b": 1},\n\t"c" : [ ]}\n', '{\n\t"a": {"b": 1},\n\t"c": [ ]\n}\n'),
        ('\ufeff{\r\n  "a": 1\r\n}\r\n', '{\n  "a": 1\n}\n'),
        (
            '// top\n{ // in\n"a": 1, // one\n/* two */ "b": 2 }\n// end\n',
            '// top\n{ // in\n  "a": 1, // one\n  /* two */\n  "b": 2\n}\n// end\n',
        ),
        ('{"a": /* why */ 1,\n"b": // so\n2}', '{\n  "a": /* why */ 1,\n  "b": // so\n  2\n}'),
        ("[1, 2 // last\n, 3]", "[\n  1,\n  2, // last\n  3\n]"),
        ('{"a" // so\n: 1}', '{\n  "a" // so\n  : 1\n}'),
        ('{"a": // so\n/* and */ 1}', '{\n  "a": // so\n  /* and */ 1\n}'),
        ('{"a": 1 // one\n, /* two\n*/ "b": 2}', '{\n  "a": 1, // one\n  /* two\n*/\n  "b": 2\n}'),
        ('/*\n * so\n */\n{\n    "a": 1}', '/*\n * so\n */\n{\n    "a": 1\n}'),
        ("[\n1,\n2, // none behind\n]", "[\n  1,\n  2 // none behind\n]"),
    ],
)
def test_forms(before: str, after: str) -> None:
    assert formatted(before) == after
    assert formatted(after) == after


def test_a_line_that_is_too_long_is_broken() -> None:
    long = json.dumps({"a": list(range(60)), "b": {"c": 1}})
    assert formatted(long).count("\n") > 60
    assert '{"c": 1}' in formatted(long)


@pytest.mark.parametrize("data", [b"", b"{", b"pipeline x", b"\xff\xfe\x00", b'{"a": }'])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(PipeError, match="bad JSON"):
        formatted(data, "x.pipe")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, messy, bad = tmp_path / "a.pipe", tmp_path / "b.pipe", tmp_path / "c.pipe"
    good.write_text('{\n  "components": []\n}\n')
    messy.write_text('{"components": [\n]}')
    messy.chmod(0o640)
    assert main(["fmt", "--check", str(good)]) == 0
    assert main(["fmt", "--check", str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"would change {messy}\n"
    assert messy.read_text() == '{"components": [\n]}'
    assert main(["fmt", str(tmp_path)]) == 0
    assert messy.read_text() == '{\n  "components": []\n}'
    assert messy.stat().st_mode & 0o777 == 0o640
    assert main(["fmt", "--check", str(tmp_path)]) == 0
    bad.write_text("{")
    assert main(["fmt", str(tmp_path), str(tmp_path / "none.pipe")]) == 2
    said = capsys.readouterr().err
    assert "bad JSON at line 1" in said
    assert "cannot be read" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pipe", "b.pipe", "c.pipe"]


def test_standard_input_keeps_every_character_and_can_be_checked() -> None:
    def run(*words: str) -> tuple[int, bytes]:
        line = [sys.executable, "-m", "rocketride_core.cli", "fmt", *words, "-"]
        done = subprocess.run(
            line, input=given, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False
        )
        return done.returncode, done.stdout

    given = '{\r\n"é": "😀"}'.encode()
    assert run() == (0, '{\n  "é": "😀"\n}'.encode())
    assert run("--check") == (1, b"")


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/pipes is not here")
def test_real_files_keep_every_word_and_most_of_them_every_byte() -> None:
    same = 0
    files = [path for path in SHARED.rglob("*") if path.is_file() and not read_json(path.read_bytes())[1]]
    for path in files:
        before = path.read_bytes()
        after = formatted(before)
        assert words(after) == words(before.decode("utf-8-sig")), path
        assert formatted(after) == after, path
        same += after.encode() == before
    assert same > 0.85 * len(files)
