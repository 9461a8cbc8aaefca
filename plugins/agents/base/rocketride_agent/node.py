# SPDX-License-Identifier: MIT
"""AgentNode: everything that agents have in common, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from rocketride_core import (
    ANSWERS,
    LLM,
    MANY,
    ONE,
    QUESTIONS,
    TOOL,
    Answer,
    Arguments,
    Arity,
    Control,
    Instance,
    Json,
    Node,
    Profile,
    Question,
    Tool,
    ToolError,
    hookimpl,
    on,
)

from .config import AgentConfig
from .run import AgentRun, Outcome
from .runagent import INPUT, OUTPUT, RunAgent, described, question_of

__all__ = ["NEEDS", "PROFILES", "AgentNode"]

C = TypeVar("C", bound=AgentConfig)

NEEDS: Mapping[Control[Any], Arity] = {LLM: ONE, TOOL: MANY}
PROFILES: Sequence[Profile] = (Profile("default", {"agent_description": "", "instructions": []}, title="Default"),)


class AgentNode(Node[C]):
    """Questions to answers, and the tool `run_agent`. A framework's distribution writes `spec`, `framework` and `solve`.

    Nothing of a run may be kept on the node: many run at once.

    Attributes:
        framework: its name in `meta`.
        label: its name for people, in events.
    """

    framework: ClassVar[str] = "agent"
    label: ClassVar[str] = "the"

    def solve(self, run: AgentRun) -> Json:
        """The final answer, a text or where the question expects JSON any JSON value. What it raises is the run's failure."""
        raise NotImplementedError(f"{type(self).__name__} has no solve(run); return the final answer there")

    @on(QUESTIONS, emits=[ANSWERS])
    def answer(self, instance: Instance, question: Question) -> None:
        outcome = self.perform(instance, question, lane=True)
        answer = outcome.answer
        if outcome.error is not None:
            told = instance.redacted(instance.report(outcome.error))
            answer = Answer(told) if told not in ("", type(outcome.error).__name__) else answer
        instance.emit(ANSWERS, answer)

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        about = described(self.config.agent_description)
        return [RunAgent("run_agent", about, INPUT, self.run_agent, OUTPUT, concurrent=True)]

    def run_agent(self, instance: Instance, arguments: Arguments) -> Arguments:
        """One run for a caller: `{content, meta, stack}`, also where it failed; then the result has a warning `agent-failed`.

        Raises:
            ToolError: one that `raise_tool_errors` names.
        """
        outcome = self.perform(instance, question_of(arguments), lane=False)
        if outcome.error is not None:
            instance.warn("agent-failed", f"{self.id}.run_agent: {outcome.answer.text}")
        return outcome.payload

    def perform(self, instance: Instance, question: Question, *, lane: bool) -> Outcome:
        """One run, to the end."""
        run = AgentRun(self, instance, question, lane=lane)
        run.thinking(f"Starting {self.label} agent...")
        try:
            return run.done(self.solve(run))
        except ToolError as error:
            if error is run.tools.raised and not lane:
                raise
            return run.failed(error)
        except Exception as error:  # noqa: BLE001 - an agent's failure is the entry's error, and what a chat user reads
            return run.failed(error)
