# SPDX-License-Identifier: MIT
"""From an import path to LangChain tools. Every failure says which import it was, and what to do."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .config import INSTALL, ToolLangchainConfig, only_here

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["Unusable", "make_tools"]

KINDS = "a tool, a class of tools, a toolkit, or a function that returns such"


class Unusable(Exception):
    """There is no tool at the path; the text says why, and what to do."""


def make_tools(config: ToolLangchainConfig, wait: Callable[[Any], Any]) -> list[BaseTool]:
    """The tools that a config names, in the order in which they were made.

    Parameters:
        wait: runs a coroutine to its end, for a factory that is one.

    Raises:
        Unusable: nothing was imported, or it makes no tools.
    """
    try:
        from langchain_core.tools import BaseTool, BaseToolkit
    except ModuleNotFoundError as error:
        raise Unusable(
            f"langchain-core, which every LangChain tool needs, is not installed ('{error.name}'): {INSTALL}"
        ) from error
    except Exception as error:
        raise Unusable(f"langchain-core cannot be imported ({_said(error)}): {INSTALL}") from error

    def listed(made: Any) -> list[BaseTool] | None:
        if isinstance(made, BaseTool):
            return [made]
        if isinstance(made, BaseToolkit):
            made = made.get_tools()
        several = isinstance(made, list | tuple) and bool(made) and all(isinstance(one, BaseTool) for one in made)
        return list(made) if several else None

    path, arguments = config.tool, config.arguments
    found = _found(path)
    tools = listed(found)
    if tools is not None:
        if arguments:
            raise Unusable(f"'{path}' is made already, so it takes no arguments: leave `arguments` out, or name its class")
    else:
        if not callable(found) or (isinstance(found, type) and not issubclass(found, BaseTool | BaseToolkit)):
            kind = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
            raise Unusable(f"'{path}' is {kind}, not {KINDS}")
        made = _called(path, found, arguments, wait)
        tools = listed(made)
        if tools is None:
            what = "an empty list" if made in ([], ()) else f"a {type(made).__name__}"
            raise Unusable(f"'{path}' returned {what}, not {KINDS}{_decorate(found)}")
    return _chosen(path, tools, config.only)


def _found(path: str) -> Any:
    name, _, inside = path.partition(":")
    package = name.partition(".")[0]
    if package not in sys.modules and find_spec(package) is None and only_here(package):
        sys.path.append(str(Path.cwd()))
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            advice = f"install the distribution that has it, or start in the folder of {package}.py" if missing == package else ""
            raise Unusable(f"'{path}': there is no module '{missing}'; {advice or f'look at how {package} spells it'}") from error
        raise Unusable(f"'{path}': '{name}' needs the module '{missing}', which is not installed; pip install it") from error
    except Exception as error:
        raise Unusable(f"'{path}': importing '{name}' failed with {_said(error)}; mend it there") from error
    found: Any = module
    for part in inside.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            there = _tools_in(module, part) if found is module else []
            raise Unusable(f"'{path}': '{name}' has no '{inside}'{'; there are ' * bool(there)}{', '.join(there)}") from error
        except Exception as error:  # of a module that imports what it is asked for, and lacks something
            raise Unusable(f"'{path}': '{name}' cannot give '{inside}': {_said(error)}") from error
    return found


def _tools_in(module: ModuleType, wanted: str) -> list[str]:
    """The tools of a module; where it makes them only when asked, the names that are like the one that is wanted."""
    from langchain_core.tools import BaseTool, BaseToolkit

    kinds = BaseTool | BaseToolkit
    named = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    found = [
        name
        for name, value in named.items()
        if isinstance(value, kinds)
        or (isinstance(value, type) and issubclass(value, kinds) and value.__module__ == module.__name__)
    ]
    return found or get_close_matches(wanted, map(str, getattr(module, "__all__", ())))


def _called(path: str, made_by: Callable[..., Any], arguments: Mapping[str, Any], wait: Callable[[Any], Any]) -> Any:
    given = ", ".join(arguments) or "none"
    try:
        signature: inspect.Signature | None = inspect.signature(made_by)
    except (TypeError, ValueError):
        signature = None
    if signature is not None:
        try:
            signature.bind(**arguments)
        except TypeError as error:
            general = _general() if isinstance(made_by, type) else frozenset()
            takes = ", ".join(name for name in signature.parameters if name not in general) or "nothing"
            raise Unusable(
                f"'{path}' does not fit `arguments` ({given}): {error}; it takes: {takes}{_decorate(made_by)}"
            ) from error
    try:
        made = made_by(**arguments)
        return wait(made) if inspect.iscoroutine(made) else made
    except Exception as error:
        raise Unusable(f"'{path}' failed with `arguments` ({given}): {_said(error)}") from error


def _general() -> frozenset[str]:
    """What every class of tools takes."""
    from langchain_core.tools import BaseTool

    return frozenset(BaseTool.model_fields)


def _decorate(found: Any) -> str:
    return (
        "; if the function itself is the tool, write @tool of langchain_core.tools above it" if inspect.isroutine(found) else ""
    )


def _chosen(path: str, tools: list[BaseTool], only: tuple[str, ...]) -> list[BaseTool]:
    names = [tool.name for tool in tools]
    if missing := [name for name in only if name not in names]:
        raise Unusable(f"'{path}' makes no tool '{missing[0]}', which `only` names; there are {', '.join(names)}")
    return [tool for tool in tools if not only or tool.name in only]


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
