# SPDX-License-Identifier: MIT
"""LLMNode: everything that language models have in common, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import ClassVar, TypeVar

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

from .addresses import PROXIES, is_address, passwords, shown
from .asking import Asking
from .chat import Chat
from .config import CloudConfig, LLMConfig
from .errors import LLMError
from .tokens import estimate
from .wire import Backend, Reply, Request

__all__ = ["LLMNode"]

C = TypeVar("C", bound=LLMConfig)
PROBE_SECONDS = 10.0
SHORTEST = 4  # characters of a secret that is taken out of messages


class LLMNode(Node[C]):
    """Questions to answers, and the control `llm`. A vendor's distribution writes `spec`, `vendor` and `connect`.

    Attributes:
        vendor: whom messages name.
        address: the vendor's own base URL, where the config names no other.
        key_hint: ends the message that there is no API key, with what may be done instead.
        exact_tokens: `count_tokens` counts as the vendor does; False for an estimate.
        backend: the vendor's client, from `begin_global` to `end_global`.
    """

    vendor: ClassVar[str] = "the server"
    address: ClassVar[str] = ""
    key_hint: ClassVar[str] = ""
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

    @property
    def needs_key(self) -> bool:
        """The server answers nobody without an API key."""
        return isinstance(self.config, CloudConfig)

    @property
    def secret(self) -> str:
        """The API key, without the line break that files end with."""
        key = getattr(self.config, "api_key", None)
        return key.reveal().strip() if key is not None else ""

    @property
    def proxy(self) -> str:
        """URL of the proxy to go through; "" for none."""
        return self.config.proxy.reveal().strip()

    def asking(self, backend: Backend, on_retry: Callable[[LLMError, float], None] = lambda error, seconds: None) -> Asking:
        """Who is asked; messages have neither the key nor a password."""
        at = shown(self.config.address or self.address)
        hide = [*passwords(self.proxy), *passwords(self.config.address), self.secret]
        secrets = [secret for secret in hide if len(secret) >= SHORTEST]
        if at and self.proxy:
            at += " by way of the proxy"
        return Asking(backend, self.config, self.vendor, self.id, at, secrets, on_retry)

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
        """Asks the server as `probe` does, for 10 s at most."""
        try:
            with self._connected() as backend:
                self.wait(self.asking(backend).once(lambda: self.probe(backend), PROBE_SECONDS))
        except LLMError as error:
            yield Problem("$", "probe-failed", str(error), component=self.id)

    async def probe(self, backend: Backend) -> None:
        """One question of one word, for an answer of a few tokens."""
        await backend.chat(Request(messages=[Message("user", "Hi")], max_tokens=16, temperature=self.config.temperature), None)

    @contextmanager
    def _connected(self) -> Iterator[Backend]:
        try:
            self._check()
            backend = self.connect()
        except LLMError as error:
            error.vendor, error.model, error.component = self.vendor, self.config.model, self.id
            raise
        try:
            yield backend
        finally:
            self.wait(backend.close())

    def _check(self) -> None:
        """Refuses what cannot be sent, before a client library does, which might repeat it."""
        key, vendor = self.secret, self.vendor
        if not key and self.needs_key:
            told = f'There is no API key for {vendor}; write "apikey" in the config of {self.id}, best as "${{ROCKETRIDE_…}}"'
            raise LLMError("authentication", sentence=told + self.key_hint)
        places = {f"The API key for {vendor}": key, "The proxy": self.proxy, f"The address of {vendor}": self.config.address}
        for what, text in places.items():
            if "${" in text:
                told = f"{what} is a variable that is not filled in; only those are that begin with ROCKETRIDE_"
                raise LLMError("authentication" if text == key else "invalid-request", sentence=told)
        if not (key.isascii() and key.isprintable()) or " " in key:
            told = f"The API key for {vendor} has spaces or characters that no key has; was more copied than the key?"
            raise LLMError("authentication", sentence=told)
        if self.proxy and not is_address(self.proxy, PROXIES):
            raise LLMError("invalid-request", sentence="Invalid proxy: its URL names no host, or a port that there is not")
        if self.proxy.startswith("socks") and find_spec("socksio") is None:
            raise LLMError("invalid-request", sentence="A SOCKS proxy needs the package socksio; install it")
