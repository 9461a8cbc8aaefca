# SPDX-License-Identifier: MIT
"""What was found: one of each chunk, above the threshold, best first, and whole tables or objects where they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from rocketride_core import ANSWERS, DOCUMENTS, QUESTIONS, Answer, Document, Instance, Question

from .backend import VectorStore, chunk_key
from .filters import Condition, Request, Where

__all__ = ["Found", "answered", "expanded", "with_documents"]


class Found:
    """Collects documents; the same chunk twice counts once, with its better score.

    Parameters:
        least: scores below it are dropped; a document without a score is not compared and stays.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        self._documents: dict[Any, Document] = {}

    def add(self, documents: Iterable[Document]) -> None:
        for document in documents:
            if document.score is not None and document.score < self._least:
                continue
            object_id, number = chunk_key(document)
            key: Any = (object_id, number) if object_id and number >= 0 else document.text
            before = self._documents.get(key)
            if before is None or _rank(document) > _rank(before):
                self._documents[key] = document

    def ranked(self) -> list[Document]:
        return sorted(self._documents.values(), key=_rank, reverse=True)


def _rank(document: Document) -> float:
    return -1.0 if document.score is None else document.score


def expanded(store: VectorStore, request: Request, found: Sequence[Document]) -> list[Document]:
    """Replaces chunks by their whole object or table, each at the place of its best chunk."""
    # Who may not see a chunk, or only chunks of one node, does not see it inside a whole object either.
    visible = request.where.keeping("isDeleted", "permissionId", "nodeId")

    def whole_object(document: Document) -> tuple[Any, Where | None]:
        object_id, _ = chunk_key(document)
        return object_id, visible.and_in("objectId", [object_id]) if object_id else None

    def whole_table(document: Document) -> tuple[Any, Where | None]:
        object_id, number = chunk_key(document)
        if not document.metadata.get("isTable") or not object_id:
            return (object_id, number, document.text), None
        table = document.metadata.get("tableId", 0)
        if type(table) is not int:  # no filter can name it
            return (object_id, number, document.text), None
        where = visible.and_in("objectId", [object_id]).and_in("tableId", [table])
        return (object_id, "table", table), Where((*where, Condition("isTable", "eq", True)))

    if request.full_documents:
        return _joined(store, found, whole_object)
    if request.full_tables:
        return _joined(store, found, whole_table)
    return list(found)


def _joined(
    store: VectorStore, found: Sequence[Document], whole: Callable[[Document], tuple[Any, Where | None]]
) -> list[Document]:
    out: dict[Any, Document] = {}
    for document in found:
        key, where = whole(document)
        if where is None:
            out[key or document.text] = document
        elif key not in out:
            chunks = sorted(store.select(where), key=chunk_key)
            out[key] = attrs.evolve(document, text="\n".join(chunk.text for chunk in chunks)) if chunks else document
    return list(out.values())


def answered(instance: Instance, question: Question, found: Sequence[Document]) -> None:
    """Emit what was found for a question, in each form that somebody listens to: documents, an answer, the question with them in it."""
    if instance.wants(DOCUMENTS):
        instance.emit(DOCUMENTS, found)
    if instance.wants(ANSWERS):
        content = [document.to_json() for document in found]
        instance.emit(ANSWERS, Answer(content if question.expect_json else json.dumps(content, ensure_ascii=False)))
    if instance.wants(QUESTIONS):
        instance.emit(QUESTIONS, with_documents(question, found))


def with_documents(question: Question, found: Sequence[Document]) -> Question:
    """The question with what was found for it; a question that found nothing stays as it is."""
    if not found:
        return question
    listed = question.filter.get("objectIds") or ()
    known = [str(id) for id in (listed if isinstance(listed, (list, tuple)) else [listed])]
    ids = dict.fromkeys([*known, *(chunk_key(document)[0] for document in found)])
    return attrs.evolve(question, documents=tuple(found), filter={**question.filter, "objectIds": [id for id in ids if id]})
