# SPDX-License-Identifier: MIT
"""2,000 small texts, each an object of its own: split, embedded by a hash, into Chroma in a folder; beside a straight loop and beside other libraries.

The loop and the libraries use the same splitter's cuts, the same embedder and the same database. Each sample is a fresh process.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ..judging import Row, over
from ..measuring import Case, Options, Unmeasured, child

__all__ = ["ROWS"]

COUNT = 2_000
CODE = "import sys, warnings; warnings.simplefilter('ignore'); from pathlib import Path; from benchmarks.texts import main; main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))"
OURS = ("rocketride_splitter", "rocketride_preprocessor_langchain", "rocketride_embedding", "rocketride_store_chroma", "chromadb")
PEERS: Mapping[str, tuple[str, ...]] = {
    "LangChain": ("langchain_chroma", "langchain_text_splitters"),
    "LlamaIndex": ("llama_index.vector_stores.chroma", "langchain_text_splitters"),
    "Haystack": ("haystack_integrations.document_stores.chroma",),
}


def _sample(way: str, count: int) -> float:
    """CPU seconds; that as many chunks are there as by hand is checked."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        printed, _ = child(CODE, way, str(count), str(Path(folder) / "db"), env={"HAYSTACK_TELEMETRY_ENABLED": "False"})
    told = json.loads(printed.strip().splitlines()[-1])
    if told["chunks"] < count * 3:
        raise Unmeasured(f"{way} stored {told['chunks']} chunks of {count} texts")
    return float(told["cpu"])


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


@contextmanager
def _ingestion(options: Options) -> Iterator[Mapping[str, Case]]:
    if missing := [module for module in OURS if not _there(module)]:
        raise Unmeasured(f"{', '.join(missing)} is not installed")
    count = COUNT // 10 if options.quick else COUNT
    ways = {"core": "pipeline", "_hand": "hand"}
    ways |= {name: name for name, needs in PEERS.items() if all(map(_there, needs))}
    yield {case: functools.partial(_sample, way, count) for case, way in ways.items()}


ROWS = [
    Row(
        "ingestion",
        f"CPU of {COUNT:,} small texts: split, hash-embedded, into Chroma",
        "× straight loop",
        _ingestion,
        over("_hand"),
        1.05,
        1.02,
        rounds=1,  # a minute for each sample
    )
]
