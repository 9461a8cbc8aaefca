# SPDX-License-Identifier: MIT
"""Whole pipelines: diamonds in every order, nesting, many calls at once, one LLM in many places, memories apart."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rocketride_core import (
    ANSWERS,
    QUESTIONS,
    TEXT,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    hookimpl,
    on,
)
from rocketride_testing_nodes import recording


def node(id: str, provider: str, *inputs: tuple[str, str], control: Sequence[tuple[str, str]] = (), **config: Any) -> Component:
    links = [LaneLink(lane, source) for lane, source in inputs]
    return Component(id, provider, config, input=links, control=[ControlLink(kind, caller) for kind, caller in control])


def call(name: str, data: str = "{input}") -> dict[str, Any]:
    return {"call": f"{name}.run_pipe", "arguments": {"data": data}}


def agent(id: str, source: str, *script: Any, **config: Any) -> Component:
    return node(id, "test_agent", ("questions", source), script=list(script), **config)


def tool(id: str, caller: str, return_type: str = "answers") -> Component:
    return node(id, "tool_pipe", control=[("tool", caller)], tool_description="d", return_type=return_type)


def answers(id: str, *sources: str) -> Component:
    return node(id, "response_answers", *[("answers", source) for source in sources])


def file(*components: Component) -> PipeFile:
    return PipeFile([Component("chat_1", "chat"), *components], source="chat_1")


def ask(pipe: PipeFile, text: str = "q", **settings: Any) -> Any:
    with Kernel(env={}, **settings).load(pipe) as pipeline:
        return pipeline.run(Entry(text), QUESTIONS(Question.of(text)))


def texts(result: Any) -> list[str]:
    return [answer.text for answer in result.checked()[ANSWERS]]


# ---- the diamond


def diamond(lane: str) -> list[Component]:
    return [
        node("branch_a", "prompt", (lane, "pipe_1"), instructions=["Side A."]),
        node("branch_b", "prompt", (lane, "pipe_1"), instructions=["Side B."]),
        node("join", "prompt", ("questions", "branch_a"), ("questions", "branch_b"), instructions=["Both."]),
        node("llm", "test_llm", ("questions", "join"), mode="echo", wholePrompt=True),
    ]


@pytest.mark.parametrize("lane", ["text", "questions"])
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_a_diamond_in_all_orders_of_the_file(order: tuple[int, ...], lane: str) -> None:
    parts = diamond(lane)
    pipe = file(
        agent("agent_1", "chat_1", call("pipe_1")),
        answers("response_1", "agent_1"),
        tool("pipe_1", "agent_1"),
        *[parts[n] for n in order],
        answers("sub_1", "llm"),
        node("tap_1", "test_tap", ("questions", "join"), respond=False),
    )
    with recording() as records:
        [answer] = texts(ask(pipe, "the input"))
    assert [record.lane for record in records] == ["questions"], "the join is flushed once"
    for part in ("Side A.", "Side B.", "Both.", "the input"):
        assert answer.count(part) == 1, part


# ---- nesting

LEVELS = 3


def nested(levels: int = LEVELS) -> list[Component]:
    """agent_1 calls pipe_1, in which agent_2 calls pipe_2, …; the innermost ends in an echo."""
    parts: list[Component] = [
        agent("agent_1", "chat_1", call("pipe_1"), {"answer": "1<{last}>"}),
        answers("response_1", "agent_1"),
    ]
    for n in range(1, levels + 1):
        parts.append(tool(f"pipe_{n}", f"agent_{n}"))
        if n < levels:
            parts.append(
                agent(f"agent_{n + 1}", f"pipe_{n}", call(f"pipe_{n + 1}", "{input}."), {"answer": f"{n + 1}<{{last}}>"})
            )
            parts.append(answers(f"sub_{n}", f"agent_{n + 1}"))
        else:
            parts.append(node("llm", "test_llm", ("questions", f"pipe_{n}"), mode="echo"))
            parts.append(answers(f"sub_{n}", "llm"))
    return parts


def test_nested_three_deep_every_level_answers_and_nothing_leaks() -> None:
    result = ask(file(*nested()), "x")
    assert texts(result) == ["1<2<3<x..>>>"]
    assert not result.warnings


def test_the_trace_of_nested_calls_is_a_tree() -> None:
    records: list[Any] = []
    ask(file(*nested()), "x", trace="calls", trace_to=records.append).checked()
    by_span = {record["span"]: record for record in records}
    assert len(by_span) == len(records)
    entries = {record["name"]: record for record in records if record["kind"] == "entry"}
    assert sorted(entries) == ["pipe_1#1", "pipe_1#1/pipe_2#1", "pipe_1#1/pipe_2#1/pipe_3#1", "x"]

    def above(record: Any) -> list[str]:
        found = []
        while record["parent"]:
            record = by_span[record["parent"]]
            found.append(record.get("tool") or record.get("name") or f"{record['kind']} {record['component']}")
        return found

    [innermost] = [record for record in records if record.get("component") == "llm" and record["kind"] == "handler"]
    assert above(innermost) == [
        "pipe_1#1/pipe_2#1/pipe_3#1",
        "pipe_3.run_pipe",
        "handler agent_3",
        "pipe_1#1/pipe_2#1",
        "pipe_2.run_pipe",
        "handler agent_2",
        "pipe_1#1",
        "pipe_1.run_pipe",
        "handler agent_1",
        "x",
    ]


def test_warnings_and_usage_of_every_level_reach_the_host() -> None:
    parts = nested()
    parts[-1] = node("sub_3", "response_questions", ("questions", "pipe_3"))
    result = ask(file(*parts, node("extra", "test_tap", ("answers", "llm"), respond=False)), "x")
    assert texts(result) == ["1<2<3<>>>"]
    assert [(w.component, w.code) for w in result.warnings] == [("pipe_3", "empty-result")]
    assert result.usage["llm"]["output_tokens"] == 1


def test_a_tool_that_is_called_from_inside_itself_ends_at_the_depth_limit() -> None:
    pipe = file(
        agent("agent_1", "chat_1", call("pipe_1")),
        answers("response_1", "agent_1"),
        node(
            "pipe_1", "tool_pipe", control=[("tool", "agent_1"), ("tool", "agent_2")], tool_description="d", return_type="answers"
        ),
        agent("agent_2", "pipe_1", call("pipe_1"), onError="fail"),
        answers("sub_1", "agent_2"),
    )
    [answer] = texts(ask(pipe))
    assert answer.startswith("ToolFailure: pipe_1.run_pipe: ")
    assert "more than 16 entries inside each other at pipe_1" in answer


# ---- at once


class Slow(Node[None]):
    """text → text at the flush, after it has waited for others to be there too."""

    spec = NodeSpec("slow", title="Slow")
    barrier: threading.Barrier | None = None

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.state(list[str]).append(text)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        if self.barrier is not None:
            self.barrier.wait(20)
        for text in instance.state(list[str]):
            instance.emit(TEXT, text[::-1])


def agents_with_turns(agents: int, calls: int) -> PipeFile:
    def turn(n: int) -> dict[str, Any]:
        return {"turn": [call("pipe_1", f"{{input}}/{n}/{k}") for k in range(calls)]}

    parts = [agent(f"agent_{n}", "chat_1", turn(n)) for n in range(agents)]
    callers = [("tool", f"agent_{n}") for n in range(agents)]
    return file(
        *parts,
        node("pipe_1", "tool_pipe", control=callers, tool_description="d"),
        node("slow_1", "slow", ("text", "pipe_1")),
        node("sub_1", "response_text", ("text", "slow_1")),
        answers("response_1", *[f"agent_{n}" for n in range(agents)]),
    )


def test_eight_agents_with_eight_calls_in_a_turn_get_64_right_answers() -> None:
    with Kernel(nodes=[Slow], env={}, workers=8).load(agents_with_turns(8, 8)) as pipeline:
        result = pipeline.run(Entry("x"), QUESTIONS(Question.of("ab")))
    expected = ["\n".join(f"ab/{n}/{k}"[::-1] for k in range(8)) for n in range(8)]
    assert texts(result) == expected


def test_64_calls_on_eight_objects_at_once_get_64_right_answers() -> None:
    with Kernel(nodes=[Slow], env={}, workers=8).load(agents_with_turns(1, 8)) as pipeline:
        work: Iterator[Any] = ((Entry(f"e{n}"), [QUESTIONS(Question.of(f"o{n}"))]) for n in range(8))
        found = {result.entry.name: texts(result) for result in pipeline.map(work, workers=8)}
    assert found == {f"e{n}": ["\n".join(f"o{n}/0/{k}"[::-1] for k in range(8))] for n in range(8)}


def test_calls_of_a_turn_really_run_at_once() -> None:
    Slow.barrier = threading.Barrier(4)
    try:
        with Kernel(nodes=[Slow], env={}, workers=4).load(agents_with_turns(1, 4)) as pipeline:
            assert len(texts(pipeline.run(Entry("x"), QUESTIONS(Question.of("ab"))))[0].split("\n")) == 4
    finally:
        Slow.barrier = None


def test_calls_at_once_are_entries_of_their_own() -> None:
    seen: list[str] = []

    class Sees(Slow):
        spec = NodeSpec("slow", title="Slow")

        @hookimpl
        def open_instance(self, instance: Instance) -> None:
            seen.append(instance.entry.object_id)

    with Kernel(nodes=[Sees], env={}, workers=8).load(agents_with_turns(8, 8)) as pipeline:
        pipeline.run(Entry("x"), QUESTIONS(Question.of("ab"))).checked()
    assert len(seen) == len(set(seen)) == 64


def test_a_busy_pool_with_turns_three_deep_does_not_deadlock() -> None:
    """Eight workers, sixteen objects; each object has a turn of three calls, each of which has one, each of which has one."""
    parts: list[Component] = [answers("response_1", "agent_1")]
    for n in range(1, 4):
        source = "chat_1" if n == 1 else f"pipe_{n - 1}"
        parts.append(agent(f"agent_{n}", source, {"turn": [call(f"pipe_{n}", f"{{input}}{k}") for k in "abc"]}))
        parts.append(tool(f"pipe_{n}", f"agent_{n}", "text" if n == 3 else "answers"))
        if n > 1:
            parts.append(answers(f"sub_{n - 1}", f"agent_{n}"))
    parts += [node("slow_1", "slow", ("text", "pipe_3")), node("sub_3", "response_text", ("text", "slow_1"))]
    with Kernel(nodes=[Slow], env={}, workers=8).load(file(*parts)) as pipeline:
        work: Iterator[Any] = ((Entry(f"{n:02}"), [QUESTIONS(Question.of(f"{n:02}"))]) for n in range(16))
        found = {result.entry.name: texts(result)[0] for result in pipeline.map(work, workers=8, timeout=60)}
    letters = ["".join(three) for three in itertools.product("abc", repeat=3)]
    assert found == {f"{n:02}": "\n".join(f"{n:02}{three}"[::-1] for three in letters) for n in range(16)}


def test_every_worker_three_deep_at_the_same_moment() -> None:
    """All eight wait for each other in the innermost node: none of them waits for a thread."""
    parts: list[Component] = [answers("response_1", "agent_1")]
    for n in range(1, 4):
        parts.append(agent(f"agent_{n}", "chat_1" if n == 1 else f"pipe_{n - 1}", call(f"pipe_{n}")))
        parts.append(tool(f"pipe_{n}", f"agent_{n}", "text" if n == 3 else "answers"))
        if n > 1:
            parts.append(answers(f"sub_{n - 1}", f"agent_{n}"))
    parts += [node("slow_1", "slow", ("text", "pipe_3")), node("sub_3", "response_text", ("text", "slow_1"))]
    Slow.barrier = threading.Barrier(8)
    try:
        with Kernel(nodes=[Slow], env={}, workers=8).load(file(*parts)) as pipeline:
            work: Iterator[Any] = ((Entry(f"{n:02}"), [QUESTIONS(Question.of(f"{n:02}"))]) for n in range(16))
            found = {result.entry.name: texts(result) for result in pipeline.map(work, workers=8, timeout=60)}
    finally:
        Slow.barrier = None
    assert found == {f"{n:02}": [f"{n:02}"[::-1]] for n in range(16)}


def test_hosts_threads_use_one_pipeline_at_once() -> None:
    with Kernel(env={}).load(file(*nested())) as pipeline, ThreadPoolExecutor(8) as threads:
        results = threads.map(lambda n: pipeline.run(Entry(str(n)), QUESTIONS(Question.of(str(n)))), range(64))
        assert [texts(result) for result in results] == [[f"1<2<3<{n}..>>>"] for n in range(64)]


# ---- one LLM in many places, memories apart


def test_one_llm_on_a_lane_for_two_agents_and_inside_a_tool_pipe() -> None:
    """A script counts the questions of one object and one instance: on the lane one, for both agents together, inside its own."""
    llm = node(
        "llm_1",
        "test_llm",
        ("questions", "chat_1"),
        control=[("llm", "agent_1"), ("llm", "agent_2"), ("llm", "agent_3")],
        mode="script",
        answers=["first", "second", "third"],
    )
    pipe = file(
        llm,
        agent("agent_1", "chat_1", {"ask": "{input}"}, call("pipe_1"), {"ask": "again"}, {"answer": "{0} {1} {2}"}),
        agent("agent_2", "chat_1", {"ask": "{input}"}, {"answer": "{0}"}),
        answers("response_1", "llm_1", "agent_1", "agent_2"),
        tool("pipe_1", "agent_1"),
        agent("agent_3", "pipe_1", {"ask": "a"}, {"ask": "b"}, {"answer": "({0} {1})"}),
        answers("sub_1", "agent_3"),
    )
    with Kernel(env={}).load(pipe) as pipeline:
        for name in ("x", "y"):
            assert texts(pipeline.run(Entry(name), QUESTIONS(Question.of("q")))) == [
                "first",
                "first (first second) second",
                "third",
            ]


def test_memories_of_parent_and_sub_pipeline_are_apart() -> None:
    pipe = file(
        agent(
            "agent_1",
            "chat_1",
            {"put": "mine", "value": "1"},
            call("pipe_1"),
            call("pipe_1"),
            {"keys": True},
            {"answer": "{1} {2} {3}"},
        ),
        node("memory_1", "memory_internal", control=[("memory", "agent_1"), ("memory", "agent_2")]),
        answers("response_1", "agent_1"),
        tool("pipe_1", "agent_1"),
        agent("agent_2", "pipe_1", {"keys": True}, {"put": "inner", "value": "2"}, {"keys": True}, {"answer": "({0}|{2})"}),
        answers("sub_1", "agent_2"),
    )
    with Kernel(env={}).load(pipe) as pipeline:
        for name in ("x", "y"):
            assert texts(pipeline.run(Entry(name), QUESTIONS(Question.of("q")))) == ["(|inner) (|inner) mine"]
