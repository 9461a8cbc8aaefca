# SPDX-License-Identifier: MIT
"""rocketride_langgraph: what connects rocketride-core with LangGraph. Neither it nor LangChain is imported before its first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapting import as_langchain
    from .executor import BasicToolNode, ToolExecutor
    from .jsontext import NotJson, json_text
    from .opened import PipelineTools
    from .pipelines import pipeline_tools

__all__ = ["BasicToolNode", "NotJson", "PipelineTools", "ToolExecutor", "as_langchain", "json_text", "pipeline_tools"]

_PLACES = {
    "BasicToolNode": "executor",
    "NotJson": "jsontext",
    "PipelineTools": "opened",
    "ToolExecutor": "executor",
    "as_langchain": "adapting",
    "json_text": "jsontext",
    "pipeline_tools": "pipelines",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_PLACES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
