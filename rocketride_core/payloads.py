# SPDX-License-Identifier: MIT
"""What travels on the lanes. All classes are frozen: who changes a payload makes a new one (`attrs.evolve`)."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Arguments: TypeAlias = Mapping[str, Json]

__all__ = ["Answer", "Arguments", "Document", "Json", "Question", "vector"]


def vector(values: Sequence[float]) -> memoryview:
    """A float32 buffer of these numbers, the form that every embedding has in a payload."""
    return memoryview(array("f", values))


def _floats(view: memoryview) -> list[float]:
    return list(view.tolist())


def _object(data: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise ValueError(f"{what} is a JSON object, not {type(data).__name__}")
    return data


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    """The items that are there; clients write null for a list, and for an item, that they do not use."""
    items = data.get(key)
    if items is not None and not isinstance(items, list | tuple):
        raise ValueError(f"'{key}' is a list, not {type(items).__name__}")
    return [item for item in items or () if item is not None]


def _text(value: Any) -> str:
    """A text as it is, nothing for null, any other value as JSON text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _pairs(data: Mapping[str, Any], key: str, first: str, second: str) -> tuple[tuple[str, str], ...]:
    items = [_object(item, f"an item of '{key}'") for item in _list(data, key)]
    return tuple((_text(item.get(first)), _text(item.get(second))) for item in items)


def _embedding(data: Mapping[str, Any]) -> memoryview | None:
    numbers = _list(data, "embedding")
    try:
        return vector(numbers) if numbers else None
    except TypeError:
        raise ValueError("'embedding' is a list of numbers") from None


@attrs.frozen
class Document:
    """A piece of text with what is known of it.

    Parameters:
        text: the content.
        metadata: `objectId`, `chunkId`, `parent`, `isTable` … in RocketRide's spelling, and any key of yours.
        embedding: float32 buffer, shape (dimension,); None where it has not been embedded.
        embedding_model: the model that made the embedding.
        score: similarity in [0, 1], 1 is best; None where nothing was compared.
        kind: RocketRide's `type`.
    """

    text: str
    metadata: Arguments = attrs.field(factory=dict)
    embedding: memoryview | None = None
    embedding_model: str = ""
    score: float | None = None
    kind: str = "Document"

    def to_json(self) -> dict[str, Json]:
        """The `Doc` of RocketRide's clients; what is not set is left out."""
        out: dict[str, Json] = {"type": self.kind, "page_content": self.text}
        if self.embedding is not None:
            out["embedding"] = _floats(self.embedding)
        if self.embedding_model:
            out["embedding_model"] = self.embedding_model
        if self.score is not None:
            out["score"] = self.score
        if self.metadata:
            out["metadata"] = dict(self.metadata)
        return out

    @staticmethod
    def from_json(data: Any) -> Document:
        """Reads a `Doc`; nulls and unknown keys are accepted."""
        if isinstance(data, str):
            return Document(data)
        doc = _object(data, "a document")
        return Document(
            _text(doc.get("page_content")),
            _object(doc.get("metadata") or {}, "'metadata'"),
            _embedding(doc),
            _text(doc.get("embedding_model")),
            doc.get("score"),
            _text(doc.get("type")) or "Document",
        )


