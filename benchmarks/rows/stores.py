# SPDX-License-Identifier: MIT
"""20,000 embedded documents into a store of this machine, through a pipeline, beside a loop written by hand on the same client.

The store in memory has no client: what its loop does takes next to nothing, and a ratio to that says nothing of a database. Its row is what
the base adds to each chunk in any store: numbers and ids, checks of vectors and metadata, sizes, and the count at the end.

Judged is CPU time, of all threads: wall time is shown beside it, and is mostly the disk's and the other programs'. Each sample is a pair of
fresh processes, one after the other; which goes first changes.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..judging import Row, Samples, raw, scaled
from ..measuring import Case, Options, Unmeasured, child

__all__ = ["ROWS", "Pairs"]

COUNT = 20_000
CODE = "import sys; from pathlib import Path; from benchmarks.ingesting import main; main(*sys.argv[1:3], int(sys.argv[3]), Path(sys.argv[4]))"
# What must be importable; the names of their distributions, for people.
NEEDED: Mapping[str, Mapping[str, str]] = {
    "store_memory": {"rocketride_store": "rocketride-store"},
    "chroma": {"rocketride_store_chroma": "rocketride-store-chroma", "chromadb": "chromadb"},
    "qdrant": {"rocketride_store_qdrant": "rocketride-store-qdrant", "qdrant_edge": "qdrant-edge-py"},
    "milvus": {"rocketride_store_milvus": "rocketride-store-milvus", "milvus_lite": "milvus-lite"},
}
FIGURES = ("cpu", "wall", "grown")
MORE = "more"


class Pairs:
    """Pairs of a pipeline and a loop: ratios of what they cost, and their difference in CPU as `more`, in ns a document.

    Each figure is of the least that each side cost in any pair so far: what disturbs a process only adds to it, and Chroma's own writes, for
    one, take a tenth more in one process than in the next.

    Parameters:
        store: which one.
        count: documents.
    """

    def __init__(self, store: str, count: int) -> None:
        self.store, self.count = store, count
        self.costs: dict[str, list[Mapping[str, float]]] = {"hand": [], "pipeline": []}
        self.taken = dict.fromkeys((*FIGURES, MORE), 0)

    def take(self, figure: str) -> float:
        """With the next pair; it is run when nobody has asked for another figure of it."""
        self.taken[figure] += 1
        return self._of(figure, self.taken[figure])

    def all(self, figure: str) -> float:
        """Over all pairs so far, at least one."""
        return self._of(figure, max(1, len(self.costs["hand"])))

    def _of(self, figure: str, pairs: int) -> float:
        if len(self.costs["hand"]) < pairs:
            self._run()
        hand, mine = (
            min(told["cpu" if figure == MORE else figure] for told in self.costs[how][:pairs]) for how in ("hand", "pipeline")
        )
        return (mine - hand) * 1e9 / self.count if figure == MORE else mine / hand

    def _run(self) -> None:
        for how in ("pipeline", "hand") if len(self.costs["hand"]) % 2 else ("hand", "pipeline"):
            self.costs[how].append(self._sample(how))

    def _sample(self, how: str) -> Mapping[str, Any]:
        with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
            printed, _ = child(CODE, self.store, how, str(self.count), str(Path(folder) / "store.db"))
        told: Mapping[str, Any] = json.loads(printed.strip().splitlines()[-1])
        return told


@functools.cache
def _pairs(store: str, count: int) -> Pairs:
    """Both rows of a store look at the same pairs."""
    return Pairs(store, count)


def _opened(store: str, options: Options) -> Pairs:
    missing = [name for module, name in NEEDED[store].items() if importlib.util.find_spec(module) is None]
    if missing:
        raise Unmeasured(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed")
    return _pairs(store, COUNT // 10 if options.quick else COUNT)


@contextmanager
def _time(store: str, options: Options) -> Iterator[Mapping[str, Case]]:
    pairs = _opened(store, options)
    yield {"core": lambda: pairs.take("cpu"), "wall": lambda: pairs.take("wall")}


@contextmanager
def _more(store: str, options: Options) -> Iterator[Mapping[str, Case]]:
    pairs = _opened(store, options)
    yield {"core": lambda: pairs.take(MORE)}


@contextmanager
def _memory(store: str, options: Options) -> Iterator[Mapping[str, Case]]:
    pairs = _opened(store, options)
    yield {"core": lambda: pairs.all("grown")}


def _last(samples: Samples, name: str) -> float:
    """A sample is of all pairs before it, too."""
    return samples[name][-1]


ROWS: list[Row] = [
    Row(
        "memory_store_write",
        f"CPU of the base for each of {COUNT:,} documents into store_memory, beyond a loop by hand",
        "µs",
        functools.partial(_more, "store_memory"),
        scaled(1000),
        10,
        rounds=5,
    )
]
for _store in NEEDED:
    _what = f"{COUNT:,} documents of 384 floats into {_store}"
    if _store != "store_memory":
        ROWS.append(
            Row(f"{_store}_write", f"CPU of {_what}", "× by hand", functools.partial(_time, _store), _last, 1.05, rounds=3)
        )
    ROWS.append(
        Row(
            f"{_store}_grown".replace("store_memory", "memory_store"),
            f"growth of resident memory by {_what}",
            "× by hand",
            functools.partial(_memory, _store),
            raw(),
            1.1,
            rounds=1,
        )
    )
