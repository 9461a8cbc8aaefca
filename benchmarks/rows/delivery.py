# SPDX-License-Identifier: MIT
"""What one delivery costs, from node to node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rocketride_core import TEXT, Entry, Pipeline

from .. import peers
from ..judging import Row, over, scaled
from ..measuring import ROOT, Case, Options, Unmeasured, timed
from ..pipes import Drop, line, pipeline

__all__ = ["ROWS", "native", "sender"]

NODES = 50
PAYLOADS = 100  # of one object, so that opening and closing it weighs little


def sender(opened: Pipeline, payload: str = "abc", payloads: int = PAYLOADS) -> Callable[[int], object]:
    """Sends objects of that many payloads."""
    entry, packets = Entry("object"), [TEXT(payload)] * payloads

    def send(n: int) -> None:
        for _ in range(n):
            opened.run(entry, *packets)

    opened.run(entry, *packets).checked()
    return send


def functions() -> Callable[[int], object]:
    """The same job by hand: 50 functions, one after the other."""

    def make() -> Callable[[object], object]:
        def work(value: object) -> object:
            return value

        return work

    steps = [make() for _ in range(NODES)]

    def run(n: int) -> None:
        for _ in range(n):
            value: object = "abc"
            for step in steps:
                value = step(value)

    return run


@contextmanager
def _hop(options: Options) -> Iterator[Mapping[str, Case]]:
    with ExitStack() as stack:
        opened = stack.enter_context(pipeline(line(NODES - 1, Drop)))
        cases = {"core": timed(sender(opened), options, NODES * PAYLOADS), "functions": timed(functions(), options, NODES)}
        for name, body in peers.bodies("chain"):
            cases[name] = timed(body, options, NODES)
        yield cases


@contextmanager
def _payload(options: Options) -> Iterator[Mapping[str, Case]]:
    with pipeline(line(NODES - 1, Drop)) as opened:
        yield {
            "core": timed(sender(opened, "x" * (1 << 20)), options, NODES * PAYLOADS),
            "_small": timed(sender(opened, "x" * 100), options, NODES * PAYLOADS),
        }


def native() -> Callable[[], Mapping[str, float]]:
    """Builds the kernel's own benchmark where it is missing or old; each call runs it and gives ns by name."""
    source, header = ROOT / "native" / "tests" / "bench_hop.cpp", ROOT / "native" / "dispatch.hpp"
    program = ROOT / "build" / "bench_hop"
    if not program.exists() or program.stat().st_mtime < max(source.stat().st_mtime, header.stat().st_mtime):
        compiler = os.environ.get("CXX") or next(
            (found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), ""
        )
        if not compiler:
            raise Unmeasured("no C++ compiler on PATH; say which with CXX=")
        program.parent.mkdir(exist_ok=True)
        command = [compiler, "-std=c++17", "-O3", "-DNDEBUG", f"-I{header.parent}", str(source), "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unmeasured(f"{source.name} does not compile: {done.stderr.strip().partition(chr(10))[0]}")
    return lambda: _run(program)


def _run(program: Path) -> Mapping[str, float]:
    done = subprocess.run([str(program), "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unmeasured(f"{program.name}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    found: Mapping[str, float] = json.loads(done.stdout)
    return found


@contextmanager
def _kernel_hop(options: Options) -> Iterator[Mapping[str, Case]]:
    run = native()
    yield {"core": lambda: run()["hop"]}


ROWS = [
    Row("hop", "hop, Python node to Python node, 50 nodes", "× loop", _hop, over("loop"), 3.5, 2.3),
    Row("kernel_hop", "hop inside the kernel", "ns", _kernel_hop, scaled(), 15, 5),
    Row("payload", "hop with a 1 MB payload, over one of 100 B", "×", _payload, over("_small"), 1.2, 1.05),
]
