# SPDX-License-Identifier: MIT
"""LLMNode: everything that language models have in common, once."""

from __future__ import annotations

from typing import TypeVar

from rocketride_core import (
    ANSWERS,
    LLM,
    QUESTIONS,
    Caller,
    ChatModel,
    Instance,
    Message,
    Question,
    on,
    serves,
)

from .chat import Chat
from .config import LLMConfig
from .remote import ServerNode
from .tokens import estimate
from .wire import Backend, Reply, Request

__all__ = ["LLMNode"]

C = TypeVar("C", bound=LLMConfig)


class LLMNode(ServerNode[C]):
    """Questions to answers, and the control `llm`. A vendor's distribution writes `spec`, `vendor` and `connect`.

    Attributes:
        exact_tokens: `count_tokens` counts as the vendor does; False for an estimate.
        backend: see `ServerNode`.
    """

    exact_tokens: bool = False
    backend: Backend

    def connect(self) -> Backend:
        """The vendor's client; called once, when the pipeline is loaded, and must not reach for the network.

        Raises:
            LLMError: it cannot be used so, for want of an API key say.
        """
        raise NotImplementedError(f"{type(self).__name__} has no connect(); return its Backend there")

    def count_tokens(self, text: str) -> int:
        return estimate(text)

    def replied(self, instance: Instance, reply: Reply) -> None:
        """Hears of every reply, on the thread that asked, before its text is used; for what else a vendor says in it."""

    @property
    def native_tools(self) -> bool:
        """The model calls tools in its vendor's own format."""
        return True

    @on(QUESTIONS, emits=[ANSWERS])
    def answer(self, instance: Instance, question: Question) -> None:
        answer = Chat(self, instance).ask(question, on_token=lambda text: instance.event("token", text=text))
        instance.emit(ANSWERS, answer)

    @serves(LLM)
    def chat(self, instance: Instance, caller: Caller) -> ChatModel:
        return Chat(self, instance)

    async def probe(self, backend: Backend) -> None:
        """One question of one word, for an answer of a few tokens."""
        await backend.chat(Request(messages=[Message("user", "Hi")], max_tokens=16, temperature=self.config.temperature), None)
