# SPDX-License-Identifier: MIT
"""The node `llm_openai`."""

from __future__ import annotations

from rocketride_core import NodeSpec
from rocketride_llm import Backend
from rocketride_llm_openai_api import CompatibleConfig, CompatibleNode

from .encodings import count, encoding_of
from .profiles import PROFILES

__all__ = ["OpenAI"]


class OpenAI(CompatibleNode[CompatibleConfig]):
    """OpenAI's models; tokens are counted with OpenAI's own vocabularies."""

    spec = NodeSpec(
        "llm_openai",
        title="OpenAI",
        description="Answers questions with OpenAI's models.",
        categories=["llm"],
        profiles=PROFILES,
        tile=["Model: ${parameters.llm_openai.profile}"],
    )
    vendor = "OpenAI"
    address = "https://api.openai.com/v1"
    exact_tokens = True

    def connect(self) -> Backend:
        self.exact_tokens = encoding_of(self.config.model) is not None
        return super().connect()

    def count_tokens(self, text: str) -> int:
        """Exact for OpenAI's models; for another model behind a gateway as if it were one of the newer ones."""
        return count(text, encoding_of(self.config.model) or "o200k_base")
