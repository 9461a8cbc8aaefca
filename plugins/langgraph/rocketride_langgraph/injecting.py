# SPDX-License-Identifier: MIT
"""Arguments that the graph gives and not the model: LangGraph's InjectedState, InjectedStore and ToolRuntime.

LangGraph is not imported here: who annotates a parameter with one of these has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin, get_type_hints

import attrs
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg
from langchain_core.tools.base import get_all_basemodel_annotations

__all__ = ["Injection", "bubbles", "read_injection"]


def _langgraph(module: str, name: str) -> Any:
    return getattr(sys.modules.get(f"langgraph.{module}"), name, None)


def bubbles(error: BaseException) -> bool:
    """Does it belong to the graph, as an interrupt does, whatever is done with errors?"""
    kind, unanswerable = _langgraph("errors", "GraphBubbleUp"), _langgraph("errors", "is_invalid_resume")
    return (kind is not None and isinstance(error, kind)) or (unanswerable is not None and bool(unanswerable(error)))


@attrs.frozen
class Injection:
    """What a tool is given beside the model's arguments.

    Parameters:
        tool: its name.
        hidden: parameters that a model may not set.
        state: parameter to field of the state, "" for the whole.
        optional: those that have a default.
        store, runtime: parameters.
    """

    tool: str
    hidden: frozenset[str] = frozenset()
    state: Mapping[str, str] = attrs.field(factory=dict)
    optional: frozenset[str] = frozenset()
    store: Sequence[str] = ()
    runtime: Sequence[str] = ()

    def arguments(
        self, given: Mapping[str, Any], id: str, state: Any, key: str, config: RunnableConfig, tools: Sequence[BaseTool]
    ) -> dict[str, Any]:
        """The model's arguments without what it may not set, and with what the graph gives.

        Raises:
            ValueError: the graph lacks what a parameter needs; no model can mend that.
        """
        made = {name: value for name, value in given.items() if name not in self.hidden}
        if not (self.state or self.store or self.runtime):
            return made
        if isinstance(state, list | tuple):
            state = {key: state}
        for parameter, field in self.state.items():
            found = state if not field else _field(state, field)
            if found is not _MISSING:
                made[parameter] = found
            elif parameter not in self.optional:
                raise ValueError(f"{self.tool}: the state has no {field!r}, which the parameter {parameter!r} is to be given")
        runtime = _runtime(config)
        for parameter in self.store:
            if getattr(runtime, "store", None) is None:
                raise ValueError(f"{self.tool}: {parameter!r} is to be given the store: compile the graph with store=…")
            made[parameter] = runtime.store
        for parameter in self.runtime:
            made[parameter] = _langgraph("prebuilt.tool_node", "ToolRuntime")(
                state=state,
                context=getattr(runtime, "context", None),
                config=config,
                stream_writer=getattr(runtime, "stream_writer", None) or (lambda _: None),
                tool_call_id=id,
                store=getattr(runtime, "store", None),
                tools=list(tools),
            )
        return made


_MISSING = object()


def _field(state: Any, name: str) -> Any:
    return state.get(name, _MISSING) if isinstance(state, Mapping) else getattr(state, name, _MISSING)


def _runtime(config: RunnableConfig) -> Any:
    """LangGraph's Runtime of the node that runs now; None outside of a graph."""
    get = _langgraph("runtime", "get_runtime")
    if get is None:
        return None
    try:
        return get()
    except RuntimeError:  # called by hand
        return None


def read_injection(tool: BaseTool) -> Injection:
    """Look once at the signature and the schema of a tool."""
    hints = _hints(tool)
    if not hints:
        return Injection(tool.name)
    hidden, state, store, runtime = set[str](), dict[str, str](), list[str](), list[str]()
    kinds = [_langgraph("prebuilt.tool_node", name) for name in ("InjectedState", "InjectedStore", "ToolRuntime")]
    for parameter, hint in hints.items():
        for marker in _markers(hint):
            if _is(marker, InjectedToolArg) or _is(marker, kinds[2]):
                hidden.add(parameter)
            if _is(marker, kinds[0]):
                state[parameter] = getattr(marker, "field", None) or ""
            elif _is(marker, kinds[1]) and parameter not in store:
                store.append(parameter)
            elif _is(marker, kinds[2]) and parameter not in runtime:
                runtime.append(parameter)
    fields = getattr(tool.get_input_schema(), "model_fields", {})
    optional = frozenset(name for name in state if name in fields and not fields[name].is_required())
    return Injection(tool.name, frozenset(hidden), state, optional, store, runtime)


def _hints(tool: BaseTool) -> dict[str, Any]:
    if isinstance(tool.args_schema, dict):
        schema = dict[str, Any]()
    else:
        schema = get_all_basemodel_annotations(tool.get_input_schema())
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    if function is None:
        return schema
    try:
        return {**get_type_hints(function, include_extras=True), **schema}
    except (NameError, TypeError):  # a name that only a type checker sees, or no function: the schema says the rest
        return schema


def _markers(hint: Any) -> Iterator[Any]:
    yield hint
    if get_origin(hint) is not None:
        yield get_origin(hint)
    for inner in get_args(hint):
        yield from _markers(inner)


def _is(marker: Any, kind: Any) -> bool:
    return kind is not None and (isinstance(marker, kind) or (isinstance(marker, type) and issubclass(marker, kind)))
