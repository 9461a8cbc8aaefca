# SPDX-License-Identifier: MIT
"""What a tool call costs: from a node, through the kernel, to the method and back; and a sub-pipeline as a tool."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rocketride_core import MANY, TEXT, TOOL, Entry, Instance, Kernel, Node, NodeSpec, Run, hookimpl, on, tool
from rocketride_core.pipefile import Component, ControlLink, LaneLink, PipeFile

from .. import peers
from ..judging import Row, scaled
from ..measuring import Case, Options, timed
from ..pipes import Forward, Respond, Source

__all__ = ["ROWS"]


class Calling(Node[None]):
    """Calls a tool as often as it is told."""

    spec = NodeSpec("bench_calling", title="Calling", needs={TOOL: MANY})
    times = 1
    name = "calc.add"
    arguments: Mapping[str, Any] = {"a": 1, "b": 2}
    timeout: float | None = None

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        tools, name, arguments, timeout = instance.tools, self.name, self.arguments, self.timeout
        for _ in range(self.times):
            tools.call(name, arguments, timeout=timeout)


class Calc(Node[None]):
    """Offers one tool with two numbers."""

    spec = NodeSpec("bench_calc", title="Calc")

    @tool
    def add(self, instance: Instance, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b


class Sub(Node[None]):
    """Offers the pipeline behind it as a tool."""

    spec = NodeSpec("bench_sub", title="Sub", emits=[TEXT])

    @tool(concurrent=True)
    def run(self, instance: Instance, data: str) -> str:
        """Run the pipeline."""
        child: Run
        with instance.nested() as child:
            child.send(TEXT(data))
        return "".join(child.result().checked()[TEXT])


class Passing:
    """A host plugin that lets every call through."""

    @hookimpl(wrapper=True)
    def invoke_tool(self, name: str) -> Generator[None, Any, Any]:
        return (yield)


NODES = (Source, Forward, Respond, Calling, Calc, Sub)


def _pipe(*tools: Component) -> PipeFile:
    return PipeFile(
        [Component("source", "bench_source"), Component("calling", "bench_calling", input=[LaneLink("text", "source")]), *tools]
    )


def _called(provider: str, id: str) -> Component:
    return Component(id, provider, control=[ControlLink("tool", "calling")])


CALC = _pipe(_called("bench_calc", "calc"))
SUB = _pipe(_called("bench_sub", "sub"), Component("inner", "bench_respond", input=[LaneLink("text", "sub")]))


@contextmanager
def _calls(pipe: PipeFile, **settings: Any) -> Iterator[Callable[[int], object]]:
    """`body(n)`: one object whose node makes n calls."""
    plugins = settings.pop("plugins", ())
    with Kernel(nodes=NODES, plugins=plugins).load(pipe) as pipeline:
        calling: Any = next(node for node in pipeline.bound.nodes if node.id == "calling")  # type: ignore[attr-defined]
        for name, value in settings.items():
            setattr(calling, name, value)

        def body(n: int) -> None:
            calling.times = n
            pipeline.run(Entry("object"), TEXT("abc")).checked()

        yield body


def _row(job: str, pipe: PipeFile, **settings: Any) -> Callable[[Options], Any]:
    @contextmanager
    def setup(options: Options) -> Iterator[Mapping[str, Case]]:
        with _calls(pipe, **settings) as body:
            cases = {"core": timed(body, options)}
            cases |= {name: timed(theirs, options) for name, theirs in peers.bodies(job)}
            yield cases

    return setup


ROWS = [
    Row("tool", "tool call, arguments checked", "µs", _row("tool", CALC), scaled(1000), 3, 1),
    Row("tool-wrapped", "the same, wrapped by a host plugin", "µs", _row("", CALC, plugins=[Passing()]), scaled(1000), 6),
    Row("tool-timed", "the same, with a time limit", "µs", _row("", CALC, timeout=60.0), scaled(1000), 200),
    Row(
        "sub-pipeline",
        "sub-pipeline as a tool, one node inside",
        "µs",
        _row("subgraph", SUB, name="sub.run", arguments={"data": "abc"}),
        scaled(1000),
        15,
        5,
    ),
]
