# SPDX-License-Identifier: MIT
"""Documents into a store, in a fresh process: through a pipeline, or by the loops of `by_hand` on the same client.

`python -m benchmarks.ingesting <store> <pipeline|hand> <count> <folder>` prints a JSON object: `cpu` and `wall` in seconds, of the
whole ingest from opening the database to closing it, imports left out; `grown` in bytes, the most that resident memory grew by.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import attrs
import numpy as np

from rocketride_core import DOCUMENTS, Document, Entry, Kernel, Node, NodeSpec
from rocketride_core.pipefile import Component, LaneLink, PipeFile

from .measuring import rss

__all__ = ["BATCH", "DIMENSION", "MODEL", "NAME", "STORES", "Batch", "batches", "imported", "pipe", "through_a_pipeline"]

BATCH, DIMENSION, MODEL, NAME = 500, 384, "bench", "BENCH"
TEXT = "The observatory keeps its oldest instruments in the western dome, where the air is dry and nobody smokes. " * 5

# The node of each store, and what it imports when it opens.
STORES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "store_memory": ("rocketride_store", "MemoryStore", ()),
    "chroma": ("rocketride_store_chroma", "Chroma", (".backend",)),
    "qdrant": ("rocketride_store_qdrant", "Qdrant", (".backend", "qdrant_edge")),
    "milvus": (
        "rocketride_store_milvus",
        "Milvus",
        (".backend", "milvus_lite.db", "milvus_lite.adapter.grpc.servicer"),
    ),
}
Watch = Callable[[], None]


class Embedded(Node[None]):
    """Feeds documents that have their vectors."""

    spec = NodeSpec("bench_embedded", title="Embedded", categories=["source", "embedding"], emits=[DOCUMENTS])


@attrs.frozen
class Batch:
    """500 texts of one object with their vectors, as an embedder gives them."""

    entry: Entry
    texts: list[str]
    vectors: list[memoryview]


def batches(count: int) -> Iterator[Batch]:
    """The same in every process."""
    numbers = np.random.default_rng(5)
    for at in range(0, count, BATCH):
        size = min(BATCH, count - at)
        matrix = numbers.standard_normal((size, DIMENSION), dtype=np.float32)
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        rows = memoryview(matrix.tobytes()).cast("B")
        width = DIMENSION * 4
        vectors = [rows[n * width : (n + 1) * width].cast("f") for n in range(size)]
        name = f"object {at // BATCH}.txt"
        yield Batch(Entry(name, path=f"corpus/{name}"), [f"{at + n}: {TEXT}" for n in range(size)], vectors)


def pipe(store: str, folder: Path) -> PipeFile:
    place = {} if store == "store_memory" else {"mode": "embedded", "path": str(folder)}
    config = {**place, "collection": NAME, "score": 0}
    return PipeFile(
        [Component("source", "bench_embedded"), Component("store", store, config, input=[LaneLink("documents", "source")])],
        "source",
    )


def through_a_pipeline(store: str, count: int, folder: Path, watch: Watch = lambda: None) -> None:
    package, name, _ = STORES[store]
    node = getattr(importlib.import_module(package), name)
    with Kernel(nodes=[Embedded, node]).load(pipe(store, folder)) as opened:
        for batch in batches(count):
            documents = [Document(text, {}, vector, MODEL) for text, vector in zip(batch.texts, batch.vectors, strict=True)]
            opened.run(batch.entry, DOCUMENTS(documents)).checked()
            watch()


def imported(store: str) -> None:
    """Import the client, as a program has it that opens its second pipeline.

    Raises:
        ImportError: the store, its client or its engine is not installed.
    """
    package, _, modules = STORES[store]
    importlib.import_module(package)
    for module in modules:
        importlib.import_module(module, package)


def main(store: str, how: str, count: int, folder: Path) -> None:
    from . import by_hand

    work = through_a_pipeline if how == "pipeline" else by_hand.ingest
    imported(store)
    gc.collect()
    before = most = rss()

    def watch() -> None:
        nonlocal most
        most = max(most, rss())

    wall, cpu = time.monotonic(), time.process_time()
    work(store, count, folder, watch)
    told = {"cpu": time.process_time() - cpu, "wall": time.monotonic() - wall, "grown": most - before}
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
