# SPDX-License-Identifier: MIT
"""Haystack: a Pipeline of components, run once an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import LENGTH

NAME, NEEDS = "Haystack", "haystack-ai"

PROGRAM = """
from haystack import Pipeline, component
@component
class Step:
    @component.output_types(value=str)
    def run(self, value: str):
        return {"value": value}
pipeline = Pipeline()
pipeline.add_component("step", Step())
assert pipeline.run({"step": {"value": "abc"}}) == {"step": {"value": "abc"}}
"""


def _classes() -> tuple[Any, Any]:
    from haystack import component  # type: ignore[import-not-found, unused-ignore]

    class Step:
        def run(self, value: str) -> dict[str, str]:
            return {"value": value}

    class Join:
        def run(self, left: str, right: str) -> dict[str, str]:
            return {"value": left + right}

    # The annotations of this module are strings; component reads classes.
    Step.run.__annotations__ = {"value": str}
    Join.run.__annotations__ = {"left": str, "right": str}
    for cls in (Step, Join):
        cls.run = component.output_types(value=str)(cls.run)  # type: ignore[method-assign, unused-ignore]
    return component(Step), component(Join)


def _runner(pipeline: Any, data: dict[str, dict[str, str]]) -> Callable[[int], object]:
    def run(n: int) -> None:
        for _ in range(n):
            pipeline.run(data)

    return run


def _line(length: int) -> Callable[[int], object]:
    from haystack import Pipeline  # type: ignore[import-not-found, unused-ignore]

    step, _ = _classes()
    pipeline = Pipeline(max_runs_per_component=1000)
    for number in range(length):
        pipeline.add_component(f"n{number}", step())
        if number:
            pipeline.connect(f"n{number - 1}.value", f"n{number}.value")
    return _runner(pipeline, {"n0": {"value": "abc"}})


def chain() -> Callable[[int], object]:
    return _line(LENGTH)


def single() -> Callable[[int], object]:
    return _line(1)


def diamond() -> Callable[[int], object]:
    from haystack import Pipeline  # type: ignore[import-not-found, unused-ignore]

    step, join = _classes()
    pipeline = Pipeline()
    pipeline.add_component("join", join())
    for name in ("left", "right"):
        pipeline.add_component(name, step())
        pipeline.connect(f"{name}.value", f"join.{name}")
    return _runner(pipeline, {"left": {"value": "abc"}, "right": {"value": "abc"}})
