# SPDX-License-Identifier: MIT
"""LangChain's expression language: runnables piped into each other."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from . import LENGTH

NAME, NEEDS = "LCEL", "langchain-core"

PROGRAM = """
from langchain_core.runnables import RunnableLambda
assert (RunnableLambda(lambda value: value) | RunnableLambda(lambda value: value)).invoke("abc") == "abc"
"""


def _invoker(runnable: Any) -> Callable[[int], object]:
    def run(n: int) -> None:
        for _ in range(n):
            runnable.invoke("abc")

    return run


def _same(value: str) -> str:
    return value


def chain() -> Callable[[int], object]:
    from langchain_core.runnables import RunnableLambda

    return _invoker(functools.reduce(operator.or_, [RunnableLambda(_same) for _ in range(LENGTH)]))


def single() -> Callable[[int], object]:
    from langchain_core.runnables import RunnableLambda

    return _invoker(RunnableLambda(_same))


def diamond() -> Callable[[int], object]:
    from langchain_core.runnables import RunnableLambda, RunnableParallel

    fork = RunnableParallel(left=RunnableLambda(_same), right=RunnableLambda(_same))
    return _invoker(fork | RunnableLambda(lambda parts: parts["left"] + parts["right"]))
