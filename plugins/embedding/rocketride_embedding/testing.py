# SPDX-License-Identifier: MIT
"""What every embedding node must do, as a pytest class.

```python
class TestMine(EmbeddingSuite):
    node = MyEmbedding
    config = {"model": "mine"}
```
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import attrs
import pytest

from rocketride_core import (
    DOCUMENTS,
    EMBEDDING,
    ONE,
    QUESTIONS,
    TEXT,
    Component,
    ControlLink,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Pipeline,
    Question,
    Result,
    on,
)

from .node import EmbeddingNode

__all__ = ["EmbeddingSuite"]

TOLERANCE = 1e-4


class _Start(Node[None]):
    spec = NodeSpec("suite_embedding_start", title="Start", categories=["source"], emits=[DOCUMENTS, QUESTIONS, TEXT])


class _Keep(Node[None]):
    """Responds with what came, list by list, and with the vectors of texts by way of the control."""

    spec = NodeSpec("suite_embedding_keep", title="Keep", responds=True, needs={EMBEDDING: ONE})

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))

    @on(QUESTIONS)
    def questions(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        embedder = instance.one(EMBEDDING)
        assert embedder.embed([]) == []
        for query in (False, True):
            [vector] = embedder.embed([text], query=query)
            assert vector.shape == (embedder.dimension,)
            found = Document(text, {"control": True}, embedding=vector, embedding_model=embedder.model)
            instance.respond("documents", DOCUMENTS([found]))


class EmbeddingSuite:
    """Attributes to set in a subclass:

    node: the class (required).
    config: as in a `.pipe`; a fixture may fill it.
    """

    node: ClassVar[type[EmbeddingNode[Any]]]
    config: Mapping[str, Any] = {}

    @pytest.fixture
    def pipeline(self) -> Any:
        with self.opened() as pipeline:
            yield pipeline

    def opened(self) -> AbstractContextManager[Pipeline]:
        """A pipeline that embeds what it is sent, and responds with it."""
        lanes = ["documents", "questions"]
        file = PipeFile(
            [
                Component("start", "suite_embedding_start", {"mode": "Source"}),
                Component(
                    "embed",
                    self.node.spec.provider,
                    self.config,
                    [LaneLink(lane, "start") for lane in lanes],
                    [ControlLink("embedding", "keep")],
                ),
                Component(
                    "keep", "suite_embedding_keep", {}, [*(LaneLink(lane, "embed") for lane in lanes), LaneLink("text", "start")]
                ),
            ]
        )
        return Kernel(nodes=[_Start, _Keep, self.node], workers=8).load(file)

    def test_vectors_are_unit_buffers_of_one_model(self, pipeline: Pipeline) -> None:
        documents = self.embedded(pipeline, ["the cat", "a dog sat", "猫 🙂"])
        sizes = set()
        for document in documents:
            view = document.embedding
            assert view is not None
            assert (view.format, view.contiguous, view.readonly) == ("f", True, True)
            assert math.isclose(math.hypot(*view), 1, abs_tol=TOLERANCE), "not of unit length"
            sizes.add(view.shape)
        assert len(sizes) == 1
        assert len({document.embedding_model for document in documents} - {""}) == 1

    def test_each_document_leaves_once_in_its_order(self, pipeline: Pipeline) -> None:
        size = self.node.batch
        numbers = iter(range(10_000))
        sent = [[Document(f"the cat {next(numbers)}") for _ in range(count)] for count in (1, size, 0, size + 3, 2)]
        result = pipeline.run(Entry("a"), *map(DOCUMENTS, sent)).checked()
        assert [d.text for d in kept(result)] == [d.text for documents in sent for d in documents]
        assert max(len(documents) for documents in result[DOCUMENTS]) <= size

    def test_a_text_has_the_same_vector_alone_and_in_company(self, pipeline: Pipeline) -> None:
        texts = [f"a dog sat {'on the mat ' * (i % 5)}" for i in range(70)]
        together = self.embedded(pipeline, texts)
        for i in (0, 13, 69):
            [alone] = self.embedded(pipeline, [texts[i]])
            same(alone, together[i])

    def test_questions_keep_the_rest(self, pipeline: Pipeline) -> None:
        question = attrs.evolve(Question.of("the cat"), texts=("the cat", "a dog"), role="r", documents=[Document("x")])
        [got] = pipeline.run(Entry("a"), QUESTIONS(question)).checked()[QUESTIONS]
        assert attrs.evolve(got, embeddings=(), embedding_model="") == question
        assert len(got.embeddings) == 2
        assert got.embedding_model == self.embedded(pipeline, ["x"])[0].embedding_model

    def test_nothing_is_embedded_for_nothing(self, pipeline: Pipeline) -> None:
        image, blank = Document("aGVsbG8=", kind="Image"), Document(" \n", {"k": 1})
        result = pipeline.run(Entry("a"), DOCUMENTS([]), DOCUMENTS([image, blank, Document("x")]), QUESTIONS(Question.of(" ")))
        assert [d.embedding is None for d in kept(result.checked())] == [True, True, False]
        assert kept(result)[:2] == [image, blank]
        assert result[QUESTIONS] == [Question.of(" ")]
        assert [warning.code for warning in result.warnings] == ["empty-document"]

    def test_objects_at_once_do_not_mix(self, pipeline: Pipeline) -> None:
        work = [(Entry(str(i)), [DOCUMENTS([Document(f"the cat {i} {j}") for j in range(i % 5)])]) for i in range(40)]
        for result in pipeline.map(work, workers=8):
            name = result.entry.name
            assert [d.text for d in kept(result.checked())] == [f"the cat {name} {j}" for j in range(int(name) % 5)]
            assert all(d.embedding is not None for d in kept(result))

    def test_other_nodes_get_the_same_vectors(self, pipeline: Pipeline) -> None:
        result = pipeline.run(Entry("a"), TEXT("the cat"), QUESTIONS(Question.of("the cat"))).checked()
        document, question = kept(result, control=True)
        [lane] = self.embedded(pipeline, ["the cat"])
        same(document, lane)
        assert question.embedding is not None
        assert list(question.embedding) == pytest.approx(list(result[QUESTIONS][0].embeddings[0]), abs=TOLERANCE)

    def embedded(self, pipeline: Pipeline, texts: Sequence[str]) -> list[Document]:
        return kept(pipeline.run(Entry("a"), DOCUMENTS([Document(text) for text in texts])).checked())


def kept(result: Result, *, control: bool = False) -> list[Document]:
    """The documents of a result, in their order: those of the lane, or those made by way of the control."""
    return [one for documents in result[DOCUMENTS] for one in documents if bool(one.metadata.get("control")) is control]


def same(one: Document, other: Document) -> None:
    """They are of one model, and have the same vector."""
    assert one.embedding is not None
    assert other.embedding is not None
    assert list(one.embedding) == pytest.approx(list(other.embedding), abs=TOLERANCE)
    assert one.embedding_model == other.embedding_model
