# SPDX-License-Identifier: MIT
"""What an object in flight occupies, and whether anything stays behind. Each sample is a fresh process, whose memory nobody else uses."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..judging import Row, raw
from ..measuring import Case, Options, Unmeasured, child

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
    warm = [open_one(opened, number) for number in range(count // 2)]  # these take the holes that imports left
    kept = [None] * count
    gc.collect()
    before = rss()
    for number in range(count):
        kept[number] = open_one(opened, number)
    print((rss() - before) / count)
    for flight in warm + kept:
        flight.finish()
"""
# Batches of 64, as an embedder gives them; `alone`: one by one, as a client's JSON is read.
EMBEDDINGS = """
import gc, sys
import numpy
from benchmarks.measuring import rss
from rocketride_core.payloads import vector
from rocketride_embedding_transformer.encoders import views
batches, how = int(sys.argv[1]), sys.argv[2]
matrix = numpy.linspace(0, 1, 64 * 384, dtype=numpy.float32).reshape(64, 384)
values = matrix[1].tolist()
make = {
    "core": lambda: views(matrix),
    "alone": lambda: [vector(values) for _ in range(64)],
    "list": lambda: [matrix[1].tolist() for _ in range(64)],
}[how]
warm = [make() for _ in range(batches // 2)]
kept = [None] * batches
gc.collect()
before = rss()
for number in range(batches):
    kept[number] = make()
print((rss() - before) / (64 * batches))
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
    count = 4000 if options.quick else 10_000
    one, twenty = _printed(FLIGHTS, count, 1), _printed(FLIGHTS, count, 21)
    # A line through the two: what is left where there are no nodes.
    yield {"core": lambda: one() - (twenty() - one()) / 20}


@contextmanager
def _node(options: Options) -> Iterator[Mapping[str, Case]]:
    count = 4000 if options.quick else 10_000
    yield {"core": lambda: (_printed(FLIGHTS, count, 21)() - _printed(FLIGHTS, count, 1)()) / 20}


@contextmanager
def _embedding(options: Options) -> Iterator[Mapping[str, Case]]:
    try:
        importlib.metadata.version("rocketride-embedding-transformer")
    except importlib.metadata.PackageNotFoundError:
        raise Unmeasured("rocketride-embedding-transformer is not installed") from None
    batches = 40 if options.quick else 160
    names = {"core": "core", "alone": "alone", "list of floats": "list"}
    yield {name: _printed(EMBEDDINGS, batches, how) for name, how in names.items()}


@contextmanager
def _growth(options: Options) -> Iterator[Mapping[str, Case]]:
    yield {"core": _printed(GROWTH, 20_000, 50_000 if options.quick else 1_000_000)}


ROWS = [
    Row("memory_entry", "memory of one object in flight beyond payloads and nodes", "B", _entry, raw(), 700, 450),
    Row("memory_node", "the same, for each node it passes", "B", _node, raw(), 180, 96),
    Row("embedding", "memory of a 384-d embedding in flight", "B", _embedding, raw(), 1800),
    Row("growth", "growth of resident memory over 1 M small objects, 10 nodes", "MiB", _growth, raw(1 << 20), 1, 0, rounds=1),
]
