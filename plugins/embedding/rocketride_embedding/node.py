# SPDX-License-Identifier: MIT
"""EmbeddingNode: everything that embedding nodes have in common, once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import attrs

from rocketride_core import (
    DOCUMENTS,
    EMBEDDING,
    QUESTIONS,
    Caller,
    Document,
    Embedder,
    Instance,
    Node,
    Question,
    hookimpl,
    on,
    serves,
)

__all__ = ["Embedded", "EmbeddingNode"]

C = TypeVar("C")


@attrs.frozen
class Embedded:
    """A text's vector.

    Parameters:
        vector: read-only and contiguous, of format `f`, at unit length.
        tokens: of the text, where whoever computed it counts them.
    """

    vector: memoryview
    tokens: int = 0


@attrs.define
class _Waiting:
    """Documents of one object that wait for a full batch."""

    documents: list[Document] = attrs.field(factory=list)


class EmbeddingNode(Node[C]):
    """Adds a vector to documents and questions, and serves the control `embedding`.

    Texts that several objects ask for at one moment are embedded in one call of `encode`. A subclass that has a `begin_global`
    of its own calls this class's too.

    Attributes:
        batch: most texts of one call of `encode`; so many documents of an object leave at a time.
    """

    batch: ClassVar[int] = 64
    _ask: Callable[[Sequence[str]], Sequence[Embedded | Exception]]
    _here: threading.local

    @property
    def model(self) -> str:
        """What `embedding_model` of documents and questions becomes; stores refuse to compare vectors of different ones."""
        raise NotImplementedError(f"{type(self).__name__} has no model; return its name")

    @property
    def dimension(self) -> int:
        """Floats in a vector this node makes."""
        raise NotImplementedError(f"{type(self).__name__} has no dimension; return the floats in a vector")

    def encode(self, instance: Instance, texts: Sequence[str]) -> Sequence[Embedded | Exception]:
        """One vector a text, at most `batch` texts; called on several threads at once.

        An exception in the place of a vector fails the object that the text is of. One that is raised fails all of them if
        there is one object only; otherwise each object's texts are asked for again, alone.

        Parameters:
            instance: of one of the objects that the texts are of, the one whose thread this is.
        """
        raise NotImplementedError(f"{type(self).__name__} has no encode(); return an Embedded for each text")

    def prepare(self, instance: Instance, texts: Sequence[str], query: bool) -> Sequence[str]:
        """What is embedded in the place of `texts`, with prefixes say, or cut; `query`: they are questions."""
        return texts

    @hookimpl
    def begin_global(self) -> None:
        self._here = threading.local()
        self._ask = self.batcher(lambda texts: self.encode(self._here.instance, texts), size=self.batch)

    def vectors(self, instance: Instance, texts: Sequence[str], *, query: bool = False) -> list[memoryview]:
        """One unit vector a text.

        Raises:
            Exception: what `encode` raised for them, or gave in a vector's place.
        """
        if not texts:
            return []
        before = getattr(self._here, "instance", None)
        self._here.instance = instance
        try:
            found = self._ask(self.prepare(instance, texts, query))
        finally:
            self._here.instance = before
        vectors, tokens = [], 0
        for one in found:
            if isinstance(one, Exception):
                raise one
            vectors.append(one.vector)
            tokens += one.tokens
        if tokens:
            instance.count("input_tokens", tokens)
        return vectors

    @on(DOCUMENTS, emits=[DOCUMENTS])
    def collect(self, instance: Instance, documents: Sequence[Document]) -> None:
        waiting = instance.state(_Waiting).documents
        waiting.extend(documents)
        while len(waiting) >= self.batch:
            batch = waiting[: self.batch]
            del waiting[: self.batch]
            self._embed(instance, batch)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        rest = instance.state(_Waiting).documents
        if rest:
            self._embed(instance, list(rest))
            rest.clear()

    @on(QUESTIONS, emits=[QUESTIONS])
    def ask(self, instance: Instance, question: Question) -> None:
        if any(text.strip() for text in question.texts):
            vectors = self.vectors(instance, question.texts, query=True)
            question = attrs.evolve(question, embeddings=vectors, embedding_model=self.model)
        instance.emit(QUESTIONS, question)

    @serves(EMBEDDING)
    def embedder(self, instance: Instance, caller: Caller) -> Embedder:
        return _Embedder(self, instance)

    def _embed(self, instance: Instance, documents: Sequence[Document]) -> None:
        """Emit `documents` in their order, those that are text with a vector."""
        textual = [i for i, document in enumerate(documents) if document.kind != "Image" and document.text.strip()]
        blank = sum(document.kind != "Image" and not document.text.strip() for document in documents)
        if blank:
            instance.warn("empty-document", f"{blank} document(s) without text were passed on without a vector")
        result, model = list(documents), self.model
        for i, vector in zip(textual, self.vectors(instance, [documents[i].text for i in textual]), strict=True):
            result[i] = attrs.evolve(documents[i], embedding=vector, embedding_model=model)
        instance.emit(DOCUMENTS, result)


@attrs.frozen
class _Embedder:
    """The node's model as other nodes use it over a control edge; safe on several threads."""

    node: EmbeddingNode[Any]
    instance: Instance

    @property
    def model(self) -> str:
        return self.node.model

    @property
    def dimension(self) -> int:
        return self.node.dimension

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Sequence[memoryview]:
        return self.node.vectors(self.instance, texts, query=query)
