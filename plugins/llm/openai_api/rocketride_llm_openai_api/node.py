# SPDX-License-Identifier: MIT
"""The node `llm_openai_api`, and the class for vendors whose API is compatible with OpenAI's."""

from __future__ import annotations

from typing import ClassVar, TypeVar
from urllib.parse import urlsplit

import attrs

from rocketride_core import NodeSpec, Profile, setting
from rocketride_llm import Backend, CloudConfig, LLMError, LLMNode

__all__ = ["CompatibleConfig", "CompatibleNode", "OpenAIAPI"]

ENDPOINT = "/chat/completions"


@attrs.frozen(kw_only=True)
class CompatibleConfig(CloudConfig):
    """A server that speaks Chat Completions."""

    base_url: str = setting(
        "",
        aliases=("baseURL", "baseUrl", "serverbase"),
        title="Base URL",
        doc="Where the API is, with /v1 at the end for most servers; empty is the vendor's own.",
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not self.address or "${" in self.address:  # a variable that is not set, which is reported
            return
        try:
            parts = urlsplit(self.address)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good:
            raise ValueError("Invalid base_url: it begins with http:// or https:// and names a host")

    @property
    def address(self) -> str:
        """The base URL without what people add to it."""
        return self.base_url.strip().rstrip("/").removesuffix(ENDPOINT)


C = TypeVar("C", bound=CompatibleConfig)


class CompatibleNode(LLMNode[C]):
    """A vendor whose API is compatible with OpenAI's.

    Attributes:
        address: the vendor's own base URL.
        needs_key: it answers nobody without an API key.
    """

    address: ClassVar[str] = ""
    needs_key: ClassVar[bool] = True

    def connect(self) -> Backend:
        """See `LLMNode.connect`.

        Raises:
            LLMError: the key is missing or cannot be sent.
        """
        from .backend import ChatCompletions
        from .client import client_for

        key, address = self.secret, self.config.address or self.address
        if not key and (self.needs_key or not self.config.address):
            other = "" if self.needs_key else ', or "base_url" for a server of your own'
            told = f'There is no API key for {self.vendor}; write "apikey" in the config of {self.id}, best as "${{ROCKETRIDE_…}}"{other}'
            raise LLMError("authentication", sentence=told)
        if "${" in key:
            told = (
                f"The API key for {self.vendor} is a variable that is not filled in; only those are that begin with ROCKETRIDE_"
            )
            raise LLMError("authentication", sentence=told)
        if not (key.isascii() and key.isprintable()) or " " in key:
            told = f"The API key for {self.vendor} has spaces or characters that no key has; was more copied than the key?"
            raise LLMError("authentication", sentence=told)
        proxy = self.config.proxy.reveal().strip()
        return ChatCompletions(client_for(address, key, self.config.timeout, proxy), self.config.model)

    @property
    def secret(self) -> str:
        """The API key without the line break that files end with."""
        return super().secret.strip()


class OpenAIAPI(CompatibleNode[CompatibleConfig]):
    """Any server with an OpenAI-compatible API; token counts are estimates."""

    spec = NodeSpec(
        "llm_openai_api",
        title="OpenAI-Compatible API",
        description="Answers questions with a model behind any server that speaks OpenAI's Chat Completions.",
        categories=["llm"],
        profiles=[Profile("custom", {"model": "", "modelTotalTokens": 32768, "apikey": ""}, title="A server of your choice")],
        tile=["Model: ${parameters.llm_openai_api.profile}"],
    )
    address = "https://api.openai.com/v1"
    needs_key = False
