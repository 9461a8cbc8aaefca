# SPDX-License-Identifier: MIT
"""Every kind of tool as a LangChain tool, under a name that models' vendors accept."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from threading import Lock
from typing import Any, TypeGuard, cast

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from rocketride_core import Instance, Tool, ToolCatalog

__all__ = ["HostedTool", "as_langchain", "as_list", "read_tools", "safe_names"]

LONGEST = 64
_WHERE = "give LangChain tools, functions, (tool, instance) pairs or an instance's `tools`"


class HostedTool(BaseTool):
    """A tool that something else runs.

    Parameters:
        full_name: what it is called there, `<component id>.<tool>`.
        handler: gets the arguments as they are; whoever runs it validates them.
        limit: seconds, None is no limit of its own.
        keeps_time: whoever runs it was told the executor's limit and keeps to it.
        serial: calls of tools with the same text do not overlap; "" for one that may.
    """

    full_name: str
    handler: Callable[[dict[str, Any]], Any] = Field(exclude=True, repr=False)
    limit: float | None = None
    keeps_time: bool = False
    serial: str = ""

    def _run(self, /, **arguments: Any) -> Any:
        return self.handler(arguments)


def as_langchain(tools: ToolCatalog | Iterable[tuple[Tool, Instance]]) -> list[BaseTool]:
    """The tools of a pipeline as LangChain tools: for a model's `bind_tools`, or any LangChain agent.

    Parameters:
        tools: the `tools` of an instance, or tools each with the instance that they are called with.

    Returns: one tool each, in their order. A name is the full one with `__` for a dot, `calc_1__add` for `calc_1.add`.
    """
    if _is_catalog(tools):
        hosted = list(_of_catalog(tools))
    else:
        hosted = [_of_pair(tool, instance) for tool, instance in cast("Iterable[tuple[Tool, Instance]]", tools)]
    names = safe_names([tool.full_name for tool in hosted])
    return [tool.model_copy(update={"name": names[tool.full_name]}) for tool in hosted]


def as_list(tools: object) -> list[Any]:
    """What an executor was given, each once.

    Raises:
        TypeError: it is one tool, or nothing that holds tools.
    """
    if _is_catalog(tools):
        return [tools]
    if isinstance(tools, BaseTool | str | dict) or not isinstance(tools, Iterable):
        raise TypeError(f"tools is a list, not a {type(tools).__name__}: {_WHERE}")
    return list(tools)


def read_tools(tools: Iterable[Any], timeout: float | None) -> tuple[list[BaseTool], list[ToolCatalog]]:
    """The tools as LangChain tools, and the catalogs that more of them may appear in.

    Parameters:
        timeout: seconds for a call, None is no limit.

    Raises:
        TypeError: something is no tool.
        ValueError: two have one name.
    """
    read: list[BaseTool] = []
    catalogs: list[ToolCatalog] = []
    for one in tools:
        if _is_catalog(one):
            catalogs.append(one)
            read += _of_catalog(one, timeout)
        else:
            read.append(_read(one))
    _refuse_twins([tool.full_name if isinstance(tool, HostedTool) else tool.name for tool in read])
    taken = [tool.name for tool in read if not isinstance(tool, HostedTool)]
    names = safe_names([tool.full_name for tool in read if isinstance(tool, HostedTool)], taken)
    named = [tool.model_copy(update={"name": names[tool.full_name]}) if isinstance(tool, HostedTool) else tool for tool in read]
    return named, catalogs


def _refuse_twins(names: list[str]) -> None:
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise ValueError(f"two tools are named {', '.join(map(repr, twins))}: a model could not tell them apart; rename one")


def safe_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """For each full name one of 1 to 64 letters, digits, `_` and `-`; the same in every run. Names that would be alike get a checksum."""
    plain = {name: _safe(name) for name in names}
    count = Counter(plain.values()) + Counter(taken)
    return {name: _marked(name, made) if count[made] > 1 or len(made) > LONGEST else made for name, made in plain.items()}


def _safe(name: str) -> str:
    made = re.sub(r"[^A-Za-z0-9_-]", "_", name.replace(".", "__"))
    return made if re.match(r"[A-Za-z_]", made) else f"_{made}"


def _marked(name: str, made: str) -> str:
    return f"{made[: LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _is_catalog(value: object) -> TypeGuard[ToolCatalog]:
    """Is it the `tools` of an instance? They are a Protocol, so it is told by its methods."""
    return not isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("call", "call_all", "check", "__iter__")
    )


def _of_catalog(catalog: ToolCatalog, timeout: float | None = None) -> Iterator[HostedTool]:
    # The kernel can end a call better than we can: it frees what the call holds, and closes the pipelines inside it.
    for tool in catalog:
        made = _hosted(tool, partial(catalog.call, tool.name, timeout=timeout), f"{id(catalog)} {tool.name.rpartition('.')[0]}")
        yield made.model_copy(update={"limit": None, "keeps_time": True})


def _of_pair(tool: Tool, instance: Instance) -> HostedTool:
    lock = None if tool.concurrent else Lock()

    def call(arguments: dict[str, Any]) -> object:
        checked = tool.checked(arguments)
        if lock is None:
            return tool.call(instance, checked)
        with lock:
            return tool.call(instance, checked)

    return _hosted(tool, call, f"{id(instance)} {tool.name}")


def _hosted(tool: Tool, handler: Callable[[dict[str, Any]], Any], serial: str) -> HostedTool:
    return HostedTool(
        name=tool.name,
        full_name=tool.name,
        description=tool.description,
        args_schema={"type": "object", "properties": {}, **tool.input_schema},
        handler=handler,
        limit=tool.timeout,
        serial="" if tool.concurrent else serial,
    )


def _read(one: Any) -> BaseTool:
    if isinstance(one, BaseTool):
        return one
    if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], Tool):
        return _of_pair(*one)
    if isinstance(one, Tool):
        raise TypeError(f"the tool {one.name!r} needs the instance that it is called with: give the pair (tool, instance)")
    if not isinstance(one, type) and isinstance(getattr(one, "name", None), str) and callable(getattr(one, "invoke", None)):
        return HostedTool(
            name=one.name,
            full_name=one.name,
            description=str(getattr(one, "description", "") or one.name),
            args_schema={"type": "object", "properties": {}},
            handler=one.invoke,
        )
    if isinstance(one, type) or not callable(one):
        raise TypeError(f"{one!r} is no tool: {_WHERE}")
    name = getattr(one, "__name__", "")
    if not name.isidentifier():
        raise TypeError(f"{one!r} has no name that a model could call: define it with `def`, or use StructuredTool.from_function")
    kind = {"coroutine": one} if inspect.iscoroutinefunction(one) else {"func": one}
    return StructuredTool.from_function(**kind, name=name, description=inspect.getdoc(one) or name)
