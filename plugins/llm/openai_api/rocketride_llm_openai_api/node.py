# SPDX-License-Identifier: MIT
"""The node `llm_openai_api`, and the class for vendors whose API is compatible with OpenAI's."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar
from urllib.parse import urlsplit

import attrs

from rocketride_core import NodeSpec, Profile, setting
from rocketride_llm import Backend, CloudConfig, LLMError, LLMNode

if TYPE_CHECKING:
    from openai import AsyncOpenAI

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

    @property
    def address(self) -> str:
        """The base URL without what people add to it."""
        return super().address.removesuffix(ENDPOINT)


C = TypeVar("C", bound=CompatibleConfig)


class CompatibleNode(LLMNode[C]):
    """A vendor whose API is compatible with OpenAI's; see `LLMNode` for what it says of itself.

    Attributes:
        own: the vendor's domain. Only there its keys begin with `key_start`; a gateway has keys of its own.
        wrong_key: what is said of a key that begins otherwise.
        needs_address: where there is neither a base URL nor an address of the vendor, this is said.
    """

    own: ClassVar[str] = ""
    key_start: ClassVar[str] = ""
    wrong_key: ClassVar[str] = ""
    needs_address: ClassVar[str] = ""

    @property
    def at_vendor(self) -> bool:
        """The vendor's own server is asked."""
        host = urlsplit(self.config.address or self.address).hostname or ""
        return host == self.own or host.endswith(f".{self.own}")

    def connect(self) -> Backend:
        from .client import client_for

        config = self.config
        address = config.address or self.address
        if not address:
            raise LLMError("invalid-request", sentence=self.needs_address)
        if self.key_start and self.at_vendor and not self.secret.startswith(self.key_start):
            raise LLMError("authentication", sentence=self.wrong_key)
        return self.talking(client_for(address, self.secret, config.timeout, self.proxy))

    def talking(self, client: AsyncOpenAI) -> Backend:
        """The backend on a client of this server."""
        from .backend import ChatCompletions

        return ChatCompletions(client, self.config.model)


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
    key_hint = ', or "base_url" for a server of your own'

    @property
    def needs_key(self) -> bool:
        return not self.config.address
