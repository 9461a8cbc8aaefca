# SPDX-License-Identifier: MIT
"""What traces cost: nothing while they are off, little while they are on."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rocketride_core import Json, Kernel

from ..judging import Row, beyond, scaled
from ..measuring import Case, Options, timed
from ..pipes import NODES, Drop, line, pipeline
from .delivery import native, sender

__all__ = ["ROWS"]

LENGTH = 50
PAYLOADS = 10


def _away(record: Mapping[str, Json]) -> None:
    """A host that looks at no record; what it does with one is its own cost."""


@contextmanager
def _off(options: Options) -> Iterator[Mapping[str, Case]]:
    run = native()

    def difference() -> float:
        found = run()
        return found["hop_with_tracing_off"] - found["hop"]

    yield {"core": difference}


@contextmanager
def _on(options: Options) -> Iterator[Mapping[str, Case]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernels = {
            "core": Kernel(nodes=NODES, trace="calls", trace_to=folder / "trace.jsonl"),
            "to a callable": Kernel(nodes=NODES, trace="calls", trace_to=_away),
            "_off": Kernel(nodes=NODES),
        }
        cases = {}
        for name, kernel in kernels.items():
            opened = stack.enter_context(pipeline(line(LENGTH - 1, Drop), kernel))
            cases[name] = timed(sender(opened, payloads=PAYLOADS), options, LENGTH * PAYLOADS)
        yield cases


ROWS = [
    Row("trace_off", "tracing off, per hop inside the kernel", "ns", _off, scaled(), 5, 2),
    Row("trace_on", "tracing on (calls, to a file), per hop", "ns", _on, beyond("_off"), 250, 100),
]
