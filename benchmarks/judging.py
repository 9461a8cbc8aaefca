# SPDX-License-Identifier: MIT
"""Rows: what is measured, how its samples become a figure, and the verdict."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager as Context
from statistics import median, quantiles

import attrs

from .measuring import Case, Options, Unmeasured, plain_loop, timed

__all__ = ["CORE", "LOOP", "REFERENCE", "Figure", "Outcome", "Row", "best", "beyond", "measure", "over", "raw", "scaled", "speed"]

CORE = "core"  # the case that is judged
LOOP = "loop"  # the case every row has: the yardstick, in ns per function call
REFERENCE = 28.0  # ns; what the yardstick took on the machine that the budgets were set on

Samples = Mapping[str, Sequence[float]]
Figure = Callable[[Samples, str], float]


def over(base: str) -> Figure:
    """How many times as much as another case."""
    return lambda samples, name: median(mine / its for mine, its in zip(samples[name], samples[base], strict=True))


def speed(base: str) -> Figure:
    """How many times as fast as another case."""
    return lambda samples, name: median(its / mine for mine, its in zip(samples[name], samples[base], strict=True))


def best(base: str) -> Figure:
    """How many times as fast as another case, the best round of each: for wall time, to which other programs only add."""
    return lambda samples, name: min(samples[base]) / min(samples[name])


def scaled(unit: float = 1) -> Figure:
    """A time as the reference machine would show it: in ns over `unit`."""
    return lambda samples, name: over(LOOP)(samples, name) * REFERENCE / unit


def beyond(base: str, unit: float = 1) -> Figure:
    """As `scaled`, of what a case takes more than another one."""

    def figure(samples: Samples, name: str) -> float:
        rounds = zip(samples[name], samples[base], samples[LOOP], strict=True)
        return median((mine - its) / loop for mine, its, loop in rounds) * REFERENCE / unit

    return figure


def raw(unit: float = 1) -> Figure:
    """A size: neither scaled nor compared."""
    return lambda samples, name: median(samples[name]) / unit


@attrs.frozen
class Row:
    """One line of the table.

    Parameters:
        name: for the command line.
        what: for the table.
        unit: of the figure and the budgets.
        setup: opens what is measured and gives its cases by name: `core` is judged, others are shown beside it in the same
            unit, those that begin with `_` are only compared with.
        figure: from all samples and the name of a case.
        budget, stretch: None: none is set.
        at_least: the budget is a lower limit.
        rounds: fewer than asked for, where a sample is long and steady.
    """

    name: str
    what: str
    unit: str
    setup: Callable[[Options], Context[Mapping[str, Case]]]
    figure: Figure
    budget: float | None = None
    stretch: float | None = None
    at_least: bool = False
    rounds: int = 0


@attrs.frozen
class Outcome:
    """What came of a row.

    Parameters:
        figure: the median over the rounds, None where it could not be measured.
        quartiles: of the figure, over the rounds.
        others: the same figure of the other cases.
        loop: the yardstick's median in ns.
        reason: why it could not be measured.
    """

    row: Row
    figure: float | None
    quartiles: tuple[float, float] = (0, 0)
    others: Mapping[str, float] = attrs.field(factory=dict)
    loop: float = 0
    reason: str = ""

    @property
    def verdict(self) -> str:
        if self.figure is None:
            return "not measured"
        if self._within(self.row.stretch):
            return "stretch"
        if self.row.budget is None:
            return "–"
        return "met" if self._within(self.row.budget) else "MISSED"

    @property
    def failed(self) -> bool:
        return self.verdict == "MISSED" or self.figure is None

    def _within(self, limit: float | None) -> bool:
        if limit is None or self.figure is None:
            return False
        return self.figure >= limit if self.row.at_least else self.figure <= limit


def measure(row: Row, options: Options) -> Outcome:
    """All cases of a row, in interleaved rounds, each round beginning with another case."""
    try:
        with row.setup(options) as opened:
            cases = {**opened, LOOP: timed(plain_loop, options, 50)}
            samples = _rounds(cases, min(row.rounds or options.rounds, options.rounds))
    except Unmeasured as error:
        return Outcome(row, None, reason=str(error))
    each = [row.figure({name: [values[n]] for name, values in samples.items()}, CORE) for n in range(len(samples[CORE]))]
    low, _, high = quantiles(each, n=4) if len(each) > 1 else (each[0], 0.0, each[0])
    others = {name: row.figure(samples, name) for name in samples if name not in (CORE, LOOP) and not name.startswith("_")}
    return Outcome(row, row.figure(samples, CORE), (low, high), others, median(samples[LOOP]))


def _rounds(cases: Mapping[str, Case], rounds: int) -> dict[str, list[float]]:
    names = list(cases)
    samples: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.freeze()  # the objects of other rows and peers are no work for the collector while we look at the clock
    try:
        for turn in range(rounds):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                samples[name].append(cases[name]())
    finally:
        gc.unfreeze()
    return samples
