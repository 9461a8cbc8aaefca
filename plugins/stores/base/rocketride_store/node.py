# SPDX-License-Identifier: MIT
"""StoreNode: everything that vector stores have in common, once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar

import attrs

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    QUESTIONS,
    Answer,
    Component,
    Document,
    Expansion,
    Instance,
    Node,
    Question,
    Secret,
    hookimpl,
    on,
    setting,
)

from .backend import VectorStore, chunk_key, chunk_uuid
from .config import StoreConfig
from .errors import transport
from .filters import Request, Where
from .keeper import Keeper
from .patience import Patience, Patient
from .results import Found, expanded

__all__ = ["StoreNode"]

BATCH = 500
# At the first connect a wrong address is likelier than a server that is about to start; one that says "not yet" is waited for.
FIRST = ("unavailable", "rate-limit")
SEARCHING = ("question", "semantic", "prompt")


@attrs.frozen(kw_only=True)
class Named:
    """What of a config says how the collection is called; None where it does not."""

    collection: Any = setting(None)


S = TypeVar("S", bound=StoreConfig)


@attrs.define
class Pending:
    """What one object has brought: chunks not yet written, and the numbers of all its chunks, by object id."""

    documents: list[Document] = attrs.field(factory=list)
    size: int = 0
    numbers: dict[str, set[int]] = attrs.field(factory=dict)


class StoreNode(Node[S]):
    """Documents in; questions to documents, answers and questions. A store writes `connect` and a backend class.

    Documents of one object replace what the store had of it: new chunks are written first, then the rest of the
    old ones is removed, so that the object can always be found. The second step happens when the object is complete;
    an object that fails keeps its old chunks beside the new ones until it is stored again.
    """

    backend: VectorStore
    keeper: Keeper

    def connect(self) -> VectorStore:
        """Open the database; called once, when the pipeline is loaded."""
        raise NotImplementedError(f"{type(self).__name__} has no connect(); return its VectorStore there")

    @classmethod
    def name_rule(cls, name: str) -> str:
        """What a collection may be called, where this name breaks the rule; "" where it does not."""
        return "" if name else "at least one character"

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
        """Replaces nothing; a bad collection name is a problem of the file, before anything connects."""
        # Its name alone: what else is wrong with the config must not hide this.
        name = context.config(Named).collection
        rule = cls.name_rule(name) if isinstance(name, str) and "${" not in name else ""
        if rule:
            message = f"the collection's name is not one that {cls.spec.title} takes"
            context.problem("invalid-value", message, path=_place(component, "collection"), hint=f"it takes {rule}")
        return None

    @hookimpl
    def begin_global(self) -> None:
        rule = self.name_rule(self.config.collection)
        if rule:
            raise ValueError(f"the collection's name is not one that {self.spec.title} takes: it takes {rule}")
        patience = self.patience()
        first = attrs.evolve(patience, kinds=FIRST)
        backend = self.enter(closing(first.do(transport, self.connect)))
        self.keeper = Keeper(Patient(backend, first), self.config.collection, self.config.similarity, patience.placed)
        self.backend = Patient(backend, patience)

    def patience(self) -> Patience:
        config = self.config
        return Patience(
            store=self.spec.title,
            component=self.id,
            address=self.address,
            attempts=config.max_attempts,
            delay=config.retry_delay,
            seconds=config.max_time,
            hide=[value.reveal() for value in attrs.asdict(config, recurse=False).values() if isinstance(value, Secret)],
        )

    @property
    def address(self) -> str:
        """Where the server is, for messages: "localhost:6333"; "" where the database has no address."""
        return ""

    @on(DOCUMENTS)
    def store(self, instance: Instance, documents: Sequence[Document]) -> None:
        pending = instance.state(Pending)
        for document in documents:
            chunk = self._chunk(instance, pending, document)
            pending.documents.append(chunk)
            pending.size += len(chunk.text)
            if len(pending.documents) >= BATCH or pending.size >= self.config.payload_limit:
                self._write(pending)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        pending = instance.state(Pending)
        self._write(pending)
        for object_id, numbers in pending.numbers.items():
            current = {chunk_uuid(Document("", {"objectId": object_id, "chunkId": number})) for number in numbers}
            self.backend.delete([id for id in self.backend.ids(Where.object(object_id)) if id not in current])

    @on(QUESTIONS, emits=[DOCUMENTS, ANSWERS, QUESTIONS])
    def ask(self, instance: Instance, question: Question) -> None:
        self._write(instance.state(Pending))
        found = self.find(instance, question)
        if instance.wants(DOCUMENTS):
            instance.emit(DOCUMENTS, found)
        if instance.wants(ANSWERS):
            content = [document.to_json() for document in found]
            instance.emit(ANSWERS, Answer(content if question.expect_json else json.dumps(content, ensure_ascii=False)))
        if instance.wants(QUESTIONS):
            instance.emit(QUESTIONS, with_documents(question, found))

    def find(self, instance: Instance, question: Question) -> list[Document]:
        """What answers a question: the documents it carries and those of the collection, best first, unscored ones last."""
        request = Request.of(question.filter, limit=self.config.limit)
        if request.unknown:
            names = ", ".join(request.unknown)
            instance.warn("unknown-filter", f"{self.id} does not know {names} in the question's filter; it is left out")
        found = Found(self.config.score)
        found.add(question.documents)
        if question.type in SEARCHING:
            for vector in self._vectors(question):
                found.add(self._search(instance, vector, request, question.embedding_model))
        elif question.type in ("keyword", "get"):
            wanted = [text.split() for text in question.texts if text.strip()] if question.type == "keyword" else [[]]
            if not request.where.impossible and self.keeper.known() is not None:
                for words in wanted:
                    found.add(self.backend.select(request.where, words=words, offset=request.offset, limit=request.limit))
        else:
            raise ValueError(
                f"{self.id} cannot answer a question of type {question.type!r}; "
                "a store takes question, semantic, prompt, keyword and get"
            )
        return expanded(self.backend, request, found.ranked())

    def _vectors(self, question: Question) -> Sequence[memoryview]:
        if question.texts and not question.embeddings:
            raise ValueError(
                "You must run your question through an embedding filter: "
                f"wire questions through an embedding node before {self.id}"
            )
        return question.embeddings

    def _search(self, instance: Instance, vector: memoryview, request: Request, model: str) -> Sequence[Document]:
        collection = self.keeper.for_question(len(vector), model)
        if collection is None:
            instance.warn("no-collection", f"{self.id} has no collection yet, so nothing was found; index something first")
            return []
        if request.where.impossible:
            return []
        return self.backend.search(vector, request.where, request.offset + request.limit, least=self.config.score)[
            request.offset :
        ]

    def _chunk(self, instance: Instance, pending: Pending, document: Document) -> Document:
        if document.embedding is None:
            raise ValueError(
                f"You must run your documents through an embedding filter: wire them through an embedding node before {self.id}"
            )
        entry = instance.entry
        metadata: dict[str, Any] = {"parent": entry.path, "isDeleted": False, "isTable": False, "tableId": 0} | dict(
            document.metadata
        )
        object_id = metadata["objectId"] = str(metadata.get("objectId") or entry.object_id)
        numbers = pending.numbers.setdefault(object_id, set())
        number = metadata.get("chunkId")
        # Two producers that both count from 0 must not overwrite each other.
        if number is None or number in numbers:
            number = max(numbers, default=-1) + 1
        numbers.add(number)
        metadata["chunkId"] = number
        return attrs.evolve(document, metadata=metadata)

    def _write(self, pending: Pending) -> None:
        if not pending.documents:
            return
        self.keeper.for_documents(pending.documents)
        self.backend.upsert(pending.documents)
        pending.documents, pending.size = [], 0


def _place(component: Component, key: str) -> str:
    """Where a key of the config stands: in the profile's block, or beside it."""
    profile = component.config.get("profile")
    block = component.config.get(profile) if isinstance(profile, str) else None
    return f"{profile}.{key}" if isinstance(block, Mapping) and key in block else key


def with_documents(question: Question, found: Sequence[Document]) -> Question:
    """The question with what was found for it; a question that found nothing stays as it is."""
    if not found:
        return question
    listed = question.filter.get("objectIds") or ()
    known = [str(id) for id in (listed if isinstance(listed, (list, tuple)) else [listed])]
    ids = dict.fromkeys([*known, *(chunk_key(document)[0] for document in found)])
    return attrs.evolve(question, documents=tuple(found), filter={**question.filter, "objectIds": [id for id in ids if id]})
