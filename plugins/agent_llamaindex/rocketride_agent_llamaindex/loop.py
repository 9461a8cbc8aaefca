# SPDX-License-Identifier: MIT
"""The ReAct loop: format, ask, read, call, observe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from rocketride_agent import LAST_STEP, STOPPED, UNREADABLE, AgentError, AgentRun, finished, instructed
from rocketride_core import Arguments, Json, Question

from .gate import AnswerGate
from .inputs import Unreadable, arguments_of
from .replies import Reply, begins, cleaned, read

if TYPE_CHECKING:
    from .scaffold import Scaffold

__all__ = ["ReActLoop"]

STOP = ("Observation:",)
PLAIN = "Answer the question. No tools are connected."
FINAL = f"{LAST_STEP} Write `Answer:` and the answer; do not write `Action:`."


class ReActLoop:
    """One run of it."""

    def __init__(self, run: AgentRun, scaffold: Scaffold) -> None:
        self._run, self._scaffold = run, scaffold
        self._steps: list[Any] = []

    def solve(self) -> Json:
        run = self._run
        while not run.last:
            reply, arguments = self._step()
            if not reply.action:
                return finished(run, reply.answer)
            observation = run.tools.call(reply.action, arguments)
            self._steps += self._scaffold.steps(reply.thought, reply.action, arguments, observation)
        return self._last_step()

    def _step(self) -> tuple[Reply, Arguments]:
        """One step, with the tool's full name. A call that cannot be read is asked for again, once, with the complaint; that is no step of its own."""
        self._run.turn()
        text = self._ask()
        try:
            return self._read(text)
        except Unreadable as error:
            self._run.retries += 1
            complaint = (
                f"Your last reply was:\n{text}\n\nIt could not be read: {error}. Reply again in the format that was given."
            )
        text = self._ask(complaint)
        try:
            return self._read(text)
        except Unreadable as error:
            answer = cleaned(text)
            if not answer:
                raise AgentError(f"{self._run.node.id}: the model's reply could not be read, twice: {error}") from error
            self._run.stop_reason = UNREADABLE
            return Reply(answer=answer), {}

    def _read(self, text: str) -> tuple[Reply, Arguments]:
        # Without tools only a reply that begins like a step is one; in any other, such words belong to the answer.
        tools = self._run.tools
        names = [tool.name for tool in tools.offered()]
        reply = read(text, names) if names or begins(text) or not text.strip() else Reply(answer=text.strip())
        if not reply.action:
            return reply, {}
        tool = tools.find(reply.action)
        arguments = arguments_of(reply.input, tool)
        named = reply if tool is None else attrs.evolve(reply, action=tool.name)
        return named, self._scaffold.arguments(reply.input or "") if arguments is None else arguments

    def _last_step(self) -> Json:
        run = self._run
        run.last_turn()
        text = self._ask(FINAL)
        try:
            reply = read(text)
        except Unreadable:
            return finished(run, answer) if (answer := cleaned(text)) else STOPPED
        return STOPPED if reply.action else finished(run, reply.answer)

    @property
    def _plain(self) -> bool:
        return not self._run.tools.offered()

    def _ask(self, *further: str) -> str:
        if self._plain:
            return self._run.llm.ask(self._question(further)).text
        on_token = self._run.on_token
        gate = AnswerGate(on_token) if on_token is not None else None
        return self._run.llm.ask(self._question(further), stop=STOP, on_token=gate).text

    def _question(self, further: Sequence[str]) -> Question:
        """The question with the built-in prompt as its role and the reasoning so far after its own texts."""
        run = self._run
        tools = run.tools.offered()
        prompt, reasoning = self._scaffold.prompt(tools, self._steps)
        return attrs.evolve(
            run.question,
            texts=(*run.question.texts, *reasoning, *further),
            embeddings=(),
            role=prompt if tools else PLAIN,
            expect_json=False,
            instructions=tuple(instructed(run.question, run.config)),
        )
