# SPDX-License-Identifier: MIT
"""One call of a LangChain tool from a pipeline. LangChain is imported with this module."""

from __future__ import annotations

import uuid
from asyncio import CancelledError, current_task
from collections.abc import Callable, Mapping
from copy import copy
from functools import wraps
from typing import Any

import attrs
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.tools import Tool as SingleInput
from pydantic import BaseModel, ValidationError
from pydantic.v1 import ValidationError as ValidationErrorV1

from rocketride_core import Arguments, Instance, Json, Tool, ToolFailure, ToolInput

from .describing import Described
from .results import plain

__all__ = ["LangchainTool", "offer"]

_LIBRARY = (BaseTool, StructuredTool, SingleInput)
CANCELLED = "it was cancelled from inside"
_WRONG = (ValidationError, ValidationErrorV1)


def offer(
    described: Described,
    description: str,
    *,
    name: str,
    component: str,
    configurable: Mapping[str, Any],
    concurrent: bool,
    timeout: float,
) -> Tool:
    """The tool as agents of a pipeline get it.

    Parameters:
        name: bare.
        component: id of the node that offers it.
        configurable: what the tool reads in LangChain's config.
        timeout: seconds, 0 is no limit.
    """
    call = _Calls(described, f"{component}.{name}", configurable)
    return LangchainTool(name, description, described.schema, call, None, concurrent, timeout or None, described)


@attrs.frozen
class LangchainTool(Tool):
    """A tool whose arguments LangChain's own model validates, where it has one: it is as lenient as the tool's author meant it."""

    described: Described = attrs.field(default=None, eq=False, repr=False)

    def checked(self, arguments: Arguments) -> Arguments:
        described = self.described
        if not isinstance(arguments, Mapping):
            return Tool.checked(self, arguments)
        properties = described.schema["properties"]
        required = described.schema.get("required", ())
        given = {
            name: value
            for name, value in arguments.items()
            if name not in described.hidden
            and not (value is None and name not in required and not _takes_null(properties.get(name)))
        }
        if described.shape is None:
            return Tool.checked(self, given)
        try:
            described.shape.model_validate(given) if issubclass(described.shape, BaseModel) else described.shape.parse_obj(given)
        except _WRONG as error:
            if (wrong := wrong_input(error, self.name, described)) is not None:
                raise wrong from error
        return given


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return True
    kind = schema.get("type")
    several = [one for word in ("anyOf", "oneOf") for one in schema.get(word, ())]
    if several:
        return any(map(_takes_null, several))
    return kind is None or kind == "null" or (isinstance(kind, list) and "null" in kind)


