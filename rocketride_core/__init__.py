# SPDX-License-Identifier: MIT
"""rocketride_core: an engine for AI pipelines that is only Python packaging.

Importing this is cheap; the kernel itself is imported when `Kernel` is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .blob import Blob
from .controls import EMBEDDING, LLM, MEMORY, TOOL, Caller, ChatModel, Control, Embedder, Memory, Served
from .conversation import Message, ToolCall, ToolChatModel
from .entry import Entry, Event
from .errors import (
    Cancelled,
    DuplicateProvider,
    EntryStopped,
    InvalidNode,
    PipeError,
    PluginError,
    PluginLoad,
    Problem,
    RocketRideError,
    RunError,
    RunTimeout,
    ToolDenied,
    ToolError,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    UnknownTool,
)
from .handlers import on, serves, source, tool
from .hookspecs import hookimpl
from .lanes import ANSWERS, AUDIO, DOCUMENTS, IMAGE, QUESTIONS, TABLE, TAGS, TEXT, VIDEO, Lane, Packet
from .node import Node
from .payloads import Answer, Arguments, Document, Json, Question
from .pipefile import Component, ControlLink, LaneLink, PipeFile
from .protocols import Commands, Expansion, Feed, Instance, Pipeline, Result, Run
from .settings import ProviderRef, Secret, setting
from .spec import MANY, ONE, OPTIONAL, Arity, NodeSpec, Param, Profile
from .toolbox import Tool, ToolCatalog

if TYPE_CHECKING:
    from .kernel import Kernel

__version__ = "0.1.0"

__all__ = [
    "ANSWERS",
    "AUDIO",
    "DOCUMENTS",
    "EMBEDDING",
    "IMAGE",
    "LLM",
    "MANY",
    "MEMORY",
    "ONE",
    "OPTIONAL",
    "QUESTIONS",
    "TABLE",
    "TAGS",
    "TEXT",
    "TOOL",
    "VIDEO",
    "Answer",
    "Arguments",
    "Arity",
    "Blob",
    "Caller",
    "Cancelled",
    "ChatModel",
    "Commands",
    "Component",
    "Control",
    "ControlLink",
    "Document",
    "DuplicateProvider",
    "Embedder",
    "Entry",
    "EntryStopped",
    "Event",
    "Expansion",
    "Feed",
    "Instance",
    "InvalidNode",
    "Json",
    "Kernel",
    "Lane",
    "LaneLink",
    "Memory",
    "Message",
    "Node",
    "NodeSpec",
    "Packet",
    "Param",
    "PipeError",
    "PipeFile",
    "Pipeline",
    "PluginError",
    "PluginLoad",
    "Problem",
    "Profile",
    "ProviderRef",
    "Question",
    "Result",
    "RocketRideError",
    "Run",
    "RunError",
    "RunTimeout",
    "Secret",
    "Served",
    "Tool",
    "ToolCall",
    "ToolCatalog",
    "ToolChatModel",
    "ToolDenied",
    "ToolError",
    "ToolFailure",
    "ToolInput",
    "ToolTimeout",
    "UnknownTool",
    "hookimpl",
    "on",
    "serves",
    "setting",
    "source",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name == "Kernel":
        from .kernel import Kernel

        return Kernel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
