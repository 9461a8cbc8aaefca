# SPDX-License-Identifier: MIT
"""Edges of tools: what comes too late, what is shared by mistake, what looks like a success and is none."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from tool_kit import ANY, LONE, answering, calling, error_of, opened

from rocketride_core import (
    TEXT,
    Entry,
    Instance,
    InvalidNode,
    Json,
    Node,
    NodeSpec,
    Param,
    RunError,
    Tool,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    tool,
)
from rocketride_core.toolschema import class_tools

SUBBED = ("agent: agent < text start", "sub: sub", "inner: respond < text sub", "r: respond < text agent", "agent -tool-> sub")
LISTED = ("agent: agent < text start", "listed: listed", "r: respond < text agent", "agent -tool-> listed")


def test_what_an_abandoned_call_says_late_is_not_heard() -> None:
    late = threading.Event()

    def hang(instance: Instance, n: int) -> Json:
        try:
            time.sleep(0.6)
        finally:
            instance.respond("late", TEXT("late"))
            instance.warn("late", "late")
            instance.count("late", 1)
            instance.report(ValueError("late"))
            late.set()
        return n

    def text(instance: Instance, _: str) -> str:
        error = calling(ToolTimeout, instance, "box.do", timeout=0.1)
        assert late.wait(5)
        return error.component

    with opened(*LONE) as pipeline:
        result = answering(pipeline, agent={"text": text}, box={"do": hang})
    assert (result.error, list(result[TEXT]), list(result.warnings)) == (None, ["box"], [])
    assert "late" not in result.usage.get("box", {})


def test_an_instance_and_a_catalog_that_outlive_their_entry_are_inert() -> None:
    kept: list[Any] = []

    def text(instance: Instance, _: str) -> str:
        kept.extend([instance, instance.tools])
        return str(instance.tools.call("box.do", {"n": 1}))

    def refused(work: Any) -> str:
        with pytest.raises(RunError) as caught:
            work()
        return caught.value.code

    with opened(*LONE) as pipeline:
        assert answering(pipeline, agent={"text": text})[TEXT] == ["1"]
        instance, tools = kept
        for work in (lambda: tools.call("box.do", {}), instance.nested, lambda: instance.respond("x", TEXT("x"))):
            assert refused(work) == "emit-after-close"
    assert refused(lambda: tools.call("box.do", {})) == "emit-after-close"


def test_a_child_spawned_inside_a_sub_pipeline_is_a_child_of_the_outermost_entry() -> None:
    lines = (
        "agent: agent < text start",
        "sub: sub",
        "inner: do < text sub",
        "r: respond < text agent",
        "r2: respond < text inner",
    )

    def inner(instance: Instance, text: str) -> None:
        instance.spawn(Entry("attachment", metadata={"agent": {}}), TEXT("more"))
        instance.emit(TEXT, text)

    with opened(*lines, "agent -tool-> sub") as pipeline:
        result = answering(
            pipeline, agent={"text": lambda i, _: str(i.tools.call("sub.run", {"text": "x"}))}, inner={"text": inner}
        ).checked()
    assert [child.entry.name for child in result.children] == ["attachment"]


def test_arguments_belong_to_the_caller() -> None:
    def spoil(instance: Instance, arguments: Any) -> Json:
        arguments["more"]["deep"].append(1)
        return arguments.pop("n")

    def text(instance: Instance, _: str) -> str:
        mine: dict[str, Any] = {"n": 1, "more": {"deep": []}}
        instance.tools.call("listed.spoil", mine)
        return repr(mine)

    with opened(*LISTED) as pipeline:
        listing = {"list": lambda _: [Tool("spoil", "spoils", ANY, spoil)]}
        assert answering(pipeline, agent={"text": text}, listed=listing)[TEXT] == ["{'n': 1, 'more': {'deep': []}}"]


def test_a_check_of_an_author_that_fails_is_a_tool_error_and_leaves_the_turn_alone() -> None:
    class Checking(Tool):
        def checked(self, arguments: Any) -> Any:
            return {"word": arguments["word"]}

    def text(instance: Instance, _: str) -> str:
        good, bad = instance.tools.call_all([("listed.say", {"word": "x"}), ("listed.say", {})])
        return f"{good} {type(bad).__name__} {bad}"

    with opened(*LISTED) as pipeline:
        listing = {"list": lambda _: [Checking("say", "says", ANY, lambda i, a: a["word"])]}
        assert answering(pipeline, agent={"text": text}, listed=listing)[TEXT] == ["x ToolFailure listed.say: KeyError: 'word'"]


@pytest.mark.parametrize(
    "bad", [[Tool("", "no name", ANY, lambda i, a: 1)], ["a text"], {"a": Tool("a", "a", ANY, lambda i, a: 1)}]
)
def test_a_list_of_tools_that_is_none_is_a_tool_failure(bad: Any) -> None:
    with opened(*LISTED) as pipeline:
        text = lambda i, _: str(calling(ToolFailure, i, "listed.a"))  # noqa: E731
        (said,) = answering(pipeline, agent={"text": text}, listed={"list": lambda _: bad})[TEXT]
    assert said.startswith("listed cannot list its tools: TypeError: list_tools returns Tool values with names")


@pytest.mark.slow
def test_helpers_of_a_turn_that_hang_are_replaced() -> None:
    """After a turn whose calls all hang, the next turn runs as parallel as before."""

    def turn(seconds: float) -> Any:
        return lambda instance, n: time.sleep(seconds)

    lines = (
        "agent: agent < text start",
        "outer: box",
        "box: box",
        "r: respond < text agent",
        "agent -tool-> outer",
        "outer -tool-> box",
    )
    took: list[float] = []

    def outer(instance: Instance, n: int) -> Json:
        return [str(r) for r in instance.tools.call_all([("box.both", {"n": k}) for k in range(5)])]

    def text(instance: Instance, _: str) -> str:
        calling(ToolTimeout, instance, "outer.do", timeout=0.3)
        start = time.monotonic()
        instance.tools.call("outer.other", {"n": 1})
        took.append(time.monotonic() - start)
        return "done"

    def both(instance: Instance, n: int) -> Json:
        time.sleep(3 if not took and time.monotonic() < hang_until[0] else 0.3)
        return n

    hang_until = [time.monotonic() + 0.2]
    with opened(*lines, kernel={"workers": 4}) as pipeline:
        answering(pipeline, agent={"text": text}, outer={"do": outer, "other": outer}, box={"both": both}).checked()
    assert took[0] < 1.1  # five calls of 0.3 s, four at a time; one after the other they take 1.5 s


def test_a_failure_without_any_stack_left_is_no_success() -> None:
    """Python code between two levels of nesting uses the stack up wherever it happens to: in no place is that a result."""

    def deeper(frames: int, work: Any) -> Any:
        return deeper(frames - 1, work) if frames else work()

    def way(frames: int) -> Any:
        def inner(instance: Instance, text: str) -> Json:
            with instance.nested() as child:
                deeper(frames, lambda: child.send(TEXT(text)))
            return "|".join(child.result().checked()[TEXT])

        return inner

    lines = (
        "agent: agent < text start",
        "sub: sub",
        "again: agent < text sub",
        "r: respond < text agent",
        "r2: respond < text again",
    )
    limit, successes = sys.getrecursionlimit(), []
    try:
        sys.setrecursionlimit(600)
        with opened(*lines, "agent -tool-> sub", "again -tool-> sub") as pipeline:
            recurse = lambda i, t: str(i.tools.call("sub.run", {"text": t}))  # noqa: E731
            for frames in range(40, 200, 3):
                result = answering(pipeline, agent={"text": recurse}, again={"text": recurse}, sub={"with": way(frames)})
                if result.error is None:
                    successes.append((frames, list(result[TEXT])))
    finally:
        sys.setrecursionlimit(limit)
    assert successes == []


def test_annotated_inside_an_optional_is_read() -> None:
    class Reading(Node[None]):
        spec = NodeSpec("reading", title="Reading")

        @tool
        def read(self, instance: Instance, n: Annotated[int, Param("How many", ge=1)] | None = None) -> Json:
            """Reads."""
            return n

    (made,) = class_tools(Reading)
    said: Any = made.input_schema["properties"]
    assert said["n"]["description"] == "How many"
    assert made.checked({"n": None}) == {"n": None}
    with pytest.raises(ToolInput, match=r"\$\.n"):
        made.checked({"n": 0})


def test_annotated_deeper_inside_is_refused() -> None:
    with pytest.raises(InvalidNode, match=r"write Annotated\[…\] around the whole type"):

        class Deep(Node[None]):
            spec = NodeSpec("deep", title="Deep")

            @tool
            def read(self, instance: Instance, n: Sequence[Annotated[int, Param(ge=1)]]) -> Json:
                """Reads."""
                return len(n)


def test_a_positional_only_parameter_is_refused() -> None:
    with pytest.raises(InvalidNode, match="positional-only"):

        class Positional(Node[None]):
            spec = NodeSpec("positional", title="Positional")

            @tool
            def read(self, instance: Instance, n: int, /) -> Json:
                """Reads."""
                return n


def test_a_secret_in_a_tool_error_is_hidden() -> None:
    def fail(instance: Instance, n: int) -> Json:
        raise ToolFailure("401 for key sesame-open")

    with opened(*LONE) as pipeline:
        pipeline.bound.redact = lambda text: text.replace("sesame-open", "***")
        text = lambda i, _: str(calling(ToolFailure, i, "box.do"))  # noqa: E731
        assert answering(pipeline, agent={"text": text}, box={"do": fail})[TEXT] == ["401 for key ***"]


def test_a_service_that_is_none_names_who_gave_it() -> None:
    from rocketride_core import LLM, Caller, serves

    class Nothing(Node[None]):
        spec = NodeSpec("nothing", title="Nothing")

        @serves(LLM)
        def chat(self, instance: Instance, caller: Caller) -> Any:
            return None

    with opened(
        "agent: agent < text start", "n: nothing", "r: respond < text agent", "agent -llm-> n", nodes=[Nothing]
    ) as pipeline:
        result = answering(pipeline, agent={"text": lambda i, _: str(i.one(LLM))})
    assert "n gave nothing for the control 'llm'" in str(error_of(result))
