# SPDX-License-Identifier: MIT
"""What a router can be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import attrs

from rocketride_core import setting
from rocketride_llm import Kind, Meter

__all__ = ["Price", "Reason", "RouterConfig"]

# Kinds of LLMError, and `cost`: the ceiling would be exceeded.
Reason: TypeAlias = Literal[Kind, "cost"]
USUAL: Sequence[Reason] = ("rate-limit", "timeout", "connection", "unavailable")
MILLION = 1_000_000


@attrs.frozen(kw_only=True)
class Price:
    """What a million tokens cost, in any currency that is the same everywhere in the node's config."""

    input: float = setting(ge=0, title="Input", doc="A million tokens of questions.")
    output: float = setting(ge=0, title="Output", doc="A million tokens of answers.")
    cached: float | None = setting(
        None, ge=0, title="Cached input", doc="A million tokens that the vendor had read before; as `input` where not given."
    )

    def of(self, input: int, output: int, cached: int = 0) -> float:
        """The cost of so many tokens; `cached` are some of `input`."""
        known = self.input if self.cached is None else self.cached
        return ((input - cached) * self.input + cached * known + output * self.output) / MILLION

    def measured(self, meter: Meter) -> float:
        return self.of(meter.input, meter.output, min(meter.cached, meter.input))


@attrs.frozen(kw_only=True)
class RouterConfig:
    """Who is asked when, and for how much."""

    order: Sequence[str] = setting(
        [], title="Order", doc="Ids of the connected models, the first one first; those not named follow in file order."
    )
    switch_on: Sequence[Reason] = setting(
        list(USUAL), key="switchOn", title="Switch on", doc="Kinds of errors after which the next model is asked."
    )
    failures: int = setting(
        3,
        ge=1,
        title="Failures",
        doc="So many rate limits, time-outs or outages in a row, and a model is left alone for a while.",
    )
    cool_down: float = setting(
        30.0, key="coolDown", ge=0, unit="s", title="Cool-down", doc="How long it is left alone; then one question tries it."
    )
    max_cost: float = setting(
        0.0,
        key="maxCost",
        ge=0,
        title="Ceiling",
        doc="The most that one entry may cost, in the currency of the prices; 0 is no limit.",
    )
    answer_tokens: int = setting(
        0,
        key="answerTokens",
        ge=0,
        unit="tokens",
        title="Answer reckoned with",
        doc="Tokens of an answer that the ceiling reckons with beforehand; 0 is the model's longest, which no answer exceeds.",
    )
    prices: Mapping[str, Price] = setting({}, title="Prices", doc="By id of a connected model, for a million tokens.")
