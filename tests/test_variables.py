# SPDX-License-Identifier: MIT
"""`${ROCKETRIDE_X}` in configs: where values come from, and that nobody sees them."""

import copy
import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from rocketride_core.variables import Filled, Unset, Variables, read_dotenv


def substituted(value: Any, **names: str) -> tuple[Any, list[str]]:
    made, unset = Variables({f"ROCKETRIDE_{k}": v for k, v in names.items()}, process={}).substitute(value, "$")
    return made, [u.name.removeprefix("ROCKETRIDE_") for u in unset]


def test_the_caller_wins_over_the_file_over_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dotenv = tmp_path / ".env"
    variables = Variables({"ROCKETRIDE_A": "caller"}, dotenv)
    dotenv.write_text("ROCKETRIDE_A=file\nROCKETRIDE_B=file\nOTHER=file")
    for name in ("A", "B", "C"):
        monkeypatch.setenv(f"ROCKETRIDE_{name}", "process")
    text = "${ROCKETRIDE_A} ${ROCKETRIDE_B} ${ROCKETRIDE_C} ${OTHER}"
    assert variables.substitute(text) == ("caller file process ${OTHER}", [])
    assert Variables(None, tmp_path / "none").get("ROCKETRIDE_B") == "process"


@pytest.mark.parametrize(
    ("text", "made", "unset"),
    [
        ("${ROCKETRIDE_A}", "1", []),
        ("a ${ROCKETRIDE_A}${ROCKETRIDE_A} b", "a 11 b", []),
        ("${ROCKETRIDE_Z}", "${ROCKETRIDE_Z}", ["Z"]),
        (
            "${ROCKETRIDE_Z} ${ROCKETRIDE_A} ${ROCKETRIDE_Z} ${ROCKETRIDE_Y}",
            "${ROCKETRIDE_Z} 1 ${ROCKETRIDE_Z} ${ROCKETRIDE_Y}",
            ["Z", "Y"],
        ),
        ("${ROCKETRIDE_E}", "", []),
        ("${ROCKETRIDE_A:-x}", "1", []),
        ("${ROCKETRIDE_E:-x}", "x", []),
        ("${ROCKETRIDE_Z:-}", "", []),
        ('${ROCKETRIDE_Z:-{"a": {}}}', '{"a": {}}', []),
        ("${ROCKETRIDE_Z:-${ROCKETRIDE_Y:-${ROCKETRIDE_A}}}", "1", []),
        ("${ROCKETRIDE_Z:-a${ROCKETRIDE_Y}b}", "a${ROCKETRIDE_Y}b", ["Y"]),
        ("${ROCKETRIDE_A:-${ROCKETRIDE_Y}}", "1", []),
        ("${foo} $ROCKETRIDE_A ${ROCKETRIDE_A-x} ${rocketride_A} ${ROCKETRIDE_}", None, []),
        ("${ROCKETRIDE_A", None, []),
        ("${ROCKETRIDE_A:-x", None, []),
        ("${ROCKETRIDE_N}", "${ROCKETRIDE_A}", []),
    ],
)
def test_syntax(text: str, made: str | None, unset: list[str]) -> None:
    assert substituted(text, A="1", E="", N="${ROCKETRIDE_A}") == (text if made is None else made, unset)


def test_values_not_keys_at_any_depth_in_a_copy() -> None:
    before = {"${ROCKETRIDE_A}": ["${ROCKETRIDE_A}", 3, None, {"x y": "${ROCKETRIDE_Z}"}], "t": ("${ROCKETRIDE_A}",)}
    kept = copy.deepcopy(before)
    made, unset = Variables({"ROCKETRIDE_A": "1"}, process={}).substitute(before, "$.c")
    assert made == {"${ROCKETRIDE_A}": ["1", 3, None, {"x y": "${ROCKETRIDE_Z}"}], "t": ["1"]}
    assert unset == [Unset('$.c["${ROCKETRIDE_A}"][3]["x y"]', "ROCKETRIDE_Z")]
    assert before == kept


def test_what_came_from_a_variable_is_marked() -> None:
    made, _ = substituted(["${ROCKETRIDE_A}", "${ROCKETRIDE_Z}", "${ROCKETRIDE_Z:-d}", "plain"], A="s3cret")
    assert [(type(text), getattr(text, "complete", None)) for text in made] == [
        (Filled, True),
        (Filled, False),
        (str, None),
        (str, None),
    ]
    assert repr(made[0]) == "'***'"
    assert made[0] == "s3cret"
    assert json.dumps(made[0]) == '"s3cret"'
    for twin in (copy.deepcopy(made[0]), pickle.loads(pickle.dumps(made[0]))):
        assert (twin, twin.complete, repr(twin)) == ("s3cret", True, "'***'")


def test_redact_hides_every_value_that_was_used() -> None:
    variables = Variables(
        {
            "ROCKETRIDE_URL": "http://h",
            "ROCKETRIDE_LONG": "http://host/x",
            "ROCKETRIDE_N": "12",
            "ROCKETRIDE_KEY": "k",
            "ROCKETRIDE_Q": 'a"\nb',
        },
        process={},
    )
    said = 'http://host/x http://h 12 k a"\nb ' + json.dumps('a"\nb')
    assert variables.redact(said) == said
    variables.substitute(
        "${ROCKETRIDE_URL}${ROCKETRIDE_LONG}${ROCKETRIDE_N}${ROCKETRIDE_KEY}${ROCKETRIDE_Q}${ROCKETRIDE_X:-said}"
    )
    assert variables.redact(said) == '*** *** 12 *** *** "***"'
    assert variables.redact("said") == "said"
    variables.hide("12")
    assert variables.redact("12") == "***"
    assert {"k", "12"} <= variables.hidden
    assert variables.redact("a kind key: k, 12 of 312") == "a kind key: ***, *** of 312"


@pytest.mark.parametrize("unit", ["${ROCKETRIDE_A:-", "${ROCKETRIDE_A", "{", "${ROCKETRIDE_A}", "${ROCKETRIDE_A:-}"])
def test_time_is_linear_in_the_length(unit: str) -> None:
    def seconds(times: int) -> float:
        start = time.perf_counter()
        substituted(unit * times, A="")
        substituted(unit * times + "}" * times, A="")
        return time.perf_counter() - start

    seconds(10)
    small = max(min(seconds(2_000) for _ in range(3)), 0.002)
    assert min(seconds(32_000) for _ in range(2)) < small * 16 * 6


def test_dotenv_lines(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(
        b'\xef\xbb\xbf# A=0\r\nA = 1 # one\r\nexport B=\'x # y $z\'\nC="a\\nb \\"q\\"" # c\nD=\nE=a#b\nF= # nothing\n'
        b'  G=http://x?a=b\nnot a line\n1X=3\nH="two\nlines"\nI=\'open\nA=2\n'
    )
    assert read_dotenv(file) == {
        "A": "2",
        "B": "x # y $z",
        "C": 'a\nb "q"',
        "D": "",
        "E": "a#b",
        "F": "",
        "G": "http://x?a=b",
        "H": "two\nlines",
        "I": "'open",
    }
    with pytest.raises(FileNotFoundError):
        read_dotenv(tmp_path / "none")
