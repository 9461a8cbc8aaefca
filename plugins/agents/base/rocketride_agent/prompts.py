# SPDX-License-Identifier: MIT
"""What a model is told beside the question, whatever the framework."""

from __future__ import annotations

from collections.abc import Sequence

from rocketride_core import Message, Question

from .config import AgentConfig

__all__ = ["JSON_ANSWER", "LAST_STEP", "conversation", "instructed"]

TITLE = "Additional Instruction"
LAST_STEP = (
    "No more tools can be called now. Give the best final answer that is possible with what is known so far, "
    "and say what is missing, if anything is."
)
JSON_ANSWER = "The final answer must be one valid JSON value and nothing else: no prose around it, no code fence."
CALL_FIRST = "Call at least one tool before the final answer: an answer that no tool result supports is thrown away."
BEGINNING = (
    "You answer questions, and you may call the tools that you are given, as often as it takes. "
    "Answer in the language of the question. Say so when the tools do not give what is asked for; never invent their results."
)
ROLES = {"assistant": "assistant", "ai": "assistant", "bot": "assistant", "model": "assistant", "system": "system"}


def instructed(question: Question, config: AgentConfig) -> list[tuple[str, str]]:
    """The question's own role and instructions, the node's, and what its other settings ask for, in that order."""
    told = [("Role", question.role)] if question.role.strip() else []
    told += [*question.instructions, *((TITLE, text) for line in config.instructions if (text := line.strip()))]
    told += [(TITLE, CALL_FIRST)] if config.require_tool_call else []
    return [*told, *([("JSON Answer", JSON_ANSWER)] if question.expect_json else [])]


def conversation(question: Question, config: AgentConfig, beginning: str = BEGINNING) -> list[Message]:
    """The question as messages: the prompt with the instructions, the history, and the question with all that goes along."""
    told = "\n".join(f"- {text}" for _, text in instructed(question, config))
    messages = [Message("system", f"{beginning}\n\n{told}" if told else beginning)]
    for role, content in question.history:
        known = ROLES.get(role.strip().lower(), "user")
        messages.append(Message("assistant" if known == "assistant" else "system" if known == "system" else "user", content))
    return [*messages, Message("user", asked(question))]


def asked(question: Question) -> str:
    """The question alone where nothing goes along with it, else with titles."""
    extra: Sequence[object] = (*question.examples, *question.context, *question.documents, *question.goals)
    if not extra:
        return "\n".join(question.texts)
    return Question(
        question.texts,
        examples=question.examples,
        context=question.context,
        documents=question.documents,
        goals=question.goals,
    ).prompt()
