# SPDX-License-Identifier: MIT
"""LLMNode: everything that language models have in common, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

import attrs

from rocketride_core import (
    ANSWERS,
    LLM,
    QUESTIONS,
    Caller,
    ChatModel,
    Instance,
    Message,
    Node,
    Problem,
    Question,
    hookimpl,
    on,
    serves,
)

from .asking import Asking
from .chat import Chat
from .config import LLMConfig
from .errors import LLMError
from .tokens import estimate
from .wire import Backend, Request

__all__ = ["LLMNode"]

C = TypeVar("C", bound=LLMConfig)
PROBE_SECONDS = 10.0


class LLMNode(Node[C]):
    """Questions to answers, and the control `llm`. A vendor's distribution writes `spec`, `vendor` and `connect`.

    Attributes:
        vendor: whom messages name.
        exact_tokens: `count_tokens` counts as the vendor does; False for an estimate.
        backend: the vendor's client, from `begin_global` to `end_global`.
    """

    vendor: ClassVar[str] = "the server"
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

    @property
    def native_tools(self) -> bool:
        """The model calls tools in its vendor's own format."""
        return True

    @property
    def secret(self) -> str:
        """The API key, which no message may repeat."""
        key = getattr(self.config, "api_key", None)
        return key.reveal() if key is not None else ""

    @on(QUESTIONS, emits=[ANSWERS])
    def answer(self, instance: Instance, question: Question) -> None:
        answer = Chat(self, instance).ask(question, on_token=lambda text: instance.event("token", text=text))
        instance.emit(ANSWERS, answer)

    @serves(LLM)
    def chat(self, instance: Instance, caller: Caller) -> ChatModel:
        return Chat(self, instance)

    @hookimpl
    def begin_global(self) -> None:
        self.backend = self.enter(self._connected())

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        """One question of one word, for an answer of a few tokens."""

        def nothing(error: LLMError, seconds: float) -> None: ...

        request = Request(messages=[Message("user", "Hi")], max_tokens=16, temperature=self.config.temperature)
        config = attrs.evolve(self.config, max_attempts=1)
        try:
            with self._connected() as backend:
                asking = Asking(backend, config, self.vendor, self.id, self.secret, nothing)
                self.wait(asking.ask(request, None, PROBE_SECONDS))
        except LLMError as error:
            yield Problem("$", "probe-failed", str(error), component=self.id)

    @contextmanager
    def _connected(self) -> Iterator[Backend]:
        try:
            backend = self.connect()
        except LLMError as error:
            error.vendor, error.model, error.component = self.vendor, self.config.model, self.id
            raise
        try:
            yield backend
        finally:
            self.wait(backend.close())
