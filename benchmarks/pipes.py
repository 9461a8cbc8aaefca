# SPDX-License-Identifier: MIT
"""The nodes that rows send objects through, and pipelines of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rocketride_core import DOCUMENTS, TEXT, Document, Instance, Kernel, Node, NodeSpec, Pipeline, hookimpl, on
from rocketride_core.pipefile import Component, LaneLink, PipeFile

__all__ = ["NODES", "Collect", "Drop", "Forward", "Respond", "Source", "diamond", "line", "pipeline"]


class Source(Node[None]):
    """Feeds text and documents."""

    spec = NodeSpec("bench_source", title="Source", categories=["source"], emits=[TEXT, DOCUMENTS])


class Forward(Node[None]):
    """Passes everything on."""

    spec = NodeSpec("bench_forward", title="Forward")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, text)

    @on(DOCUMENTS, emits=[DOCUMENTS])
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.emit(DOCUMENTS, documents)


class Drop(Node[None]):
    """The end of a line."""

    spec = NodeSpec("bench_drop", title="Drop", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        pass


class Collect(Node[None]):
    """Joins: emits everything it got of one object as one text, when the object is complete."""

    spec = NodeSpec("bench_collect", title="Collect")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.state(list[str]).append(text)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        instance.emit(TEXT, "".join(instance.state(list[str])))


class Respond(Node[None]):
    """Responds with every text and document."""

    spec = NodeSpec("bench_respond", title="Respond", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))


NODES = (Source, Forward, Drop, Collect, Respond)


def line(forwards: int, last: type[Node[None]] = Respond, lane: str = "text") -> PipeFile:
    """source → that many forwards → last."""
    components, before = [Component("source", "bench_source")], "source"
    for number in range(forwards):
        components.append(Component(f"forward_{number}", "bench_forward", input=[LaneLink(lane, before)]))
        before = f"forward_{number}"
    components.append(Component("last", last.spec.provider, input=[LaneLink(lane, before)]))
    return PipeFile(components, "source")


def diamond() -> PipeFile:
    """source → left and right → join → respond."""
    return PipeFile(
        [
            Component("source", "bench_source"),
            Component("left", "bench_forward", input=[LaneLink("text", "source")]),
            Component("right", "bench_forward", input=[LaneLink("text", "source")]),
            Component("join", "bench_collect", input=[LaneLink("text", "left"), LaneLink("text", "right")]),
            Component("last", "bench_respond", input=[LaneLink("text", "join")]),
        ],
        "source",
    )


@contextmanager
def pipeline(pipe: PipeFile, kernel: Kernel | None = None) -> Iterator[Pipeline]:
    """The pipeline of nodes of ours, open; nothing that is installed takes part."""
    with (kernel or Kernel(nodes=NODES)).load(pipe) as opened:
        yield opened
