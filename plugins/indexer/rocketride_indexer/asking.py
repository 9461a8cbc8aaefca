# SPDX-License-Identifier: MIT
"""What the index answers to a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import attrs
import tantivy

from rocketride_core import Document, Question
from rocketride_store import Request, Where, chunk_key
from rocketride_store.groups import by_group
from rocketride_store.results import expanded

from .layout import all_words, any_word, matching, stored

__all__ = ["Asker"]

ANY, ALL, GET = ("question", "prompt"), "keyword", "get"


@attrs.frozen
class Asker:
    """Asks one state of the index.

    Parameters:
        component: the node's id, for messages.
    """

    searcher: tantivy.Searcher
    component: str

    def find(self, question: Question, request: Request) -> list[Document]:
        """The documents that a question carries, then those that are found, best first; of each chunk one.

        Raises:
            ValueError: the question is of a type that words do not answer.
        """
        if question.type not in (*ANY, ALL, GET):
            hint = "; wire it to a vector store" if question.type == "semantic" else ""
            raise ValueError(
                f"{self.component} cannot answer a question of type {question.type!r}: an index of words takes keyword, question, prompt "
                f"and get{hint}"
            )
        found: list[Document] = []
        if question.type == GET:
            found = self.get(request)
        else:
            for text in question.texts:
                found += self.words(text, request, every=question.type == ALL)
        documents: dict[object, Document] = {}
        for one in (*question.documents, *found):
            object_id, number = chunk_key(one)
            documents.setdefault((object_id, number) if object_id and number >= 0 else one.text, one)
        # Only `select` of a store is asked here.
        out = expanded(cast("Any", self), request, list(documents.values()))
        return by_group("\n".join(question.texts), out) if request.group_rank else out

    def words(self, text: str, request: Request, *, every: bool) -> list[Document]:
        """The chunks with every word of a text, or with any of them, those first that the words tell apart best (BM25)."""
        query = all_words(text) if every else any_word(text)
        if query is None or request.where.impossible:
            return []
        most = request.offset + request.limit
        hits = self.searcher.search(matching(query, request.where), limit=most, count=False).hits
        ranked = sorted(
            ((score, stored(self.searcher.doc(at))) for score, at in hits), key=lambda hit: (-hit[0], chunk_key(hit[1]))
        )
        return [one for _, one in ranked][request.offset :]

    def get(self, request: Request) -> list[Document]:
        """The chunks that the filter takes, in the order of their ids."""
        return list(self.select(request.where, offset=request.offset, limit=request.limit))

    def select(self, where: Where, /, *, offset: int = 0, limit: int | None = None) -> Sequence[Document]:
        """The chunks that fulfil the conditions; all of them without a limit."""
        if where.impossible:
            return []
        query = matching(None, where)
        counted: Any = self.searcher.search(query, limit=1)
        wanted = counted.count - offset if limit is None else min(limit, counted.count - offset)
        if wanted < 1:
            return []
        by_id = {"order_by_field": "order", "order": tantivy.Order.Asc}
        hits = self.searcher.search(query, limit=wanted, offset=offset, count=False, **by_id).hits  # type: ignore[arg-type]
        return [stored(self.searcher.doc(at)) for _, at in hits]
