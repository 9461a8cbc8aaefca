# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from rocketride_core import Component, Expansion, Instance, Node, NodeSpec, Problem, RunError, Tool, hookimpl

from .config import ToolLangchainConfig, faults
from .importing import Unusable, make_tools

__all__ = ["ToolLangchain", "ToolLangchainConfig"]


class ToolLangchain(Node[ToolLangchainConfig]):
    """Offers LangChain tools, found by their import path, to the agents that it is wired to.

    The path is code that the pipeline runs: a file that has it is as trusted as a program.
    """

    spec = NodeSpec(
        "tool_langchain",
        title="LangChain Tool",
        description="Any LangChain tool, by its import path, as a tool of an agent.",
        categories=["tool"],
        tile=["tool"],
    )

    tools: Sequence[Tool]

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:  # noqa: ARG003
        for code, key, message, hint in faults(context.config(ToolLangchainConfig)):
            context.problem(code, message, path=key, hint=hint)
        return None

    @hookimpl
    def prepare_global(self) -> None:
        import_module("langchain_core.tools")

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        """Imports and makes the tools, as a pipeline that opens does."""
        try:
            self._offered()
        except Unusable as error:
            yield Problem("tool", "probe-failed", f"{self.id}: {error}", component=self.id)

    @hookimpl
    def begin_global(self) -> None:
        try:
            self.tools = self._offered()
        except Unusable as error:
            raise RunError(f"{self.id}: {error}", component=self.id) from error

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        return self.tools

    def _offered(self) -> list[Tool]:
        config = self.config
        made = make_tools(config, self.wait)
        from .calling import offer
        from .describing import described

        found = [described(one, config.injected) for one in made]
        if config.name and len(found) > 1:
            raise Unusable(f"`name` is for one tool, and '{config.tool}' makes {len(found)}; leave it out, or choose with `only`")
        if unknown := config.injected.keys() - {name for one in found for name in one.hidden}:
            raise Unusable(f"`injected` has '{min(unknown)}', which is no injected argument of '{config.tool}'")
        said = config.tool_description.strip()
        return [
            offer(
                one,
                f"{said}\n\n{one.description}" if said and one.description else said or one.description,
                name=config.name or one.name,
                component=self.id,
                configurable=config.configurable,
                concurrent=config.concurrent,
                timeout=config.timeout,
            )
            for one in found
        ]
