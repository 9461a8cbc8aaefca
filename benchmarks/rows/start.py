# SPDX-License-Identifier: MIT
"""What it takes until something runs: import, discovery, opening."""

from __future__ import annotations

import importlib.metadata
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rocketride_core import Kernel

from .. import fake_site, peers
from ..judging import Row, over, scaled
from ..measuring import Case, Options, Unmeasured, child, fresh
from ..pipes import NODES

__all__ = ["ROWS"]

BASE = "import attrs, cattrs, pluggy, json"
FIRST = """
import sys
from rocketride_core import QUESTIONS, TEXT, Entry, Kernel
with Kernel().load(sys.argv[1]) as pipeline:
    assert pipeline.run(Entry("first"), TEXT("What is a lane?"))[QUESTIONS][0].texts == ("What is a lane?",)
"""
NEEDED = ("rocketride-sources", "rocketride-question", "rocketride-response")

# What discovery costs beyond `import rocketride_core`, which the row of the first result has: its imports count.
DISCOVER = """
import sys, time
import rocketride_core
from pathlib import Path
before = time.process_time_ns()
from rocketride_core.registry import Registry
found = Registry(path=[sys.argv[1]], cache=Path(sys.argv[2])).listings()
print(time.process_time_ns() - before)
assert len(found) == int(sys.argv[3]), len(found)
"""
SCAN = """
import sys, time
before = time.process_time_ns()
import importlib.metadata
sys.path.insert(0, sys.argv[1])
found = importlib.metadata.entry_points(group="rocketride.nodes")
print(time.process_time_ns() - before)
"""
LOAD_ALL = """
import sys, time
import rocketride_core
before = time.process_time_ns()
import pluggy
sys.path.insert(0, sys.argv[1])
pluggy.PluginManager("rocketride").load_setuptools_entrypoints("rocketride.nodes")
print(time.process_time_ns() - before)
"""


def _component(id: str, provider: str, lane: str = "", source: str = "") -> dict[str, object]:
    return {"id": id, "provider": provider, "config": {}, "input": [{"lane": lane, "from": source}] if lane else []}


def _written(folder: Path, components: Sequence[Mapping[str, object]]) -> Path:
    file = folder / "bench.pipe"
    file.write_text(json.dumps({"components": components, "source": components[0]["id"]}), encoding="utf-8")
    return file


@contextmanager
def _first(options: Options) -> Iterator[Mapping[str, Case]]:
    for name in NEEDED:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise Unmeasured(f"{name} is not installed") from None
    with tempfile.TemporaryDirectory() as folder:
        file = _written(
            Path(folder),
            [
                _component("webhook_1", "webhook"),
                _component("question_1", "question", "text", "webhook_1"),
                _component("response_1", "response_questions", "questions", "question_1"),
            ],
        )
        cases = {"core": fresh(FIRST, str(file)), "_base": fresh(BASE), "python": fresh("pass")}
        cases |= {name: fresh(code) for name, code in peers.programs()}
        yield cases


def _printed(code: str, *arguments: str) -> Case:
    return lambda: float(child(code, *arguments)[0])


@contextmanager
def _site(options: Options) -> Iterator[tuple[Path, str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        nodes = 50 if options.quick else 500
        yield fake_site.fill(Path(folder) / "site", nodes, nodes // 2), str(Path(folder) / "cache"), nodes


@contextmanager
def _warm(options: Options) -> Iterator[Mapping[str, Case]]:
    with _site(options) as (site, cache, nodes):
        arguments = str(site), cache, str(nodes)
        child(DISCOVER, *arguments)
        yield {
            "core": _printed(DISCOVER, *arguments),
            "entry_points": _printed(SCAN, str(site)),
            "pluggy": _printed(LOAD_ALL, str(site)),
        }


@contextmanager
def _stale(options: Options) -> Iterator[Mapping[str, Case]]:
    """The whole site has changed since the index was made: every row is read anew."""
    with _site(options) as (site, cache, nodes):
        age = 3600

        def core() -> float:
            nonlocal age
            age += 10
            fake_site.age(site, age)
            return float(child(DISCOVER, str(site), cache, str(nodes))[0])

        core()
        yield {"core": core}


@contextmanager
def _open(options: Options) -> Iterator[Mapping[str, Case]]:
    components = [_component("source", "bench_source")]
    for number in range(8):
        components.append(_component(f"forward_{number}", "bench_forward", "text", str(components[-1]["id"])))
    components.append(_component("last", "bench_respond", "text", str(components[-1]["id"])))
    kernel = Kernel(nodes=NODES)
    times = 3 if options.quick else 20
    with tempfile.TemporaryDirectory() as folder:
        file = _written(Path(folder), components)

        def core() -> float:
            spent = 0
            for _ in range(times):
                loading = kernel.load(file)
                before = time.process_time_ns()
                with loading:
                    spent += time.process_time_ns() - before
            return spent / times

        core()
        yield {"core": core}


ROWS = [
    Row(
        "first_result",
        "import, discover, first result, over importing what core needs",
        "×",
        _first,
        over("_base"),
        2.2,
        1.5,
        rounds=5,
    ),
    Row("discover_warm", "discovery with 500 node distributions, warm index", "ms", _warm, scaled(1e6), 25, 15),
    Row("discover_stale", "discovery with 500 node distributions, stale index", "ms", _stale, scaled(1e6), 150, 110),
    Row("open", "opening a pipeline of 10 light nodes, already imported", "ms", _open, scaled(1e6), 5, 1),
]