@attrs.frozen
class Question:
    """What is asked, with everything that goes along with it.

    Parameters:
        texts: the questions themselves.
        embeddings: none, or one float32 buffer a text.
        embedding_model: the model that made them.
        type: question, semantic, keyword, get, prompt, execute or dialect.
        filter: RocketRide's `DocFilter` (`limit`, `objectIds`, …); only the keys that are set.
        role: who answers.
        expect_json: the answer must be JSON.
        instructions: (title, text) pairs for the model.
        examples: (given, result) pairs.
        history: (role, content) pairs, oldest first.
        context: further texts to consider.
        goals: the ultimate goals.
        documents: documents to answer from.
    """

    texts: Sequence[str] = ()
    embeddings: Sequence[memoryview] = ()
    embedding_model: str = ""
    type: str = "question"
    filter: Arguments = attrs.field(factory=dict)
    role: str = ""
    expect_json: bool = False
    instructions: Sequence[tuple[str, str]] = ()
    examples: Sequence[tuple[str, str]] = ()
    history: Sequence[tuple[str, str]] = ()
    context: Sequence[str] = ()
    goals: Sequence[str] = ()
    documents: Sequence[Document] = ()

    @staticmethod
    def of(text: str) -> Question:
        return Question((text,))

    def prompt(self) -> str:
        """The whole question as one text for a language model, lines ended by CRLF; empty sections are left out."""
        lines: list[str] = [self.role, ""] if self.role else []

        def section(title: str, body: Sequence[str]) -> None:
            if body:
                lines.extend([f"### {title}:", *body, ""])

        told = list(self.instructions)
        if self.expect_json:
            told.insert(
                0, ("JSON Response Format", "Answer with one valid JSON value and nothing else: no prose, no code fence.")
            )
        section(
            "System Instructions",
            [
                line
                for n, (title, text) in enumerate(told, 1)
                for line in (f"{n}. **{title}**", *(f"    {t}" for t in text.splitlines()))
            ],
        )
        section("Examples", [line for given, result in self.examples for line in (f"Given: {given}", f"Result: {result}")])
        section("Conversation History", [f"{role}: {content}" for role, content in self.history])
        section("Context", [f"{n}. {text}" for n, text in enumerate(self.context, 1)])
        section("Documents", [line for n, d in enumerate(self.documents, 1) for line in (f"Document {n}) Content:", d.text)])
        section("Ultimate Goal", list(self.goals))
        section("Current Task", list(self.texts))
        return "\r\n".join(lines).rstrip("\r\n")

    def to_json(self) -> dict[str, Json]:
        """The `Question` of RocketRide's clients."""
        vectors: list[memoryview | None] = list(self.embeddings) or [None] * len(self.texts)
        asked: list[Json] = []
        for text, embedding in zip(self.texts, vectors, strict=True):
            one: dict[str, Json] = {"text": text}
            if embedding is not None:
                one |= {"embedding_model": self.embedding_model, "embedding": _floats(embedding)}
            asked.append(one)
        return {
            "type": self.type,
            "filter": dict(self.filter),
            "expectJson": self.expect_json,
            "role": self.role,
            "instructions": [{"subtitle": a, "instructions": b} for a, b in self.instructions],
            "history": [{"role": a, "content": b} for a, b in self.history],
            "examples": [{"given": a, "result": b} for a, b in self.examples],
            "context": list(self.context),
            "goals": list(self.goals),
            "documents": [d.to_json() for d in self.documents],
            "questions": asked,
        }

    @staticmethod
    def from_json(data: Any) -> Question:
        """Reads a `Question`; nulls and unknown keys are accepted. A plain string is one question."""
        if isinstance(data, str):
            return Question.of(data)
        told = _object(data, "a question")
        asked = [{"text": q} if isinstance(q, str) else _object(q, "an item of 'questions'") for q in _list(told, "questions")]
        vectors = [found for q in asked if (found := _embedding(q)) is not None]
        return Question(
            texts=tuple(_text(q.get("text")) for q in asked),
            embeddings=tuple(vectors) if len(vectors) == len(asked) else (),
            embedding_model=next((q["embedding_model"] for q in asked if q.get("embedding_model")), ""),
            type=told.get("type") or "question",
            filter={k: v for k, v in _object(told.get("filter") or {}, "'filter'").items() if v is not None},
            role=_text(told.get("role")),
            expect_json=bool(told.get("expectJson")),
            instructions=_pairs(told, "instructions", "subtitle", "instructions"),
            examples=_pairs(told, "examples", "given", "result"),
            history=_pairs(told, "history", "role", "content"),
            context=tuple(map(_text, _list(told, "context"))),
            goals=tuple(map(_text, _list(told, "goals"))),
            documents=tuple(map(Document.from_json, _list(told, "documents"))),
        )


@attrs.frozen
class Answer:
    """What came out: a text, or any JSON value."""

    content: Json

    @property
    def text(self) -> str:
        """The content as text; a JSON value as JSON text, never as a repr."""
        return self.content if isinstance(self.content, str) else json.dumps(self.content, ensure_ascii=False)

    def to_json(self) -> dict[str, Json]:
        """The `Answer` of RocketRide's clients; on the lane, clients get the content alone."""
        return {"answer": self.content, "expectJson": not isinstance(self.content, str)}

    @staticmethod
    def from_json(data: Any) -> Answer:
        """Reads an `Answer`; any JSON value that is none is the content itself.

        Raises:
            ValueError: it says that it is JSON, and its text is not.
        """
        if not isinstance(data, Mapping) or not {"answer", "expectJson"} <= data.keys():
            return Answer(data)
        content = data["answer"]
        if data["expectJson"] and isinstance(content, str):
            try:
                content = json.loads(content)
            except ValueError as error:
                raise ValueError(f"'answer' is to be JSON, and is not: {error}") from None
        return Answer(content)
