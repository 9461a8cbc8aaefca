# SPDX-License-Identifier: MIT
"""What an object in flight occupies, and whether anything stays behind. Each sample is a fresh process, whose memory nobody else uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..judging import Row, raw
from ..measuring import Case, Options, child

__all__ = ["ROWS"]

# The entry and its identity count; its payload, one string for all, does not.
FLIGHTS = """
import gc, sys
from benchmarks.measuring import rss
from benchmarks.pipes import line, pipeline
from rocketride_core import Entry
count, nodes = int(sys.argv[1]), int(sys.argv[2])

def open_one(opened, number):
    flight = opened.flight(Entry("object"))
    flight.open()
    return flight

with pipeline(line(nodes - 1)) as opened:
    kept = [open_one(opened, number) for number in range(500)]
    for flight in kept:
        flight.finish()
    kept = [None] * count
    gc.collect()
    before = rss()
    for number in range(count):
        kept[number] = open_one(opened, number)
    print((rss() - before) / count)
    for flight in kept:
        flight.finish()
"""
EMBEDDINGS = """
import gc, sys
from benchmarks.measuring import rss
from rocketride_core.payloads import vector
count = int(sys.argv[1])
values = [n / 384 for n in range(384)]
make = {"float32": lambda: vector(values), "list": lambda: [value + 0.0 for value in values]}[sys.argv[2]]
kept = [make() for _ in range(100)]
kept = [None] * count
gc.collect()
before = rss()
for number in range(count):
    kept[number] = make()
print((rss() - before) / count)
"""
GROWTH = """
import gc, sys
from benchmarks.measuring import rss
from benchmarks.pipes import line, pipeline
from benchmarks.rows.delivery import sender
warm, count = int(sys.argv[1]), int(sys.argv[2])
with pipeline(line(9)) as opened:
    send = sender(opened, payloads=1)
    send(warm)
    gc.collect()
    before = rss()
    send(count)
    gc.collect()
    print(max(0, rss() - before))
"""


def _printed(code: str, *arguments: object) -> Case:
    return lambda: float(child(code, *map(str, arguments))[0])


@contextmanager
def _entry(options: Options) -> Iterator[Mapping[str, Case]]:
    count = 1000 if options.quick else 10_000
    one, twenty = _printed(FLIGHTS, count, 1), _printed(FLIGHTS, count, 21)
    # A line through the two: what is left where there are no nodes.
    yield {"core": lambda: one() - (twenty() - one()) / 20}


@contextmanager
def _node(options: Options) -> Iterator[Mapping[str, Case]]:
    count = 1000 if options.quick else 10_000
    yield {"core": lambda: (_printed(FLIGHTS, count, 21)() - _printed(FLIGHTS, count, 1)()) / 20}


@contextmanager
def _embedding(options: Options) -> Iterator[Mapping[str, Case]]:
    count = 1000 if options.quick else 10_000
    yield {"core": _printed(EMBEDDINGS, count, "float32"), "list of floats": _printed(EMBEDDINGS, count, "list")}


@contextmanager
def _growth(options: Options) -> Iterator[Mapping[str, Case]]:
    yield {"core": _printed(GROWTH, 20_000, 50_000 if options.quick else 1_000_000)}


ROWS = [
    Row("memory_entry", "memory of one object in flight beyond payloads and nodes", "B", _entry, raw(), 700, 450),
    Row("memory_node", "the same, for each node it passes", "B", _node, raw(), 180, 96),
    Row("embedding", "memory of a 384-d embedding in flight", "B", _embedding, raw(), 1800),
    Row("growth", "growth of resident memory over 1 M small objects, 10 nodes", "MiB", _growth, raw(1 << 20), 1, 0, rounds=1),
]
