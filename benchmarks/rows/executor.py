# SPDX-License-Identifier: MIT
"""What the tool executor of rocketride-langgraph costs in a LangGraph graph, beside LangGraph's own ToolNode in the same graph.

The rows are there where LangGraph is installed (`make peers`): without it there is no graph to put the executor in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from ..judging import Row, scaled
from ..measuring import Case, Options, timed

__all__ = ["ROWS"]


def _tool() -> Any:
    from langchain_core.tools import tool  # type: ignore[import-not-found, unused-ignore]

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return tool(add)


def _body(node: Any, calls: int) -> Callable[[int], object]:
    """A graph of this node, invoked with one message that makes so many calls."""
    from langchain_core.messages import AIMessage  # type: ignore[import-not-found, unused-ignore]
    from langgraph.graph import END, START, MessagesState, StateGraph  # type: ignore[import-not-found, unused-ignore]

    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    app = graph.compile()
    asked = [{"name": "add", "args": {"a": 1, "b": 2}, "id": str(n), "type": "tool_call"} for n in range(calls)]
    given: Any = {"messages": [AIMessage("", tool_calls=asked)]}
    answers = app.invoke(given)["messages"][1:]
    assert [answer.content for answer in answers] == ["3"] * calls

    def run(n: int) -> None:
        for _ in range(n):
            app.invoke(given)

    return run


def _row(calls: int) -> Callable[[Options], Any]:
    @contextmanager
    def setup(options: Options) -> Iterator[Mapping[str, Case]]:
        from langgraph.prebuilt import ToolNode  # type: ignore[import-not-found, unused-ignore]

        from rocketride_langgraph import ToolExecutor

        yield {
            "core": timed(_body(ToolExecutor([_tool()]), calls), options),
            "LangGraph": timed(_body(ToolNode([_tool()]), calls), options),
        }

    return setup


_WHAT = "tool executor in a LangGraph graph, "

ROWS = [
    Row("executor", f"{_WHAT}one call", "µs", _row(1), scaled(1000), 1800),
    Row("executor-8", f"{_WHAT}eight calls at once", "µs", _row(8), scaled(1000), 7000),
]
if find_spec("langgraph") is None or find_spec("rocketride_langgraph") is None:
    ROWS = []
