# SPDX-License-Identifier: MIT
"""What a store answers to a question."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from rocketride_core import Document, Embedder, Instance, Question

from .backend import VectorStore
from .errors import StoreError
from .filters import Request
from .groups import by_group, relevance, words_of
from .keeper import Keeper
from .results import Found, expanded
from .texts import storable

__all__ = ["Asker"]

SEARCHING = ("question", "semantic", "prompt")


@attrs.frozen(kw_only=True)
class Asker:
    """Asks for one entry.

    Parameters:
        least: scores below it are left out.
        limit: results of each text where the question's filter says none.
        embedder: embeds questions that come without a vector; None refuses them.
        component: the store's id, for messages.
    """

    store: VectorStore
    keeper: Keeper
    least: float
    limit: int
    embedder: Embedder | None
    component: str
    instance: Instance

    def find(self, question: Question) -> list[Document]:
        """The documents that a question carries and those of the collection, best first, unscored ones last."""
        request = Request.of(question.filter, limit=self.limit)
        if request.unknown:
            names = ", ".join(request.unknown)
            self.instance.warn(
                "unknown-filter", f"{self.component} does not know {names} in the question's filter; it is left out"
            )
        found = Found(0.0)  # `near` cuts; what the question carries was cut by who found it
        found.add(question.documents)
        if question.type in SEARCHING:
            asked = self._embedded(question)
            for vector in asked.embeddings:
                found.add(self.near(vector, asked.embedding_model, request))
        elif question.type in ("keyword", "get"):
            wanted = [text.split() for text in question.texts if text.strip()] if question.type == "keyword" else [[]]
            for words in wanted:
                found.add(self.matching(words, request))
        else:
            raise ValueError(
                f"{self.component} cannot answer a question of type {question.type!r}; "
                "a store takes question, semantic, prompt, keyword and get"
            )
        documents = expanded(self.store, request, found.ranked())
        return by_group("\n".join(question.texts), documents) if request.group_rank else documents

    def near(self, vector: memoryview, model: str, request: Request) -> Sequence[Document]:
        """The nearest chunks; none, and a warning, where there is no collection yet."""
        if self.keeper.for_question(len(vector), model) is None:
            self.instance.warn(
                "no-collection", f"{self.component} has no collection yet, so nothing was found; index something first"
            )
            return []
        self.keeper.finite("question", vector)
        if request.where.impossible:
            return []
        end = request.offset + request.limit
        found = self.store.search(vector, request.where, end, least=self.least)
        # Cut before the offset is: else a page of a backend that cuts itself would differ from one of a backend that does not.
        return [one for one in found if one.score is None or one.score >= self.least][request.offset :]

    def matching(self, words: Sequence[str], request: Request) -> Sequence[Document]:
        """Chunks that hold all words."""
        if request.where.impossible or self.keeper.known() is None:
            return []
        words = [storable(word) for word in words]  # as the texts are that they are looked for in
        return self.store.select(request.where, words=words, offset=request.offset, limit=request.limit)

    def matching_any(self, query: str, request: Request) -> list[Document]:
        """Chunks that hold words of a query, those first that BM25 finds the most telling.

        Each word may cost a pass over the collection, so the eight longest are looked for, which are the rarest as a rule.

        Raises:
            StoreError: the entry ended on the way.
        """
        asked = dict.fromkeys(words_of(query))
        telling = [word for word in asked if len(word) > 2] or list(asked)
        candidates = Found(0.0)
        wider = attrs.evolve(request, limit=max(CANDIDATES, request.limit))
        for word in sorted(telling, key=len, reverse=True)[:WORDS]:
            if self.instance.cancelled:
                raise StoreError("timeout", "the entry ended while the words of its query were looked for")
            candidates.add(self.matching([word], wider))
        documents = candidates.ranked()
        scores = relevance(query, [document.text for document in documents])
        ranked = sorted(zip(scores, documents, strict=True), key=lambda pair: -pair[0])
        return [document for _, document in ranked][: request.limit]

    def _embedded(self, question: Question) -> Question:
        if question.embeddings or not question.texts:
            return question
        if self.embedder is None:
            raise ValueError(
                "You must run your question through an embedding filter: wire questions through an embedding node before "
                f"{self.component}, or bind one to it (control `embedding`, or a block `embedding` in its config)"
            )
        self.keeper.for_embedder(self.embedder.dimension, self.embedder.model)
        vectors = tuple(self.embedder.embed([storable(text) for text in question.texts], query=True))
        return attrs.evolve(question, embeddings=vectors, embedding_model=self.embedder.model)


CANDIDATES = 200  # chunks that are looked at for each word of an agent's query
WORDS = 8  # of an agent's query that are looked for
