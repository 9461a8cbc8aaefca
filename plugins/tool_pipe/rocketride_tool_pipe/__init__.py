# SPDX-License-Identifier: MIT
"""rocketride_tool_pipe: the nodes wired behind `tool_pipe` are one tool, `run_pipe`, of the agents that it is wired to."""

from .arguments import normalised
from .extraction import RETURN_TYPES, extracted
from .node import RunPipe, ToolPipe, ToolPipeConfig

__all__ = ["RETURN_TYPES", "RunPipe", "ToolPipe", "ToolPipeConfig", "extracted", "normalised"]
