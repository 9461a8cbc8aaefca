# SPDX-License-Identifier: MIT
"""The tool executor: a node of a LangGraph graph that runs what the last message asks for."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool

from rocketride_core import ToolCatalog, UnknownTool

from .adapting import HostedTool, as_list, read_tools
from .calling import ReadyTool, error_message
from .injecting import bubbles
from .outputs import combined
from .running import Job, Outcome, own, run_jobs
from .turns import Call, Turn, read_turn

__all__ = ["BasicToolNode", "ToolExecutor"]

OnError = Literal["message", "raise"] | type[Exception] | tuple[type[Exception], ...]
_Ready = tuple[Call, ReadyTool | None, dict[str, Any], Exception | None]


class ToolExecutor(Runnable[Any, Any]):
    """Runs the tool calls of the last AI message and answers each with one ToolMessage, in the order of the calls.

    Takes `{"messages": [...]}` (or a state object, or a list of messages), gives `{"messages": [ToolMessage, …]}` (a list for a list). The
    content is JSON. Called as a function, or as a Runnable: `invoke`, `ainvoke`, `batch`, as a node of a graph.

    Parameters:
        tools: LangChain tools, functions (also `async def`), `(tool, instance)` pairs of rocketride-core, or an instance's `tools`.
        max_concurrency: the most calls at once; `max_concurrency` of a config may lower it.
        timeout: seconds for one call, None is no limit. A call over it is a ToolTimeout; a coroutine is cancelled, a thread left behind.
        on_error: what is done with an exception: "message" makes a ToolMessage with status error of it, "raise" raises it; a type or a
            tuple of types raises these and makes messages of others. Interrupts of LangGraph are always raised. A CancelledError that a
            tool raises is a RuntimeError of its call. Only `ainvoke` cannot raise a StopIteration: it is the cause of a RuntimeError.
        messages_key: where a state has its messages.
        name: of the node, for traces.

    Raises:
        ValueError: two tools have one name, or a number is out of its range.
        TypeError: something is no tool.
    """

    def __init__(
        self,
        tools: ToolCatalog | Iterable[Any],
        *,
        max_concurrency: int = 8,
        timeout: float | None = None,
        on_error: OnError = "message",
        messages_key: str = "messages",
        name: str = "tools",
    ) -> None:
        if isinstance(max_concurrency, bool) or not isinstance(max_concurrency, int) or max_concurrency < 1:
            raise ValueError(f"max_concurrency is a number of calls from 1, not {max_concurrency!r}")
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout is a number of seconds over 0, or None for no limit, not {timeout!r}")
        self.name = name
        self.max_concurrency, self.timeout, self.messages_key = max_concurrency, timeout, messages_key
        self._raised = _raised(on_error)
        self._given = as_list(tools)
        self._catalogs: list[ToolCatalog] = []
        self._ready: dict[str, ReadyTool] = {}
        self._others: dict[str, str] = {}
        self._read()

    def _read(self) -> None:
        tools, self._catalogs = read_tools(self._given, self.timeout)
        known = self._ready
        self._ready = {tool.name: known.get(tool.name) or ReadyTool(tool, self.timeout) for tool in tools}
        # A prompt may well name a tool of a pipeline as its file does, with a dot.
        self._others = {tool.full_name: tool.name for tool in tools if isinstance(tool, HostedTool)}

    @property
    def tools(self) -> list[BaseTool]:
        """The tools as LangChain tools, for a model's `bind_tools`."""
        return [ready.tool for ready in self._ready.values()]

    @property
    def tools_by_name(self) -> Mapping[str, BaseTool]:
        """The tools by the names that a model calls them by."""
        return {name: ready.tool for name, ready in self._ready.items()}

    def __call__(self, input: Any, config: RunnableConfig | None = None) -> Any:
        return self.invoke(input, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the calls on threads; one alone runs on this one.

        Raises:
            ValueError: there is no message in the input, the last is not a model's, or the graph lacks what a tool must be given.
            Exception: of a tool, as `on_error` says, once those that run are over; none is begun after it.
        """
        return self._call_with_config(self._run_turn, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the calls as tasks; what has no coroutine runs on a thread. An exception that is raised cancels the other calls."""
        return await self._acall_with_config(self._arun_turn, input, config, **kwargs)

    def _run_turn(self, given: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Any:
        turn = read_turn(given, self.messages_key)
        ready = self._prepared(turn, config)
        todo = [number for number, one in enumerate(ready) if one[3] is None]
        jobs = [self._job(ready[number], turn, config) for number in todo]
        ran = {todo[at]: outcome for at, outcome in run_jobs(jobs, self._most(config), self._raises).items()}
        return self._answer(turn, ready, [ran.get(number, Outcome(error=one[3])) for number, one in enumerate(ready)])

    def _job(self, one: _Ready, turn: Turn, config: RunnableConfig) -> Job:
        call, tool, arguments, _ = one
        assert tool is not None  # noqa: S101 - it has no problem
        work = partial(tool.invoke, call, arguments, config, self.messages_key, listed=turn.listed)
        return Job(call.name, work, tool.limit, not tool.only_async, tool.serial)

    async def _arun_turn(self, given: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig) -> Any:
        turn = read_turn(given, self.messages_key)
        ready = self._prepared(turn, config)
        slots, turns = asyncio.Semaphore(self._most(config)), defaultdict[str, asyncio.Lock](asyncio.Lock)

        async def serve(one: _Ready) -> Outcome:
            call, tool, arguments, problem = one
            if tool is None or problem is not None:
                return Outcome(error=problem)
            async with turns[tool.serial] if tool.serial else nullcontext(), slots:
                try:
                    return Outcome(await tool.ainvoke(call, arguments, config, self.messages_key, listed=turn.listed))
                except (asyncio.CancelledError, Exception) as error:
                    task = asyncio.current_task()
                    if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                        raise
                    raised = own(call.name, error)
                if self._raises(raised):
                    raise raised
                return Outcome(error=raised)

        tasks = [asyncio.create_task(serve(one)) for one in ready]
        try:
            if tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            failed = next((task for task in tasks if task.done() and not task.cancelled() and task.exception()), None)
            outcomes = [failed.result()] if failed is not None else [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._answer(turn, ready, outcomes)

    def _prepared(self, turn: Turn, config: RunnableConfig) -> list[_Ready]:
        """For each call its tool and all arguments, or why it cannot be run."""
        tools = self.tools
        made: list[_Ready] = []
        for call in turn.calls:
            tool = self._find(call.name)
            problem: Exception | None = call.problem
            if tool is None:
                there = ", ".join(self._ready) or "none"
                problem = UnknownTool(f"there is no tool {call.name!r}; the tools are: {there}", tool=call.name)
            if problem is not None and self._raises(problem):
                raise problem
            if tool is None or problem is not None:
                made.append((call, None, {}, problem))
                continue
            state, key = turn.state, self.messages_key
            made.append((call, tool, tool.injection.arguments(call.arguments, call.id, state, key, config, tools), None))
        return made

    def _find(self, name: str) -> ReadyTool | None:
        found = self._ready.get(self._others.get(name, name))
        if found is None and self._catalogs:  # a node may offer a tool later
            self._read()
            found = self._ready.get(self._others.get(name, name))
        return found

    def _answer(self, turn: Turn, ready: list[_Ready], outcomes: list[Outcome]) -> Any:
        for outcome in outcomes:
            if outcome.error is not None and self._raises(outcome.error):
                raise outcome.error
        outputs: list[Any] = []
        for one, outcome in zip(ready, outcomes, strict=True):
            outputs += outcome.value if outcome.error is None else [error_message(one[0], outcome.error)]
        return combined(outputs, self.messages_key, listed=turn.listed)

    def _most(self, config: RunnableConfig) -> int:
        return max(1, min(self.max_concurrency, config.get("max_concurrency") or self.max_concurrency))

    def _raises(self, error: BaseException) -> bool:
        return bubbles(error) or self._raised(error)


def _raised(on_error: OnError) -> Callable[[BaseException], bool]:
    if on_error == "message":
        return lambda error: False
    if on_error == "raise":
        return lambda error: True
    kinds = on_error if isinstance(on_error, tuple) else (on_error,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        raise TypeError(f"on_error is 'message', 'raise', or types of exceptions that are raised, not {on_error!r}")
    return lambda error: isinstance(error, kinds)


BasicToolNode = ToolExecutor
