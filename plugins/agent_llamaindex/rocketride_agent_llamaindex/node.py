# SPDX-License-Identifier: MIT
"""agent_llamaindex: the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketride_agent import NEEDS, PROFILES, AgentConfig, AgentNode, AgentRun, by_mode
from rocketride_core import Json, NodeSpec, hookimpl

if TYPE_CHECKING:
    from .scaffold import Scaffold

__all__ = ["LlamaIndexAgent"]


class LlamaIndexAgent(AgentNode[AgentConfig]):
    """Reasons in plain text, step by step, calling tools in between: works with any language model."""

    spec = NodeSpec(
        "agent_llamaindex",
        title="LlamaIndex",
        description="An agent that reasons step by step and calls tools in between.",
        categories=["agent", "tool"],
        needs=NEEDS,
        profiles=PROFILES,
    )
    framework = "llamaindex"
    label = "LlamaIndex"
    scaffold: Scaffold

    @hookimpl
    def begin_global(self) -> None:
        from .scaffold import Scaffold

        self.scaffold = Scaffold()

    def solve(self, run: AgentRun) -> Json:
        from .loop import ReActLoop

        return by_mode(run, lambda: ReActLoop(run, self.scaffold).solve())
