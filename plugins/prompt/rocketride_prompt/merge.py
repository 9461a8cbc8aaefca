# SPDX-License-Identifier: MIT
"""Several questions as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rocketride_core import Document, Question

T = TypeVar("T")

__all__ = ["merged"]


def merged(questions: Sequence[Question]) -> Question:
    """One question with everything that the given ones hold, in their order, and equal things once.

    What arrives twice over two branches of a diamond is meant once. `type`, `role` and each key of the filter come from the
    first question that sets them, the longest history is the history, and the answer is JSON where any asks for it.
    Embeddings stay where every text has one of the same model.
    """
    texts = _once(text for q in questions for text in q.texts)
    embeddings, model = _embeddings(questions, texts)
    return Question(
        texts=texts,
        embeddings=embeddings,
        embedding_model=model,
        type=next((q.type for q in questions if q.texts), "question"),
        filter={key: value for q in reversed(questions) for key, value in q.filter.items()},
        role=next((q.role for q in questions if q.role), ""),
        expect_json=any(q.expect_json for q in questions),
        instructions=_once((title, text) for q in questions for title, text in q.instructions),
        examples=_once((given, result) for q in questions for given, result in q.examples),
        history=max((tuple(q.history) for q in questions), key=len, default=()),
        context=_once(text for q in questions for text in q.context),
        goals=_once(goal for q in questions for goal in q.goals),
        documents=_documents(document for q in questions for document in q.documents),
    )


def _once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


def _embeddings(questions: Sequence[Question], texts: Sequence[str]) -> tuple[tuple[memoryview, ...], str]:
    models = {q.embedding_model for q in questions if q.texts}
    known = {text: vector for q in questions if q.embeddings for text, vector in zip(q.texts, q.embeddings, strict=True)}
    if len(models) != 1 or any(text not in known for text in texts):
        return (), ""
    return tuple(known[text] for text in texts), models.pop()


def _documents(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Once by object and chunk where they have both, else by text; the better scored of two stays."""
    found: dict[object, Document] = {}
    for document in documents:
        object_id, number = document.metadata.get("objectId"), document.metadata.get("chunkId")
        key: object = document.text if object_id is None or number is None else (object_id, number)
        before = found.get(key)
        if before is None or (document.score or 0.0) > (before.score or 0.0):
            found[key] = document
    return tuple(found.values())
