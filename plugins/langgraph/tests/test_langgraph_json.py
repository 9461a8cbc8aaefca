# SPDX-License-Identifier: MIT
"""Results as JSON text: valid, readable, and nothing lost in silence."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import uuid
from collections import OrderedDict, deque
from typing import Any, NamedTuple

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from pydantic import BaseModel, ConfigDict, SecretStr

from rocketride_core import Document, Question, Secret
from rocketride_langgraph import NotJson, json_text

numpy = pytest.importorskip("numpy")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@attrs.frozen
class Place:
    name: str
    at: Any = None


@dataclasses.dataclass
class Trip:
    places: list[Place]
    start: dt.date


class Model(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    size: int
    ratio: float = 0.5
    key: SecretStr = SecretStr("hidden")


class Point(NamedTuple):
    x: int
    y: int


DAY = dt.date(2026, 3, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("教程", '"教程"'),
        ('say "hi"\n', '"say \\"hi\\"\\n"'),
        (None, "null"),
        (True, "true"),
        (10**30, str(10**30)),
        (0.1, "0.1"),
        ({"a": [1, (2, 3)]}, '{"a": [1, [2, 3]]}'),
        ({True: "a", None: "b"}, '{"true": "a", "null": "b"}'),
        ({2: "a", 1.5: "b"}, '{"2": "a", "1.5": "b"}'),
        ({DAY: 1, Colour.RED: 2}, '{"2026-03-01": 1, "red": 2}'),
        (OrderedDict(a=1), '{"a": 1}'),
        ({"b", "a", "c"}, '["a", "b", "c"]'),
        (frozenset({10, 9}), "[10, 9]"),
        (deque([1, 2]), "[1, 2]"),
        (range(3), "[0, 1, 2]"),
        (Point(1, 2), "[1, 2]"),
        ([float("nan"), float("inf"), -float("inf")], "[null, null, null]"),
        (DAY, '"2026-03-01"'),
        (dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), '"2026-03-01T12:00:00Z"'),
        (dt.time(1, 2), '"01:02:00"'),
        (dt.timedelta(days=1, seconds=30), '"P1DT30S"'),
        (uuid.UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (pathlib.PurePosixPath("a/b.txt"), '"a/b.txt"'),
        (pathlib.Path("c"), '"c"'),
        (decimal.Decimal("1.10"), '"1.10"'),
        ([Colour.RED, Level.HIGH], '["red", 3]'),
        (Trip([Place("Rome", DAY)], DAY), '{"places": [{"name": "Rome", "at": "2026-03-01"}], "start": "2026-03-01"}'),
        (Model(size=1, ratio=float("nan")), '{"size": 1, "ratio": null, "key": "**********"}'),
        ([Model(size=1)], '[{"size": 1, "ratio": 0.5, "key": "**********"}]'),
        (Secret("hidden"), '"***"'),
        (SecretStr("hidden"), '"**********"'),
        (Document("text", {"objectId": "o"}, score=0.5), '{"type": "Document", "page_content": "text", "score": 0.5, "metadata": {"objectId": "o"}}'),
        (LangChainDocument("text"), '{"id": null, "metadata": {}, "page_content": "text", "type": "Document"}'),
        (numpy.float32(0.5), "0.5"),
        (numpy.float64("nan"), "null"),
        (numpy.int64(3), "3"),
        (numpy.bool_(True), "true"),
        (numpy.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (memoryview(numpy.array([0.5], dtype="f4")), "[0.5]"),
        ("\ud83d half", '"\\ud83d half"'),
    ],
)  # fmt: skip
def test_values(value: Any, text: str) -> None:
    made = json_text(value)
    assert made == text
    made.encode()
    json.loads(made)


def test_a_question_is_its_clients_json() -> None:
    assert json.loads(json_text(Question.of("why?")))["questions"] == [{"text": "why?"}]


class Strange:
    pass


def looping() -> list[Any]:
    value: list[Any] = []
    value.append({"me": value})
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"abc", "$: bytes has no JSON form; return a text, such as base64"),
        ({"a": [bytearray(1)]}, "$.a[0]: bytearray has no JSON form"),
        ({"a": Strange()}, "$.a: Strange has no JSON form; return plain values, a dataclass or a pydantic model"),
        (Place("x", Strange()), "$.at: Strange has no JSON form"),
        (Strange, "$: type has no JSON form"),
        ((n for n in (1, 2)), "$: generator has no JSON form"),
        ({(1, 2): "a"}, "$: a JSON object has text keys, not tuple"),
        ({1: "a", "1": "b"}, "$: two keys are '1' as text"),
        (looping(), r"$[0].me: the value contains itself"),
        (ValueError("x"), "$: ValueError has no JSON form"),
        (open, "$: builtin_function_or_method has no JSON form"),
    ],
)
def test_what_has_no_json_form(value: Any, text: str) -> None:
    with pytest.raises(NotJson) as caught:
        json_text(value)
    assert str(caught.value).startswith(text)


def test_a_model_that_pydantic_cannot_write_says_which() -> None:
    class Holding(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        it: Strange

    with pytest.raises(NotJson, match=r"\$\.h: Holding has no JSON form \(.*Strange"):
        json_text({"h": Holding(it=Strange())})


def test_a_value_may_stand_twice() -> None:
    shared = [1]
    assert json_text({"a": shared, "b": shared}) == '{"a": [1], "b": [1]}'


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@given(values)
def test_it_is_always_valid_json_and_says_the_same(value: Any) -> None:
    def expected(of: Any) -> Any:
        if isinstance(of, float) and not abs(of) < float("inf"):
            return None
        if isinstance(of, list | tuple):
            return [expected(one) for one in of]
        return {key: expected(one) for key, one in of.items()} if isinstance(of, dict) else of

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(json_text(value).encode(), parse_constant=refuse) == expected(value)
