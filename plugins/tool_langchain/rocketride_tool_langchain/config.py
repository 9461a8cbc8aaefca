# SPDX-License-Identifier: MIT
"""The config, and what can be said of it without importing anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

from rocketride_core import setting

__all__ = ["INSTALL", "PATH", "ToolLangchainConfig", "faults", "is_here", "only_here"]

PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
INSTALL = "pip install 'langchain-core>=1.0,<2'"


@attrs.frozen(kw_only=True)
class ToolLangchainConfig:
    tool: str = setting(
        title="Tool",
        doc="Import path, package.module:name, of a LangChain tool, a class of tools, or a function that makes tools.",
    )
    arguments: Mapping[str, Any] = setting({}, title="Arguments", doc="What the class or the function is called with.")
    name: str = setting("", title="Name", doc="Instead of the tool's own, where there is one tool.")
    tool_description: str = setting(
        "", title="Tool Description", widget="textarea", doc="Stands before the tool's own description, for the agent to read."
    )
    only: tuple[str, ...] = setting((), title="Only", doc="Names of the tools to offer, where several are made; none is all.")
    injected: Mapping[str, Any] = setting(
        {}, title="Injected", doc="Values for arguments that models neither see nor set (InjectedToolArg)."
    )
    configurable: Mapping[str, Any] = setting(
        {}, title="Configurable", doc="What tools read as config['configurable'] of LangChain's RunnableConfig."
    )
    concurrent: bool = setting(True, title="Calls may overlap", doc="Several calls of one agent's turn run at once.")
    timeout: float = setting(0.0, ge=0, unit="s", title="Time limit", doc="Of one call; 0 is no limit.")


def is_here(package: str) -> bool:
    """Can a package or module of the top level be imported, as far as one can tell without importing it?"""
    try:
        return find_spec(package) is not None or only_here(package)
    except ValueError:  # it is loaded, and says nothing of where it came from
        return True


def only_here(package: str) -> bool:
    """Is it in the working directory, where a command does not look by itself?"""
    return PathFinder.find_spec(package, [str(Path.cwd())]) is not None


def faults(config: ToolLangchainConfig) -> Iterator[tuple[str, str, str, str]]:
    """(code, key, message, hint) of what is wrong with values that are fine one by one."""
    path = config.tool
    if "${" in path:  # a variable that is not set, which is reported
        return
    if not PATH.fullmatch(path):
        hint = "write package.module:name, langchain_community.tools:DuckDuckGoSearchRun for one"
        yield "invalid-value", "tool", f"'{path}' is no import path of a tool", hint
        return
    if not is_here("langchain_core"):
        yield "missing-library", "tool", "langchain-core is not installed, which every LangChain tool needs", INSTALL
        return
    package = path.partition(":")[0].partition(".")[0]
    if not is_here(package):
        hint = f"pip install the distribution that has it, or start in the folder of {package}.py"
        yield "missing-library", "tool", f"'{path}': there is no package or module '{package}'", hint
