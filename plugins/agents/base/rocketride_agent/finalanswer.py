# SPDX-License-Identifier: MIT
"""The final answer where the question expects JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from rocketride_core import Json, Question

from .errors import AgentError
from .prompts import JSON_ANSWER
from .run import AgentRun

__all__ = ["finished", "read_json"]

FENCE = re.compile(r"```[ \t]*\w*[ \t]*\r?\n(.*?)```", re.DOTALL)


def finished(run: AgentRun, text: str) -> Json:
    """The answer as the question wants it: the text, or where it expects JSON its value.

    A text that is no JSON is given to the model once more, to write it as such; what it makes of it is validated by the model's
    own node, and again here.

    Raises:
        AgentError: it is still none.
    """
    if not run.question.expect_json:
        return text
    try:
        return read_json(text)
    except ValueError:
        run.retries += 1
    run.thinking("Writing the answer as JSON...")
    question = run.question
    texts: Sequence[str] = (*question.texts, f"The answer was found already. Write it as JSON:\n{text}")
    again = Question(
        texts,
        role=question.role,
        expect_json=True,
        instructions=(*question.instructions, ("JSON Answer", JSON_ANSWER)),
        examples=question.examples,
        goals=question.goals,
    )
    content = run.llm.ask(again).content
    if not isinstance(content, str):
        return content
    try:
        return read_json(content)
    except ValueError as error:
        raise AgentError(f"{run.node.id} was asked for JSON, and its answer is none ({error}): {text[:200]}") from error


def read_json(text: str) -> Json:
    """The JSON value of a text, or of the first code fence in it.

    Raises:
        ValueError: there is none.
    """
    fence = FENCE.search(text)
    try:
        return _strict(text)
    except ValueError:
        if fence is None:
            raise
    return _strict(fence[1])


def _strict(text: str) -> Json:
    value: Json = json.loads(text.strip(), parse_constant=_refuse)
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
