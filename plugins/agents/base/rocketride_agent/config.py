# SPDX-License-Identifier: MIT
"""The settings that every agent has."""

from __future__ import annotations

import attrs

from rocketride_core import setting

__all__ = ["AgentConfig"]


@attrs.frozen(kw_only=True)
class AgentConfig:
    agent_description: str = setting(
        "",
        title="Agent description",
        widget="textarea",
        doc="What this agent is good for: all that a parent agent knows of it when it chooses whom to call.",
    )
    instructions: tuple[str, ...] = setting(
        (),
        title="Instructions",
        widget="textarea",
        doc="Rules of the field and tone, one a line; they follow the built-in prompt. Many of them confuse small models.",
    )
    require_tool_call: bool = setting(
        False,
        title="Require tool call",
        doc="An answer without one real tool call is an error of kind RocketRide.agent.guard.v1.",
    )
    tool_mode: str = setting(
        "react",
        choices=("react", "native", "auto"),
        title="Tool mode",
        doc="react works with any model; native needs a model that calls tools in its own format; auto takes native where it is.",
    )
    max_iterations: int = setting(
        10,
        aliases=("max_waves",),
        ge=1,
        title="Reasoning steps",
        unit="steps",
        doc="In the last one the model must answer with what it has.",
    )
    observation_limit: int = setting(
        8000,
        ge=0,
        title="Longest observation",
        unit="characters",
        doc="A longer result of a tool is cut, says so, and can be read on page by page; 0 is no limit.",
    )
    raise_tool_errors: tuple[str, ...] = setting(
        (),
        title="Tool errors that end the run",
        doc="Names of exceptions, as ToolTimeout or ValueError. All others the model gets to read.",
    )
