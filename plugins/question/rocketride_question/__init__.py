# SPDX-License-Identifier: MIT
"""rocketride_question: the text of one object, as one question."""

from __future__ import annotations

import attrs

from rocketride_core import QUESTIONS, TEXT, Instance, Node, NodeSpec, Profile, Question, hookimpl, on

__all__ = ["AskText"]


@attrs.define
class Pieces:
    """The texts of one object."""

    texts: list[str] = attrs.field(factory=list)


class AskText(Node[None]):
    """Collects the texts of one object, stripped and without blank ones, and asks them as one question when it is complete."""

    spec = NodeSpec(
        "question",
        title="Question",
        description="Turns text into a question.",
        categories=["text"],
        profiles=[Profile("default", {})],
    )

    @on(TEXT, emits=[QUESTIONS])
    def collect(self, instance: Instance, text: str) -> None:
        stripped = text.strip()
        if stripped:
            instance.state(Pieces).texts.append(stripped)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        texts = instance.state(Pieces).texts
        if texts:
            instance.emit(QUESTIONS, Question(tuple(texts)))
