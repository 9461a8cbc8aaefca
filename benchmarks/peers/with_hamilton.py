# SPDX-License-Identifier: MIT
"""Hamilton: a driver over functions, executed once an object with its plainest result builder."""

from __future__ import annotations

from collections.abc import Callable

from . import LENGTH

NAME, NEEDS = "Hamilton", "sf-hamilton"

PROGRAM = """
from hamilton import ad_hoc_utils, base, driver
def step(value: str) -> str:
    return value
module = ad_hoc_utils.create_temporary_module(step, module_name="bench_first")
found = driver.Driver({}, module, adapter=base.DefaultAdapter())
assert found.execute(["step"], inputs={"value": "abc"}) == {"step": "abc"}
"""


def _driver(source: str, wanted: str, name: str) -> Callable[[int], object]:
    from hamilton import ad_hoc_utils, base, driver  # type: ignore[import-not-found, unused-ignore]

    functions: dict[str, object] = {}
    exec(source, functions)  # Hamilton wires functions by their names, so a line of 50 needs 50 names
    steps = [function for key, function in functions.items() if not key.startswith("__")]
    module = ad_hoc_utils.create_temporary_module(*steps, module_name=name)
    found = driver.Driver({}, module, adapter=base.DefaultAdapter())

    def run(n: int) -> None:
        for _ in range(n):
            found.execute([wanted], inputs={"value": "abc"})

    return run


def _line(length: int) -> Callable[[int], object]:
    before, lines = "value", []
    for number in range(length):
        lines.append(f"def n{number}({before}: str) -> str:\n    return {before}\n")
        before = f"n{number}"
    return _driver("\n".join(lines), before, f"bench_line_{length}")


def chain() -> Callable[[int], object]:
    return _line(LENGTH)


def single() -> Callable[[int], object]:
    return _line(1)


def diamond() -> Callable[[int], object]:
    source = (
        "def left(value: str) -> str:\n    return value\n"
        "def right(value: str) -> str:\n    return value\n"
        "def join(left: str, right: str) -> str:\n    return left + right\n"
    )
    return _driver(source, "join", "bench_diamond")
