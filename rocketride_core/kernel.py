# SPDX-License-Identifier: MIT
"""Kernel: what a program embeds. It holds the registry, the host plugins and the settings; nothing is global."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import attrs

from .bound import Bound, Settings
from .compiler import Plan, compile_pipe
from .errors import PipeError, Problem
from .expansion import expand
from .payloads import Arguments
from .pipefile import PipeFile, inspect_pipe, link_problems
from .pipeline import RunningPipeline
from .probing import probe as probe_all
from .registry import Registry
from .relay import Hosts
from .trace import Level, Tracer
from .variables import Variables

if TYPE_CHECKING:
    import asyncio

    from .node import Node

__all__ = ["Kernel"]


class Kernel:
    """Loads pipelines. Two kernels in one process share nothing.

    Parameters:
        plugins: host plugins of this kernel, beside those installed under the entry point group `rocketride.plugins`.
        nodes: node classes of the host; they win over installed ones of the same provider.
        env: variables for `${ROCKETRIDE_…}`; they win over `.env` in the working directory, that over the process environment.
        workers: threads of each pipeline; 0 is the CPU count, at least 4.
        tool_timeout: seconds for every tool call; None is no limit.
        trace: off, calls, or payloads too.
        trace_to: a file that is appended to, or a callable that gets each record; `rocketride-trace.jsonl` where it is not given.

    Raises:
        PluginError: a host plugin cannot be loaded, or does not fit its hooks.
    """

    def __init__(
        self,
        *,
        plugins: Sequence[object] = (),
        nodes: Sequence[type[Node[Any]]] = (),
        env: Mapping[str, str] | None = None,
        workers: int = 0,
        tool_timeout: float | None = None,
        trace: Level = "off",
        trace_to: Path | Callable[[Arguments], None] | None = None,
    ) -> None:
        if trace not in ("off", "calls", "payloads"):
            raise ValueError(f"trace is off, calls or payloads, not {trace!r}")
        if workers < 0:
            raise ValueError("workers is a number of threads, or 0 for the CPU count")
        self.registry = Registry(nodes)
        own = [(getattr(p, "__name__", type(p).__qualname__), p) for p in plugins]
        names = [name for name, _ in own]
        own = [(f"{name}#{n}" if names.count(name) > 1 else name, p) for n, (name, p) in enumerate(own)]
        self.hosts = Hosts([*self.registry.plugins(), *own])
        self._env = env
        self._settings = Settings(workers or max(4, os.cpu_count() or 1), tool_timeout)
        self._trace: Level = trace
        self._trace_to = trace_to or Path("rocketride-trace.jsonl")

    def load(self, pipe: str | Path | PipeFile, *, source: str = "", on_ready: Callable[[str], None] | None = None) -> Loading:
        """A context whose block has the running pipeline: check, compile, `begin_global`; `close` at its end.

        Parameters:
            pipe: a path, or a `PipeFile`.
            source: id of the component that starts it, instead of the file's choice.
            on_ready: gets what an active source says when it is up.

        Raises (on entering):
            PipeError: the file is wrong; `.problems` has everything.
            RunError: phase `begin`: a node could not begin.
        """
        return Loading(self, pipe, source, on_ready)

    def aload(self, pipe: str | Path | PipeFile, *, source: str = "") -> Loading:
        """As `load`, for `async with`; what blocks runs on a thread."""
        return Loading(self, pipe, source, None)

    def check(self, pipe: str | Path | PipeFile, *, probe: bool = False, source: str = "") -> Sequence[Problem]:
        """Everything that is wrong with a pipeline, in the order of the file; nothing is begun.

        Parameters:
            probe: ask every node's `check_global` too, which looks at the outside world.
        """
        variables = self._variables()
        plan, problems = self.plan(pipe, variables, source)
        if probe and not any(p.severity == "error" for p in problems):
            bound = Bound(plan, self.hosts, self._settings)
            for index, problem in probe_all(bound):
                component = plan.parts[index].component
                at = f"{component.at}.config{'.' if problem.path and not problem.path.startswith(('[', '$')) else ''}{problem.path.lstrip('$.')}"
                problems.append(attrs.evolve(problem, path=at, component=problem.component or component.id, file=plan.pipe.file))
        return _told(problems, variables)

    def expand(self, pipe: str | Path | PipeFile) -> PipeFile:
        """The file with what its components stand for in their places: `autopipe` as the chain that it is.

        Variables stay as they are written, also inside of what is new.

        Raises:
            PipeError: the file cannot be read, or a component cannot be replaced.
        """
        read, problems = (pipe, []) if isinstance(pipe, PipeFile) else inspect_pipe(pipe)
        expanded = expand(read, self.registry.find, self.hosts, problems)
        if any(problem.severity == "error" for problem in problems):
            raise PipeError(problems=problems)
        return expanded

    def plan(self, pipe: str | Path | PipeFile, variables: Variables, source: str = "") -> tuple[Plan, list[Problem]]:
        """Read and compile; the plan runs only where no problem is an error."""
        if isinstance(pipe, PipeFile):
            read, problems = pipe, link_problems(pipe)
        else:
            read, problems = inspect_pipe(pipe)
        plan, found = compile_pipe(read, self.registry, variables, self.hosts, source)
        if problems and not read.components:
            found = []  # nothing could be read; that says it all
        return plan, [*problems, *found]

    def open(
        self, pipe: str | Path | PipeFile, source: str = "", on_ready: Callable[[str], None] | None = None, **limits: int
    ) -> RunningPipeline:
        """What entering `load` does; whoever calls this calls `close`."""
        variables = self._variables()
        plan, problems = self.plan(pipe, variables, source)
        if not plan.parts or any(p.severity == "error" for p in problems):
            raise PipeError(problems=_told(problems, variables))
        tracer = None
        if self._trace != "off":
            tracer = Tracer(self._trace, self._trace_to, variables.redact)
        bound = Bound(plan, self.hosts, attrs.evolve(self._settings, **limits), tracer, variables.redact)
        bound.begin()
        return RunningPipeline(bound, on_ready)

    def _variables(self) -> Variables:
        return Variables(self._env, Path(".env"))


def _told(problems: Sequence[Problem], variables: Variables) -> list[Problem]:
    """In the order of the file, without secrets."""
    shown = [attrs.evolve(p, message=variables.redact(p.message), hint=variables.redact(p.hint)) for p in problems]
    return sorted(shown, key=_place)


def _place(problem: Problem) -> list[tuple[int, int, str]]:
    """Where a JSON path stands: by its steps, numbers as numbers."""
    steps = problem.path.replace("[", ".[").split(".")
    return [(0, int(step[1:-1]), "") if step[1:-1].isdigit() else (1, 0, step) for step in steps]


class Loading:
    """A pipeline about to be opened; `with` opens and closes it, `async with` does so on a thread."""

    def __init__(self, kernel: Kernel, pipe: str | Path | PipeFile, source: str, on_ready: Callable[[str], None] | None) -> None:
        self._kernel, self._pipe, self._source, self._on_ready = kernel, pipe, source, on_ready
        self._pipelines: list[RunningPipeline] = []

    def __enter__(self) -> RunningPipeline:
        pipeline = self._kernel.open(self._pipe, self._source, self._on_ready)
        self._pipelines.append(pipeline)
        return pipeline

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pipelines.pop().close(grace=5 if kind is None else 0)

    async def __aenter__(self) -> RunningPipeline:
        import asyncio

        opening = asyncio.ensure_future(asyncio.to_thread(self.__enter__))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:  # the thread goes on: what it opens must be closed
            opening.add_done_callback(self._unwanted)
            raise

    def _unwanted(self, opening: asyncio.Future[RunningPipeline]) -> None:
        from threading import Thread

        if not opening.cancelled() and opening.exception() is None:
            Thread(target=self.__exit__, args=(None, None, None), name="rocketride-unwanted").start()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        import asyncio

        await asyncio.to_thread(self.__exit__, kind, error, trace)
