# SPDX-License-Identifier: MIT
"""One LangChain tool, made ready to be called: its callbacks and its validation as ever, its result as JSON."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextvars import ContextVar
from copy import copy
from functools import partial, wraps
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException
from pydantic import ValidationError

from rocketride_core import ToolInput

from .adapting import HostedTool
from .injecting import read_injection
from .jsontext import JsonText, NotJson, json_text
from .outputs import checked, is_output
from .running import blocking, in_thread, limited
from .turns import Call

__all__ = ["ReadyTool", "error_message"]

_LIBRARY = (BaseTool, StructuredTool, Tool)
_current: ContextVar[_Record] = ContextVar("rocketride_langgraph.call")


class _Record:
    """What became of one call inside the tool."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.entered = False
        self.returned: Any = None  # what LangChain must hand through untouched

    def message(self, value: Any, artifact: Any = None) -> Any:
        if is_output(value):
            self.returned = value
            return value
        if inspect.iscoroutine(value):
            value.close()
            raise NotJson("$: it returned a coroutine; define the tool with `async def`")
        try:
            text = str(value) if isinstance(value, JsonText) else json_text(value)
        except NotJson as error:
            raise NotJson(f"{self.call.name}: the result cannot be written as JSON: {error}") from error
        self.returned = ToolMessage(text, artifact=artifact, name=self.call.name, tool_call_id=self.call.id)
        return self.returned


class ReadyTool:
    """A tool as the executor calls it.

    LangChain makes text of what `_run` returns, and by then a text and an object are alike. So it gets a copy of the tool whose `_run`
    makes the message itself; the tool's own `_run` is called on the tool, with whatever state it keeps.

    Parameters:
        tool: any LangChain tool.
        limit: seconds, None is no limit.
    """

    def __init__(self, tool: BaseTool, limit: float | None) -> None:
        self.tool = tool
        self.limit = limit
        self.serial = tool.serial if isinstance(tool, HostedTool) else ""
        if isinstance(tool, HostedTool):
            limits = [seconds for seconds in (limit, tool.limit) if seconds is not None]
            self.limit = min(limits, default=None) if not tool.keeps_time else None
        self.injection = read_injection(tool)
        kind = type(tool)
        # LangChain's own `ainvoke` takes a thread of the loop's pool for a function: few of them, and the loop's end waits for all.
        self._ainvoke = BaseTool.ainvoke if kind.ainvoke in (StructuredTool.ainvoke, Tool.ainvoke) else kind.ainvoke
        self.native = kind._arun not in [one._arun for one in _LIBRARY] or getattr(tool, "coroutine", None) is not None
        inherited = kind._run in (StructuredTool._run, Tool._run)
        self.only_async = inherited and getattr(tool, "func", None) is None and self.native
        self._takes_manager = "run_manager" in inspect.signature(tool._run).parameters
        self._proxy = copy(tool)
        # pydantic keeps names with an underscore to itself; an attribute of the instance comes before the method of its class.
        object.__setattr__(self._proxy, "_run", self._wrapped())
        object.__setattr__(self._proxy, "_arun", self._wrapped_async())

    def _wrapped(self) -> Any:
        @wraps(self.tool._run)
        def run(*args: Any, **kwargs: Any) -> Any:
            _current.get().entered = True
            return self._answered(self.tool._run(*args, **kwargs))

        return run

    def _wrapped_async(self) -> Any:
        @wraps(self.tool._arun)
        async def run(*args: Any, **kwargs: Any) -> Any:
            _current.get().entered = True
            if self.native:
                return self._answered(await self.tool._arun(*args, **kwargs))
            if self._takes_manager and kwargs.get("run_manager"):
                kwargs["run_manager"] = kwargs["run_manager"].get_sync()
            return self._answered(await in_thread(partial(self.tool._run, *args, **kwargs)))

        return run

    def _answered(self, value: Any) -> Any:
        record = _current.get()
        if self.tool.response_format != "content_and_artifact":
            return record.message(value)
        if not (isinstance(value, tuple) and len(value) == 2):
            return value  # LangChain says what is wrong with it
        return record.message(*value), value[1]

    def invoke(self, call: Call, arguments: dict[str, Any], config: RunnableConfig, key: str, *, listed: bool) -> list[Any]:
        """The messages and commands that answer a call.

        Raises:
            Exception: of the tool as it is; ToolInput where the arguments do not fit.
        """
        record = _Record(call)
        _current.set(record)
        asked = self._asked(call, arguments)
        with _Told(self, record):
            if self.only_async:
                result = blocking(lambda: limited(call.name, self.limit, self._ainvoke(self._proxy, asked, config)))
            else:
                try:
                    result = self._proxy.invoke(asked, config)
                except NotImplementedError as error:
                    if not (self.native and self._lacks_sync(error)):
                        raise
                    result = blocking(lambda: limited(call.name, self.limit, self._ainvoke(self._proxy, asked, config)))
        return self._checked(record, result, key, listed=listed)

    async def ainvoke(
        self, call: Call, arguments: dict[str, Any], config: RunnableConfig, key: str, *, listed: bool
    ) -> list[Any]:
        """As `invoke`, on the running loop; a tool that has no coroutine runs on a thread."""
        record = _Record(call)
        _current.set(record)
        with _Told(self, record):
            result = await limited(call.name, self.limit, self._ainvoke(self._proxy, self._asked(call, arguments), config))
        return self._checked(record, result, key, listed=listed)

    def _asked(self, call: Call, arguments: dict[str, Any]) -> Any:
        return {"name": self.tool.name, "args": arguments, "id": call.id, "type": "tool_call"}

    def _lacks_sync(self, error: BaseException) -> bool:
        """Is it the customary `raise NotImplementedError` of a `_run` that only says so?"""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        return trace is not None and trace.tb_frame.f_code is getattr(type(self.tool)._run, "__code__", None)

    def _checked(self, record: _Record, result: Any, key: str, *, listed: bool) -> list[Any]:
        if result is not record.returned:
            if isinstance(result, ToolMessage) and result.status == "error":
                # The tool handles its own errors (`handle_tool_error`), and LangChain made a message of what it says.
                return [error_message(record.call, ToolException(str(result.content)))]
            result = record.message(result)
        elif isinstance(result, ToolMessage) and result.tool_call_id == record.call.id and result.name:
            return [result]
        return checked(result, record.call, key, listed=listed)


