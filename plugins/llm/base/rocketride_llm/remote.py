# SPDX-License-Identifier: MIT
"""ServerNode: what nodes have in common that ask a model on a server, a language model or another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, ClassVar, TypeVar

from rocketride_core import Node, Problem, hookimpl

from .addresses import PROXIES, is_address, passwords, shown
from .asking import Asking
from .config import KeyConfig, ServerConfig
from .errors import LLMError
from .wire import Client

__all__ = ["ServerNode"]

C = TypeVar("C", bound=ServerConfig)
PROBE_SECONDS = 10.0
SHORTEST = 4  # characters of a secret that is taken out of messages


class ServerNode(Node[C]):
    """A vendor's client from `begin_global` to `end_global`. A subclass writes `vendor`, `connect` and `probe`.

    Attributes:
        vendor: whom messages name.
        address: the vendor's own base URL, where the config names no other.
        key_hint: ends the message that there is no API key, with what may be done instead.
        backend: the vendor's client, from `begin_global` to `end_global`.
    """

    vendor: ClassVar[str] = "the server"
    address: ClassVar[str] = ""
    key_hint: ClassVar[str] = ""
    backend: Client

    def connect(self) -> Client:
        """The vendor's client; called once, when the pipeline is loaded, and must not reach for the network.

        Raises:
            LLMError: it cannot be used so, for want of an API key say.
        """
        raise NotImplementedError(f"{type(self).__name__} has no connect(); return its client there")

    @property
    def needs_key(self) -> bool:
        """The server answers nobody without an API key."""
        return isinstance(self.config, KeyConfig)

    @property
    def secret(self) -> str:
        """The API key, without the line break that files end with."""
        key = getattr(self.config, "api_key", None)
        return key.reveal().strip() if key is not None else ""

    @property
    def proxy(self) -> str:
        """URL of the proxy to go through; "" for none."""
        return self.config.proxy.reveal().strip()

    def asking(self, backend: Any, on_retry: Callable[[LLMError, float], None] = lambda error, seconds: None) -> Asking[Any]:
        """Who is asked; messages have neither the key nor a password."""
        at = shown(self.config.address or self.address)
        hide = [*passwords(self.proxy), *passwords(self.config.address), self.secret]
        secrets = [secret for secret in hide if len(secret) >= SHORTEST]
        if at and self.proxy:
            at += " by way of the proxy"
        return Asking(backend, self.config, self.vendor, self.id, at, secrets, on_retry)

    @hookimpl
    def begin_global(self) -> None:
        self.backend = self.enter(self._connected())

    @hookimpl
    def prepare_global(self) -> None:
        """A client that is made, and asks nothing, has imported what it needs."""
        with suppress(LLMError), self._connected():
            pass

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        """Asks the server as `probe` does, for 10 s at most."""
        try:
            with self._connected() as backend:
                self.wait(self.asking(backend).once(lambda: self.probe(backend), PROBE_SECONDS))
        except LLMError as error:
            yield Problem("$", "probe-failed", str(error), component=self.id)

    async def probe(self, backend: Any) -> None:
        """The smallest request that shows whether the server would answer."""
        raise NotImplementedError(f"{type(self).__name__} has no probe(); ask the server something small there")

    @contextmanager
    def _connected(self) -> Iterator[Client]:
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
