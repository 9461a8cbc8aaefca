# SPDX-License-Identifier: MIT
"""LangGraph: a compiled StateGraph, invoked once an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from . import LENGTH

NAME, NEEDS = "LangGraph", "langgraph"

PROGRAM = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    value: str
graph = StateGraph(State)
graph.add_node("node", lambda state: {"value": state["value"]})
graph.add_edge(START, "node")
graph.add_edge("node", END)
assert graph.compile().invoke({"value": "abc"}) == {"value": "abc"}
"""


class State(TypedDict):
    value: str


class Joined(TypedDict):
    value: str
    parts: Annotated[list[str], list.__add__]


def _invoker(graph: Any, start: Any, steps: int) -> Callable[[int], object]:
    app, config = graph.compile(), {"recursion_limit": steps + 5}

    def run(n: int) -> None:
        for _ in range(n):
            app.invoke(start, config)

    return run


def _line(length: int) -> Callable[[int], object]:
    from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found, unused-ignore]

    graph, before = StateGraph(State), START
    for number in range(length):
        graph.add_node(f"n{number}", lambda state: {"value": state["value"]})
        graph.add_edge(before, f"n{number}")
        before = f"n{number}"
    graph.add_edge(before, END)
    return _invoker(graph, {"value": "abc"}, length)


def chain() -> Callable[[int], object]:
    return _line(LENGTH)


def single() -> Callable[[int], object]:
    return _line(1)


def diamond() -> Callable[[int], object]:
    from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found, unused-ignore]

    graph = StateGraph(Joined)
    for name in ("left", "right"):
        graph.add_node(name, lambda state: {"parts": [state["value"]]})
        graph.add_edge(START, name)
    graph.add_node("join", lambda state: {"value": "".join(state["parts"])})
    graph.add_edge(["left", "right"], "join")
    graph.add_edge("join", END)
    return _invoker(graph, {"value": "abc", "parts": []}, 3)


def tool() -> Callable[[int], object]:
    """ToolNode inside a graph, as LangGraph wants it called."""
    from langchain_core.messages import AIMessage  # type: ignore[import-not-found, unused-ignore]
    from langchain_core.tools import tool as as_tool  # type: ignore[import-not-found, unused-ignore]
    from langgraph.graph import END, START, MessagesState, StateGraph  # type: ignore[import-not-found, unused-ignore]
    from langgraph.prebuilt import ToolNode  # type: ignore[import-not-found, unused-ignore]

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([as_tool(add)]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "1", "type": "tool_call"}
    return _invoker(graph, {"messages": [AIMessage("", tool_calls=[call])]}, 1)


def subgraph() -> Callable[[int], object]:
    """A compiled graph of one node as the node of another."""
    from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found, unused-ignore]

    inner = StateGraph(State)
    inner.add_node("inner", lambda state: {"value": state["value"]})
    inner.add_edge(START, "inner")
    inner.add_edge("inner", END)
    outer = StateGraph(State)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    outer.add_edge("sub", END)
    return _invoker(outer, {"value": "abc"}, 3)
