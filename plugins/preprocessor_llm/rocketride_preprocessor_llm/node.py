# SPDX-License-Identifier: MIT
"""The preprocessor_llm node."""

from __future__ import annotations

import attrs

from rocketride_core import (
    DOCUMENTS,
    LLM,
    ONE,
    TABLE,
    TEXT,
    ChatModel,
    Document,
    Instance,
    Json,
    Node,
    NodeSpec,
    Profile,
    hookimpl,
    on,
    setting,
)

from .parts import Span, parts, rows
from .replies import Reading, Unusable, question, read

__all__ = ["LLMPreprocessor", "LLMPreprocessorConfig"]

SPARE = 500  # tokens of a model that are kept free: what is counted is an estimate
LEAST = 50  # tokens of a part below which it is not worth while to ask
WORDS = 0.75  # words of a token
AT_ONCE = 256


@attrs.frozen(kw_only=True)
class LLMPreprocessorConfig:
    """How long passages are, and how often a model is asked for them."""

    tokens: int = setting(
        384, key="numberOfTokens", ge=1, unit="tokens", title="Length of a passage", doc="About; twice as many are the most."
    )
    attempts: int = setting(
        3, key="maxAttempts", ge=1, title="Attempts", doc="For each part of the text, when the model's answer cannot be used."
    )


@attrs.define
class Parts:
    """What one object has brought so far."""

    texts: list[str] = attrs.field(factory=list)
    chunks: int = 0
    tables: int = 0


class LLMPreprocessor(Node[LLMPreprocessorConfig]):
    """Lets a language model cut the text of an object into passages, and sum it up; tables are cut between their rows."""

    spec = NodeSpec(
        "preprocessor_llm",
        title="LLM",
        description="A language model cuts text where its subject changes, and adds a summary.",
        categories=["preprocessor"],
        needs={LLM: ONE},
        profiles=[Profile("default", {"numberOfTokens": 384}, title="Default")],
    )

    @on(TEXT, emits=[DOCUMENTS])
    def collect(self, instance: Instance, text: str) -> None:
        instance.state(Parts).texts.append(text)

    @on(TABLE, emits=[DOCUMENTS])
    def table(self, instance: Instance, table: str) -> None:
        if table.strip():
            instance.state(Parts).tables += 1
            count = instance.one(LLM).count_tokens
            self._emit(instance, self._slices(instance, table, rows(table, count, self.config.tokens), table=True))

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        state = instance.state(Parts)
        text = "".join(piece + "\n" for piece in state.texts)
        state.texts.clear()
        if not text.strip():
            return
        model = instance.one(LLM)
        documents: list[Document] = []
        # Nothing leaves before the last part is divided: an object is there whole or not at all.
        for part in parts(text, model.count_tokens, self._budget(model)):
            reading = self._read(instance, model, text, part)
            documents += self._slices(instance, text, self._spans(model, text, part, reading))
            documents += [self._document(instance, summary, part, isSummary=True) for summary in reading.summaries]
        self._emit(instance, documents)

    def _budget(self, model: ChatModel) -> int:
        """Tokens of a part: the model must read it, and write it once more."""
        asked = model.count_tokens(question("", self._words).prompt())
        budget = min((model.context_length - asked) // 2, model.output_length) - SPARE
        if budget < LEAST:
            raise ValueError(
                f"{self.id} needs a language model with more room: it reads {model.context_length} tokens and writes "
                f"{model.output_length}, which leaves {budget} for the text; choose another model, or raise its limits in its config"
            )
        return budget

    @property
    def _words(self) -> int:
        return max(1, round(self.config.tokens * WORDS))

    def _read(self, instance: Instance, model: ChatModel, text: str, part: Span) -> Reading:
        trouble = ""
        for attempt in range(1, self.config.attempts + 1):
            answer = model.ask(question(text[slice(*part)], self._words, trouble))
            try:
                return read(answer.content, text[slice(*part)])
            except Unusable as error:
                trouble = str(error)
                instance.event("retry", attempt=attempt, reason=trouble)
        raise ValueError(
            f"{self.id}: the language model was asked {self.config.attempts} times to divide the characters {part[0]} to {part[1]} of "
            f"{instance.entry.name or 'the object'}, and no answer could be used; of the last one: {trouble}. Use a more able model, or "
            "preprocessor_langchain, which needs none"
        )

    def _spans(self, model: ChatModel, text: str, part: Span, reading: Reading) -> list[Span]:
        """The passages of a part; what came out longer than twice the length that was asked for is divided further."""
        starts = [part[0], *(part[0] + start for start in reading.starts[1:])]
        out: list[Span] = []
        for start, end in zip(starts, [*starts[1:], part[1]], strict=True):
            if model.count_tokens(text[start:end]) <= 2 * self.config.tokens:
                out.append((start, end))
            else:
                out += [(start + a, start + b) for a, b in parts(text[start:end], model.count_tokens, self.config.tokens)]
        return out

    def _slices(self, instance: Instance, text: str, spans: list[Span], *, table: bool = False) -> list[Document]:
        documents: list[Document] = []
        for start, end in spans:
            piece = text[start:end]
            start += len(piece) - len(piece.lstrip())
            piece = piece.strip()
            if piece:
                documents.append(self._document(instance, piece, (start, start + len(piece)), table=table))
        return documents

    def _document(self, instance: Instance, text: str, span: Span, *, table: bool = False, **more: Json) -> Document:
        state, entry = instance.state(Parts), instance.entry
        metadata: dict[str, Json] = {
            "objectId": entry.object_id,
            "chunkId": state.chunks,
            "name": entry.name,
            "parent": entry.path,
            "signature": self.id,
            "isDeleted": False,
            "isTable": table,
            "tableId": state.tables if table else 0,
            "start": span[0],
            "end": span[1],
            **more,
        }
        state.chunks += 1
        return Document(text, metadata)

    def _emit(self, instance: Instance, documents: list[Document]) -> None:
        for start in range(0, len(documents), AT_ONCE):
            instance.emit(DOCUMENTS, documents[start : start + AT_ONCE])
