# SPDX-License-Identifier: MIT
"""The nodes that a host calls a pipeline through: a start for its calls, who makes them, and the whole as one more tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from rocketride_core import (
    MANY,
    ONE,
    OPTIONAL,
    TOOL,
    Arguments,
    Caller,
    Control,
    Instance,
    Json,
    Lane,
    Node,
    NodeSpec,
    Packet,
    Result,
    Tool,
    ToolError,
    ToolFailure,
    hookimpl,
    on,
    serves,
    setting,
)

from .feeding import LANES, input_schema, packet, responses

__all__ = ["CALLS", "HOST_NODES", "WHOLE", "Asked", "CallHost", "CallSource", "ToolList", "WholePipeline"]


@attrs.define
class Asked:
    """One call on its way through the pipeline, and what came of it.

    Parameters:
        tool: its full name; "" asks what tools there are.
        arguments: of the call.
        timeout: seconds, None is no limit.
        result: what the tool gave.
        error: why it gave nothing.
        tools: what there is, where that was asked.
        unlisted: by component, why it could not say so.
    """

    tool: str = ""
    arguments: Arguments = attrs.field(factory=dict)
    timeout: float | None = None
    result: Json = None
    error: ToolError | None = None
    tools: list[Tool] = attrs.field(factory=list)
    unlisted: dict[str, ToolError] = attrs.field(factory=dict)

    def to_json(self) -> Arguments:
        return {"tool": self.tool, "arguments": dict(self.arguments)}


CALLS = Lane.of("rocketride.calls", Asked)
WHOLE: Control[Callable[[Sequence[Packet]], Result]] = Control("rocketride.whole")


@attrs.define
class Made:
    """The input of an object that some node has made."""

    packets: list[Packet] = attrs.field(factory=list)


def _keeping(lane: Lane[Any]) -> Any:
    def keep(self: Node[Any], instance: Instance, payload: Any) -> None:
        instance.state(Made).packets.append(lane(payload))

    return on(lane)(keep)


class CallSource(Node[None]):
    """Where the calls of a host come in, and the objects that nodes make in such a call: those go to the source of a pipeline."""

    spec = NodeSpec("langchain_calls", title="Calls of tools", categories=["source"], emits=[CALLS, *LANES], internal=True)


@attrs.frozen(kw_only=True)
class HostConfig:
    why_not: str = setting("", doc="Why there is no whole pipeline that could take an object.")


class CallHost(Node[HostConfig]):
    """Calls the tools that are wired to it, for the host. An object that a node has made goes through the whole pipeline."""

    spec = NodeSpec(
        "langchain_tools", title="Tools for LangChain", needs={TOOL: MANY, WHOLE: OPTIONAL}, responds=True, internal=True
    )

    questions, text, documents, table, answers, tags, image, audio, video = map(_keeping, LANES)

    @on(CALLS)
    def call(self, instance: Instance, call: Asked) -> None:
        if not call.tool:
            return
        try:
            call.result = instance.tools.call(call.tool, call.arguments, timeout=call.timeout)
        except ToolError as error:
            call.error = error

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        packets = instance.state(Made).packets
        if not packets:
            return
        run = instance.maybe(WHOLE)
        if run is None:
            raise ToolFailure(f"nothing takes the objects that nodes make: {self.config.why_not}", component=self.id)
        result = run(packets)
        for lane in {lane.name: lane for lane in (*LANES, *getattr(result, "lanes", ()))}.values():
            for payload in result[lane]:
                instance.respond(lane.name, lane(payload))
        result.checked()


@attrs.frozen(kw_only=True)
class ListConfig:
    of: str = setting("", doc="Id of the component whose tools it lists.")


class ToolList(Node[ListConfig]):
    """Lists the tools of one component: where several are wired to a node, one that cannot list its own hides all others."""

    spec = NodeSpec("langchain_list", title="Tools of one component", needs={TOOL: ONE}, responds=True, internal=True)

    @on(CALLS)
    def call(self, instance: Instance, call: Asked) -> None:
        if call.tool:
            return
        try:
            call.tools += instance.tools
        except ToolError as error:
            call.unlisted[self.config.of] = error


@attrs.frozen(kw_only=True)
class WholeConfig:
    description: str = setting("", doc="What the pipeline is good for.")
    lane: str = setting("questions", doc="The lane that the text is sent on.")
    timeout: float = setting(0.0, ge=0, unit="s", doc="For an object that a node has made; 0 is no limit.")


class WholePipeline(Node[WholeConfig]):
    """Stands where the source of a file stood; one tool, `run`, sends a text through everything behind it."""

    spec = NodeSpec("langchain_pipeline", title="Pipeline for LangChain", emits=LANES, internal=True)

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        return [Tool("run", self.config.description, input_schema(self.config.lane), self.run, concurrent=True)]

    def run(self, instance: Instance, arguments: Arguments) -> Mapping[str, Json]:
        """What the pipeline responds, by lane.

        Raises:
            ToolFailure: a node of it failed; `component` is which.
        """
        return responses(self._sent(instance, [packet(self.config.lane, arguments)], None))

    @serves(WHOLE)
    def feed(self, instance: Instance, caller: Caller) -> Callable[[Sequence[Packet]], Result]:
        return lambda packets: self._sent(instance, packets, self.config.timeout or None)

    def _sent(self, instance: Instance, packets: Sequence[Packet], timeout: float | None) -> Result:
        with instance.nested(timeout=timeout) as child:
            for one in packets:
                child.send(one)
        return child.result()


HOST_NODES: tuple[type[Node[Any]], ...] = (CallSource, CallHost, ToolList, WholePipeline)
