# SPDX-License-Identifier: MIT
"""What a model gets to read of its tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from rocketride_agent import READ, ToolView, resolve
from rocketride_core import (
    Arguments,
    Json,
    Tool,
    ToolCall,
    ToolDenied,
    ToolError,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    UnknownTool,
)

QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "top_k": {"type": "integer"}},
    "required": ["query"],
    "additionalProperties": False,
}


class Shelf:
    """A catalog of plain functions; tools may be added at any time."""

    def __init__(self, **tools: Any) -> None:
        self.tools: dict[str, Tool] = {}
        self.called: list[tuple[str, Arguments]] = []
        for name, result in tools.items():
            self.add(name.replace("__", "."), result)

    def add(self, name: str, result: Any, schema: Mapping[str, Any] = QUERY) -> None:
        self.tools[name] = Tool(name, "A tool.", schema, lambda instance, arguments: result)

    def __iter__(self) -> Iterator[Tool]:
        return iter(list(self.tools.values()))

    def check(self, name: str, arguments: Arguments, /) -> None:
        if name not in self.tools:
            raise UnknownTool(f"{name}: unknown", tool=name)
        self.tools[name].checked(arguments)

    def call(self, name: str, arguments: Arguments, /, *, timeout: float | None = None) -> Json:
        raise NotImplementedError

    def call_all(self, calls: Sequence[tuple[str, Arguments]], /) -> Sequence[Json | ToolError]:
        self.called += calls
        return [self.tools[name].call(None, arguments) for name, arguments in calls]  # type: ignore[arg-type,misc]


def error(view: ToolView, name: str, arguments: dict[str, Json]) -> dict[str, str]:
    told: dict[str, str] = json.loads(view.call(name, arguments))
    assert list(told) == ["tool", "error", "type"]
    return told


def test_a_result_is_what_the_model_reads() -> None:
    view = ToolView(Shelf(a__text="plain", a__value={"name": "Zoë", "n": [1]}))
    assert view.call("a.text", {"query": "q"}) == "plain"
    assert view.call("a.value", {"query": "q"}) == '{"name": "Zoë", "n": [1]}'
    assert view.steps == [
        {"action": "a.text", "action_input": {"query": "q"}, "observation": "plain"},
        {"action": "a.value", "action_input": {"query": "q"}, "observation": {"name": "Zoë", "n": [1]}},
    ]
    assert view.calls == 2


def test_an_unknown_tool_lists_what_there_is_and_is_no_call() -> None:
    view = ToolView(Shelf(a__search="x", b__fetch="y"))
    told = error(view, "a.serch", {})
    assert told["type"] == "UnknownTool"
    assert told["error"] == "Tool a.serch not found in tool catalog; there are: a.search, b.fetch"
    assert view.calls == 0
    assert "no tools are connected" in error(ToolView(Shelf()), "x", {})["error"]


def test_bad_arguments_list_what_the_tool_takes_and_are_no_call() -> None:
    shelf = Shelf(a__search="x")
    view = ToolView(shelf)
    told = error(view, "a.search", {"top_k": 3})
    assert told["type"] == "ToolInput"
    assert "query" in told["error"].split("; a.search takes")[0]
    assert told["error"].endswith("a.search takes: query (string, required), top_k (integer, optional)")
    (broken,) = view.call_all([ToolCall("1", "a.search", {}, broken='{"query": ')])
    assert json.loads(broken)["type"] == "ToolInput"
    assert '{"query": ' in json.loads(broken)["error"]
    assert (view.calls, shelf.called) == (0, [])
    assert view.steps[1]["action_input"] == '{"query": '


@pytest.mark.parametrize(
    ("outcome", "type", "counts"),
    [
        (ToolFailure("it broke", tool="a.search"), "ToolFailure", 1),
        (ToolTimeout("too slow", tool="a.search"), "ToolTimeout", 1),
        (ToolDenied("not allowed", tool="a.search"), "ToolDenied", 0),
        (ToolInput("a host rewrote it", tool="a.search"), "ToolInput", 0),
        (UnknownTool("gone meanwhile", tool="a.search"), "UnknownTool", 0),
    ],
)
def test_an_error_is_an_observation_and_counts_where_the_tool_was_reached(outcome: ToolError, type: str, counts: int) -> None:
    view = ToolView(Shelf(a__search=outcome))
    told = error(view, "a.search", {"query": "q"})
    assert (told["tool"], told["type"], view.calls) == ("a.search", type, counts)
    assert told["error"].startswith(str(outcome))
    assert view.steps[0]["observation"] == told


def test_a_long_error_is_cut() -> None:
    failure = ToolFailure("a.search: " + "x" * 500, tool="a.search")
    told = error(ToolView(Shelf(a__search=failure), limit=100), "a.search", {"query": "q"})
    assert told["error"] == "a.search: " + "x" * 90 + " [cut: 510 characters]"
    assert error(ToolView(Shelf(a__search=failure)), "a.search", {"query": "q"})["error"] == str(failure), "0 is no limit"


def test_secrets_are_taken_out_of_all_errors() -> None:
    failure = ToolFailure("a.search: 401 for KEY", tool="a.search")
    view = ToolView(Shelf(a__search=failure), redact=lambda text: text.replace("KEY", "***"))
    assert error(view, "a.search", {"query": "q"})["error"] == "a.search: 401 for ***"
    assert "KEY" not in error(view, "a.search", {"query": "q", "top_k": "KEY"})["error"]


def test_a_catalog_that_fails_as_a_whole_is_observed() -> None:
    class Broken(Shelf):
        def call_all(self, calls: Sequence[tuple[str, Arguments]], /) -> Sequence[Json | ToolError]:
            raise LookupError("gone")

    told = error(ToolView(Broken(a__search="x")), "a.search", {"query": "q"})
    assert told == {"tool": "a.search", "error": "a.search: gone", "type": "LookupError"}


def test_a_miss_is_looked_for_once_a_turn() -> None:
    listed = []

    class Counting(Shelf):
        def __iter__(self) -> Iterator[Tool]:
            listed.append(1)
            return super().__iter__()

    shelf = Counting(a__search="x")
    view = ToolView(shelf)
    view.offered()
    assert [view.find("a.other"), view.find("a.other")] == [None, None]
    assert error(view, "a.other", {})["type"] == "UnknownTool"
    assert len(listed) == 2, "at the beginning, and once more for the miss"
    shelf.add("a.other", "late")
    assert view.call("a.other", {"query": "q"}) == "late", "in the next turn it is looked for again"


def test_the_type_is_that_of_what_the_tool_raised() -> None:
    failure = ToolFailure("a.search: no such row", tool="a.search")
    failure.__cause__ = KeyError("row")
    assert error(ToolView(Shelf(a__search=failure)), "a.search", {"query": "q"})["type"] == "KeyError"


def test_the_third_same_call_in_a_row_is_stopped() -> None:
    shelf = Shelf(a__search="x", b__other="y")
    view = ToolView(shelf)
    same: dict[str, Json] = {"query": "q"}
    assert [view.call("a.search", same) for _ in range(2)] == ["x", "x"]
    assert error(view, "a.search", same)["type"] == "RepeatedCall"
    assert error(view, "search", dict(same))["type"] == "RepeatedCall", "under any of its names"
    assert (len(shelf.called), view.calls) == (2, 2)
    assert view.call("b.other", same) == "y"
    assert view.call("a.search", same) == "x", "something else was done in between"
    told = view.call_all([ToolCall(str(n), "b.other", {"query": "z"}) for n in range(4)])
    assert told[:2] == ["y", "y"]
    assert [json.loads(one)["type"] for one in told[2:]] == ["RepeatedCall"] * 2


def test_a_tool_that_appears_later_is_found_on_a_miss() -> None:
    shelf = Shelf(a__search="x")
    view = ToolView(shelf)
    assert [tool.name for tool in view.offered()] == ["a.search"]
    shelf.add("a.fresh", "new")
    assert view.call("a.fresh", {"query": "q"}) == "new"
    assert [tool.name for tool in view.offered()] == ["a.search", "a.fresh"]
    assert error(view, "a.never", {})["type"] == "UnknownTool"


def test_a_chosen_error_ends_the_run_after_its_steps_are_recorded() -> None:
    failure = ToolFailure("a.search: bad row", tool="a.search")
    failure.__cause__ = KeyError("row")
    shelf = Shelf(a__search=failure, b__other="y")
    calls = [ToolCall("1", "a.search", {"query": "q"}), ToolCall("2", "b.other", {"query": "q"})]
    for names in (["KeyError"], ["LookupError"], ["ToolError"], ["ValueError", "ToolFailure"]):
        view = ToolView(shelf, reraise=names)
        with pytest.raises(ToolFailure, match="bad row"):
            view.call_all(calls)
        assert [step["action"] for step in view.steps] == ["a.search", "b.other"]
    assert len(ToolView(shelf, reraise=["ValueError", "ToolTimeout"]).call_all(calls)) == 2


def test_calls_of_a_turn_are_told_and_observed_in_their_order() -> None:
    told: list[str] = []
    view = ToolView(Shelf(a__one="1", b__two="2"), on_call=told.append)
    names = ["b.two", "nothing", "a.one"]
    out = view.call_all([ToolCall(name, name, {"query": name}) for name in names])
    assert [out[0], out[2]] == ["2", "1"]
    assert "not found" in out[1]
    assert told == ["b.two", "a.one"]
    assert [step["action"] for step in view.steps] == names


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a.search", "a.search"),
        ("`a.search`", "a.search"),
        ('"A.Search"', "a.search"),
        ("**a.search**", "a.search"),
        ("a_search", "a.search"),
        ("search", "a.search"),
        ("search()", "a.search"),
        ("Search.", "a.search"),
        ("fetch", ""),
        ("b.fetch", "b.fetch"),
        ("a", ""),
        ("", ""),
    ],
)
def test_names_as_models_write_them(written: str, meant: str) -> None:
    assert resolve(written, ["a.search", "b.fetch", "c.fetch"]) == meant


# ---- long observations


ROWS = [{"row": n, "name": f"item {n}", "text": "x" * 30} for n in range(1, 51)]


def read_on(note: str) -> dict[str, Json]:
    found = re.search(r"read_observation with (\{.*?\})", note)
    assert found, note
    given: dict[str, Json] = json.loads(found[1])
    return given


def test_a_short_result_is_not_cut_and_nothing_is_offered_for_reading_on() -> None:
    view = ToolView(Shelf(a__rows=ROWS), limit=100_000)
    assert json.loads(view.call("a.rows", {"query": "q"})) == ROWS
    assert [tool.name for tool in view.offered()] == ["a.rows"]


def test_a_long_result_says_so_and_is_read_page_by_page() -> None:
    view = ToolView(Shelf(a__rows=ROWS), limit=600)
    page = view.call("a.rows", {"query": "q"})
    assert "[cut: this is character 0 to" in page
    assert page.endswith("It is a list of 50 items.")
    assert len(page) < 600 + 200
    assert [tool.name for tool in view.offered()] == ["a.rows", READ]
    whole, pages = page.partition("\n[cut")[0], 1
    while "read_observation" in page:
        page = view.call(READ, read_on(page))
        whole += page.partition("\n[cut")[0].partition("\n[end")[0]
        pages += 1
    assert json.loads(whole) == ROWS
    assert pages > 3
    assert view.calls == 1, "local reads are no tool calls"
    assert view.steps[0]["observation"] != ROWS
    assert len(view.steps) == pages


def test_a_place_is_found_in_a_long_result() -> None:
    view = ToolView(Shelf(a__rows={"rows": ROWS, "total": 50}), limit=400)
    first = view.call("a.rows", {"query": "q"})
    assert "item 37" not in first
    assert '{"row": 37, "name": "item 37"' in view.call(READ, {"id": 1, "find": "Item 37"})
    assert "has no 'item 99'" in error(view, READ, {"id": 1, "find": "item 99"})["error"]
    assert "characters" in error(view, READ, {"id": 1, "offset": 10**6})["error"]
    assert error(view, READ, {"id": 2})["type"] == "ToolInput"
    assert error(view, READ, {})["type"] == "ToolInput"


def test_reading_on_is_unknown_before_something_was_cut() -> None:
    assert error(ToolView(Shelf(a__rows="x"), limit=100), READ, {"id": 1})["type"] == "UnknownTool"


def test_a_text_without_lines_is_cut_all_the_same() -> None:
    view = ToolView(Shelf(a__text="0123456789" * 100), limit=100)
    page = view.call("a.text", {"query": "q"})
    whole = page.partition("\n[")[0]
    while "read_observation" in page:
        page = view.call(READ, read_on(page))
        whole += page.partition("\n[")[0]
    assert whole == "0123456789" * 100
