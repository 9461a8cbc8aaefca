# SPDX-License-Identifier: MIT
"""The tools of a pipeline that is opened at their first use, and who closes it."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import NamedTuple, Self, cast, overload

from langchain_core.tools import BaseTool

from rocketride_core import Pipeline, RunError

from .piping import PipelineTool

__all__ = ["Opened", "PipelineTools", "Running"]


class Running:
    """A running pipeline. The one that was opened here is closed when asked, or with the last tool that holds it."""

    def __init__(self, running: Pipeline, close: Callable[..., None] | None = None) -> None:
        self.running = running
        self._close = close
        self._finalizer = None if close is None else weakref.finalize(self, close, RunError, None, None)

    def close(self) -> None:
        if self._close is not None and self._finalizer is not None and self._finalizer.detach():
            self._close(None, None, None)


class Opened(NamedTuple):
    """A pipeline with its tools, and by component why it could not list some."""

    running: Running
    tools: Sequence[BaseTool]
    unlisted: Mapping[str, str]


class PipelineTools(Sequence[BaseTool]):
    """The tools of a pipeline, as LangChain tools. Made by `pipeline_tools`; the pipeline is opened at the first use, or by `with`."""

    def __init__(self, make: Callable[[], Opened]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: Opened | None = None

    def _opened(self) -> Opened:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def __repr__(self) -> str:
        names = "not open yet" if self._made is None else ", ".join(tool.name for tool in self._made.tools)
        return f"<PipelineTools: {names}>"

    def __len__(self) -> int:
        return len(self._opened().tools)

    @overload
    def __getitem__(self, at: int) -> BaseTool: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[BaseTool]: ...
    def __getitem__(self, at: int | slice) -> BaseTool | Sequence[BaseTool]:
        return self._opened().tools[at]

    def __iter__(self) -> Iterator[BaseTool]:
        return iter(self._opened().tools)

    def __add__(self, more: Sequence[BaseTool]) -> list[BaseTool]:
        return [*self, *more]

    def __radd__(self, more: Sequence[BaseTool]) -> list[BaseTool]:
        return [*more, *self]

    @property
    def unlisted(self) -> Mapping[str, str]:
        """Components that could not list their tools when the pipeline was opened, each with the reason; the others are offered."""
        return self._opened().unlisted

    def by_name(self, name: str) -> BaseTool:
        """One tool, by its LangChain name, or as the pipeline calls it, `search_1.search`.

        Raises:
            KeyError: there is none; the text lists those there are.
        """
        for tool in self:
            if name in (tool.name, cast("PipelineTool", tool).full_name):
                return tool
        raise KeyError(f"{name}: there are {', '.join(tool.name for tool in self)}")

    def close(self) -> None:
        """End the pipeline, where it was opened here: what runs gets 5 seconds. Calls after it are ToolExceptions.

        Raises:
            RunError: a node could not be ended; all others were.
        """
        with self._lock:
            if self._made is not None:
                self._made.running.close()

    def __enter__(self) -> Self:
        self._opened()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        opening = asyncio.ensure_future(asyncio.to_thread(self._opened))
        try:
            await asyncio.shield(opening)
        except asyncio.CancelledError:  # the thread goes on: what it opens must be closed
            opening.add_done_callback(
                lambda done: None if done.cancelled() or done.exception() else done.result().running.close()
            )
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await asyncio.to_thread(self.close)
