# SPDX-License-Identifier: MIT
"""One node in a real pipeline: a source in front, a recorder behind, fakes on its control slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import attrs

from ..compiler import is_source
from ..controls import TOOL, Caller, Control
from ..entry import Entry, Event
from ..errors import Problem, RunError
from ..handlers import on, serves
from ..kernel import Kernel
from ..lanes import Lane, Packet
from ..node import Node, hookimpl
from ..pipefile import Component, ControlLink, LaneLink, PipeFile
from ..pipeline import RunningPipeline
from ..protocols import Instance
from ..results import EntryResult
from ..spec import ONE, NodeSpec

T = TypeVar("T")

__all__ = ["Harness", "Outputs", "node_harness", "run_node"]

Sent = Mapping[str, Sequence[Any]] | Mapping[Lane[Any], Sequence[Any]]


class Outputs:
    """What a node emitted for one entry; `outputs[TEXT]` or `outputs["text"]` is the list of its payloads, in order.

    Attributes:
        result: the whole result; of a node that responds itself, its JSON is `outputs.result.to_json()`.
        events: what it said with `instance.event`.
    """

    def __init__(self, result: EntryResult, events: Sequence[Event], recorded: int) -> None:
        self.result, self.events = result, list(events)
        self._all = [(lane, payload) for place, _, lane, payload in result._responses if place == recorded]

    @property
    def error(self) -> RunError | None:
        return self.result.error

    @property
    def warnings(self) -> Sequence[Problem]:
        return self.result.warnings

    @property
    def usage(self) -> Mapping[str, float]:
        """The counters of the node under test."""
        return self.result.usage.get("node", {})

    @property
    def packets(self) -> list[Packet]:
        """Everything, over all lanes, in order."""
        return [Packet(lane, payload) for lane, payload in self._all]

    def __getitem__(self, lane: Lane[T] | str) -> list[Any]:
        name = lane if isinstance(lane, str) else lane.name
        return [payload for at, payload in self._all if at.name == name]

    def __repr__(self) -> str:
        return f"<Outputs {self._all!r}, error {self.error!r}>"


class Harness:
    """A node that has begun; every `run` is an entry of its own."""

    def __init__(self, pipeline: RunningPipeline, lanes: Mapping[str, Lane[Any]], recorder: int) -> None:
        self.pipeline, self._lanes, self._recorder = pipeline, lanes, recorder

    @property
    def node(self) -> Node[Any]:
        """The node under test."""
        return next(node for node in self.pipeline.bound.nodes if node.id == "node")

    def packets(self, send: Sent) -> list[Packet]:
        out: list[Packet] = []
        for key, payloads in send.items():
            name = key.name if isinstance(key, Lane) else key
            if name not in self._lanes:
                raise ValueError(
                    f"{self.node.spec.provider} takes no lane '{name}'; it takes: {', '.join(self._lanes) or 'none'}"
                )
            out.extend(self._lanes[name](payload) for payload in payloads)
        return out

    def run(self, send: Sent, *, entry: Entry | None = None, timeout: float | None = None, check: bool = True) -> Outputs:
        """Send payloads by lane (name or lane) as one entry.

        Parameters:
            check: raise the entry's error, if it has one.
        """
        events: list[Event] = []
        flight = self.pipeline.flight(entry or Entry("test"))
        flight.listener = events.append
        result = self.pipeline.complete(flight, tuple(self.packets(send)), timeout)
        if check:
            result.checked()
        return Outputs(result, events, self._recorder)


def run_node(
    node: type[Node[Any]],
    *,
    config: Mapping[str, Any] | None = None,
    send: Sent | None = None,
    controls: Mapping[Control[Any], object] | None = None,
    entry: Entry | None = None,
    timeout: float | None = None,
    check: bool = True,
    env: Mapping[str, str] | None = None,
) -> Outputs:
    """Compile *source → node → recorder* with the real kernel, send payloads as one entry, and give what came out.

    Parameters:
        config: as in a `.pipe`.
        send: payloads by lane, `{"text": ["abc"]}` or `{TEXT: ["abc"]}`.
        controls: what serves its slots, `{LLM: FakeChatModel(["yes"])}`.
        check: raise the entry's error, if it has one; otherwise look at `outputs.error`.

    Raises:
        PipeError: the config is wrong.
        RunError: the node could not begin, or the entry failed.
    """
    with node_harness(node, config=config, controls=controls, env=env) as harness:
        return harness.run(send or {}, entry=entry, timeout=timeout, check=check)


@contextmanager
def node_harness(
    node: type[Node[Any]],
    *,
    config: Mapping[str, Any] | None = None,
    controls: Mapping[Control[Any], object] | None = None,
    env: Mapping[str, str] | None = None,
    plugins: Sequence[object] = (),
    consumer: Callable[[Lane[Any], Any], None] | None = None,
    trace_to: Callable[[Any], None] | None = None,
    called: bool = False,
) -> Iterator[Harness]:
    """As `run_node`, for several entries with one begun node.

    Parameters:
        consumer: called with everything the node emits, before it is recorded; what it raises fails the entry downstream.
        called: wire what the node serves to a caller as well, so that every entry has its control instance too; the caller asks
            for each served object, and for the list of tools, when the entry begins. The recorder's input is not affected.
    """
    lanes = {lane.name: lane for lane, _, _ in node.manifest.on.values()}
    outs = list(node.manifest.outs)
    recorder = _recorder(outs, consumer)
    components: list[Component] = []
    if is_source(node):
        lanes = {lane.name: lane for lane in outs}
        components.append(Component("node", node.spec.provider, config or {}))
        classes: list[type[Node[Any]]] = [node]
    else:
        feeder = _feeder([*lanes.values(), CALL])
        components.append(Component("source", feeder.spec.provider))
        links = [LaneLink(name, "source") for name in lanes]
        components.append(Component("node", node.spec.provider, config or {}, input=links))
        classes = [feeder, node]
    for number, (control, service) in enumerate((controls or {}).items()):
        server = _server(control, service, number)
        classes.append(server)
        components.append(
            Component(f"{control.name}_{number}", server.spec.provider, control=[ControlLink(control.name, "node")])
        )
    if called and not is_source(node):
        caller = _caller(node)
        classes.append(caller)
        components.append(
            Component("caller", caller.spec.provider, input=[LaneLink(name, "source") for name in ["testing.call"]])
        )
        components[1] = attrs.evolve(components[1], control=[ControlLink(name, "caller") for name in node.manifest.offers])
    if outs:
        classes.append(recorder)
        components.append(Component("recorder", recorder.spec.provider, input=[LaneLink(lane.name, "node") for lane in outs]))
    kernel = Kernel(nodes=classes, env=env or {}, plugins=plugins, trace="calls" if trace_to else "off", trace_to=trace_to)
    with kernel.load(PipeFile(components, source=components[0].id)) as pipeline:
        # Asked after loading: a node that expands itself moves the others.
        places = {one.id: place for place, one in enumerate(pipeline.bound.nodes)}
        yield Harness(pipeline, lanes, places.get("recorder", -1))


def _feeder(lanes: Sequence[Lane[Any]]) -> type[Node[Any]]:
    spec = NodeSpec("testing_source", title="Test source", categories=["source"], emits=lanes)
    return type("TestingSource", (Node,), {"spec": spec, "__module__": __name__})


def _recorder(lanes: Sequence[Lane[Any]], consumer: Callable[[Lane[Any], Any], None] | None) -> type[Node[Any]]:
    body: dict[str, Any] = {"spec": NodeSpec("testing_recorder", title="Recorder", responds=True), "__module__": __name__}
    for number, lane in enumerate(lanes):

        def record(self: Any, instance: Instance, payload: Any, lane: Lane[Any] = lane) -> None:
            if consumer is not None:
                consumer(lane, payload)
            instance.respond(f"recorded {lane.name}", lane(payload))

        body[f"record_{number}"] = on(lane)(record)
    return type("TestingRecorder", (Node,), body)


CALL = Lane.of("testing.call", str)


def _caller(node: type[Node[Any]]) -> type[Node[Any]]:
    controls: list[Control[Any]] = [Control(name) for name in node.manifest.offers]

    def open_instance(self: Any, instance: Instance) -> None:
        for control in controls:
            if control == TOOL:
                list(instance.tools)
            else:
                instance.one(control)

    def call(self: Any, instance: Instance, payload: str) -> None:
        """Only an input makes the caller part of the region."""

    spec = NodeSpec("testing_caller", title="Test caller", needs=dict.fromkeys(controls, ONE))
    body = {"spec": spec, "open_instance": hookimpl(open_instance), "call": on(CALL)(call), "__module__": __name__}
    return type("TestingCaller", (Node,), body)


def _server(control: Control[Any], service: object, number: int) -> type[Node[Any]]:
    if control == TOOL:
        raise ValueError("controls={TOOL: …} takes no object: wire a node with tools, or write one for the test")

    def serve(self: Any, instance: Instance, caller: Caller) -> object:
        return service

    spec = NodeSpec(f"testing_control_{number}", title=f"Test {control.name}")
    return type("TestingControl", (Node,), {"spec": spec, "serve": serves(control)(serve), "__module__": __name__})
