# SPDX-License-Identifier: MIT
"""A pipe file made ready for a host that calls its tools: a start of ours that all of them are wired to, and the whole as one more tool."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from rocketride_core import (
    ANSWERS,
    AUDIO,
    DOCUMENTS,
    IMAGE,
    MANY,
    QUESTIONS,
    TABLE,
    TAGS,
    TEXT,
    TOOL,
    VIDEO,
    Arguments,
    Blob,
    Component,
    ControlLink,
    Document,
    Instance,
    Json,
    Kernel,
    Lane,
    LaneLink,
    Node,
    NodeSpec,
    Packet,
    PipeFile,
    PluginError,
    Question,
    Result,
    Tool,
    ToolError,
    ToolFailure,
    hookimpl,
    on,
    setting,
)

__all__ = ["CALLS", "FED", "HOST_NODES", "Asked", "Hosted", "hosted", "input_schema", "packet", "responses"]

LANES: tuple[Lane[Any], ...] = (QUESTIONS, TEXT, DOCUMENTS, TABLE, ANSWERS, TAGS, IMAGE, AUDIO, VIDEO)
FED = LANES[:6]  # those that a text can be sent on, in the order of choice


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
    """

    tool: str = ""
    arguments: Arguments = attrs.field(factory=dict)
    timeout: float | None = None
    result: Json = None
    error: ToolError | None = None
    tools: Sequence[Tool] = ()

    def to_json(self) -> Arguments:
        return {"tool": self.tool, "arguments": dict(self.arguments)}


CALLS = Lane.of("rocketride.calls", Asked)


class CallSource(Node[None]):
    """Where the calls of a host come in."""

    spec = NodeSpec("langchain_calls", title="Calls of tools", categories=["source"], emits=[CALLS], internal=True)


class CallHost(Node[None]):
    """Calls the tools that are wired to it, for the host."""

    spec = NodeSpec("langchain_tools", title="Tools for LangChain", needs={TOOL: MANY}, responds=True, internal=True)

    @on(CALLS)
    def call(self, instance: Instance, call: Asked) -> None:
        try:
            if call.tool:
                call.result = instance.tools.call(call.tool, call.arguments, timeout=call.timeout)
            else:
                call.tools = list(instance.tools)
        except ToolError as error:
            call.error = error


@attrs.frozen(kw_only=True)
class WholeConfig:
    description: str = setting("", doc="What the pipeline is good for.")
    lane: str = setting("questions", doc="The lane that the text is sent on.")


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
        with instance.nested() as child:
            child.send(packet(self.config.lane, arguments))
        result = child.result()
        return responses(result)


HOST_NODES: tuple[type[Node[Any]], ...] = (CallSource, CallHost, WholePipeline)


def input_schema(lane: str) -> Arguments:
    """The JSON schema of what a whole pipeline takes: a `question`, or a `text`, by the lane that it is sent on."""
    name, said = ("question", "What to ask.") if lane == QUESTIONS.name else ("text", "The input of the pipeline.")
    text: Json = {"type": "string", "minLength": 1, "description": said}
    return {"type": "object", "properties": {name: text}, "required": [name], "additionalProperties": False}


def packet(lane: str, arguments: Arguments) -> Packet:
    """The text among such arguments, as a payload of the lane."""
    [text] = arguments.values()
    data = str(text)
    payloads: Mapping[str, Any] = {
        QUESTIONS.name: lambda: QUESTIONS(Question.of(data)),
        TEXT.name: lambda: TEXT(data),
        DOCUMENTS.name: lambda: DOCUMENTS([Document(data, {"chunkId": 0})]),
        TABLE.name: lambda: TABLE(data),
        ANSWERS.name: lambda: ANSWERS(ANSWERS.from_json(data)),
        TAGS.name: lambda: TAGS(Blob.of(data.encode(), mime_type="text/plain;charset=utf-8", name="input.txt")),
    }
    made: Packet = payloads[lane]()
    return made


def responses(result: Result) -> dict[str, Json]:
    """What was responded, by lane, as JSON. Vectors are left out: nobody reads them, and one is as long as the text of many documents.

    Raises:
        ToolFailure: the entry failed; `component` is where.
    """
    if (error := result.error) is not None:
        at, said = error.component, str(error)
        raise ToolFailure(said if at in said else f"{at}: {said}", component=at) from error
    made: dict[str, Json] = {}
    for lane in LANES:
        found: list[Json] = []
        for payload in result[lane]:
            json: Any = lane.to_json(payload)
            found += [{k: v for k, v in one.items() if k != "embedding"} for one in json] if lane == DOCUMENTS else [json]
        if found:
            made[lane.name] = found
    told = result.to_json()
    types = told.get("result_types")
    for key, name in types.items() if isinstance(types, Mapping) else ():
        if isinstance(name, str) and name not in {lane.name for lane in LANES}:
            made[name] = told[key]
    return made


