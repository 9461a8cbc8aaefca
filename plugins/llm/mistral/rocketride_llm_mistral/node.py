# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urlsplit

import attrs

from rocketride_core import NodeSpec, setting
from rocketride_llm import Backend, CloudConfig, LLMError, LLMNode

from .profiles import PROFILES

__all__ = ["Mistral", "MistralConfig"]

OWN = "mistral.ai"
# How keys of others begin, that people have at hand.
OTHERS: Mapping[str, str] = {"sk-": "an OpenAI", "AI": "a Google AI/Gemini"}


@attrs.frozen(kw_only=True)
class MistralConfig(CloudConfig):
    """Which of Mistral's models, and the key to it."""

    temperature: float | None = setting(0.0, ge=0, le=1.5, title="Temperature", doc="0 is the most predictable.")

    @property
    def address(self) -> str:
        """The base URL without the version, which the client adds."""
        return super().address.removesuffix("/v1")


class Mistral(LLMNode[MistralConfig]):
    """Mistral AI's models, by La Plateforme or a gateway that speaks its API."""

    spec = NodeSpec(
        "llm_mistral",
        title="Mistral AI",
        description="Answers questions with Mistral AI's models.",
        categories=["llm"],
        profiles=PROFILES,
        tile=["Model: ${parameters.llm_mistral.profile}"],
    )
    vendor: ClassVar[str] = "Mistral AI"
    address: ClassVar[str] = "https://api.mistral.ai"

    def connect(self) -> Backend:
        from .backend import ChatComplete
        from .client import client_for

        config = self.config
        address = config.address or self.address
        host = urlsplit(address).hostname or ""
        if host == OWN or host.endswith(f".{OWN}"):  # a gateway has keys of its own
            for start, whose in OTHERS.items():
                if self.secret.startswith(start):
                    told = f"Invalid API key format. You seem to be using {whose} API key. Please provide a Mistral AI API key."
                    raise LLMError("authentication", sentence=told)
        return ChatComplete(client_for(address, self.secret, config.timeout, self.proxy), config.model)

    async def probe(self, backend: Backend) -> None:
        """Asks for the model's description, which costs nothing."""
        from .backend import ChatComplete

        assert isinstance(backend, ChatComplete)  # noqa: S101
        await backend.describe()
