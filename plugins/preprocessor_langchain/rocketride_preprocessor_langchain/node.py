# SPDX-License-Identifier: MIT
"""The preprocessor_langchain node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from rocketride_core import DOCUMENTS, TABLE, TEXT, Document, Instance, Json, Node, NodeSpec, Profile, hookimpl, on, setting

from .measures import Measure, characters, tokens
from .separators import separator, separators
from .splitters import MARKDOWN, RECURSIVE, Limits, Span, character, recursive

AT_ONCE = 256  # documents in one emit: what follows can work while the rest is still to be made
_RECURSIVE, _CHARACTER, _MARKDOWN = "RecursiveCharacterTextSplitter", "CharacterTextSplitter", "MarkdownTextSplitter"
Split = Callable[[str, Measure, Limits], list[Span]]


@attrs.frozen(kw_only=True)
class SplitterConfig:
    """Where to cut, and how long chunks may be."""

    splitter: str = setting(_RECURSIVE, choices=(_RECURSIVE, _CHARACTER, _MARKDOWN), title="Text splitter")
    mode: str = setting(
        "strlen",
        choices=("strlen", "tokens"),
        title="Split by",
        doc="strlen counts characters, tokens estimates them from bytes.",
    )
    strlen: int = setting(512, ge=1, unit="characters", title="Longest chunk", show_if={"mode": "strlen"})
    tokens: int = setting(512, ge=1, unit="tokens", title="Longest chunk", show_if={"mode": "tokens"})
    overlap: int = setting(0, ge=0, title="Overlap", doc="What neighbouring chunks share at most, in the unit of the mode.")
    separators: str | tuple[str, ...] = setting(
        "",
        title="Separators",
        doc="Of the recursive splitter, best first: quoted texts with commas between, or a list; empty for its own.",
    )
    separator: str = setting(
        "", title="Separator", doc="Of the character splitter: a text, quoted when it has escapes; empty for a blank line."
    )
    bytes_per_token: float = setting(3.0, ge=0.1, unit="bytes", title="Bytes of a token")
    max_model_tokens: int = setting(
        0, ge=0, unit="tokens", title="The model's limit", doc="In mode tokens no chunk is longer; 0 is no limit."
    )
    token_safety_margin: int = setting(32, ge=0, unit="tokens", title="Kept free of the model's limit")

    def __attrs_post_init__(self) -> None:
        chosen(self)


@attrs.define
class Parts:
    """What one object has brought so far."""

    texts: list[str] = attrs.field(factory=list)
    chunks: int = 0
    tables: int = 0


class LangchainPreprocessor(Node[SplitterConfig]):
    """Cuts the text and the tables of an object into documents."""

    spec = NodeSpec(
        "preprocessor_langchain",
        title="General Text",
        description="Cuts text and tables into chunks, at the places LangChain's text splitters would.",
        categories=["preprocessor"],
        tile=["Mode: ${parameters.preprocessor_langchain.profile}"],
        profiles=[
            Profile("default", {"splitter": _RECURSIVE, "mode": "strlen", "strlen": 512}, title="Default"),
            Profile("recursive", {"splitter": _RECURSIVE, "separators": "", "mode": "strlen", "strlen": 512}, title="Recursive"),
            Profile("character", {"splitter": _CHARACTER, "separator": "", "mode": "strlen", "strlen": 512}, title="Character"),
            Profile("markdown", {"splitter": _MARKDOWN, "mode": "strlen", "strlen": 512}, title="Markdown"),
        ],
    )
    split: Split
    limits: Limits

    @hookimpl
    def begin_global(self) -> None:
        self.split, self.limits = chosen(self.config)

    @on(TEXT, emits=[DOCUMENTS])
    def collect(self, instance: Instance, text: str) -> None:
        instance.state(Parts).texts.append(text)

    @on(TABLE, emits=[DOCUMENTS])
    def table(self, instance: Instance, table: str) -> None:
        if table.strip():
            instance.state(Parts).tables += 1
            self.cut(instance, table, table_id=instance.state(Parts).tables)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        parts = instance.state(Parts)
        text = "".join(piece + "\n" for piece in parts.texts)
        parts.texts.clear()
        self.cut(instance, text)

    def cut(self, instance: Instance, text: str, *, table_id: int = 0) -> None:
        """Emit the chunks of `text`, numbered on from those the object has already; `table_id` 0 is no table."""
        measure = characters if self.config.mode == "strlen" else tokens(text, self.config.bytes_per_token)
        spans = self.split(text, measure, self.limits)
        longest = max((measure(*span) for span in spans), default=0)
        if longest > self.limits.size:
            unit = "characters" if self.config.mode == "strlen" else "tokens"
            instance.warn("long-chunk", f"a chunk has {longest} {unit}, more than {self.limits.size}: no separator occurs in it")
        for start in range(0, len(spans), AT_ONCE):
            instance.emit(DOCUMENTS, [self.document(instance, text, span, table_id) for span in spans[start : start + AT_ONCE]])

    def document(self, instance: Instance, text: str, span: Span, table_id: int) -> Document:
        parts, entry = instance.state(Parts), instance.entry
        metadata: dict[str, Json] = {
            "objectId": entry.object_id,
            "chunkId": parts.chunks,
            "name": entry.name,
            "parent": entry.path,
            "signature": self.id,
            "isDeleted": False,
            "isTable": table_id > 0,
            "tableId": table_id,
            "start": span[0],
            "end": span[1],
        }
        parts.chunks += 1
        return Document(text[span[0] : span[1]], metadata)


def chosen(config: SplitterConfig) -> tuple[Split, Limits]:
    """The splitter and the limits that `config` asks for; ValueError says which values do not go together."""
    size = config.strlen if config.mode == "strlen" else config.tokens
    if config.mode == "tokens" and config.max_model_tokens:
        size = min(size, config.max_model_tokens - config.token_safety_margin)
        if size < 1:
            raise ValueError(
                f"max_model_tokens {config.max_model_tokens} is used up by token_safety_margin {config.token_safety_margin}"
            )
    if config.overlap >= size:
        raise ValueError(f"overlap {config.overlap} is not less than the longest chunk, {size}")
    limits = Limits(size, config.overlap)
    if config.splitter == _CHARACTER:
        return partial(character, separator=separator(config.separator) or "\n\n"), limits
    if config.splitter == _MARKDOWN:
        return partial(recursive, separators=MARKDOWN, regex=True), limits
    written = config.separators
    listed = separators(written) if isinstance(written, str) else written
    return partial(recursive, separators=listed or RECURSIVE), limits
