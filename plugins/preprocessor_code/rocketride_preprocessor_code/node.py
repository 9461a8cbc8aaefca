# SPDX-License-Identifier: MIT
"""The preprocessor_code node."""

from __future__ import annotations

import attrs

from rocketride_core import DOCUMENTS, TEXT, Document, Instance, Json, Node, NodeSpec, Profile, hookimpl, on, setting

from .cutting import Span, cut
from .languages import LANGUAGES, grammar, recognised

__all__ = ["CodeConfig", "CodePreprocessor"]

AT_ONCE = 256  # documents in one emit: what follows can work while the rest is still to be made
AUTO = "auto"
NAMED = ("c", "cpp", "python", "javascript", "typescript")  # each has a profile of its name


@attrs.frozen(kw_only=True)
class CodeConfig:
    """Which language, and how long chunks may be."""

    language: str = setting(
        AUTO,
        choices=(AUTO, *LANGUAGES),
        title="Language",
        doc="auto goes by the object's name, then by its media type, then by what the source looks like.",
    )
    strlen: int = setting(512, ge=1, unit="characters", title="Longest chunk")


@attrs.define
class Source:
    """The text of one object so far."""

    texts: list[str] = attrs.field(factory=list)

    def add(self, text: str) -> None:
        if self.texts and not self.texts[-1].endswith("\n"):
            self.texts.append("\n")
        if text:
            self.texts.append(text)


class CodePreprocessor(Node[CodeConfig]):
    """Cuts the source code of an object into documents along its syntax."""

    spec = NodeSpec(
        "preprocessor_code",
        title="Code",
        description="Cuts source code into chunks along its syntax: functions, classes, methods.",
        categories=["preprocessor"],
        tile=["Language: ${parameters.preprocessor_code.profile}"],
        profiles=[
            Profile(AUTO, {"language": AUTO, "strlen": 512}, title="By name or content"),
            *(Profile(name, {"language": name, "strlen": 512}, title=name) for name in NAMED),
        ],
    )

    @hookimpl
    def begin_global(self) -> None:
        for name in NAMED if self.config.language == AUTO else (self.config.language,):
            grammar(name)

    @on(TEXT, emits=[DOCUMENTS])
    def collect(self, instance: Instance, text: str) -> None:
        instance.state(Source).add(text)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        texts = instance.state(Source).texts
        text = "".join(texts)
        texts.clear()
        if not text.strip():
            return
        language = self.language(instance, text)
        if not language:
            return
        spans = cut(text, language, self.config.strlen)
        line = 1
        documents: list[Document] = []
        for number, span in enumerate(spans):
            solid = span[0] + len(text[slice(*span)]) - len(text[slice(*span)].lstrip())
            documents.append(self._document(instance, text, span, number, language, line + text.count("\n", span[0], solid)))
            line += text.count("\n", *span)
        for start in range(0, len(documents), AT_ONCE):
            instance.emit(DOCUMENTS, documents[start : start + AT_ONCE])

    def language(self, instance: Instance, text: str) -> str:
        """The language of an object's text; "", and a warning, where it is none that is known."""
        entry = instance.entry
        found = self.config.language
        if found == AUTO:
            found = recognised(text, entry.name or entry.path, entry.mime_type)
        if not found:
            instance.warn(
                "unknown-language",
                f"{entry.path or entry.name or 'the object'} was not cut: neither its name nor its text shows one of the languages "
                f'{", ".join(LANGUAGES)}; write "language" in the config of {self.id} if it is one of them',
            )
        return found

    def _document(self, instance: Instance, text: str, span: Span, number: int, language: str, line: int) -> Document:
        entry = instance.entry
        metadata: dict[str, Json] = {
            "objectId": entry.object_id,
            "chunkId": number,
            "name": entry.name,
            "parent": entry.path,
            "signature": self.id,
            "isDeleted": False,
            "isTable": False,
            "tableId": 0,
            "start": span[0],
            "end": span[1],
            "language": language,
            "line": line,
        }
        return Document(text[span[0] : span[1]], metadata)
