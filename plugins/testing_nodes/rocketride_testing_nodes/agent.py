# SPDX-License-Identifier: MIT
"""test_agent: plays a script of tool calls, questions to its LLM, and memory operations, where an agent would follow a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import attrs

from rocketride_core import (
    ANSWERS,
    LLM,
    MANY,
    MEMORY,
    OPTIONAL,
    QUESTIONS,
    TOOL,
    Answer,
    Instance,
    Json,
    Node,
    NodeSpec,
    Param,
    Profile,
    Question,
    ToolError,
    on,
    setting,
    tool,
)

__all__ = ["ScriptedAgent", "ScriptedAgentConfig"]

# What a step does, and the keys that may stand beside that word.
STEPS: Mapping[str, frozenset[str]] = {
    "call": frozenset({"arguments", "timeout"}),
    "turn": frozenset(),
    "ask": frozenset(),
    "put": frozenset({"value"}),
    "get": frozenset(),
    "keys": frozenset(),
    "clear": frozenset(),
    "answer": frozenset(),
}
PLACE = re.compile(r"\{(input|last|\d+)\}")


@attrs.frozen(kw_only=True)
class ScriptedAgentConfig:
    script: tuple[Any, ...] = setting(
        (), title="Script", doc="The steps, one after the other; without any the answer is the question."
    )
    on_error: str = setting(
        "observe",
        key="onError",
        choices=("observe", "fail"),
        title="When a tool fails",
        doc="observe goes on with the error as the result of the call, as an agent does; fail ends the agent with it.",
    )

    def __attrs_post_init__(self) -> None:
        for number, step in enumerate(self.script):
            _check(f"script[{number}]", step)


def _check(at: str, step: Any) -> None:
    """ValueError says which step is wrong."""
    words = [word for word in STEPS if word in step] if isinstance(step, Mapping) else []
    if len(words) != 1:
        raise ValueError(f"{at} is an object with one of {', '.join(STEPS)}")
    word = words[0]
    further = sorted(step.keys() - {word} - STEPS[word])
    if further:
        raise ValueError(f"{at}: beside '{word}' stands {', '.join(sorted(STEPS[word])) or 'nothing'}, not {', '.join(further)}")
    if word == "turn":
        if not isinstance(step["turn"], Sequence) or isinstance(step["turn"], str):
            raise ValueError(f"{at}.turn is a list of calls")
        for number, call in enumerate(step["turn"]):
            if not isinstance(call, Mapping) or call.keys() - {"call", "arguments"} or not isinstance(call.get("call"), str):
                raise ValueError(f'{at}.turn[{number}] is {{"call": "<component id>.<tool>", "arguments": …}}')
    elif word not in ("keys", "clear") and not isinstance(step[word], str):
        raise ValueError(f"{at}.{word} is a text")
    elif word == "clear" and not isinstance(step["clear"], str | bool):
        raise ValueError(f"{at}.clear is a key, or true for all of them")


class ScriptedAgent(Node[ScriptedAgentConfig]):
    """An agent for tests and examples. What it does is written down, so that a run is the same every time.

    Called over a lane it answers there; as a tool (`run_agent`) it returns the answer. Events of kind `step` tell what it does.
    """

    spec = NodeSpec(
        "test_agent",
        title="Test Agent",
        description="Plays a script of tool calls, questions to its LLM, and memory operations.",
        categories=["agent"],
        needs={LLM: OPTIONAL, TOOL: MANY, MEMORY: OPTIONAL},
        profiles=[Profile("default", {})],
        tile=["run_agent"],
    )

    @on(QUESTIONS, emits=[ANSWERS])
    def answer(self, instance: Instance, question: Question) -> None:
        try:
            text = Play(self, instance, "\n".join(question.texts)).run()
        except Exception as error:  # noqa: BLE001 - an agent's failure is the entry's error, and what a chat user reads
            text = instance.report(error)
        instance.emit(ANSWERS, Answer(text))

    @tool(concurrent=True)
    def run_agent(self, instance: Instance, query: Annotated[str, Param("What the agent is asked", min_length=1)]) -> str:
        """Ask this agent; it answers with a text."""
        return Play(self, instance, query).run()


@attrs.define
class Play:
    """One run of the script; `results` has what each step gave."""

    node: ScriptedAgent
    instance: Instance
    question: str
    results: list[Any] = attrs.field(factory=list)

    def run(self) -> str:
        for step in self.node.config.script:
            word = next(word for word in STEPS if word in step)
            self.instance.event("step", step=word)
            self.results.append(getattr(self, word)(step))
            if word == "answer":
                break
        return text_of(self.results[-1]) if self.results else self.question

    def filled(self, value: Any) -> Any:
        """The value with `{input}`, `{last}` and `{0}`, `{1}`, … (results by number of step) replaced.

        A text that is nothing but such a place becomes the result itself, of whatever type.
        """
        if isinstance(value, str):
            whole = PLACE.fullmatch(value)
            return self.result(whole[1]) if whole else PLACE.sub(lambda found: text_of(self.result(found[1])), value)
        if isinstance(value, Mapping):
            return {key: self.filled(item) for key, item in value.items()}
        return [self.filled(item) for item in value] if isinstance(value, list | tuple) else value

    def result(self, place: str) -> Any:
        if place == "input":
            return self.question
        number = -1 if place == "last" else int(place)
        if number >= len(self.results) or not self.results:
            raise ValueError(f"{self.node.id}: '{{{place}}}' has no result yet: {len(self.results)} steps are done")
        return self.results[number]

    def text(self, value: str) -> str:
        return text_of(self.filled(value))

    # ---- the steps

    def call(self, step: Mapping[str, Any]) -> Any:
        try:
            return self.instance.tools.call(step["call"], self.filled(step.get("arguments", {})), timeout=step.get("timeout"))
        except ToolError as error:
            return self.observed(error)

    def turn(self, step: Mapping[str, Any]) -> list[Any]:
        calls = [(call["call"], self.filled(call.get("arguments", {}))) for call in step["turn"]]
        return [self.observed(told) if isinstance(told, ToolError) else told for told in self.instance.tools.call_all(calls)]

    def observed(self, error: ToolError) -> str:
        if self.node.config.on_error == "fail":
            raise error
        return f"{type(error).__name__}: {error}"

    def ask(self, step: Mapping[str, Any]) -> Json:
        return self.instance.one(LLM).ask(Question.of(self.text(step["ask"]))).content

    def put(self, step: Mapping[str, Any]) -> Any:
        value = self.filled(step.get("value", "{last}"))
        self.instance.one(MEMORY).put(self.text(step["put"]), value)
        return value

    def get(self, step: Mapping[str, Any]) -> Any:
        return self.instance.one(MEMORY).get(self.text(step["get"]))

    def keys(self, step: Mapping[str, Any]) -> list[str]:
        return list(self.instance.one(MEMORY).keys())

    def clear(self, step: Mapping[str, Any]) -> list[str]:
        key = step["clear"]
        return list(self.instance.one(MEMORY).clear(self.text(key) if isinstance(key, str) else None))

    def answer(self, step: Mapping[str, Any]) -> Any:
        return self.filled(step["answer"])


def text_of(value: Any) -> str:
    """A result as text: of an object with nothing but `result` that value, of a list its items line by line, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and value.keys() == {"result"}:
        return text_of(value["result"])
    if isinstance(value, list | tuple):
        return "\n".join(text_of(item) for item in value)
    return json.dumps(value, ensure_ascii=False, default=str)
