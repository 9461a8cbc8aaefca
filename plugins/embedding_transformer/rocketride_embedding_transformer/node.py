# SPDX-License-Identifier: MIT
"""The embedding_transformer node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    NodeSpec,
    Problem,
    Profile,
    Question,
    hookimpl,
    on,
    serves,
    setting,
)

from .encoders import Encoder, shared, views
from .errors import ModelError
from .models import locate

BATCH = 64
_HUB = "sentence-transformers/"


@attrs.frozen(kw_only=True)
class EmbeddingConfig:
    """Which model, and what is put before the texts."""

    model: str = setting(title="Model", doc="A name on the Hugging Face hub, or the path of a model folder.")
    truncate_dim: int = setting(0, ge=0, unit="floats", title="Keep only the first", doc="0 keeps the whole vector.")
    document_prefix: str = setting("", title="Prefix of documents")
    query_prefix: str = setting("", title="Prefix of questions")


@attrs.define
class Waiting:
    """Documents of one object that wait for a full batch."""

    documents: list[Document] = attrs.field(factory=list)


class EmbeddingTransformer(Node[EmbeddingConfig]):
    """Adds a vector of unit length to documents and questions."""

    spec = NodeSpec(
        "embedding_transformer",
        title="Transformer",
        description="Embeds documents and questions with a sentence-transformers model on this machine.",
        categories=["embedding"],
        profiles=[
            Profile("miniLM", {"model": _HUB + "multi-qa-MiniLM-L6-cos-v1"}, title="miniLM"),
            Profile("miniAll", {"model": _HUB + "all-MiniLM-L6-v2"}, title="miniAll"),
            Profile("mpnet", {"model": _HUB + "multi-qa-mpnet-base-cos-v1"}, title="mpnet"),
            Profile("custom", {}, title="Custom model"),
        ],
    )
    encoder: Encoder

    @hookimpl
    def begin_global(self) -> None:
        self.encoder = shared(locate(self.config.model))
        if self.config.truncate_dim > self.encoder.dimension:
            raise ModelError(
                f"truncate_dim is {self.config.truncate_dim}, but the vectors of {self.config.model!r} "
                f"have {self.encoder.dimension} floats"
            )

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        try:
            shared(locate(self.config.model, download=False))
        except ModelError as error:
            return [Problem("", "model-unavailable", str(error), component=self.id)]
        return []

    @property
    def dimension(self) -> int:
        """Floats in a vector this node makes."""
        return self.config.truncate_dim or self.encoder.dimension

    def vectors(self, texts: Sequence[str], *, query: bool = False) -> list[memoryview]:
        """One unit vector a text, BATCH texts at a time; `query` chooses the prefix."""
        prefix = self.config.query_prefix if query else self.config.document_prefix
        found: list[memoryview] = []
        for start in range(0, len(texts), BATCH):
            matrix = self.encoder.encode([prefix + text for text in texts[start : start + BATCH]])
            found += views(matrix, self.config.truncate_dim)
        return found

    @on(DOCUMENTS, emits=[DOCUMENTS])
    def collect(self, instance: Instance, documents: Sequence[Document]) -> None:
        waiting = instance.state(Waiting).documents
        waiting.extend(documents)
        while len(waiting) >= BATCH:
            batch = waiting[:BATCH]
            del waiting[:BATCH]
            self.embed(instance, batch)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        rest = instance.state(Waiting).documents
        if rest:
            self.embed(instance, list(rest))
            rest.clear()

    def embed(self, instance: Instance, documents: Sequence[Document]) -> None:
        """Emit `documents` in their order, those that are text with a vector."""
        textual = [i for i, document in enumerate(documents) if document.kind != "Image" and document.text.strip()]
        blank = sum(document.kind != "Image" and not document.text.strip() for document in documents)
        if blank:
            instance.warn("empty-document", f"{blank} document(s) without text were passed on without a vector")
        result = list(documents)
        for i, vector in zip(textual, self.vectors([documents[i].text for i in textual]), strict=True):
            result[i] = attrs.evolve(documents[i], embedding=vector, embedding_model=self.config.model)
        instance.emit(DOCUMENTS, result)

    @on(QUESTIONS, emits=[QUESTIONS])
    def ask(self, instance: Instance, question: Question) -> None:
        if any(text.strip() for text in question.texts):
            question = attrs.evolve(
                question, embeddings=self.vectors(question.texts, query=True), embedding_model=self.config.model
            )
        instance.emit(QUESTIONS, question)

    @serves(EMBEDDING)
    def embedder(self, instance: Instance, caller: Caller) -> Embedder:
        return NodeEmbedder(self)


@attrs.frozen
class NodeEmbedder:
    """The node's model as other nodes use it over a control edge; safe on several threads."""

    node: EmbeddingTransformer

    @property
    def model(self) -> str:
        return self.node.config.model

    @property
    def dimension(self) -> int:
        return self.node.dimension

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Sequence[memoryview]:
        return self.node.vectors(texts, query=query)
