# SPDX-License-Identifier: MIT
"""LlamaIndex: an IngestionPipeline of transformations without cache, run once an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import LENGTH

NAME, NEEDS = "LlamaIndex", "llama-index-core"

PROGRAM = """
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import TextNode, TransformComponent
class Step(TransformComponent):
    def __call__(self, nodes, **more):
        return nodes
pipeline = IngestionPipeline(transformations=[Step()], disable_cache=True)
assert pipeline.run(nodes=[TextNode(text="abc")])[0].text == "abc"
"""


def _line(length: int) -> Callable[[int], object]:
    from llama_index.core.ingestion import IngestionPipeline  # type: ignore[import-not-found, unused-ignore]
    from llama_index.core.schema import TextNode, TransformComponent  # type: ignore[import-not-found, unused-ignore]

    class Step(TransformComponent):  # type: ignore[misc, unused-ignore]
        def __call__(self, nodes: Any, **more: Any) -> Any:
            return nodes

    pipeline = IngestionPipeline(transformations=[Step() for _ in range(length)], disable_cache=True)
    nodes = [TextNode(text="abc")]

    def run(n: int) -> None:
        for _ in range(n):
            pipeline.run(nodes=nodes)

    return run


def chain() -> Callable[[int], object]:
    return _line(LENGTH)


def single() -> Callable[[int], object]:
    return _line(1)
