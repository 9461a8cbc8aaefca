# SPDX-License-Identifier: MIT
"""The node: collect, and ask once when the object is complete."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from rocketride_core import (
    DOCUMENTS,
    QUESTIONS,
    TABLE,
    TEXT,
    Document,
    Instance,
    Node,
    NodeSpec,
    Profile,
    Question,
    hookimpl,
    on,
    setting,
)

from .merge import merged

__all__ = ["Prompt", "PromptConfig"]

DEFAULT = "Please provide a detailed and helpful response to the following question:"


@attrs.frozen(kw_only=True)
class PromptConfig:
    instructions: tuple[str, ...] | str = setting(
        (DEFAULT,), title="Instructions", doc="One text or several; an empty list for none.", widget="textarea"
    )


@attrs.define
class Collected:
    """What has come for one object, in order."""

    questions: list[Question] = attrs.field(factory=list)
    context: list[str] = attrs.field(factory=list)
    documents: list[Document] = attrs.field(factory=list)


class Prompt(Node[PromptConfig]):
    """Questions are merged; texts and tables become the question's context, documents its documents.

    One question leaves at the flush, with the instructions added; none leaves when nothing came.
    """

    spec = NodeSpec(
        "prompt",
        title="Prompt",
        description="Puts questions, texts, tables and documents of one object into one question.",
        categories=["text"],
        profiles=[Profile("default", {"instructions": [DEFAULT]})],
    )

    @on(QUESTIONS, emits=[QUESTIONS])
    def question(self, instance: Instance, question: Question) -> None:
        instance.state(Collected).questions.append(question)

    @on(TEXT, emits=[QUESTIONS])
    @on(TABLE, emits=[QUESTIONS])
    def text(self, instance: Instance, text: str) -> None:
        if text.strip():
            instance.state(Collected).context.append(text)

    @on(DOCUMENTS, emits=[QUESTIONS])
    def add_documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.state(Collected).documents.extend(documents)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        got = instance.state(Collected)
        if got.questions or got.context or got.documents:
            gathered = Question(context=tuple(got.context), documents=tuple(got.documents), instructions=self._instructions())
            instance.emit(QUESTIONS, merged([*got.questions, gathered]))

    def _instructions(self) -> tuple[tuple[str, str], ...]:
        given = self.config.instructions
        texts = [text for text in ([given] if isinstance(given, str) else given) if text.strip()]
        if len(texts) == 1:
            return (("User Instruction", texts[0]),)
        return tuple((f"User Instruction {number}", text) for number, text in enumerate(texts, 1))
