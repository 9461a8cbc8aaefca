# SPDX-License-Identifier: MIT
"""The node `llm_xai`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rocketride_core import NodeSpec, Profile
from rocketride_llm import Backend
from rocketride_llm_openai_api import CompatibleConfig, CompatibleNode

from .backend import Grok

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["XAI"]

ENDED = 'xAI ended this model on 15 May 2026; use the profile custom with the model "grok-4.3".'
# id, title, model, tokens of question and answer together, tokens of the answer; the first is the default.
ENDED_MODELS = (
    ("grok-3", "Grok 3", "grok-3", 131_072, 131_072),
    ("grok-4-1-fast-reasoning", "Grok 4.1 Fast", "grok-4-1-fast-reasoning", 2_000_000, 4_096),
    ("grok-4-1-fast-non-reasoning", "Grok 4.1 Fast Non-Reasoning", "grok-4-1-fast-non-reasoning", 2_000_000, 4_096),
    ("grok-code-fast-1", "Grok Code Fast 1", "grok-code-fast-1", 256_000, 10_000),
    ("grok-4-fast-reasoning", "Grok 4 Fast", "grok-4-fast-reasoning", 2_000_000, 4_096),
    ("grok-4-fast-non-reasoning", "Grok 4 Fast Non-Reasoning", "grok-4-fast-non-reasoning", 2_000_000, 4_096),
    ("grok-4", "Grok 4", "grok-4-0709", 256_000, 256_000),
)
MODELS = (("grok-3-mini", "Grok 3 Mini", "grok-3-mini", 131_072, 131_072),)
LISTED_MODELS = (
    ("grok-3-beta", "xAI: Grok 3 Beta", "grok-3-beta", 131_072, 131_072),
    ("grok-3-mini-beta", "xAI: Grok 3 Mini Beta", "grok-3-mini-beta", 131_072, 131_072),
    ("grok-4-1-fast", "xAI: Grok 4.1 Fast", "grok-4.1-fast", 2_000_000, 30_000),
    ("grok-4-20", "xAI: Grok 4.20", "grok-4.20", 2_000_000, 4_096),
    ("grok-4-20-multi-agent", "xAI: Grok 4.20 Multi-Agent", "grok-4.20-multi-agent", 2_000_000, 4_096),
    ("grok-4-fast", "xAI: Grok 4 Fast", "grok-4-fast", 2_000_000, 30_000),
)


def profiles() -> Iterator[Profile]:
    for models, source in ((ENDED_MODELS, "manual"), (MODELS, "manual"), (LISTED_MODELS, "openrouter")):
        for id, title, model, total, output in models:
            values: dict[str, Any] = {
                "model": model,
                "modelSource": source,
                "modelTotalTokens": total,
                "modelOutputTokens": output,
            }
            values |= {"apikey": ""} if models is LISTED_MODELS else {}
            yield Profile(id, values, title=title, deprecated=ENDED if models is ENDED_MODELS else "")
    yield Profile("custom", {"model": "", "modelTotalTokens": 131_072}, title="Custom Model")


class XAI(CompatibleNode[CompatibleConfig]):
    """xAI's models; token counts are estimates."""

    spec = NodeSpec(
        "llm_xai",
        title="xAI",
        description="Answers questions with xAI's Grok models.",
        categories=["llm"],
        profiles=list(profiles()),
        tile=["Model: ${parameters.llm_xai.profile}"],
    )
    vendor = "xAI"
    address = "https://api.x.ai/v1"
    own = "x.ai"
    key_start = "xai-"
    wrong_key = "Invalid XAI API key format, please check your API key."

    def talking(self, client: AsyncOpenAI) -> Backend:
        return Grok(client, self.config.model)
