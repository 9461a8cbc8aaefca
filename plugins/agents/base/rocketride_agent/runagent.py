# SPDX-License-Identifier: MIT
"""An agent as a tool: `run_agent`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from rocketride_core import Arguments, Question, Tool, ToolInput

__all__ = ["CONTEXT", "RunAgent", "described", "question_of"]

CONTEXT = "RocketRide.agent.tool_context.v1"
USAGE = "Invoke this agent as a tool. Input: {query: string, context?: object}. Output: {content, meta, stack}."
INPUT: Arguments = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "What the agent is asked or told to do."},
        "context": {"type": "object", "description": "What it should know beside that."},
    },
    "required": ["query"],
}
OUTPUT: Arguments = {
    "type": "object",
    "properties": {
        "content": {"description": "The answer; where it failed, why."},
        "meta": {"type": "object", "description": "Of the run; its stop_reason is `error` or `guard` where it failed."},
        "stack": {"type": "array", "items": {"type": "object"}, "description": "The steps of the run, then its error."},
    },
    "required": ["content", "meta", "stack"],
}


def described(agent_description: str) -> str:
    """By this a parent agent chooses."""
    said = agent_description.strip()
    return f"This agent: {said} {USAGE}" if said else USAGE


class RunAgent(Tool):
    """The tool. Keys that it does not know are ignored, as models add some."""

    def checked(self, arguments: Arguments) -> Arguments:
        wrong, path = "", "$"
        if not isinstance(arguments, Mapping):
            wrong = "input must be an object"
        elif not isinstance(query := arguments.get("query"), str) or not query.strip():
            wrong, path = "input.query must be a non-empty string", "$.query"
        elif (context := arguments.get("context")) is not None and not isinstance(context, Mapping):
            wrong, path = "input.context must be an object if provided", "$.context"
        if wrong:
            raise ToolInput(f"agent tool: {wrong}", tool=self.name, path=path)
        return arguments


def question_of(arguments: Arguments) -> Question:
    """The question of checked arguments; the context is an entry of the question's context."""
    query, context = cast(str, arguments["query"]), arguments.get("context")
    if not context:
        return Question.of(query)
    return Question((query,), context=(json.dumps({"type": CONTEXT, "context": context}, ensure_ascii=False),))
