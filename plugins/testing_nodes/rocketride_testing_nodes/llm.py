# SPDX-License-Identifier: MIT
"""test_llm: answers without a model, always the same."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence

import attrs

from rocketride_core import (
    ANSWERS,
    LLM,
    QUESTIONS,
    Answer,
    Caller,
    ChatModel,
    Instance,
    Node,
    NodeSpec,
    Profile,
    Question,
    on,
    serves,
    setting,
)

__all__ = ["ScriptedLLM", "ScriptedLLMConfig"]


@attrs.frozen(kw_only=True)
class ScriptedLLMConfig:
    mode: str = setting(
        "echo", choices=("echo", "script"), title="Mode", doc="echo answers with the question, script with the answers below."
    )
    answers: tuple[str, ...] = setting(
        (), title="Answers", doc="Given one after the other, from the first one for each object. One question more is an error."
    )
    whole_prompt: bool = setting(
        False,
        key="wholePrompt",
        title="Echo the whole prompt",
        doc="Instructions, context and documents too, as a model would see them.",
    )
    context_length: int = setting(16384, key="modelTotalTokens", ge=1, unit="tokens", title="Context length")
    output_length: int = setting(4096, key="modelOutputTokens", ge=1, unit="tokens", title="Output length")


@attrs.define
class Position:
    """How many answers of the script one object has had."""

    next: int = 0
    lock: threading.Lock = attrs.field(factory=threading.Lock)


class ScriptedLLM(Node[ScriptedLLMConfig]):
    """A language model for tests and examples: it echoes, or follows a script.

    A token is a word. Events of kind `token` and the counters `input_tokens` and `output_tokens` come as from a real model.
    """

    spec = NodeSpec(
        "test_llm",
        title="Test LLM",
        description="Answers without a model: an echo, or a script.",
        categories=["llm"],
        profiles=[
            Profile("echo", {"mode": "echo"}, title="Answers with the question"),
            Profile("script", {"mode": "script"}, title="Answers one after the other"),
        ],
    )

    @on(QUESTIONS, emits=[ANSWERS])
    def answer(self, instance: Instance, question: Question) -> None:
        instance.emit(
            ANSWERS,
            Chat(self, instance, instance.state(Position)).ask(
                question, on_token=lambda text: instance.event("token", text=text)
            ),
        )

    @serves(LLM)
    def chat(self, instance: Instance, caller: Caller) -> ChatModel:
        return Chat(self, instance, instance.state(Position))


@attrs.frozen
class Chat:
    """The model as one instance of the node serves it."""

    node: ScriptedLLM
    instance: Instance
    position: Position

    @property
    def context_length(self) -> int:
        return self.node.config.context_length

    @property
    def output_length(self) -> int:
        return min(self.node.config.output_length, self.context_length)

    def count_tokens(self, text: str, /) -> int:
        return len(text.split())

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Callable[[str], None] | None = None) -> Answer:
        """The next answer. Where the question expects JSON, the text is read as JSON; a ValueError says where it is none."""
        text = self._text(question)
        for word in stop:
            if word:
                text = text.partition(word)[0]
        if on_token is not None:
            for token in re.findall(r"\s*\S+|\s+$", text):
                on_token(token)
        self.instance.count("input_tokens", self.count_tokens(question.prompt()))
        self.instance.count("output_tokens", self.count_tokens(text))
        if not question.expect_json:
            return Answer(text)
        try:
            return Answer(json.loads(text))
        except ValueError as error:
            raise ValueError(f"{self.node.id}: the question expects JSON, and the answer is none: {error}") from error

    def _text(self, question: Question) -> str:
        config = self.node.config
        if config.mode == "echo":
            return question.prompt() if config.whole_prompt else "\n".join(question.texts)
        with self.position.lock:
            number = self.position.next
            self.position.next += 1
        if number >= len(config.answers):
            raise ValueError(
                f"{self.node.id}: the script has {len(config.answers)} answers and this is question {number + 1} of the object; "
                'write more into "answers"'
            )
        return config.answers[number]
