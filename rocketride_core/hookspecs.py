# SPDX-License-Identifier: MIT
"""The hooks: this file is their manual.

A node writes hooks as methods under `@hookimpl`, with `self` in the place of `node`. A host plugin writes them as functions of a
module or methods of an object, with the arguments named here; it may take fewer. Wrappers are written as pluggy's
`@hookimpl(wrapper=True)` generators. What a lane receives is *not* a hook: see `@on`.

A hook that neither the node nor a host plugin implements costs nothing. A node's own hook that no host plugin takes part in is
called directly. Only where a host plugin takes part does pluggy do the calling, with its ordering rules (`tryfirst`, `trylast`, wrappers).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from .controls import Control
    from .errors import Problem
    from .node import Node
    from .payloads import Arguments, Json
    from .pipefile import Component
    from .protocols import Commands, Expansion, Instance, Pipeline, Result
    from .toolbox import Tool

hookspec = pluggy.HookspecMarker("rocketride")
hookimpl = pluggy.HookimplMarker("rocketride")

# ---- before anything runs -----------------------------------------------------------------------------------------------


@hookspec(firstresult=True)
def expand_component(component: Component, context: Expansion) -> Sequence[Component] | None:
    """Replace a component by others before the graph is compiled; on the node class (a `classmethod`).

    :param component: as it stands in the file, variables substituted.
    :param context: `config(Cls)` is the resolved config, `spec(provider)` finds another node's spec, `problem(…)` reports.
    :returns: the components that stand in its place, or None to keep it. Links from the replaced id come from the last returned
        component that declares the lane; a returned component that keeps the id keeps its links.
    """


@hookspec
def prepare_global(node: Node[Any]) -> None:
    """Import the libraries that `check_global` needs, before any node is probed; one node after another.

    Probes run at once, and two threads that import one library at the same moment may find it half made. Neither connect nor load
    anything here: there is no time limit. What it raises is told as `probe-failed`, and the node is not probed.
    """


@hookspec
def check_global(node: Node[Any]) -> Iterable[Problem] | None:
    """Probe the outside world (reachable? authorised?); only when asked, by `check --probe`.

    The node is configured, its `begin_global` has not run: open and close here what you need.

    :returns: what is wrong; `Problem.path` is relative to the component's config.
    """


# ---- once a pipeline ----------------------------------------------------------------------------------------------------


@hookspec
def begin_global(node: Node[Any]) -> None:
    """Get ready: connect, load models. May block. Controlled nodes first, callees before callers; then consumers before producers.

    What it raises ends the opening of the pipeline; nodes that have begun are ended in reverse order.
    """


@hookspec
def end_global(node: Node[Any]) -> None:
    """Give back what `begin_global` took; in reverse order, not for a node whose `begin_global` failed."""


# ---- once an entry ------------------------------------------------------------------------------------------------------


@hookspec
def open_instance(node: Node[Any], instance: Instance) -> None:
    """An entry begins. Consumers are open already, so it may emit. What it raises fails the entry."""


@hookspec
def flush_instance(node: Node[Any], instance: Instance) -> None:
    """All producers of this node have flushed: the last chance to emit."""


@hookspec
def close_instance(node: Node[Any], instance: Instance) -> None:
    """The entry is over; always called for what was opened, also after a failure. May not emit."""


@hookspec
def finish_entry(pipeline: Pipeline, result: Result) -> None:
    """An entry is closed; for host plugins. `result.error` says whether it failed."""


# ---- tools and controls -------------------------------------------------------------------------------------------------


@hookspec
def list_tools(node: Node[Any], instance: Instance) -> Sequence[Tool] | None:
    """Tools that are known only at run time; called at the first use of `instance.tools` in an entry. Names are bare here.

    :param instance: the control instance of the node that offers the tools.
    """


@hookspec(firstresult=True)
def invoke_tool(node: Node[Any], instance: Instance, name: str, arguments: Arguments) -> Json:
    """A tool is called; for host plugins, as a wrapper: deny (`raise ToolDenied(reason)`), rewrite, cache, audit.

    :param node: the node that offers the tool, `instance` its control instance.
    :param name: the full name, `<component id>.<tool>`.
    :returns: the tool's result; an implementation that is no wrapper answers in the tool's place.
    """


@hookspec(firstresult=True)
def wrap_control(node: Node[Any], instance: Instance, control: Control[Any], service: object) -> object:
    """A served control is handed to a caller; for host plugins, as a wrapper around what `yield` gives: guard or meter an LLM.

    :param node: the node that serves, `instance` its control instance.
    :returns: the object that the caller gets.
    """


# ---- the command line ---------------------------------------------------------------------------------------------------


@hookspec
def add_commands(commands: Commands) -> None:
    """Add commands to `rocketride-core`; for host plugins."""


NODE_HOOKS = frozenset(
    {
        "expand_component",
        "prepare_global",
        "check_global",
        "begin_global",
        "end_global",
        "open_instance",
        "flush_instance",
        "close_instance",
        "list_tools",
    }
)
HOST_HOOKS = frozenset({"invoke_tool", "wrap_control", "finish_entry", "add_commands"})
