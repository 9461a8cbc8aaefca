# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from typing import ClassVar

import attrs

from rocketride_core import NodeSpec
from rocketride_llm import Backend, CloudConfig, LLMNode

from .profiles import profiles

__all__ = ["Gemini", "GeminiConfig"]


@attrs.frozen(kw_only=True)
class GeminiConfig(CloudConfig):
    """Which of Google's models, and the key to it."""


class Gemini(LLMNode[GeminiConfig]):
    """Gemini, by the Gemini API (Google AI Studio) or a gateway that speaks it."""

    spec = NodeSpec(
        "llm_gemini",
        title="Gemini",
        description="Answers questions with Google's Gemini models.",
        categories=["llm"],
        profiles=list(profiles(apikey="")),
        tile=["Model: ${parameters.llm_gemini.profile}"],
    )
    vendor: ClassVar[str] = "Gemini"
    address: ClassVar[str] = "https://generativelanguage.googleapis.com"

    def connect(self) -> Backend:
        from .backend import GenerateContent
        from .client import client_for, http_for

        config = self.config
        http = http_for(config.timeout, self.proxy)
        client = client_for(http, config.address or self.address, vertexai=False, api_key=self.secret)
        return GenerateContent(client, http, config.model)

    async def probe(self, backend: Backend) -> None:
        """Asks for the model's description, which costs nothing."""
        from .backend import GenerateContent

        assert isinstance(backend, GenerateContent)  # noqa: S101
        await backend.describe()
