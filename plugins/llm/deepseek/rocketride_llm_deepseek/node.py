# SPDX-License-Identifier: MIT
"""The node `llm_deepseek`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketride_core import NodeSpec
from rocketride_llm import Backend
from rocketride_llm_openai_api import CompatibleConfig, CompatibleNode

from .backend import Thinking
from .profiles import PROFILES

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["DeepSeek"]


class DeepSeek(CompatibleNode[CompatibleConfig]):
    """DeepSeek's models, from DeepSeek or any compatible server; only the vendor wants a key."""

    spec = NodeSpec(
        "llm_deepseek",
        title="Deepseek",
        description="Answers questions with DeepSeek's models.",
        categories=["llm"],
        profiles=PROFILES,
        tile=["Model: ${parameters.llm_deepseek.profile}"],
    )
    vendor = "DeepSeek"
    own = "deepseek.com"
    key_start = "sk-"
    wrong_key = "Invalid DeepSeek API key format, please check your API key."
    needs_address = (
        'DeepSeek serverbase is required: write "serverbase" in the config, where a server has this model; '
        "DeepSeek itself has those of the profiles deepseek-v4-flash and deepseek-v4-pro"
    )

    @property
    def needs_key(self) -> bool:
        return self.at_vendor

    def talking(self, client: AsyncOpenAI) -> Backend:
        return Thinking(client, self.config.model, at_vendor=self.at_vendor)
