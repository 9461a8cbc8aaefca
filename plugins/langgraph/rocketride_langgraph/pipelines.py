# SPDX-License-Identifier: MIT
"""`pipeline_tools`: a pipe file as LangChain tools."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import attrs
from langchain_core.tools import BaseTool

from rocketride_core import Arguments, Blob, Entry, Kernel, Node, PipeFile, Pipeline, RunError, Tool
from rocketride_core.pipefile import read_pipe

from .adapting import safe_names
from .feeding import FED, input_schema, packet
from .hosting import CALLS, HOST_NODES, Asked
from .opened import Opened, PipelineTools, Running
from .piping import HostCall, PipelineTool, WholeRun
from .wiring import hosted

__all__ = ["KernelOptions", "pipeline_tools"]


class KernelOptions(TypedDict, total=False):
    """What `Kernel` takes, for a pipeline that is opened here."""

    plugins: Sequence[object]
    nodes: Sequence[type[Node[Any]]]
    env: Mapping[str, str] | None
    workers: int
    tool_timeout: float | None
    trace: Literal["off", "calls", "payloads"]
    trace_to: Path | Callable[[Arguments], None] | None


def pipeline_tools(
    pipe: str | Path | PipeFile | Pipeline,
    *,
    only: Collection[str] | None = None,
    whole: bool | None = None,
    name: str = "",
    description: str = "",
    prefix: str = "",
    source: str = "",
    timeout: float | None = None,
    on_error: Literal["message", "raise"] = "message",
    **kernel: Unpack[KernelOptions],
) -> PipelineTools:
    """The tools of a pipeline, and the whole of it, as LangChain tools for any agent.

    Parameters:
        pipe: a path or a PipeFile, which is opened and closed here; or a running pipeline, which stays its owner's and is one tool.
        only: ids of components, or full names of their tools; what is not named is neither offered nor begun. None is all.
        whole: offer the whole pipeline as a tool; None is where a host can feed it.
        name: of the tool that is the whole; the name of the file where it is not given.
        description: of that tool: what it is good for, by which a model decides.
        prefix: before the names of the other tools, `support` for `support__search_1__search`.
        source: id of the component that starts the whole, instead of the file's choice.
        timeout: seconds for a call, and for each object that a node makes in it; None is no limit.
        on_error: "message": a model reads what went wrong as the tool's answer; "raise": a ToolException.
        kernel: what `Kernel` takes.

    Raises:
        ValueError: a number or a word is out of its range, or does not go with a running pipeline; at the first use, there is nothing to
            offer.
        PipeError, RunError, ToolError: at the first use: the file is wrong, a node cannot begin, or no tool at all can be listed.

    Warns:
        RuntimeWarning: at the first use: a component cannot list its tools; `unlisted` of the result has it too.
    """
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout is a number of seconds over 0, or None for no limit, not {timeout!r}")
    if on_error not in ("message", "raise"):
        raise ValueError(f"on_error is 'message' or 'raise', not {on_error!r}")
    if isinstance(only, str):
        raise ValueError(f"only is a list of components and tools, not a text: write only=[{only!r}]")
    wish = _Wish(only, whole, name, description, prefix, source, timeout, on_error == "message")
    if isinstance(pipe, str | Path | PipeFile):
        file = pipe
        return PipelineTools(lambda: _open(file, wish, kernel))
    given = {"only": only, "prefix": prefix, "source": source, **kernel}
    if wrong := [key for key, value in given.items() if value] or ["whole"] * (whole is False):
        raise ValueError(f"{wrong[0]} does not go with a running pipeline, which is one tool; give its file instead")
    running = pipe
    return PipelineTools(lambda: _of_running(running, wish))


@attrs.frozen
class _Wish:
    """What `pipeline_tools` was asked for."""

    only: Collection[str] | None
    whole: bool | None
    name: str
    description: str
    prefix: str
    source: str
    timeout: float | None
    handled: bool

    def tool(
        self, running: Running, full: str, name: str, tool: Tool, begin: Callable[[Arguments], Any], **more: Any
    ) -> BaseTool:
        """A tool of the pipeline under these names."""
        return PipelineTool(
            name=name,
            full_name=full,
            description=tool.description or _said(full, tool.input_schema),
            args_schema={"type": "object", "properties": {}, **tool.input_schema},
            response_format="content_and_artifact",
            handle_tool_error=self.handled,
            keeps_time=True,
            pipeline=running,
            handler=begin,
            **more,
        )

    def takes(self, name: str) -> bool:
        return self.only is None or name in self.only or name.partition(".")[0] in self.only


def _of_running(pipeline: Pipeline, wish: _Wish) -> Opened:
    lane = next((lane.name for lane in FED if _takes(pipeline, lane.name)), "")
    if not lane:
        raise ValueError("this pipeline cannot be one tool: no text can be sent on the lanes of its source")
    full, running = wish.name or "pipeline", Running(pipeline)
    name = safe_names([full])[full]
    tool = Tool(name, wish.description, input_schema(lane), lambda instance, arguments: None)
    begin: Callable[[Arguments], Any] = lambda arguments: WholeRun(packet(lane, tool.checked(arguments)))  # noqa: E731
    return Opened(running, [wish.tool(running, full, name, tool, begin, whole=True, seconds=wish.timeout)], {})


def _takes(pipeline: Pipeline, lane: str) -> bool:
    try:
        return pipeline.route(Blob.of(b"{}", mime_type=f"lane/{lane}")).lane.name == lane
    except RunError:
        return False


def _open(pipe: str | Path | PipeFile, wish: _Wish, options: KernelOptions) -> Opened:
    file = pipe if isinstance(pipe, PipeFile) else read_pipe(pipe)
    options = options.copy()
    options["nodes"] = [*options.get("nodes", ()), *HOST_NODES]
    kernel = Kernel(**options)
    ready = hosted(
        kernel,
        file,
        source=wish.source,
        only=wish.only,
        whole=wish.whole,
        description=wish.description,
        timeout=wish.timeout,
    )
    loading = kernel.load(ready.pipe)
    running = Running(loading.__enter__(), loading.__exit__)
    try:
        asked = Asked()
        HostCall(asked).value(running.running.run(Entry("tools"), CALLS(asked)))
        if asked.unlisted and not asked.tools:
            raise next(iter(asked.unlisted.values()))
        for said in asked.unlisted.values():
            warnings.warn(f"{file.file or 'the pipeline'}: {said}; the other tools are offered", RuntimeWarning, stacklevel=2)
    except BaseException:
        running.close()
        raise
    whole = [one for one in asked.tools if one.name == ready.whole]
    others = [one for one in asked.tools if one.name != ready.whole and wish.takes(one.name)]
    full = {one.name: wish.name or Path(file.file).stem or "pipeline" for one in whole}
    full |= {one.name: f"{wish.prefix}.{one.name}" if wish.prefix else one.name for one in others}
    names = safe_names(full.values())
    made = [
        wish.tool(running, full[one.name], names[full[one.name]], one, partial(_call, one.name, wish.timeout), whole=one in whole)
        for one in (*whole, *others)
    ]
    return Opened(running, made, {id: str(error) for id, error in asked.unlisted.items()})


def _call(name: str, timeout: float | None, arguments: Arguments) -> HostCall:
    return HostCall(Asked(name, arguments, timeout))


def _said(name: str, schema: Mapping[str, Any]) -> str:
    given = next(iter(schema.get("properties", {})), "text")
    return f"Runs the pipeline {name} on a {given}, and gives what it responds."
