# SPDX-License-Identifier: MIT
"""What one whole object costs: open, feed, flush, close, result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rocketride_core import TEXT, Entry, Packet, Pipeline

from .. import peers
from ..judging import Row, beyond, scaled
from ..measuring import Case, Options, timed
from ..pipes import diamond, line, pipeline
from .delivery import sender

__all__ = ["ROWS"]


def _function(value: str) -> str:
    return value


def _straight(n: int) -> None:
    for _ in range(n):
        result = [_function("abc")]
        assert result


def _fork(n: int) -> None:
    for _ in range(n):
        left, right = _function("abc"), _function("abc")
        result = [_function(left + right)]
        assert result


@contextmanager
def _one(options: Options) -> Iterator[Mapping[str, Case]]:
    with pipeline(line(1)) as opened:
        cases = {"core": timed(sender(opened, payloads=1), options), "functions": timed(_straight, options)}
        cases |= {name: timed(body, options) for name, body in peers.bodies("single")}
        yield cases


@contextmanager
def _diamond(options: Options) -> Iterator[Mapping[str, Case]]:
    with pipeline(diamond()) as opened:
        assert opened.run(Entry("object"), TEXT("abc"))[TEXT] == ["abcabc"]
        cases = {"core": timed(sender(opened, payloads=1), options), "functions": timed(_fork, options)}
        cases |= {name: timed(body, options) for name, body in peers.bodies("diamond")}
        yield cases


def _mapped(opened: Pipeline) -> Callable[[int], object]:
    def run(n: int) -> None:
        work: Iterator[tuple[Entry, list[Packet]]] = ((Entry("object"), [TEXT("abc")]) for _ in range(n))
        for result in opened.map(work):
            result.checked()

    return run


@contextmanager
def _map(options: Options) -> Iterator[Mapping[str, Case]]:
    with pipeline(line(1)) as opened:
        yield {"core": timed(_mapped(opened), options), "_run": timed(sender(opened, payloads=1), options)}


ROWS = [
    Row("object", "one object through one node, open to response", "µs", _one, scaled(1000), 5, 2),
    Row("diamond", "diamond with a join, whole object", "µs", _diamond, scaled(1000), 5, 1),
    Row("map", "one object over map, beyond run", "µs", _map, beyond("_run", 1000)),
]
