# SPDX-License-Identifier: MIT
"""One run of an agent: everything that belongs to it alone, so that a node may have many at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rocketride_core import LLM, Answer, Arguments, ChatModel, EntryStopped, Instance, Json, Question

from .config import AgentConfig
from .endings import ERROR_STOP, GUARD_STOP, MAX_ITERATIONS, warning_of
from .errors import ToolCallRequiredError, entry_of, text_of
from .toolview import ToolView

if TYPE_CHECKING:
    from .node import AgentNode

__all__ = ["AgentRun", "Outcome"]


class AgentRun:
    """What an agent works with.

    Attributes:
        question: what is asked, with its history, context and documents.
        config: the node's.
        lane: the answer goes to the lane; False inside `run_agent`.
        tools: the connected tools, as observations.
        iterations: turns of the model so far, see `turn`.
        retries: replies that could not be read and were asked for again.
        mode: react or native, once it is known.
        stop_reason: why the run ended before the model was done; "" where it was.
    """

    def __init__(self, node: AgentNode[Any], instance: Instance, question: Question, *, lane: bool) -> None:
        config: AgentConfig = node.config
        self.node, self.instance, self.question, self.config, self.lane = node, instance, question, config, lane
        self.run_id, self._started = str(uuid4()), _now()
        self.iterations = self.retries = 0
        self.mode = self.stop_reason = ""
        self._told = ""
        self.tools = ToolView(
            instance.tools,
            limit=config.observation_limit,
            reraise=config.raise_tool_errors,
            on_call=self._calling,
            redact=instance.redacted,
        )

    @cached_property
    def llm(self) -> ChatModel:
        """The one that is connected."""
        return self.instance.one(LLM)

    @property
    def last(self) -> bool:
        """The budget allows one more turn, so in it the model must answer."""
        return self.iterations >= self.config.max_iterations - 1

    def turn(self) -> None:
        """Counts a turn of the model; called before each.

        Raises:
            EntryStopped: the entry is cancelled or over its time limit, so nobody waits for what the model would say.
        """
        if self.instance.cancelled:
            raise EntryStopped
        self.iterations += 1

    def last_turn(self) -> None:
        """`turn`, for the one in which the model must answer because the budget is used up."""
        self.turn()
        self.stop_reason = MAX_ITERATIONS

    # ---- speaking up

    def thinking(self, message: str, **data: Json) -> None:
        """A progress event."""
        self.instance.event("thinking", message=message, **data)

    def _calling(self, tool: str) -> None:
        self.thinking(f"Calling {tool}...", tool=tool)

    @property
    def streams(self) -> bool:
        """Pieces of the final answer may be told now: over a lane, not where JSON has to be validated or a tool call is due."""
        return self.lane and not self.question.expect_json and (self.tools.calls > 0 or not self.config.require_tool_call)

    @property
    def on_token(self) -> Callable[[str], None] | None:
        """Takes pieces of the final answer, and nothing else; None where none may be told."""
        return self.token if self.streams else None

    def token(self, text: str) -> None:
        if text and self.streams:
            self._told += text
            self.instance.event("token", text=text)

    # ---- the end

    def done(self, content: Json) -> Outcome:
        """The outcome of an answer.

        Raises:
            ToolCallRequiredError: a tool should have been called first.
        """
        if self.config.require_tool_call and not self.tools.calls:
            raise ToolCallRequiredError(
                f"{self.node.id} answered without calling a tool, and its setting require_tool_call forbids that"
            )
        answer = Answer(content)
        if self.lane and answer.text.startswith(self._told) and (rest := answer.text[len(self._told) :]):
            self.instance.event("token", text=rest)
        if warning := warning_of(self.stop_reason, self.node.id, self.iterations):
            self.instance.warn(*warning)
        return self._outcome(content)

    def failed(self, error: Exception) -> Outcome:
        self.stop_reason = GUARD_STOP if isinstance(error, ToolCallRequiredError) else ERROR_STOP
        told = self.instance.redacted(text_of(error))
        return self._outcome(told, error, entry_of(error, told))

    def _outcome(self, content: Json, error: Exception | None = None, *entries: Json) -> Outcome:
        meta: dict[str, Json] = {
            "framework": self.node.framework,
            "agent_id": self.node.id,
            "run_id": self.run_id,
            "started_at": self._started,
            "ended_at": _now(),
            "tool_calls": self.tools.calls,
            "iterations": self.iterations,
            "retries": self.retries,
        }
        meta |= {"tool_mode": self.mode} if self.mode else {}
        meta |= {"stop_reason": self.stop_reason} if self.stop_reason else {}
        stack: list[Json] = [*self.tools.steps, *entries]
        self.instance.count("tool_calls", self.tools.calls)
        self.instance.count("iterations", self.iterations)
        self.instance.event("agent", meta=meta, stack=stack)
        return Outcome({"content": content, "meta": meta, "stack": stack}, error)


class Outcome:
    """What came of a run.

    Attributes:
        payload: `{content, meta, stack}`.
        error: None where it came to an answer; else `content` is its text.
    """

    def __init__(self, payload: Arguments, error: Exception | None = None) -> None:
        self.payload, self.error = payload, error

    @property
    def answer(self) -> Answer:
        return Answer(self.payload["content"])


def _now() -> str:
    return datetime.now(UTC).isoformat()
