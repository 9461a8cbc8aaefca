# SPDX-License-Identifier: MIT
"""LlamaIndex's part: the prompt, the steps and the lenient reader of arguments. Imported only when a pipeline begins."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import cast

import dirtyjson  # type: ignore[import-untyped]
from llama_index.core.agent.react.formatter import ReActChatFormatter
from llama_index.core.agent.react.output_parser import ReActOutputParser
from llama_index.core.agent.react.types import ActionReasoningStep, BaseReasoningStep, ObservationReasoningStep
from llama_index.core.output_parsers.utils import extract_json_str
from llama_index.core.tools import BaseTool, FunctionTool, ToolMetadata

from rocketride_core import Arguments, Tool

from .inputs import Unreadable

__all__ = ["Scaffold"]


class _Metadata(ToolMetadata):
    """Its schema is in the description already; the library's own would promise an `input` that no tool has."""

    @property
    def fn_schema_str(self) -> str:
        return "one JSON object, as the input schema in the description says"


class _Call(ActionReasoningStep):
    """The library writes the arguments as Python shows a dict, which the prompt forbids the model to do."""

    def get_content(self) -> str:
        given = json.dumps(self.action_input, ensure_ascii=False)
        return f"Thought: {self.thought}\nAction: {self.action}\nAction Input: {given}"


class Scaffold:
    """Keeps nothing of a run."""

    def __init__(self) -> None:
        self._formatter = ReActChatFormatter.from_defaults()
        self._parser = ReActOutputParser()

    def prompt(self, tools: Sequence[Tool], steps: Sequence[BaseReasoningStep]) -> tuple[str, list[str]]:
        """The built-in prompt with the tools, and the reasoning so far: thought with call, and observation, in turns."""
        described: list[BaseTool] = [_described(tool) for tool in tools]
        head, *reasoning = self._formatter.format(described, [], list(steps))
        return str(head.content), [str(message.content) for message in reasoning]

    def steps(self, thought: str, action: str, arguments: Arguments, observation: str) -> list[BaseReasoningStep]:
        call = _Call(thought=thought or "I need to use a tool.", action=action, action_input=dict(arguments))
        return [call, ObservationReasoningStep(observation=observation)]

    def arguments(self, text: str) -> Arguments:
        """The arguments as the library's parser makes them out, which forgives single quotes, comments and trailing commas.

        Raises:
            Unreadable: with its complaint.
        """
        # The parser answers what it cannot read with the texts that it finds in there, wherever they stand: a call with half its
        # arguments. So it reads only what is a whole.
        try:
            step = self._parser.parse(f"Thought: -\nAction: tool\nAction Input: {_whole(text)}")
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            raise Unreadable(f"`Action Input:` has no JSON object that can be read: {text[:200]}") from error
        made = json.loads(json.dumps(step.action_input)) if isinstance(step, ActionReasoningStep) else {}
        if not made and text.strip().replace(" ", "")[:2] != "{}":
            raise Unreadable(f"`Action Input:` is no valid JSON object: {text[:200]}")
        return cast("Mapping[str, object]", made)  # type: ignore[return-value]


def _whole(text: str) -> str:
    """The object that the text has, in forgiving JSON or else as Python writes a dict.

    Raises:
        ValueError, TypeError, SyntaxError, RecursionError, MemoryError: it cannot be read to its end.
    """
    found = extract_json_str(text)
    try:
        dirtyjson.loads(found)
    except dirtyjson.Error:
        found = json.dumps(ast.literal_eval(found), ensure_ascii=False)
    return found


def _nothing() -> None:
    """Tools are called by the kernel; the library only describes them."""


def _described(tool: Tool) -> FunctionTool:
    schema = json.dumps(tool.input_schema, ensure_ascii=False)
    description = f"{tool.description.strip()}\nInput schema (JSON Schema): {schema}"
    return FunctionTool(fn=_nothing, metadata=_Metadata(name=tool.name, description=description))
