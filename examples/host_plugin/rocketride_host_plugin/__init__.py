# SPDX-License-Identifier: MIT
"""rocketride_host_plugin: log every tool call and how long each node had each object, in all pipelines of a program."""

import logging
import time
from collections.abc import Generator
from typing import Any

import attrs

from rocketride_core import Arguments, Instance, Json, Node, hookimpl

__all__ = ["LOGGER", "CallLog"]

LOGGER = logging.getLogger("rocketride.calls")


@attrs.define
class Opened:
    """When an instance opened; kept by the kernel until it is closed."""

    at: float = attrs.field(factory=time.perf_counter)


class CallLog:
    """A host plugin: `Kernel(plugins=[CallLog()])`, or by being installed."""

    @hookimpl(wrapper=True)
    def invoke_tool(self, instance: Instance, name: str, arguments: Arguments) -> Generator[None, Json, Json]:
        began, outcome = time.perf_counter(), "failed"
        try:
            result = yield
            outcome = "ok"
            return result
        finally:
            # The names of arguments only: their values may be private.
            LOGGER.info(
                "tool %s(%s) for %s: %s in %.3f s",
                name, ", ".join(arguments), instance.entry.name, outcome, time.perf_counter() - began,
            )  # fmt: skip

    @hookimpl(tryfirst=True)
    def open_instance(self, instance: Instance) -> None:
        instance.state(Opened)

    @hookimpl(trylast=True)
    def close_instance(self, node: Node[Any], instance: Instance) -> None:
        seconds = time.perf_counter() - instance.state(Opened).at
        LOGGER.info("node %s had %s for %.3f s", node.id, instance.entry.name, seconds)


class Silent:
    """Takes part in no hook, so it costs nothing."""


def __getattr__(name: str) -> object:
    """`plugin`, what the entry point names: looked up whenever a kernel is made, so a program that logs less pays nothing."""
    if name == "plugin":
        return CallLog() if LOGGER.isEnabledFor(logging.INFO) else Silent()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
