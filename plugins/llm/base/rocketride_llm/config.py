# SPDX-License-Identifier: MIT
"""What models on servers can be told, language models and others."""

from __future__ import annotations

import re

import attrs

from rocketride_core import Secret, setting

from .addresses import is_address

__all__ = ["CloudConfig", "KeyConfig", "LLMConfig", "ServerConfig"]

# Beside URLs a variable, which may not be set yet. A pattern, as that says what is wrong and not what the secret value is.
PROXY = r"\s*((https?|socks5h?)://(\S+@)?(\[[\da-fA-F:]+\]|[^\s/@:\[\]]+)(:\d{1,5})?/?|.*\$\{.*|)\s*"
MODEL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:/@-]*")


@attrs.frozen(kw_only=True)
class ServerConfig:
    """A model on a server, and how patiently it is asked; a vendor's distribution adds where that is."""

    model: str = setting("", title="Model", doc="As the vendor calls it.")
    timeout: float = setting(
        120.0, ge=0.001, unit="s", title="Time limit of a request", doc="Longest wait for the server's next bytes."
    )
    max_time: float = setting(
        600.0, key="maxTime", ge=0.001, unit="s", title="Time limit of a question", doc="All attempts and waits together."
    )
    max_attempts: int = setting(
        5, key="maxAttempts", ge=1, title="Attempts", doc="On rate limits, time-outs, lost connections and faults of the server."
    )
    retry_delay: float = setting(
        1.0,
        key="retryDelay",
        ge=0,
        unit="s",
        title="First wait",
        doc="Doubled for each attempt, up to 60 s; what the server asks for wins.",
    )
    proxy: Secret = setting(
        Secret(),
        pattern=PROXY,
        title="Proxy",
        doc="URL of a proxy to go through; variables of the environment are not looked at.",
    )

    def __attrs_post_init__(self) -> None:
        if "${" in self.model:  # a variable that is not set, which is reported
            return
        if not self.model:
            raise ValueError("Model name was provided but is empty.")
        if not MODEL.fullmatch(self.model):
            raise ValueError("Invalid model name: it has letters, digits and . _ : / @ - and begins with a letter or digit")

    @property
    def address(self) -> str:
        """Where the server is, as the config says; "" is the vendor's own."""
        return ""


@attrs.frozen(kw_only=True, slots=False)  # two bases with slots cannot be bases of one class
class LLMConfig(ServerConfig):
    """What every language model can be told."""

    total_tokens: int = setting(
        16384, key="modelTotalTokens", ge=1, unit="tokens", title="Context length", doc="Question and answer together."
    )
    output_tokens: int = setting(
        4096, key="modelOutputTokens", ge=1, unit="tokens", title="Output length", doc="The longest answer."
    )
    temperature: float | None = setting(
        0.0, ge=0, le=2, title="Temperature", doc="0 is the most predictable; models that take none are not sent any."
    )
    model_source: str = setting("", key="modelSource", title="Source of the model", doc="Accepted and kept; changes nothing.")

    @property
    def longest_answer(self) -> int:
        """Tokens; never more than question and answer may have together."""
        return min(self.output_tokens, self.total_tokens)


@attrs.frozen(kw_only=True)
class KeyConfig(ServerConfig):
    """A server behind an API key."""

    api_key: Secret = setting(Secret(), key="apikey", title="API key")
    base_url: str = setting("", title="Base URL", doc="Where the API is, for a proxy or a gateway; empty is the vendor's own.")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        address = self.address
        if address and "${" not in address and not is_address(address):  # a variable that is not set is reported later
            raise ValueError("Invalid base_url: it begins with http:// or https:// and names a host")

    @property
    def address(self) -> str:
        return self.base_url.strip().rstrip("/")


@attrs.frozen(kw_only=True)
class CloudConfig(KeyConfig, LLMConfig):
    """A language model behind an API key."""
