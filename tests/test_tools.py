# SPDX-License-Identifier: MIT
"""Tools: schemas from signatures, validated input with paths, dynamic tools, results as JSON, and what is refused."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import attrs
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tool_kit import ANY, LONE, answering, calling, error_of, opened

from rocketride_core import (
    MANY,
    TEXT,
    TOOL,
    Arguments,
    Component,
    ControlLink,
    Document,
    Entry,
    Instance,
    InvalidNode,
    Json,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    Param,
    PipeFile,
    Tool,
    ToolError,
    ToolFailure,
    ToolInput,
    UnknownTool,
    hookimpl,
    on,
    setting,
    tool,
)
from rocketride_core.toolschema import class_tools

Method = Callable[..., Any]


def node_of(fn: Method, **marks: Any) -> type[Node[Any]]:
    """A node class with one tool."""
    marked = tool(**marks)(fn) if marks else tool(fn)
    return type("Made", (Node,), {"spec": NodeSpec("made", title="Made node"), fn.__name__: marked, "__module__": __name__})


def tool_of(fn: Method, **marks: Any) -> Tool:
    (found,) = class_tools(node_of(fn, **marks))
    jsonschema.Draft202012Validator.check_schema(dict(found.input_schema))
    if found.output_schema is not None:
        jsonschema.Draft202012Validator.check_schema(dict(found.output_schema))
    return found


def refused(tool: Tool, arguments: Any) -> tuple[str, str]:
    with pytest.raises(ToolInput) as caught:
        tool.checked(arguments)
    assert isinstance(caught.value, ValueError)
    assert caught.value.tool == tool.name
    assert str(caught.value).startswith(f"{caught.value.path}: ") or caught.value.path == "$"
    return caught.value.path, str(caught.value)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@attrs.frozen(kw_only=True)
class Range:
    low: int = setting(ge=0)
    high: int = setting(9)


def everything(
    self: Any,
    instance: Instance,
    query: Annotated[str, Param("What to look for", min_length=2)],
    limit: Annotated[int, Param("How many", ge=1, le=100)] = 10,
    exact: bool = False,
    weight: float = 0.5,
    colour: Colour = Colour.RED,
    mode: Literal["fast", "slow"] = "fast",
    tags: Sequence[str] = (),
    where: Range | None = None,
    extra: Mapping[str, Json] | None = None,
    either: int | str = 0,
) -> list[str]:
    """Finds things.

    In the archive.
    """
    return [repr([query, limit, exact, weight, colour, mode, tags, where, extra, either])]


# ---- schemas


class Growing(Node[None]):
    """Has one tool more each time it is asked for them."""

    spec = NodeSpec("growing", title="Growing")
    known = 0

    @hookimpl
    def list_tools(self, instance: Instance) -> list[Tool]:
        type(self).known += 1
        return [Tool(f"t{n}", "A tool.", {"type": "object"}, lambda i, a, n=n: n) for n in range(type(self).known)]


def test_a_tool_that_appears_within_an_entry_is_found_on_a_miss() -> None:
    told: list[Any] = []

    class Agent(Node[None]):
        spec = NodeSpec("growing_agent", title="Agent", needs={TOOL: MANY}, responds=True)

        @on(TEXT)
        def work(self, instance: Instance, text: str) -> None:
            tools = instance.tools
            told.append([tool.name for tool in tools])
            told.append(tools.call("g.t1", {}))
            told.append([tool.name for tool in tools])
            for name in ("g.never", "other.t9"):
                with pytest.raises(UnknownTool, match="unknown tool; there are g.t0, g.t1"):
                    tools.call(name, {})

    source = type("GrowingSource", (Node,), {"spec": NodeSpec("growing_source", title="S", emits=[TEXT]), "__module__": __name__})
    pipe = PipeFile(
        [
            Component("s", "growing_source"),
            Component("a", "growing_agent", input=[LaneLink("text", "s")]),
            Component("g", "growing", control=[ControlLink("tool", "a")]),
        ],
        source="s",
    )
    Growing.known = 0
    with Kernel(nodes=[source, Agent, Growing]).load(pipe) as pipeline:
        pipeline.run(Entry("e"), TEXT("x")).checked()
    assert told == [["g.t0"], 1, ["g.t0", "g.t1"]]
    assert Growing.known == 3, "a name that no provider's id begins is nobody's to list again"


def test_the_schema_of_a_signature() -> None:
    schema = tool_of(everything).input_schema
    assert schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for", "minLength": 2},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many", "default": 10},
            "exact": {"type": "boolean", "default": False},
            "weight": {"type": "number", "default": 0.5},
            "colour": {"enum": ["red", "blue"], "default": "red"},
            "mode": {"enum": ["fast", "slow"], "default": "fast"},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "where": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"low": {"type": "integer", "minimum": 0}, "high": {"type": "integer", "default": 9}},
                        "required": ["low"],
                    },
                    {"type": "null"},
                ]
            },
            "extra": {"anyOf": [{"type": "object", "additionalProperties": {}}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 0},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert json.loads(json.dumps(schema)) == schema


def test_name_description_and_marks() -> None:
    def find(self: Any, instance: Instance) -> None:
        """Finds."""

    def bare(self: Any, instance: Instance) -> None: ...

    assert tool_of(everything).description == "Finds things.\n\nIn the archive."
    assert tool_of(bare).description == "Made node"
    found = tool_of(find, name="search", concurrent=True, timeout=3.0)
    assert (found.name, found.concurrent, found.timeout) == ("search", True, 3.0)
    assert tool_of(bare).input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_bare_text_in_annotated_is_the_description() -> None:
    def f(self: Any, instance: Instance, x: Annotated[int, "A number"] = 1) -> None: ...

    assert tool_of(f).input_schema["properties"] == {"x": {"type": "integer", "description": "A number", "default": 1}}


def test_limits_stand_on_the_items_of_a_list() -> None:
    def f(self: Any, instance: Instance, xs: Annotated[list[int], Param(ge=1, min_length=2)]) -> None: ...

    made = tool_of(f)
    assert made.input_schema["properties"] == {"xs": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2}}
    assert refused(made, {"xs": [1, 0]}) == ("$.xs[1]", "$.xs[1]: must be at least 1, got 0")
    assert refused(made, {"xs": [1]}) == ("$.xs", "$.xs: it needs at least 2 items")
    assert made.checked({"xs": [1, 2]}) == {"xs": [1, 2]}


class Row(TypedDict):
    name: str
    score: NotRequired[float]


@dataclass
class Spot:
    x: int
    y: int


class Pair(NamedTuple):
    left: int
    right: int


OUTPUTS: dict[str, tuple[Any, Any]] = {
    "int": (int, {"type": "integer"}),
    "none": (None, {"type": "null"}),
    "optional": (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    "list": (list[int], {"type": "array", "items": {"type": "integer"}}),
    "mapping": (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    "literal": (Literal["a", 1], {"enum": ["a", 1]}),
    "json": (Json, {}),
    "any": (Any, None),
    "typed dict": (
        Row,
        {"type": "object", "properties": {"name": {"type": "string"}, "score": {"type": "number"}}, "required": ["name"]},
    ),
    "attrs": (
        Range,
        {
            "type": "object",
            "properties": {"low": {"type": "integer", "minimum": 0}, "high": {"type": "integer", "default": 9}},
            "required": ["low"],
        },
    ),
    "dataclass": (
        Spot,
        {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x", "y"]},
    ),
    "enum": (Colour, {"enum": ["red", "blue"]}),
    "date and time": (dt.datetime, {"type": "string", "format": "date-time"}),
    "date": (dt.date, {"type": "string", "format": "date"}),
    "time": (dt.time, {"type": "string", "format": "time"}),
    "uuid": (uuid.UUID, {"type": "string", "format": "uuid"}),
    "path": (Path, {"type": "string"}),
    "decimal": (Decimal, {"type": "string"}),
    "document": (Document, {"type": "object"}),
    "documents": (Sequence[Document], {"type": "array", "items": {"type": "object"}}),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_schema_of_a_result(name: str) -> None:
    kind, schema = OUTPUTS[name]

    def f(self: Any, instance: Instance) -> None: ...

    f.__annotations__["return"] = kind
    assert tool_of(f).output_schema == schema


# ---- classes that are refused


def bad(annotation: Any, *, returns: bool = False) -> Method:
    def f(self: Any, instance: Instance, x: Any = None) -> None: ...

    f.__annotations__["return" if returns else "x"] = annotation
    return f


def no_type(self: Any, instance: Instance, x) -> None: ...  # type: ignore[no-untyped-def]
def packed(self: Any, instance: Instance, *xs: int) -> None: ...
def named(self: Any, instance: Instance, **xs: int) -> None: ...
def bare_self(self: Any) -> None: ...
def no_instance(self: Any, x: int) -> None: ...
async def later(self: Any, instance: Instance) -> None: ...


REFUSED: dict[str, tuple[Method, str]] = {
    "bytes": (bad(bytes), "parameter 'x' has the type <class 'bytes'>, which JSON cannot carry"),
    "a function": (bad(Callable[[], int]), "which JSON cannot carry"),
    "a class of somebody": (bad(Node), "which JSON cannot carry"),
    "inside a list": (bad(list[bytes]), "which JSON cannot carry"),
    "inside a union": (bad(int | bytes), "which JSON cannot carry"),
    "bytes back": (bad(bytes, returns=True), "it returns bytes, which JSON cannot carry"),
    "a memoryview back": (bad(memoryview, returns=True), "it returns memoryview, which JSON cannot carry"),
    "a node back": (bad(list[Node[Any]], returns=True), "which JSON cannot carry"),
    "an unknown name": (bad("Nowhere"), "'Nowhere' of a tool's signature must be importable at run time"),
    "no type": (no_type, "parameter 'x' needs a type: an agent sees the schema that is made of it"),
    "*args": (packed, "a tool's parameters are named one by one, not *xs"),
    "**kwargs": (named, "a tool's parameters are named one by one, not *xs"),
    "no instance": (no_instance, "a tool takes (self, instance, …); it takes (self, x)"),
    "nothing": (bare_self, "a tool takes (self, instance, …); it takes (self)"),
    "async": (later, "a node's methods are not async"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_tool_that_json_cannot_carry_is_refused_with_its_class(name: str) -> None:
    fn, message = REFUSED[name]
    with pytest.raises(InvalidNode) as caught:
        node_of(fn)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{__name__}.Made.{fn.__name__} (line ")


def test_two_tools_of_one_name_are_refused() -> None:
    def a(self: Any, instance: Instance) -> None: ...
    def b(self: Any, instance: Instance) -> None: ...

    body = {"spec": NodeSpec("made", title="Made"), "a": tool(a), "b": tool(name="a")(b), "__module__": __name__}
    with pytest.raises(InvalidNode, match="tool 'a' is there twice in this class"):
        type("Made", (Node,), body)


def test_a_wrong_default_is_refused() -> None:
    def f(self: Any, instance: Instance, x: int = "three") -> None: ...  # type: ignore[assignment]

    with pytest.raises(
        InvalidNode, match=r"Made\.f \(line \d+\): parameter x: its default is wrong: expected int, got str 'three'"
    ):
        node_of(f)


# ---- input


BAD_INPUTS: list[tuple[Any, str, str]] = [
    (None, "$", "the arguments are a JSON object, not NoneType"),
    ([], "$", "the arguments are a JSON object, not list"),
    ("query", "$", "the arguments are a JSON object, not str"),
    (7, "$", "the arguments are a JSON object, not int"),
    ({}, "$.query", "a value for 'query' is missing"),
    ({"query": "ab", "Limit": 3}, "$.Limit", "there is no parameter 'Limit'; there are: query, limit"),
    ({"query": 3}, "$.query", "expected str, got int 3"),
    ({"query": "a"}, "$.query", "it needs at least 2 characters"),
    ({"query": "ab", "limit": 0}, "$.limit", "must be at least 1, got 0"),
    ({"query": "ab", "limit": 101}, "$.limit", "must be at most 100, got 101"),
    ({"query": "ab", "limit": "many"}, "$.limit", "expected int, got str 'many'"),
    ({"query": "ab", "limit": 1.5}, "$.limit", "expected int, got float 1.5"),
    ({"query": "ab", "limit": True}, "$.limit", "expected int, got bool true"),
    ({"query": "ab", "exact": "perhaps"}, "$.exact", "expected bool, got str 'perhaps'"),
    ({"query": "ab", "weight": math.nan}, "$.weight", "expected float, got float nan"),
    ({"query": "ab", "weight": math.inf}, "$.weight", "expected float, got float inf"),
    ({"query": "ab", "colour": "green"}, "$.colour", "expected one of 'red', 'blue', got str 'green'"),
    ({"query": "ab", "mode": "mid"}, "$.mode", "expected one of 'fast', 'slow', got str 'mid'"),
    ({"query": "ab", "tags": "x"}, "$.tags", "expected a list of str, got str 'x'"),
    ({"query": "ab", "tags": ["x", 3]}, "$.tags[1]", "expected str, got int 3"),
    ({"query": "ab", "where": {"low": 1, "high": "x"}}, "$.where.high", "expected int, got str 'x'"),
    ({"query": "ab", "where": {}}, "$.where.low", "a value for 'low' is missing"),
    ({"query": "ab", "where": {"low": -1}}, "$.where.low", "must be at least 0, got -1"),
    ({"query": "ab", "extra": [1]}, "$.extra", "expected an object, got a list"),
    ({"query": "ab", "either": []}, "$.either", "expected int or str, got a list"),
]


@pytest.mark.parametrize(("arguments", "path", "message"), BAD_INPUTS, ids=[repr(case[0]) for case in BAD_INPUTS])
def test_wrong_input_says_where_and_what(arguments: Any, path: str, message: str) -> None:
    at, said = refused(tool_of(everything), arguments)
    assert at == path
    assert message in said


def test_good_input_becomes_what_the_signature_says() -> None:
    made = tool_of(everything).checked(
        {
            "query": "ab", "limit": "7", "exact": "true", "weight": 1, "colour": "blue", "mode": "slow", "tags": ["x"],
            "where": {"low": 1}, "extra": {"a": [None, 1]}, "either": "3",
        }
    )  # fmt: skip
    assert made == {
        "query": "ab", "limit": 7, "exact": True, "weight": 1.0, "colour": Colour.BLUE, "mode": "slow", "tags": ["x"],
        "where": Range(low=1), "extra": {"a": [None, 1]}, "either": "3",
    }  # fmt: skip
    assert type(made["weight"]) is float


def test_null_is_a_value_where_the_type_says_so_and_not_given_where_it_does_not() -> None:
    def f(self: Any, instance: Instance, a: int | None, b: int | None = 5, c: int = 3, d: Json = 1) -> None: ...

    made = tool_of(f)
    assert made.input_schema["required"] == ["a"]
    assert made.checked({"a": None, "b": None, "c": None, "d": None}) == {"a": None, "b": None, "c": 3, "d": None}
    assert made.checked({"a": 1}) == {"a": 1}
    assert refused(made, {"b": None}) == ("$.a", refused(made, {})[1])
    assert refused(made, {"a": None, "b": "x"})[0] == "$.b"


def test_defaults_are_the_methods_own_and_the_arguments_are_not_changed() -> None:
    given = {"query": "ab"}
    assert tool_of(everything).checked(given) == {"query": "ab"}
    assert given == {"query": "ab"}


def test_parameters_with_odd_names() -> None:
    def f(self: Any, instance: Instance, _hidden: int, type: str, arguments: int = 0, class_: str = "") -> None: ...

    made = tool_of(f)
    assert list(dict[str, Any](made.input_schema)["properties"]) == ["_hidden", "type", "arguments", "class_"]
    assert made.checked({"_hidden": "1", "type": "t"}) == {"_hidden": 1, "type": "t"}


PLAIN = st.none() | st.booleans() | st.integers(-3, 120) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
VALUES = st.recursive(
    PLAIN, lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from(["low", "high"]), v, max_size=2), max_leaves=4
)
KEYS = st.sampled_from(["query", "limit", "exact", "weight", "colour", "mode", "tags", "where", "either"])
STRICT = jsonschema.Draft202012Validator(dict(tool_of(everything).input_schema))


@pytest.mark.slow
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_what_the_schema_allows_is_accepted(arguments: dict[str, Any]) -> None:
    """The other way round does not hold: a text that is a number is taken for one, and null for "not given"."""
    fits = STRICT.is_valid(arguments)
    try:
        tool_of(everything).checked(arguments)
    except ToolInput:
        assert not fits


# ---- what an agent sees


def use(*lines: str, text: Any, **scripts: Any) -> Any:
    """What a script says in the agent of a pipeline."""
    said: list[Any] = []
    with opened(*lines) as p:
        answering(p, agent={"text": lambda i, t: said.append(text(i))}, **scripts).checked()
    return said[0]


TWO = (*LONE, "plain: plain", "agent -tool-> plain")


def test_the_catalog_has_full_names_in_the_order_of_the_file() -> None:
    names = use(*TWO, text=lambda i: [t.name for t in i.tools])
    assert names == ["box.do", "box.other", "box.both", "box.soon", "plain.add"]


def test_an_agent_without_tools_has_an_empty_catalog() -> None:
    assert use("agent: agent < text start", text=lambda i: list(i.tools)) == []


def test_calling_and_checking() -> None:
    def text(instance: Instance) -> Any:
        assert instance.tools.check("plain.add", {"a": 1}) is None  # type: ignore[func-returns-value]
        with pytest.raises(ToolInput) as caught:
            instance.tools.check("plain.add", {"a": "x"})
        assert (caught.value.tool, caught.value.path) == ("plain.add", "$.a")
        return instance.tools.call("plain.add", {"a": 1}), instance.tools.call("plain.add", {"a": 1, "b": "5"})

    assert use(*TWO, text=text) == (2, 6)


@pytest.mark.parametrize("name", ["plain.sub", "nobody.add", "add", "plain", "plain.add.x", "", "PLAIN.add"])
@pytest.mark.parametrize("how", ["call", "check"])
def test_an_unknown_tool_lists_what_exists(name: str, how: str) -> None:
    def text(instance: Instance) -> UnknownTool:
        with pytest.raises(UnknownTool) as caught:
            getattr(instance.tools, how)(name, {})
        return caught.value

    error = use("agent: agent < text start", "plain: plain", "box: box", "agent -tool-> plain", "agent -tool-> box", text=text)
    assert error.tool == name
    assert str(error) == f"{name}: unknown tool; there are plain.add, box.do, box.other, box.both, box.soon"


def test_a_tool_of_a_node_that_is_not_wired_to_the_agent_does_not_exist_for_it() -> None:
    lines = [*LONE, "two: agent < text start", "plain: plain", "two -tool-> plain"]
    use(*lines, text=lambda i: calling(UnknownTool, i, "plain.add", {"a": 1}))


def test_wrong_input_starts_nothing() -> None:
    journal: list[str] = []
    use(*LONE, text=lambda i: calling(ToolInput, i, "box.do", {"n": "x"}), journal=journal)
    assert not [line for line in journal if line.startswith("do ")]


def test_a_tool_that_raises_is_a_tool_failure_with_its_cause() -> None:
    def fail(instance: Instance, n: int) -> None:
        raise KeyError("no such row")

    def text(instance: Instance) -> ToolFailure:
        return calling(ToolFailure, instance, "box.do", {})

    error = use(*LONE, text=text, box={"do": fail})
    assert (error.tool, error.component, str(error)) == ("box.do", "box", "box.do: KeyError: 'no such row'")
    assert isinstance(error.__cause__, KeyError)


def test_a_tool_error_that_a_tool_raises_keeps_its_kind_and_gets_its_name() -> None:
    def fail(instance: Instance, n: int) -> None:
        raise ToolInput("$.n: it must be even", path="$.n")

    def text(instance: Instance) -> ToolInput:
        return calling(ToolInput, instance, "box.do", {"n": 1})

    error = use(*LONE, text=text, box={"do": fail})
    assert (error.tool, error.path) == ("box.do", "$.n")


def test_a_tool_error_that_nobody_handles_fails_the_agent() -> None:
    with opened(*LONE) as p:
        error = error_of(answering(p, agent={"text": lambda i, _: i.tools.call("box.none", {})}))
    assert (error.component, error.phase) == ("agent", "handler")
    assert isinstance(error.__cause__, UnknownTool)


def test_a_failed_call_is_not_tried_again() -> None:
    calls: list[int] = []

    def fail(instance: Instance, n: int) -> None:
        calls.append(n)
        raise ConnectionError("reset")

    use(*LONE, text=lambda i: calling(ToolFailure, i, "box.do", {}), box={"do": fail})
    assert calls == [0]


def test_no_message_of_a_failure_shows_the_value_of_a_variable() -> None:
    def fail(instance: Instance, n: int) -> None:
        raise ValueError("401 for key hunter2-hunter2")

    def text(instance: Instance) -> str:
        with pytest.raises(ToolFailure) as caught:
            instance.tools.call("box.do", {})
        return str(caught.value)

    said: list[str] = []
    kernel = {"env": {"ROCKETRIDE_KEY": "hunter2-hunter2"}}
    with opened(*LONE, kernel=kernel, box={"key": "${ROCKETRIDE_KEY}"}) as p:
        answering(p, agent={"text": lambda i, _: said.append(text(i))}, box={"do": fail}).checked()
    assert "hunter2" not in said[0]
    assert said[0].startswith("box.do: 401 for key ")


# ---- tools known only at run time

LISTED = ("agent: agent < text start", "more: listed", "agent -tool-> more")


def dynamic(name: str = "look", schema: Arguments = ANY, **more: Any) -> Tool:
    return Tool(name, "Looks.", schema, more.pop("call", lambda instance, arguments: dict(arguments)), **more)


def test_dynamic_tools_are_called_like_any_other() -> None:
    def text(instance: Instance) -> Any:
        return [t.name for t in instance.tools], instance.tools.call("more.look", {"a": [1]})

    assert use(*LISTED, text=text, more={"list": lambda i: [dynamic()]}) == (["more.look"], {"a": [1]})


def test_a_dynamic_tool_gets_its_providers_called_instance() -> None:
    def who(instance: Any, arguments: Arguments) -> Any:
        return [instance.node.id, instance._control]

    assert use(*LISTED, text=lambda i: i.tools.call("more.who", {}), more={"list": lambda i: [dynamic("who", call=who)]}) == [
        "more",
        True,
    ]


def test_names_with_dots_and_spaces_are_matched_whole() -> None:
    tools = [dynamic("a.b.c"), dynamic("with space")]

    def text(instance: Instance) -> Any:
        return instance.tools.call("more.a.b.c", {"n": 1}), instance.tools.call("more.with space", {"n": 2})

    assert use(*LISTED, text=text, more={"list": lambda i: tools}) == ({"n": 1}, {"n": 2})


def test_tools_are_listed_once_an_entry_for_all_who_ask() -> None:
    asked: list[str] = []

    def listing(instance: Instance) -> list[Tool]:
        asked.append(instance.entry.name)
        return [dynamic()]

    lines = ["agent: agent < text start", "two: agent < text agent", "more: listed", "agent -tool-> more", "two -tool-> more"]

    def text(instance: Instance, text: str) -> str:
        instance.tools.call("more.look", {})
        instance.tools.call("more.look", {})
        return text

    with opened(*lines) as p:
        for name in ("a", "b"):
            answering(p, name=name, agent={"text": text}, two={"text": text}, more={"list": listing}).checked()
    assert asked == ["a", "b"]


@pytest.mark.parametrize(
    "listing",
    [
        lambda instance: 1 / 0,
        lambda instance: [dynamic(), dynamic()],
        lambda instance: ["look"],
        lambda instance: [{"name": "look"}],
    ],
    ids=["raises", "twice", "a text", "a dict"],
)
def test_a_provider_that_cannot_list_its_tools_is_an_error_of_these_alone(listing: Any) -> None:
    def text(instance: Instance) -> Any:
        with pytest.raises(ToolFailure) as listed:
            list(instance.tools)
        with pytest.raises(ToolFailure) as called:
            instance.tools.call("more.look", {})
        return str(listed.value), called.value, instance.tools.call("plain.add", {"a": 1})

    said, error, good = use(*LISTED, "plain: plain", "agent -tool-> plain", text=text, more={"list": listing})
    assert said.startswith("more cannot list its tools: ")
    assert (error.tool, error.component) == ("more", "more")
    assert error.__cause__ is not None
    assert good == 2


SCHEMA: Arguments = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 2},
        "limit": {"type": "integer", "minimum": 1, "format": "uint32"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"$ref": "#/$defs/range"},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        "site": {"type": "string", "format": "uri"},
    },
    "$defs": {"range": {"type": "object", "properties": {"low": {"type": "integer"}}, "required": ["low"]}},
    "required": ["query"],
    "additionalProperties": False,
}

SAME = [
    ({"query": "ab"}, ""),
    ({"query": "ab", "limit": 3, "tags": ["x"], "where": {"low": 1}, "pair": ["a", 1], "site": "not a uri"}, ""),
    ({}, "$"),
    ({"query": "a"}, "$.query"),
    ({"query": "ab", "limit": 0}, "$.limit"),
    ({"query": "ab", "limit": True}, "$.limit"),
    ({"query": "ab", "tags": ["x", 3]}, "$.tags[1]"),
    ({"query": "ab", "where": {}}, "$.where"),
    ({"query": "ab", "where": {"low": "x"}}, "$.where.low"),
    ({"query": "ab", "pair": ["a", "b"]}, "$.pair[1]"),
    ({"query": "ab", "pair": ["a", 1, 2]}, "$.pair"),
    ({"query": "ab", "other": 1}, "$"),
]


@pytest.mark.parametrize(("arguments", "path"), SAME, ids=[repr(case[0]) for case in SAME])
def test_a_schema_that_a_tool_brings_is_kept_as_draft_2020_12_says(arguments: Any, path: str) -> None:
    assert jsonschema.Draft202012Validator(dict(SCHEMA)).is_valid(arguments) == (path == "")
    made = dynamic("more.look", SCHEMA)
    if not path:
        assert made.checked(arguments) == arguments
        return
    with pytest.raises(ToolInput) as caught:
        made.checked(arguments)
    assert (caught.value.path, caught.value.tool) == (path, "more.look")


@pytest.mark.parametrize("arguments", [None, [], "x", 3])
def test_a_dynamic_tools_arguments_are_an_object_too(arguments: Any) -> None:
    with pytest.raises(ToolInput, match="the arguments are a JSON object"):
        dynamic("more.look").checked(arguments)


def test_a_schema_that_is_none_is_the_tools_fault_not_the_arguments() -> None:
    with pytest.raises(ToolError) as caught:
        dynamic("more.look", {"type": 7}).checked({})
    assert isinstance(caught.value, ToolFailure)
    assert str(caught.value).startswith("more.look: its own schema is not a JSON Schema")


def test_a_schema_never_makes_the_kernel_fetch_anything() -> None:
    with pytest.raises(ToolFailure, match="more.look: its own schema"):
        dynamic("more.look", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}).checked({"a": 1})


def test_a_changed_schema_is_compiled_anew() -> None:
    for kind, good in (("string", "x"), ("integer", 1), ("string", "y")):
        schema: Arguments = {"type": "object", "properties": {"a": {"type": kind}}}
        assert dynamic("more.look", schema).checked({"a": good}) == {"a": good}
        with pytest.raises(ToolInput):
            dynamic("more.look", schema).checked({"a": []})


# ---- results


class Text(str):
    __slots__ = ()


class Level(enum.IntEnum):
    LOW = 1


class Model:
    """As pydantic's."""

    def model_dump(self) -> dict[str, Any]:
        return {"at": dt.date(2026, 1, 2), "colour": Colour.RED}


