# SPDX-License-Identifier: MIT
"""Pictures for tests: nodes of their own, so that what is installed does not matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    LLM,
    MANY,
    ONE,
    QUESTIONS,
    TEXT,
    TOOL,
    Answer,
    Document,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    Question,
    on,
    tool,
)
from rocketride_core.graph import Picture, picture_of
from rocketride_core.graph.geometry import Point, Route
from rocketride_core.pipefile import parse_pipe


class Ask(Node[None]):
    spec = NodeSpec("g_ask", title="Ask", categories=["source"], emits=[QUESTIONS, TEXT])


class Think(Node[None]):
    spec = NodeSpec("g_think", title="Think", categories=["agent"], needs={LLM: ONE, TOOL: MANY})

    @on(QUESTIONS, emits=[ANSWERS, QUESTIONS])
    def question(self, instance: Instance, question: Question) -> None: ...

    @on(ANSWERS, emits=[ANSWERS])
    def answer(self, instance: Instance, answer: Answer) -> None: ...


class Plain(Node[None]):
    spec = NodeSpec("g_plain", title="Plain", categories=["text"])

    @on(QUESTIONS, emits=[QUESTIONS])
    def question(self, instance: Instance, question: Question) -> None: ...

    @on(TEXT, emits=[QUESTIONS])
    def text(self, instance: Instance, text: str) -> None: ...


class Tool(Node[None]):
    spec = NodeSpec("g_tool", title="Tool", categories=["tool"], emits=[QUESTIONS])

    @tool
    def go(self, instance: Instance) -> str:
        """Go."""
        return ""


class Out(Node[None]):
    spec = NodeSpec("g_out", title="Out", responds=True)

    @on(ANSWERS)
    def answer(self, instance: Instance, answer: Answer) -> None: ...

    @on(QUESTIONS)
    def question(self, instance: Instance, question: Question) -> None: ...

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None: ...


NODES: list[type[Node[Any]]] = [Ask, Think, Plain, Tool, Out]


def component(
    id: str, provider: str, *links: tuple[str, str], calls: tuple[tuple[str, str], ...] = (), **more: Any
) -> dict[str, Any]:
    """With links as (lane, from), and callers as (control, from)."""
    return {
        "id": id,
        "provider": provider,
        "config": {},
        "input": [{"lane": lane, "from": source} for lane, source in links],
        "control": [{"classType": control, "from": caller} for control, caller in calls],
        **more,
    }


def draw(*components: dict[str, Any], file: str = "test.pipe", **more: Any) -> Picture:
    """What is shown of these components, checked as they are."""
    pipe, problems = parse_pipe({"components": list(components), **more}, file)
    kernel = Kernel(nodes=NODES, env={})
    problems += [p for p in kernel.check(pipe) if p not in problems]
    return picture_of(pipe, problems, kernel.registry)


def small() -> Picture:
    return draw(
        component("a", "g_ask"), component("b", "g_plain", ("questions", "a")), component("c", "g_out", ("questions", "b"))
    )


def nested(depth: int = 2) -> Picture:
    """An agent with a sub-pipeline as a tool, in which another agent has one, and so on."""
    made = [component("ask", "g_ask")]
    before = ("questions", "ask")
    for n in range(depth):
        made += [
            component(f"agent{n}", "g_think", before),
            component(f"llm{n}", "llm_nowhere", calls=(("llm", f"agent{n}"),)),
            component(f"out{n}", "g_out", ("answers", f"agent{n}")),
            component(f"pipe{n}", "g_tool", calls=(("tool", f"agent{n}"),)),
        ]
        before = ("questions", f"pipe{n}")
    return draw(*made, component("left", "g_plain", before), component("right", "g_plain", before),
                component("join", "g_out", ("questions", "left"), ("questions", "right")))  # fmt: skip


def wide(agents: int = 7, tools: int = 4) -> Picture:
    """An agent with agents under it, which have tools: 3 + 7 * (1 + 4) = 38 components."""
    made = [
        component("ask", "g_ask"),
        component("boss", "g_think", ("questions", "ask")),
        component("out", "g_out", ("answers", "boss")),
    ]
    for n in range(agents):
        made.append(component(f"agent_with_a_long_name_{n}", "agent_of_nobody", calls=(("deepagent", "boss"),)))
        made += [component(f"tool_{n}_{k}", "g_tool", calls=(("tool", f"agent_with_a_long_name_{n}"),)) for k in range(tools)]
    return draw(*made)


def loops() -> Picture:
    return draw(
        component("ask", "g_ask"),
        component("memory", "g_think", ("questions", "ask"), ("answers", "agent")),
        component("agent", "g_think", ("questions", "memory"), calls=(("tool", "agent"),)),
        component("self", "g_plain", ("questions", "memory"), ("questions", "self")),
        component("out", "g_out", ("answers", "memory")),
    )


def two_sources() -> Picture:
    return draw(
        component("ask", "g_ask"),
        component("more", "g_ask"),
        component("one", "g_plain", ("text", "ask"), ("questions", "more")),
        component("two", "g_plain", ("questions", "one")),
        component("three", "g_plain", ("questions", "two"), ("questions", "ask")),
        component("out", "g_out", ("questions", "three"), ("questions", "more")),
    )


def broken() -> Picture:
    """Every way to be wrong that a reader lets through."""
    return draw(
        component("ask", "g_ask"),
        component("ask", "g_ask"),
        component("one", "g_plain", ("nonsense", "ask"), ("questions", "ghost"), ("questions", "two")),
        component("two", "g_plain", ("questions", "one"), calls=(("llm", "tool"), ("tool", "tool"))),
        component("tool", "g_tool", ("text", "ask"), calls=(("tool", "two"),)),
        component("shared", "g_tool", calls=(("tool", "two"), ("tool", "one"), ("tool", "phantom"))),
        component("first", "g_tool", calls=(("tool", "one"),)),
        component("second", "g_tool", calls=(("tool", "one"),)),
        component("both", "g_plain", ("questions", "first"), ("questions", "second")),
        component("note", "default"),
        {"id": "x"},
        source="nobody",
    )


EVERY = {f.__name__: f for f in (small, nested, wide, loops, two_sources, broken)}


def points(route: Route, many: int = 16) -> Iterator[Point]:
    """Along a path."""
    at = route.start
    for letter, corners in route.steps:
        bends = [at, *corners]
        for n in range(many + 1):
            line, t = list(bends), n / many
            while len(line) > 1:  # de Casteljau: lines, quadratic and cubic curves alike
                line = [((1 - t) * a[0] + t * b[0], (1 - t) * a[1] + t * b[1]) for a, b in pairwise(line)]
            yield line[0]
        at = corners[-1] if letter != "M" else corners[0]
