# SPDX-License-Identifier: MIT
"""Hears what language models count, while they are asked: for whoever stands between a caller and several models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import attrs

__all__ = ["Meter", "measured", "metered"]


@attrs.define
class Meter:
    """Sums over the requests that were answered while it was open.

    Attributes:
        requests: how many; 0 where the model is none of this base's, which tells nothing.
        input, output, cached: tokens, as in `Usage`.
        estimated: the vendor did not count some of them, the base did.
    """

    requests: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    estimated: bool = False


OPEN: ContextVar[tuple[Meter, ...]] = ContextVar("rocketride_llm_meters", default=())


@contextmanager
def metered() -> Iterator[Meter]:
    """Inside, what language models of this base count on this thread is added to the meter too, also before an ask fails."""
    meter = Meter()
    before = OPEN.set((*OPEN.get(), meter))
    try:
        yield meter
    finally:
        OPEN.reset(before)


def measured(input: int, output: int, cached: int = 0, *, estimated: bool = False) -> None:
    """Tells the meters of one answered request."""
    for meter in OPEN.get():
        meter.requests += 1
        meter.input += input
        meter.output += output
        meter.cached += cached
        meter.estimated = meter.estimated or estimated