DAY = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)

GOOD: dict[str, tuple[Any, Any]] = {
    "none": (None, None),
    "empty": ("", ""),
    "float": (0.5, 0.5),
    "attrs": (Range(low=1), {"low": 1, "high": 9}),
    "dataclass": (Spot(1, 2), {"x": 1, "y": 2}),
    "typed dict": (Row(name="a"), {"name": "a"}),
    "named tuple": (Pair(1, 2), [1, 2]),
    "enum": (Colour.RED, "red"),
    "int enum": (Level.LOW, 1),
    "a text of a class of its own": (Text("x"), "x"),
    "date and time": (DAY, "2026-01-02T03:04:05+00:00"),
    "date": (DAY.date(), "2026-01-02"),
    "uuid": (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "path": (Path("a") / "b", "a/b"),
    "decimal": (Decimal("1.10"), "1.10"),
    "document": (Document("t"), {"type": "Document", "page_content": "t"}),
    "pydantic": (Model(), {"at": "2026-01-02", "colour": "red"}),
    "tuple": ((1, (2,)), [1, [2]]),
    "set": ({3}, [3]),
    "keys": ({1: "a", Colour.RED: "b", DAY.date(): "c"}, {"1": "a", "red": "b", "2026-01-02": "c"}),
    "deep": ({"a": [{"b": (Range(low=2),)}]}, {"a": [{"b": [{"low": 2, "high": 9}]}]}),
}


def told(value: Any) -> Any:
    return use(*LONE, text=lambda i: i.tools.call("box.do", {}), box={"do": lambda i, n: value})


@pytest.mark.parametrize("name", GOOD)
def test_a_result_becomes_json(name: str) -> None:
    value, wanted = GOOD[name]
    made = told(value)
    assert made == wanted
    assert type(made) is type(wanted)
    assert json.loads(json.dumps(made, allow_nan=False)) == wanted


def test_numpy_results_become_json() -> None:
    numpy = pytest.importorskip("numpy")
    assert told({"a": numpy.arange(3), "b": numpy.float64(0.5), "c": numpy.int64(2), "d": numpy.str_("x")}) == {
        "a": [0, 1, 2], "b": 0.5, "c": 2, "d": "x",
    }  # fmt: skip


def test_pydantic_results_become_json_with_a_schema() -> None:
    pydantic = pytest.importorskip("pydantic")
    made = pydantic.create_model("Made", at=(dt.date, ...), n=(int, 3))
    assert told(made(at="2026-01-02")) == {"at": "2026-01-02", "n": 3}
    schema = tool_of(bad(made, returns=True)).output_schema
    assert schema is not None
    assert schema["required"] == ["at"]


def endless() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


WRONG: dict[str, tuple[Any, str]] = {
    "nan": (math.nan, "box.do: $: nan has no JSON form"),
    "infinity inside": ({"a": [1.0, -math.inf]}, "box.do: $.a[1]: -inf has no JSON form"),
    "nan in an object": (attrs.make_class("C", {"x": attrs.field()})(math.nan), "nan has no JSON form"),
    "bytes": (b"x", "box.do: $: bytes has no JSON form"),
    "bytes inside": ({"a": b"x"}, "box.do: $.a: bytes has no JSON form"),
    "bytes in an object": (attrs.make_class("C", {"x": attrs.field()})(b"x"), "bytes has no JSON form"),
    "an object": ({"a": [object()]}, "box.do: $.a[0]: object has no JSON form"),
    "a class": (Range, "has no JSON form"),
    "a function": (endless, "function has no JSON form"),
    "an iterator": (iter(range(3)), "range_iterator has no JSON form"),
    "a key": ({(1, 2): 1}, "box.do: $: a JSON object has text keys, not tuple"),
    "itself": (endless(), "recursion"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_result_without_a_json_form_is_the_tools_failure(name: str) -> None:
    value, message = WRONG[name]

    def text(instance: Instance) -> ToolFailure:
        return calling(ToolFailure, instance, "box.do", {})

    error = use(*LONE, text=text, box={"do": lambda i, n: value})
    assert message in str(error)
    assert (error.tool, error.component) == ("box.do", "box")
