# SPDX-License-Identifier: MIT
"""The node `llm_openai_api`, and the class for vendors whose API is compatible with OpenAI's."""

from __future__ import annotations

from typing import TypeVar

import attrs

from rocketride_core import NodeSpec, Profile, setting
from rocketride_llm import Backend, CloudConfig, LLMNode

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
    """A vendor whose API is compatible with OpenAI's; see `LLMNode` for what it says of itself."""

    def connect(self) -> Backend:
        from .backend import ChatCompletions
        from .client import client_for

        config = self.config
        client = client_for(config.address or self.address, self.secret, config.timeout, self.proxy)
        return ChatCompletions(client, config.model)


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
