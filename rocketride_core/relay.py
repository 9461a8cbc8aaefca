# SPDX-License-Identifier: MIT
"""Which callable answers a hook of one node: the node's own method where no host plugin takes part, pluggy where one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pluggy

from . import hookspecs
from .errors import PluginLoad
from .hookspecs import HOST_HOOKS, NODE_HOOKS, hookimpl

if TYPE_CHECKING:
    from .node import Node

__all__ = ["Hosts", "Relay"]


class Hosts:
    """The host plugins of a kernel, in the order of their registration.

    Parameters:
        plugins: (name, module or object with hook implementations).

    Raises:
        PluginLoad: an implementation is unknown to, or does not fit, `hookspecs`.
    """

    def __init__(self, plugins: Sequence[tuple[str, object]] = ()) -> None:
        self.plugins = list(plugins)
        self.manager = pluggy.PluginManager("rocketride")
        self.manager.add_hookspecs(hookspecs)
        for name, plugin in self.plugins:
            if isinstance(plugin, (type, int, float, str, bytes)) or plugin is None:
                raise PluginLoad(f"host plugin {name}: it is {plugin!r}; give a module, or an object with hook implementations")
            try:
                self.manager.register(plugin, name)
                self.manager.check_pending()
            except (pluggy.PluginValidationError, ValueError) as error:
                raise PluginLoad(f"host plugin {name}: {error}; the hooks and their arguments are in docs/hooks.md") from error
        self._used = frozenset(
            name for name in NODE_HOOKS | HOST_HOOKS if self.plugins and getattr(self.manager.hook, name).get_hookimpls()
        )

    def take_part(self, hook: str) -> bool:
        return hook in self._used

    def call(self, hook: str, **arguments: Any) -> Any:
        """A hook that only host plugins implement."""
        return getattr(self.manager.hook, hook)(**arguments)


@hookimpl(trylast=True)
def _wrap_control(service: object) -> object:
    return service


class Relay:
    """The hooks of one node.

    Parameters:
        invoke: a hook implementation of `invoke_tool`; what the wrappers of host plugins wrap.
    """

    def __init__(self, node: Node[Any], hosts: Hosts, invoke: Callable[..., object]) -> None:
        self._node, self._hosts, self._invoke = node, hosts, invoke
        self._manager: pluggy.PluginManager | None = None

    def hook(self, name: str) -> Callable[..., Any] | None:
        """The callable of a hook that takes the node and perhaps its instance; None where nobody implements it."""
        if not self._hosts.take_part(name):
            return getattr(self._node, name) if name in self._node.manifest.hooks else None
        caller, node = getattr(self._managed().hook, name), self._node
        if name in ("begin_global", "end_global", "check_global", "prepare_global"):
            return lambda: caller(node=node)
        return lambda instance: caller(node=node, instance=instance)

    def wrapped(self, name: str) -> Callable[..., Any] | None:
        """`invoke_tool` or `wrap_control` with the host plugins around it; None where none takes part."""
        if not self._hosts.take_part(name):
            return None
        caller, node = getattr(self._managed().hook, name), self._node
        if name == "invoke_tool":
            return lambda instance, name, arguments: caller(node=node, instance=instance, name=name, arguments=arguments)
        return lambda instance, control, service: caller(node=node, instance=instance, control=control, service=service)

    def _managed(self) -> pluggy.PluginManager:
        if self._manager is None:
            manager = pluggy.PluginManager("rocketride")
            manager.add_hookspecs(hookspecs)
            # The kernel's own part in what hosts wrap comes last, so a wrapper's `yield` gives what it answers.
            own_part = SimpleNamespace(invoke_tool=self._invoke, wrap_control=_wrap_control)
            manager.register(own_part, "the kernel")
            own = {name: getattr(self._node, name) for name in self._node.manifest.hooks if name != "expand_component"}
            manager.register(SimpleNamespace(**own), f"component {self._node.id}")
            for name, plugin in self._hosts.plugins:
                manager.register(plugin, name)
            self._manager = manager
        return self._manager