@attrs.frozen
class Hosted:
    """A file that is ready.

    Parameters:
        pipe: with the nodes of ours.
        source: what starts it.
        whole: full name of the tool that runs the whole, "" where there is none.
        why_not: the reason then.
    """

    pipe: PipeFile
    source: str
    whole: str = ""
    why_not: str = ""


def hosted(
    kernel: Kernel, pipe: PipeFile, *, source: str, only: Collection[str] | None, whole: bool | None, description: str
) -> Hosted:
    """Wire a host to the tools of a file, and put the whole behind one more tool.

    Offered is what stands on the `tool` slot of any component, and what can only be a tool because nothing is wired to it. A store that
    is merely fed stays out: its author has given nobody its `delete`.

    Parameters:
        source: id of the component that starts the whole, instead of the file's choice.
        only: ids of components, or full names of tools; others are not begun. None is all.
        whole: offer it; None is where it can be.
        description: of the whole.

    Raises:
        ValueError: there is nothing to offer, or the whole cannot be run by a host.
    """
    classes = {one.id: _found(kernel, one.provider) for one in pipe.components}
    ids = set(classes)
    calls, host, run = _free("calls", ids), _free("host", ids), _free("pipeline", ids)
    tools = [one.id for one in pipe.components if _is_tool(one, classes[one.id]) and _wanted(one.id, only)]
    parts, lane, why_not = list(pipe.components), "", "it was not asked for"
    if whole is not False:
        parts, lane, why_not = _behind(pipe, classes, source or pipe.source, run)
        if whole and not lane:
            raise ValueError(f"{pipe.file or 'the pipeline'} cannot be one tool as a whole: {why_not}")
    if not tools and not lane:
        named = f" among {', '.join(sorted(only))}" if only is not None else ""
        raise ValueError(
            f"{pipe.file or 'the pipeline'} offers no tools{named}: no such component stands on a `tool` slot, and it cannot be one tool "
            f"as a whole: {why_not}"
        )
    kept = parts if lane else list(pipe.components)
    made = [attrs.evolve(one, control=[*one.control, ControlLink("tool", host)]) if one.id in tools else one for one in kept]
    made += [
        Component(calls, CallSource.spec.provider),
        Component(host, CallHost.spec.provider, input=[LaneLink("rocketride.calls", calls)]),
    ]
    if lane:
        config = {"description": description, "lane": lane}
        made.append(Component(run, WholePipeline.spec.provider, config, control=[ControlLink("tool", host)]))
    return Hosted(attrs.evolve(pipe, components=made, source=calls), calls, f"{run}.run" if lane else "", why_not)


def _found(kernel: Kernel, provider: str) -> type[Node[Any]] | None:
    try:
        return kernel.registry.find(provider)
    except (LookupError, PluginError):  # loading the file says so, with everything else that is wrong with it
        return None


def _is_tool(component: Component, cls: type[Node[Any]] | None) -> bool:
    if any(link.control == TOOL.name for link in component.control):
        return True
    return not (component.control or component.input) and cls is not None and TOOL.name in cls.manifest.offers


def _wanted(id: str, only: Collection[str] | None) -> bool:
    return only is None or any(name == id or name.startswith(f"{id}.") for name in only)


def _free(id: str, taken: Collection[str]) -> str:
    return id if id not in taken else next(name for n in range(2, len(taken) + 3) if (name := f"{id}_{n}") not in taken)


def _starts(cls: type[Node[Any]] | None) -> bool:
    if cls is None:
        return False
    manifest = cls.manifest
    return bool(manifest.source) or ("source" in cls.spec.categories and bool(manifest.outs) and not manifest.on)


def _behind(
    pipe: PipeFile, classes: Mapping[str, type[Node[Any]] | None], source: str, run: str
) -> tuple[list[Component], str, str]:
    """The components with the tool in the place of their source, the lane that it is fed on, and why there is none."""
    starts = [id for id, cls in classes.items() if _starts(cls)]
    if not source and len(starts) != 1:
        return [], "", f"choose a source, {', '.join(starts)}" if starts else "it has no source"
    source = source or starts[0]
    cls = classes.get(source)
    if source not in starts or cls is None:
        return [], "", f"{source} is no source"
    if cls.manifest.source:
        return [], "", f"{source} fetches by itself, so no text can be given to it"
    names = {lane.name for lane in LANES}
    parts: list[Component] = []
    wired: set[str] = set()
    for component in pipe.components:
        if component.id in starts:
            continue
        links = [attrs.evolve(link, source=run) if link.source == source else link for link in component.input]
        links = [link for link in links if link.source not in starts and (link.source != run or link.lane in names)]
        wired |= {link.lane for link in links if link.source == run}
        parts.append(attrs.evolve(component, input=links) if links != list(component.input) else component)
    lane = next((lane.name for lane in FED if lane.name in wired), "")
    return parts, lane, "" if lane else f"no text can be sent on the lanes of {source}"
