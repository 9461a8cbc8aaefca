# SPDX-License-Identifier: MIT
"""A plan with its nodes made: what begins and ends them, and what their instances reach while running."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from . import _native
from .batching import Batcher, Batching
from .compiler import Plan
from .controlplane import invoke
from .errors import RocketRideError, RunError
from .flight import Flight, wrap
from .limits import Limits
from .live import LiveInstance
from .node import Node
from .perworker import PerWorker
from .relay import Hosts, Relay
from .toolbox import Tool
from .toolrunner import ToolRunner
from .toolschema import MethodCall, class_tools

if TYPE_CHECKING:
    from .loop import KernelLoop
    from .trace import Tracer

R = TypeVar("R")

__all__ = ["Bound", "Settings"]


@attrs.frozen
class Settings:
    """Limits of a kernel.

    Parameters:
        workers: threads of a pipeline.
        tool_timeout: seconds for every tool call, None is no limit.
        deliveries: nested deliveries before an emit is put off.
        nesting: entries inside each other.
    """

    workers: int = 4
    tool_timeout: float | None = None
    deliveries: int = 64
    nesting: int = 16


class Bound:
    """The nodes of a plan, and everything their instances share.

    Parameters:
        plan: without errors.
        hosts: the host plugins that were registered when it was opened.
        redact: hides secrets in what people and programs get to read.
    """

    def __init__(
        self, plan: Plan, hosts: Hosts, settings: Settings, tracer: Tracer | None = None, redact: Callable[[str], str] = str
    ) -> None:
        self.plan, self.hosts, self.settings, self.tracer, self.redact = plan, hosts, settings, tracer, redact
        self.compiled = plan.compiled
        self.owners = frozenset((*plan.compiled.starts, *plan.compiled.roots))
        self.limits = Limits()
        self.flights: set[Flight] = set()  # the outermost entries in flight
        self.batching: Batching | None = None  # made by the first node that batches
        self.nodes: list[Node[Any]] = [
            _make(part.cls, part.config, part.component.id, part.component.name) for part in plan.parts
        ]
        self.relays = [Relay(node, hosts, invoke) for node in self.nodes]
        self.toolrunner = ToolRunner(self)
        self._tools: dict[int, list[Tool]] = {}
        self._tool_names: dict[int, dict[str, Tool]] = {}
        # What the native trace writer puts into its lines: ids and lane names, as JSON.
        self.trace_names = (
            tuple(json.dumps(part.component.id).encode() for part in plan.parts),
            tuple(json.dumps(lane).encode() for lane in plan.lanes),
        )
        self._loop: KernelLoop | None = None
        self._lock = Lock()
        self.per_worker = PerWorker()
        self._begun: list[int] = []
        self._over = False
        self.program = self._bind()

    @property
    def loop(self) -> KernelLoop:
        with self._lock:
            if self._loop is None:
                if self._over:
                    raise RunError("the pipeline is closed", code="pipeline-closed")
                from .loop import KernelLoop  # asyncio is imported by those who wait for it

                self._loop = KernelLoop()
            return self._loop

    def lane_name(self, lane: int) -> str:
        return self.plan.lanes[lane] if lane >= 0 else ""

    def callees(self, node: int, control: str) -> Sequence[int]:
        number = self.plan.controls.get(control)
        return () if number is None else self.compiled.callees(node, number)

    def static_tools(self, node: int) -> list[Tool]:
        """The tools of a node that are methods, under full names; a setting `tool_description` stands before each description."""
        found = self._tools.get(node)
        if found is None:
            owner = self.nodes[node]
            tools = class_tools(type(owner)) if owner.manifest.tools else []
            said = str(getattr(owner.config, "tool_description", "") or "").strip()
            found = self._tools[node] = [
                attrs.evolve(
                    tool,
                    name=f"{owner.id}.{tool.name}",
                    call=tool.call.bound(owner) if isinstance(tool.call, MethodCall) else tool.call,
                    description=f"{said}\n\n{tool.description}" if said else tool.description,
                )
                for tool in tools
            ]
        return found

    def static_tool(self, node: int, name: str) -> Tool | None:
        """One of them by its full name."""
        named = self._tool_names.get(node)
        if named is None:
            named = self._tool_names[node] = {tool.name: tool for tool in self.static_tools(node)}
        return named.get(name)

    # ---- begin and end

    def begin(self) -> None:
        """Every node's `begin_global`, in the compiled order.

        Raises:
            RunError: phase `begin`; the nodes that had begun are ended.
        """
        for index in self.compiled.begin_order:
            node = self.nodes[index]
            self.lend_loop(index)
            begin = self.relays[index].hook("begin_global")
            try:
                if begin is not None:
                    begin()
            except BaseException as error:
                self.leave(index, error)
                for ended in self.end():
                    error.add_note(f"then, while ending: {ended}")
                if not isinstance(error, Exception):
                    raise
                failure = error
                if isinstance(error, RunError) and error.phase:
                    raise
                raise wrap(failure, node.id, "begin", "", "", self.redact) from failure
            self._begun.append(index)

    def end(self) -> list[RunError]:
        """`end_global` of every node that has begun, in reverse order; what fails does not hinder the others."""
        failed: list[RunError] = []
        while self._begun:
            index = self._begun.pop()
            end = self.relays[index].hook("end_global")
            try:
                if end is not None:
                    end()
            except Exception as error:  # noqa: BLE001 - every other node must end all the same
                failed.append(wrap(error, self.nodes[index].id, "end", "", ""))
            failed += [wrap(error, self.nodes[index].id, "end", "", "") for error in self.per_worker.close(index)]
            self.leave(index, None, failed)
        self.toolrunner.close()
        self._over = True
        self.close_loop()
        self.limits.close()
        return failed

    def lend_loop(self, index: int) -> None:
        """Let a node wait for coroutines, and batch."""
        self.nodes[index].__dict__["_pipeline"] = _Pipeline(self)

    def close_loop(self) -> None:
        if self._loop is not None:
            self._loop.close()

    def leave(self, index: int, error: BaseException | None, failed: list[RunError] | None = None) -> None:
        """Close what the node has entered."""
        stack = self.nodes[index].__dict__.pop("_stack", None)
        if stack is None:
            return
        try:
            stack.close()
        except Exception as broken:  # noqa: BLE001 - it is told beside the error that led here
            told = wrap(broken, self.nodes[index].id, "end", "", "")
            if error is not None:
                error.add_note(f"then, while closing its resources: {told}")
            elif failed is not None:
                failed.append(told)

    # ---- entries

    def finish(self, flight: Flight) -> None:
        flight.finish()
        if self.tracer is not None:
            self.tracer.write(flight)

    # ---- the native tables

    def _bind(self) -> _native.Program:
        numbers = {name: n for n, name in enumerate(self.plan.lanes)}
        table = []
        for node, relay in zip(self.nodes, self.relays, strict=True):
            outs = node.manifest.outs
            bits = {lane.name: 1 << n for n, lane in enumerate(outs)}
            handlers = [
                (numbers[lane.name], getattr(node, method), sum(bits[out.name] for out in {o.name: o for o in emits}.values()))
                for lane, method, emits in node.manifest.on.values()
                if lane.name in numbers
            ]
            hooks = [relay.hook(name) for name in ("open_instance", "flush_instance", "close_instance")]
            table.append(([(lane, numbers[lane.name]) for lane in outs], handlers, *hooks))
        traced = self.tracer is not None
        payloads = traced and cast("Tracer", self.tracer).payloads
        return _native.bind(self.compiled, table, LiveInstance, self.settings.deliveries, traced, payloads)


@attrs.frozen
class _Pipeline:
    """What `Node.wait` and `Node.batcher` need of the pipeline, made when it is used."""

    bound: Bound

    def batcher(self, component: str, fn: Callable[[Sequence[Any]], Sequence[Any]], size: int) -> Batcher[Any, Any]:
        bound = self.bound
        batching = bound.batching = bound.batching or Batching(bound.flights)
        return batching.made(component, fn, size)

    def wait(self, coro: Any, timeout: float | None) -> Any:
        return self.bound.loop.wait(coro, timeout)


def _make(cls: type[Node[Any]], config: Any, id: str, name: str) -> Node[Any]:
    try:
        node = cls()
    except RocketRideError:
        raise
    except Exception as error:
        text = f"{cls.__module__}.{cls.__qualname__} cannot be made: {error}; a node's __init__ takes no arguments, its work belongs in begin_global"
        raise RunError(text, component=id, phase="begin") from error
    node.config, node.id, node.title = config, id, name or cls.spec.title
    return node
