# SPDX-License-Identifier: MIT
"""The node and its profiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs

from rocketride_core import Arguments, NodeSpec, Profile, setting
from rocketride_llm import Backend, CloudConfig, LLMError, LLMNode

__all__ = ["Anthropic", "AnthropicConfig"]

# The id is the model's name: title, tokens of the context, tokens of the longest answer, source, when it ends.
MODELS = {
    "claude-sonnet-4-6": ("Claude Sonnet 4.6", 1_000_000, 128_000, "manual", ""),
    "claude-opus-4-6": ("Claude Opus 4.6", 1_000_000, 128_000, "manual", ""),
    "claude-haiku-4-5": ("Claude Haiku 4.5", 200_000, 64_000, "manual", ""),
    "claude-sonnet-4-5": ("Claude Sonnet 4.5", 1_000_000, 64_000, "manual", "30 November 2026; use claude-sonnet-4-6."),
    "claude-opus-4-5": ("Claude Opus 4.5", 200_000, 64_000, "manual", "22 January 2027; use claude-opus-4-6."),
    "claude-opus-4-7": ("Anthropic: Claude Opus 4.7", 1_000_000, 128_000, "openrouter", ""),
}


def profiles() -> Iterator[Profile]:
    for model, (title, total, output, source, end) in MODELS.items():
        values: Arguments = {
            "model": model,
            "modelSource": source,
            "modelTotalTokens": total,
            "modelOutputTokens": output,
            "apikey": "",
        }
        yield Profile(model, values, title=title, deprecated=f"Anthropic ends this model on {end}" if end else "")
    yield Profile("custom", {"model": "", "modelTotalTokens": 200_000, "apikey": ""}, title="Custom")


@attrs.frozen(kw_only=True)
class AnthropicConfig(CloudConfig):
    """Which of Anthropic's models, and the key to it."""

    temperature: float | None = setting(
        0.0,
        ge=0,
        le=1,
        title="Temperature",
        doc="0 is the most predictable, 1 the least; models that take none are not sent any.",
    )


class Anthropic(LLMNode[AnthropicConfig]):
    """Claude, by Anthropic's Messages API or a gateway that speaks it."""

    spec = NodeSpec(
        "llm_anthropic",
        title="Anthropic",
        description="Answers questions with Anthropic's Claude models.",
        categories=["llm"],
        profiles=list(profiles()),
        tile=["Model: ${parameters.llm_anthropic.profile}"],
    )
    vendor: ClassVar[str] = "Anthropic"
    address: ClassVar[str] = "https://api.anthropic.com"

    def connect(self) -> Backend:
        from .backend import MessagesBackend

        key, config = self.secret, self.config
        if not config.address and not key.startswith("sk-ant"):
            raise LLMError("authentication", sentence="Invalid Anthropic API key format, please check your API key.")
        return MessagesBackend(
            key=key, model=config.model, base_url=config.address or self.address, timeout=config.timeout, proxy=self.proxy
        )
