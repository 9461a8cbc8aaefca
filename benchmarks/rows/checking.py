# SPDX-License-Identifier: MIT
"""What it costs to load and check a file that is as large as people draw them."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from rocketride_core import Component, Kernel, LaneLink, Node, NodeSpec, PipeFile, Profile, Secret, setting
from rocketride_core.pipefile import dump_pipe

from ..judging import Row, scaled
from ..measuring import Case, Options
from ..pipes import NODES

__all__ = ["ROWS"]

COMPONENTS = 38


@attrs.frozen(kw_only=True)
class SpeakerConfig:
    """As large as a language model's."""

    model: str = setting("a", pattern="[a-z0-9-]+")
    apikey: Secret = setting(Secret())
    base_url: str = setting("")
    total_tokens: int = setting(4096, key="modelTotalTokens", ge=1)
    temperature: float = setting(0.5, ge=0, le=2)
    instructions: tuple[str, ...] = setting(())
    stop: tuple[str, ...] = setting(())
    timeout: float = setting(60.0, ge=0.1)


class Speaker(Node[SpeakerConfig]):
    spec = NodeSpec(
        "bench_speaker",
        title="Speaker",
        emits=NODES[0].spec.emits,
        profiles=[Profile("small", {}), Profile("large", {"model": "b"})],
    )


def _pipe() -> PipeFile:
    """A line of forwarders, and at each third one a node with a large config that is called by none."""
    block = {
        "apikey": "${ROCKETRIDE_BENCH_KEY:-none}",
        "instructions": ["Answer in one sentence. " * 40] * 4,
        "modelTotalTokens": "8192",
    }
    parts = [Component("source", "bench_source")]
    last = "source"
    for number in range(COMPONENTS - 2):
        if number % 3:
            parts.append(
                Component(f"speaker_{number}", "bench_speaker", {"profile": "large", "large": block, "type": "x", "name": "N"})
            )
        else:
            parts.append(Component(f"forward_{number}", "bench_forward", input=[LaneLink("text", last)]))
            last = f"forward_{number}"
    return PipeFile([*parts, Component("last", "bench_respond", input=[LaneLink("text", last)])], "source")


@contextmanager
def _check(options: Options) -> Iterator[Mapping[str, Case]]:
    kernel = Kernel(nodes=[*NODES, Speaker], env={})
    times = 2 if options.quick else 10
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.pipe"
        written: dict[str, Any] = json.loads(dump_pipe(_pipe()))
        for component in written["components"]:
            component["ui"] = {"position": {"x": 1.5, "y": 2.5}, "measured": {"width": 150, "height": 66}, "nodeType": "default"}
        file.write_text(json.dumps(written, indent=2), encoding="utf-8")

        def core() -> float:
            before = time.process_time_ns()
            for _ in range(times):
                problems = kernel.check(file)
            assert {p.code for p in problems} == {"unreachable-component"}, problems
            return (time.process_time_ns() - before) / times

        core()
        yield {"core": core}


ROWS = [Row("check", f"loading and checking a file of {COMPONENTS} components", "ms", _check, scaled(1e6), 20, 10, rounds=5)]