def wrong_input(error: Any, name: str, described: Described) -> ToolInput | None:
    """What a model reads of arguments that do not fit; None where only hidden ones do not, which it cannot mend."""
    found = [one for one in error.errors() if not (one["loc"] and one["loc"][0] in described.hidden)]
    if not found:
        return None
    places = ["$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in one["loc"]) for one in found]
    said = "; ".join(f"{place}: {one['msg']}" for place, one in zip(places, found, strict=True))
    return ToolInput(f"{said}; it takes: {', '.join(described.schema['properties']) or 'nothing'}", tool=name, path=places[0])


class _Calls:
    """What calls a tool."""

    def __init__(self, described: Described, name: str, configurable: Mapping[str, Any]) -> None:
        tool = described.tool
        self._described, self._tool, self._name, self._configurable = described, tool, name, dict(configurable)
        kind = type(tool)
        self._has_coroutine = kind._arun not in [one._arun for one in _LIBRARY] or getattr(tool, "coroutine", None) is not None
        inherited = kind._run in (StructuredTool._run, SingleInput._run)
        self._only_async = inherited and getattr(tool, "func", None) is None and self._has_coroutine

    def __call__(self, instance: Instance, arguments: Arguments) -> Json:
        """Raises:
        ToolInput: the tool's own validation refuses the arguments.
        ToolFailure: the tool says that it failed.
        """
        name = self._name
        call = _Call(self._tool)
        asked = {
            "type": "tool_call",
            "name": self._tool.name,
            "id": f"call_{uuid.uuid4().hex}",
            "args": {**arguments, **self._described.given},
        }
        config: RunnableConfig = {"callbacks": [_Events(instance, self._name)], "configurable": dict(self._configurable)}
        try:
            message = self._run(instance, call, asked, config)
        except _WRONG as error:
            if call.entered:
                raise
            said = f"{name}: what `injected` of the pipe file gives it does not fit: {error}"
            raise wrong_input(error, name, self._described) or ToolFailure(said, tool=name) from error
        except ToolException as error:
            raise ToolFailure(f"{name}: {error}" if str(error) else f"{name} failed", tool=name) from error
        return self._answer(instance, name, call, message)

    def _run(self, instance: Instance, call: _Call, asked: dict[str, Any], config: RunnableConfig) -> Any:
        if self._only_async:
            return instance.wait(call.tool.ainvoke(asked, config))
        try:
            return call.tool.invoke(asked, config)
        except NotImplementedError as error:
            if not (self._has_coroutine and self._says_so(error)):
                raise
            call.entered = False
            return instance.wait(call.tool.ainvoke(asked, config))

    def _says_so(self, error: BaseException) -> bool:
        """Is it the customary `raise NotImplementedError` of a `_run` that has nothing else?"""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        return trace is not None and trace.tb_frame.f_code is getattr(type(self._tool)._run, "__code__", None)

    def _answer(self, instance: Instance, name: str, call: _Call, message: Any) -> Json:
        value, artifact = call.value, None
        if isinstance(message, ToolMessage):
            if message.status == "error":  # it handles its errors itself, and this is what it says of one
                raise ToolFailure(f"{name}: {plain(message.content, '')}", tool=name)
            text, artifact = str(message.content), message.artifact
            if isinstance(value, ToolMessage):
                value = message.content
        elif isinstance(message, ToolOutputMixin) or message is not value:
            kind = type(message).__name__
            raise ToolFailure(f"{name}: it returned a {kind}, which only a graph of LangGraph can carry out", tool=name)
        else:
            text = str(value)
        if artifact is not None:
            instance.event("artifact", tool=name, artifact=plain(artifact, type(artifact).__qualname__))
        return plain(value, text)


class _Call:
    """A copy of the tool for one call: LangChain makes text of what `_run` returns, and this has it as it was."""

    def __init__(self, tool: BaseTool) -> None:
        self.entered = False
        self.value: Any = None
        self._pair = tool.response_format == "content_and_artifact"
        self.tool = copy(tool)
        # pydantic keeps names with an underscore to itself; an attribute of the instance comes before the method of its class.
        object.__setattr__(self.tool, "_run", self._kept(tool._run))
        object.__setattr__(self.tool, "_arun", self._kept_async(tool._arun))

    def _kept(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        def kept(*args: Any, **kwargs: Any) -> Any:
            self.entered = True
            try:
                return self._keep(run(*args, **kwargs))
            except CancelledError as error:
                raise ToolException(CANCELLED) from error

        return kept

    def _kept_async(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        async def kept(*args: Any, **kwargs: Any) -> Any:
            self.entered = True
            try:
                return self._keep(await run(*args, **kwargs))
            except CancelledError as error:
                task = current_task()
                if task is not None and task.cancelling():  # by the entry's end, a time limit, a cancel
                    raise
                raise ToolException(CANCELLED) from error

        return kept

    def _keep(self, value: Any) -> Any:
        self.value = value[0] if self._pair and isinstance(value, tuple) and len(value) == 2 else value
        return value


class _Events(BaseCallbackHandler):
    """Custom events of the tool as events of the pipeline."""

    run_inline = True

    def __init__(self, instance: Instance, tool: str) -> None:
        self._instance, self._tool = instance, tool

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self._instance.event(name, tool=self._tool, data=plain(data, type(data).__qualname__))
