# SPDX-License-Identifier: MIT
"""The node `llm_perplexity`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rocketride_core import Instance, NodeSpec, Profile
from rocketride_llm import Backend, Reply
from rocketride_llm_openai_api import CompatibleConfig, CompatibleNode

from .backend import Sonar, Sourced

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Perplexity"]

ENDED = "Perplexity ended this model on 15 December 2025; use the profile sonar-reasoning-pro."
# A report takes minutes, without a byte before its end where it does not stream.
PATIENT = {"timeout": 600.0, "maxTime": 1200.0}
# id, title, tokens of question and answer together, tokens of the answer, source; the id is the model, the first the default.
MODELS = (
    ("sonar", "Sonar", 127_072, 4_096, "manual"),
    ("sonar-pro", "Sonar Pro", 200_000, 8_000, "manual"),
    ("sonar-reasoning-pro", "Sonar Reasoning Pro", 128_000, 4_096, "manual"),
    ("sonar-reasoning", "Sonar Reasoning", 128_000, 4_096, "manual"),
    ("sonar-deep-research", "Sonar Deep Research", 128_000, 4_096, "manual"),
    ("sonar-pro-search", "Perplexity: Sonar Pro Search", 200_000, 8_000, "openrouter"),
)


def profiles() -> Iterator[Profile]:
    for id, title, total, output, source in MODELS:
        values: dict[str, Any] = {"model": id, "modelSource": source, "modelTotalTokens": total, "modelOutputTokens": output}
        values |= {"apikey": ""} | (PATIENT if id == "sonar-deep-research" else {})
        yield Profile(id, values, title=title, deprecated=ENDED if id == "sonar-reasoning" else "")


class Perplexity(CompatibleNode[CompatibleConfig]):
    """Perplexity's models, which search the web before they answer; token counts are estimates."""

    spec = NodeSpec(
        "llm_perplexity",
        title="Perplexity",
        description="Answers questions with Perplexity's models, which search the web.",
        categories=["llm"],
        profiles=list(profiles()),
        tile=["Model: ${parameters.llm_perplexity.profile}"],
    )
    vendor = "Perplexity"
    address = "https://api.perplexity.ai"
    own = "perplexity.ai"

    @property
    def native_tools(self) -> bool:
        """Perplexity ignores the tools that it is offered."""
        return False

    def talking(self, client: AsyncOpenAI) -> Backend:
        return Sonar(client, self.config.model)

    def replied(self, instance: Instance, reply: Reply) -> None:
        if isinstance(reply, Sourced) and reply.sources:
            instance.event("sources", sources=[dict(source) for source in reply.sources])
