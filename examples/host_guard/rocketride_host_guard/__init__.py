# SPDX-License-Identifier: MIT
"""rocketride_host_guard: only tools on an allow-list may be called, in all pipelines of a program."""

import logging
import os
from collections.abc import Generator, Mapping, Sequence
from fnmatch import fnmatchcase

from rocketride_core import Arguments, Instance, Json, ToolDenied, hookimpl

__all__ = ["LOGGER", "VARIABLE", "Guard", "from_environment"]

LOGGER = logging.getLogger("rocketride.guard")
VARIABLE = "ROCKETRIDE_GUARD_ALLOW"


class Guard:
    """A host plugin: `Kernel(plugins=[Guard(["search_1.*"])])`, or by being installed and `ROCKETRIDE_GUARD_ALLOW`.

    Parameters:
        allow: full names of tools, `<component id>.<tool>`, or patterns of them with `*`, `?` and `[…]`; none denies every call.

    Raises:
        ValueError: `allow` is one text, or a pattern is empty.
    """

    def __init__(self, allow: Sequence[str]) -> None:
        if isinstance(allow, str):
            raise ValueError(f"allow is a list of tools, not a text; write Guard([{allow!r}])")
        if not all(pattern.strip() for pattern in allow):
            raise ValueError("an empty pattern allows no tool; leave it out")
        self.allow = tuple(pattern.strip() for pattern in allow)

    def allows(self, name: str) -> bool:
        """May a tool of that full name be called? Upper and lower case are different."""
        return any(fnmatchcase(name, pattern) for pattern in self.allow)

    @hookimpl(wrapper=True, tryfirst=True)
    def invoke_tool(self, instance: Instance, name: str, arguments: Arguments) -> Generator[None, Json, Json]:
        """Before all other host plugins: what is denied, none of them sees.

        Raises:
            ToolDenied: the tool is not on the list.
        """
        if not self.allows(name):
            # The names of arguments only: their values may be private.
            LOGGER.warning("denied %s(%s) for %s", name, ", ".join(arguments), instance.entry.name)
            allowed = ", ".join(self.allow) or "none"
            raise ToolDenied(f"{name} is not allowed on this host; allowed tools: {allowed}", tool=name)
        return (yield)


class Absent:
    """Takes part in no hook, so it costs nothing."""


def from_environment(environment: Mapping[str, str]) -> Guard | Absent:
    """What `ROCKETRIDE_GUARD_ALLOW` asks for: patterns with commas between them. Not set is no guard, empty denies every call."""
    told = environment.get(VARIABLE)
    return Absent() if told is None else Guard([pattern for pattern in told.split(",") if pattern.strip()])


def __getattr__(name: str) -> object:
    """`plugin`, what the entry point names: looked up whenever a kernel is made."""
    if name == "plugin":
        return from_environment(os.environ)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
