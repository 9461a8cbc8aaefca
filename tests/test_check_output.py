# SPDX-License-Identifier: MIT
"""What `check` prints for programs: JSON lines by a published schema, and SARIF 2.1.0; and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketride_core.cli import main
from rocketride_core.locating import places
from rocketride_core.reading import child

FAULTY = Path(__file__).parent / "faulty"
GOOD = '{"components": [\n{"id": "chat_1", "provider": "chat", "config": {}},\n{"id": "r", "provider": "response_questions", "config": {}, '
GOOD += '"input": [{"lane": "questions", "from": "chat_1"}]}]}'

TEXT = {"type": "string", "minLength": 1}
# The parts of the SARIF 2.1.0 schema that say what must be there, and of which form.
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": TEXT,
                                    "semanticVersion": TEXT,
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {"type": "object", "required": ["id"], "properties": {"id": TEXT}},
                                    },
                                },
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "locations"],
                            "properties": {
                                "ruleId": TEXT,
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": {"type": "object", "required": ["text"], "properties": {"text": TEXT}},
                                "partialFingerprints": {"type": "object", "additionalProperties": TEXT},
                                "locations": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "type": "object",
                                        "required": ["physicalLocation"],
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation", "region"],
                                                "properties": {
                                                    "artifactLocation": {"type": "object", "required": ["uri"]},
                                                    "region": {
                                                        "type": "object",
                                                        "required": ["startLine", "startColumn"],
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                        },
                                                    },
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_json_lines_follow_the_schema(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["schema", "check"]) == 0
    schema = json.loads(capsys.readouterr().out)
    valid = fastjsonschema.compile({**schema, "$schema": "http://json-schema.org/draft-07/schema"})
    (tmp_path / "good.pipe").write_text(GOOD)
    assert main(["check", "--format", "json", str(FAULTY), str(tmp_path)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    for line in lines:
        valid(json.loads(line))
    for broken in ({"problems": []}, {**json.loads(lines[0]), "ok": 1}, {**json.loads(lines[0]), "more": 1}):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            valid(broken)


def sarif(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main(["check", "--format", "sarif", *words])
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    fastjsonschema.validate(SARIF, told)
    return told["runs"][0]  # type: ignore[no-any-return]


def test_sarif(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "ü.pipe").write_text(GOOD.replace('"from": "chat_1"', '"from": "chat_2"'))
    monkeypatch.chdir(tmp_path)
    run = sarif(capsys, "sub dir")
    [result] = [one for one in run["results"] if one["ruleId"] == "dangling-link"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]] == {"id": "dangling-link"}
    [where] = result["locations"]
    assert where["physicalLocation"]["artifactLocation"]["uri"] == "sub%20dir/%C3%BC.pipe"
    line = GOOD.splitlines()[2]
    assert where["physicalLocation"]["region"] == {"startLine": 3, "startColumn": line.index('"chat_1"') + 1}
    assert where["logicalLocations"] == [{"fullyQualifiedName": "$.components[1].input[0].from", "name": "r"}]
    assert result["message"]["text"].endswith("\ndid you mean chat_1?")
    assert result["level"] == "error"


def test_sarif_of_good_unreadable_and_warned_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good, odd = tmp_path / "good.pipe", tmp_path / "odd.pipe"
    good.write_text(GOOD)
    odd.write_text('{"components": []}')
    assert sarif(capsys, str(good))["results"] == []
    assert [one["level"] for one in sarif(capsys, str(odd))["results"]] == ["warning"]
    assert [one["level"] for one in sarif(capsys, str(odd), "--strict")["results"]] == ["error"]
    [missing] = sarif(capsys, str(tmp_path / "none.pipe"))["results"]
    assert missing["ruleId"] == "unreadable-file"
    assert missing["locations"][0]["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 1}
    prints = [one["partialFingerprints"]["problem/v1"] for one in sarif(capsys, str(FAULTY))["results"]]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_exit_codes_are_the_same_in_every_form(form: str, tmp_path: Path) -> None:
    good, odd = tmp_path / "good.pipe", tmp_path / "odd.pipe"
    good.write_text(GOOD)
    odd.write_text('{"components": []}')
    words = ["check", "--format", form]
    assert main([*words, str(good)]) == 0
    assert main([*words, str(odd)]) == 0
    assert main([*words, str(odd), "--strict"]) == 2
    assert main([*words, str(FAULTY)]) == 2
    assert main([*words, str(tmp_path / "empty")]) == 2


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from([None, 1]))
def test_every_value_is_found_where_it_stands(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    lines = text.split("\n")
    todo = [("$", value)]
    while todo:
        path, node = todo.pop()
        line, column = places(text, [path])[path]
        decoded, _ = json.JSONDecoder().raw_decode("\n".join([lines[line - 1][column - 1 :], *lines[line:]]))
        assert decoded == node
        todo += [(child(path, key), item) for key, item in node.items()] if isinstance(node, dict) else []
        todo += [(child(path, n), item) for n, item in enumerate(node)] if isinstance(node, list) else []


def test_what_is_not_there_is_placed_at_what_is_around_it() -> None:
    text = '{"a":\n {"b": 1} // c\n}'
    assert places(text, ["$.a.x[3]", "$.q", "$", "$.a.b"]) == {"$.a.x[3]": (2, 2), "$.q": (1, 1), "$": (1, 1), "$.a.b": (2, 8)}
    assert places("", ["$.a"]) == {"$.a": (1, 1)}
