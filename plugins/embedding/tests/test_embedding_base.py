# SPDX-License-Identifier: MIT
"""The base on an embedder of the tests: batches across objects, whose text is to blame, what is counted."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import Any

import pytest

from rocketride_core import DOCUMENTS, Document, Entry, Instance, NodeSpec, RunError, hookimpl
from rocketride_embedding import Embedded, EmbeddingNode
from rocketride_embedding.testing import EmbeddingSuite, kept

CALLS: list[list[str]] = []


class Signs(EmbeddingNode[None]):
    """A vector of three floats by a text's characters; fails as the text says."""

    spec = NodeSpec("test_signs", title="Signs", categories=["embedding"])
    model = "signs-1"
    dimension = 3

    @hookimpl
    def begin_global(self) -> None:
        CALLS.clear()
        super().begin_global()

    def prepare(self, instance: Instance, texts: Sequence[str], query: bool) -> Sequence[str]:
        return [f"query: {text}" for text in texts] if query else texts

    def encode(self, instance: Instance, texts: Sequence[str]) -> Sequence[Embedded | Exception]:
        assert isinstance(instance.entry, Entry)
        CALLS.append(list(texts))
        time.sleep(0.002)  # longer than an object's way to here
        if any("raise" in text for text in texts):
            raise ValueError("cannot embed 'raise'")
        return [LookupError("no vector") if "blame" in text else Embedded(_vector(text), len(text)) for text in texts]


def _vector(text: str) -> memoryview:
    numbers = [float(sum(map(ord, text[i::3])) % 97 + 1) for i in range(3)]
    length = sum(number * number for number in numbers) ** 0.5
    return memoryview(array("f", [number / length for number in numbers]).tobytes()).cast("f")


class TestSigns(EmbeddingSuite):
    node = Signs

    def test_objects_share_a_call(self) -> None:
        work = [(Entry(str(i)), [DOCUMENTS([Document(f"{i} {j}") for j in range(4)])]) for i in range(200)]
        with self.opened() as pipeline:
            for result in pipeline.map(work, workers=8):
                name = result.entry.name
                assert [d.text for d in kept(result.checked())] == [f"{name} {j}" for j in range(4)]
                assert result.usage["embed"]["input_tokens"] == sum(len(f"{name} {j}") for j in range(4))
        assert len(CALLS) < 150
        assert max(map(len, CALLS)) <= Signs.batch
        assert sorted(text for call in CALLS for text in call) == sorted(f"{i} {j}" for i in range(200) for j in range(4))

    @pytest.mark.parametrize(("bad", "said"), [("raise", "cannot embed 'raise'"), ("blame", "no vector")])
    def test_only_the_object_that_is_to_blame_fails(self, bad: str, said: str) -> None:
        work = [(Entry(str(i)), [DOCUMENTS([Document(bad if i % 10 == 3 else f"text {i}")])]) for i in range(60)]
        with self.opened() as pipeline:
            results = list(pipeline.map(work, workers=8))
        for result in results:
            if int(result.entry.name) % 10 == 3:
                assert isinstance(result.error, RunError)
                assert said in str(result.error)
            else:
                assert len(kept(result.checked())) == 1


@pytest.mark.parametrize(
    ("lacking", "said"),
    [("model", "Bare has no model"), ("dimension", "Bare has no dimension"), ("encode", r"Bare has no encode\(\)")],
)
def test_what_is_not_written_is_asked_for(lacking: str, said: str) -> None:
    class Bare(EmbeddingNode[None]):
        spec = NodeSpec("test_bare", title="Bare")

    node: Any = Bare()
    with pytest.raises(NotImplementedError, match=said):
        node.encode(None, ["x"]) if lacking == "encode" else getattr(node, lacking)
