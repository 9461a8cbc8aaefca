# SPDX-License-Identifier: MIT
"""Plugs the kernel into the executable model of the run-time rules (`check.Adapter` there)."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import attrs
import model_nodes
from model_nodes import LANES, LOG, NODES, make, text_of

from rocketride_core import Entry, Kernel, RunError, hookimpl
from rocketride_core.pipefile import PipeFile, parse_pipe


@attrs.define
class Outcome:
    trace: list[str]
    lanes: dict[str, list[str]]
    json: dict[str, Any]
    error: dict[str, str] | None
    notes: list[dict[str, str]]
    warnings: list[list[str]]


class CallLog:
    """The host plugin that logs tool calls."""

    @hookimpl(wrapper=True)
    def invoke_tool(self, instance: Any, name: str) -> Generator[None, Any, Any]:
        flight = instance.flight
        LOG.append((flight.entry.name if flight.parent is not None else "", "call", name))
        return (yield)


def failure(error: RunError) -> dict[str, str]:
    cause = error.__cause__
    text = (
        f"RunError {error.code}"
        if cause is None or (isinstance(cause, RunError) and cause.code)
        else f"{type(cause).__name__}: {cause}"
    )
    return {"component": error.component, "phase": error.phase, "lane": error.lane, "cause": text}


# Warnings of which the model does not speak: its graphs run all the same.
ADVICE = {"unreachable-component", "dead-end", "response-bypass"}


@attrs.define
class Loaded:
    pipeline: Any
    start: int
    error: RunError | None = None


class KernelUnderTest:
    def __init__(self) -> None:
        self.kernel = Kernel(nodes=NODES, plugins=[CallLog()], env={})
        self.loaded: Loaded | None = None

    def pipe(self, body: Mapping[str, Any]) -> PipeFile:
        read, problems = parse_pipe({**body, "components": [{"config": {}, **part} for part in body["components"]]})
        assert not [p for p in problems if p.severity == "error"], problems
        return read

    def check(self, pipe: Mapping[str, Any]) -> list[tuple[str, str, str, bool]]:
        found = self.kernel.check(self.pipe(pipe))
        return [(p.code, p.component, p.message, p.severity == "error") for p in found if p.code not in ADVICE]

    def load(self, pipe: Mapping[str, Any], limits: Mapping[str, int]) -> Loaded:
        model_nodes.OVERLAP.clear()
        start = len(LOG)
        try:
            return Loaded(self.kernel.open(self.pipe(pipe), **limits), start)
        except RunError as error:
            return Loaded(None, start, error)

    def begun(self, loaded: Loaded) -> tuple[list[str], dict[str, str] | None]:
        ids = [id for _, kind, id in LOG[loaded.start :] if kind == "begin"]
        return ids, failure(loaded.error) if loaded.error else None

    def run(self, loaded: Loaded, packets: Sequence[tuple[str, str]]) -> Outcome:
        start = len(LOG)
        result = loaded.pipeline.run(Entry("object"), *[LANES[lane](make(lane, text)) for lane, text in packets])
        trace = [f"{entry}: {kind} {text}" if entry else f"{kind} {text}" for entry, kind, text in LOG[start:]]
        lanes = {lane.name: [text_of(lane.name, p) for p in result[lane]] for lane in result.lanes}
        return Outcome(
            trace,
            lanes,
            shown_json(result),
            failure(result.error) if result.error else None,
            [failure(note) for note in result.notes],
            [[w.component, w.code] for w in result.warnings],
        )

    def close(self, loaded: Loaded) -> list[str]:
        if loaded.pipeline is not None:
            loaded.pipeline.close()
        return [id for _, kind, id in LOG[loaded.start :] if kind == "end"]


def shown_json(result: Any) -> dict[str, Any]:
    """The client's JSON with payloads as the model's strings, without the entry's own fields."""
    body = dict(result.to_json())
    for key in ("name", "path", "objectId", "error", "warnings", "metadata", "usage", "children"):
        body.pop(key, None)
    types = body.get("result_types", {})
    plain = {"questions": lambda q: q["questions"][0]["text"], "documents": lambda d: d["page_content"]}
    for key, lane in types.items():
        body[key] = [plain.get(lane, lambda value: value)(item) for item in body[key]]
    return body