class _Told:
    """Inside, a ValidationError of the arguments becomes a ToolInput that says what they are; one of the tool's body stays."""

    def __init__(self, ready: ReadyTool, record: _Record) -> None:
        self._ready, self._record = ready, record

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, ValidationError) or self._record.entered:
            return
        name, hidden = self._record.call.name, self._ready.injection.hidden
        wrong = [one for one in error.errors() if not (one["loc"] and one["loc"][0] in hidden)]
        if not wrong:
            raise ValueError(f"{name}: what the graph gives does not fit the tool's own type: {error}") from error
        said = "; ".join(f"{'.'.join(map(str, one['loc'])) or '$'}: {one['msg']}" for one in wrong)
        takes = [one for one in _properties(self._ready.tool) if one not in hidden]
        path = ".".join(map(str, wrong[0]["loc"]))
        message = f"{name}: the arguments do not fit: {said}; it takes {', '.join(takes) or 'none'}"
        raise ToolInput(message, tool=name, path=path) from error


def _properties(tool: BaseTool) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = tool.get_input_jsonschema().get("properties", {})
    return properties


def error_message(call: Call, error: BaseException) -> ToolMessage:
    """What a model reads of a call that failed: JSON, `{"error": …, "type": …}`, with the status `error`."""
    text = json_text({"error": str(error) or type(error).__name__, "type": type(error).__name__})
    return ToolMessage(text, name=call.name, tool_call_id=call.id, status="error")
