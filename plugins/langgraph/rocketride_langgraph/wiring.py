# SPDX-License-Identifier: MIT
"""A pipe file made ready for a host that calls its tools: a start of ours that all of them are wired to, and the whole behind one more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import attrs

from rocketride_core import TOOL, Component, ControlLink, Json, Kernel, LaneLink, Node, PipeFile, PluginError

from .feeding import FED, LANES
from .hosting import CALLS, WHOLE, CallHost, CallSource, ToolList, WholePipeline

__all__ = ["Hosted", "hosted"]


@attrs.frozen
class Hosted:
    """A file that is ready.

    Parameters:
        pipe: with the nodes of ours.
        source: what starts it.
        whole: full name of the tool that runs the whole, "" where there is none.
    """

    pipe: PipeFile
    source: str
    whole: str = ""


def hosted(
    kernel: Kernel,
    pipe: PipeFile,
    *,
    source: str = "",
    only: Collection[str] | None = None,
    whole: bool | None = None,
    description: str = "",
    timeout: float | None = None,
) -> Hosted:
    """Wire a host to the tools of a file, and put the whole behind one more tool.

    Offered is what stands on the `tool` slot of any component, and what can only be a tool because nothing is wired to it. A store that
    is merely fed stays out: its author has given nobody its `delete`.

    Parameters:
        source: id of the component that starts the whole, instead of the file's choice.
        only: ids of components, or full names of tools; others are not begun. None is all.
        whole: offer it; None is where it can be.
        description: of the whole.
        timeout: seconds for an object that a node makes, None is no limit.

    Raises:
        ValueError: there is nothing to offer, or the whole cannot be run by a host.
    """
    classes = {one.id: _found(kernel, one.provider) for one in pipe.components}
    ids = set(classes)
    calls, host, run = _free("calls", ids), _free("host", ids), _free("pipeline", ids)
    tools = [one.id for one in pipe.components if _is_tool(one, classes[one.id]) and _wanted(one.id, only)]
    parts, lane, why_not = list(pipe.components), "", "the pipeline is not offered as a whole (whole=False)"
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
    lists = {id: _free(f"list_{id}", ids) for id in (tools if not lane else [run, *tools])}
    called = {id: [ControlLink(TOOL.name, host), ControlLink(TOOL.name, at)] for id, at in lists.items()}
    made = [attrs.evolve(one, control=[*one.control, *called[one.id]]) if one.id in tools else one for one in kept]
    links = [LaneLink(one.name, calls) for one in (CALLS, *LANES)]
    made += [
        Component(calls, CallSource.spec.provider),
        Component(host, CallHost.spec.provider, {"why_not": why_not}, input=links),
    ]
    made += [Component(at, ToolList.spec.provider, {"of": id}, input=links[:1]) for id, at in lists.items()]
    if lane:
        config: dict[str, Json] = {"description": description, "lane": lane, "timeout": timeout or 0.0}
        made.append(Component(run, WholePipeline.spec.provider, config, control=[*called[run], ControlLink(WHOLE.name, host)]))
    return Hosted(attrs.evolve(pipe, components=made, source=calls), calls, f"{run}.run" if lane else "")


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
