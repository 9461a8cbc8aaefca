# SPDX-License-Identifier: MIT
"""The preprocessor_langchain node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from rocketride_core import DOCUMENTS, TABLE, TEXT, Document, Instance, Json, Node, NodeSpec, Profile, hookimpl, on, setting

from . import langchains
from .measures import Measure, characters, tokens
from .separators import separator, separators
from .splitters import MARKDOWN, RECURSIVE, Limits, Span, character, length_of, recursive

AT_ONCE = 256  # documents in one emit: what follows can work while the rest is still to be made
_RECURSIVE, _CHARACTER, _MARKDOWN = "RecursiveCharacterTextSplitter", "CharacterTextSplitter", "MarkdownTextSplitter"
_LATEX, _NLTK, _SPACY = "LatexTextSplitter", "NLTKTextSplitter", "SpacyTextSplitter"
SPLITTERS = (_RECURSIVE, _CHARACTER, _MARKDOWN, _LATEX, _NLTK, _SPACY)
Split = Callable[[str, Measure, Limits], list[Span]]


@attrs.frozen(kw_only=True)
class SplitterConfig:
    """Where to cut, and how long chunks may be."""

    splitter: str = setting(_RECURSIVE, choices=SPLITTERS, title="Text splitter")
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
    model: str = setting("en_core_web_sm", title="Model of spaCy", show_if={"splitter": _SPACY})
    pipeline: str = setting(
        "", title="Pipeline of spaCy", doc="sentencizer needs no model; empty for the model.", show_if={"splitter": _SPACY}
    )
    bytes_per_token: float = setting(3.0, ge=0.1, unit="bytes", title="Bytes of a token")
    max_model_tokens: int = setting(
        0, ge=0, unit="tokens", title="The model's limit", doc="In mode tokens no chunk is longer; 0 is no limit."
    )
    token_safety_margin: int = setting(32, ge=0, unit="tokens", title="Kept free of the model's limit")

    def __attrs_post_init__(self) -> None:
        limits_of(self)
        separators_of(self)


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
            Profile("latex", {"splitter": _LATEX, "mode": "strlen", "strlen": 512}, title="LaTeX"),
            Profile("nltk", {"splitter": _NLTK, "mode": "strlen", "strlen": 512}, title="NLTK"),
            Profile(
                "spacy",
                {"splitter": _SPACY, "model": "en_core_web_sm", "pipeline": "", "mode": "strlen", "strlen": 512},
                title="spaCy",
            ),
            Profile("custom", {"splitter": _RECURSIVE, "mode": "strlen", "strlen": 512}, title="Custom"),
        ],
    )
    split: Split
    limits: Limits

    @hookimpl
    def begin_global(self) -> None:
        self.limits = limits_of(self.config)
        self.split = split_of(self.config, self.limits)

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
            instance.warn(
                "long-chunk", f"a chunk has {longest} {unit}, more than {self.limits.size}: nothing in it is a place to cut"
            )
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


def limits_of(config: SplitterConfig) -> Limits:
    """The limits that `config` asks for; ValueError says which values do not go together."""
    size = config.strlen if config.mode == "strlen" else config.tokens
    if config.mode == "tokens" and config.max_model_tokens:
        size = min(size, config.max_model_tokens - config.token_safety_margin)
        if size < 1:
            raise ValueError(
                f"max_model_tokens {config.max_model_tokens} is used up by token_safety_margin {config.token_safety_margin}"
            )
    if config.overlap >= size:
        raise ValueError(f"overlap {config.overlap} is not less than the longest chunk, {size}")
    return Limits(size, config.overlap)


def separators_of(config: SplitterConfig) -> tuple[str, ...]:
    """The separators of the splitters that take some; ValueError says which are none."""
    if config.splitter == _CHARACTER:
        return (separator(config.separator) or "\n\n",)
    if config.splitter != _RECURSIVE:
        return ()
    written = config.separators
    return (separators(written) if isinstance(written, str) else written) or RECURSIVE


def split_of(config: SplitterConfig, limits: Limits) -> Split:
    """The splitter that `config` asks for, ready for any number of texts; PluginError says what is not installed."""
    if config.splitter == _RECURSIVE:
        return partial(recursive, separators=separators_of(config))
    langchains.library()
    if config.splitter == _CHARACTER:
        return partial(character, separator=separators_of(config)[0])
    if config.splitter in (_MARKDOWN, _LATEX):
        return partial(recursive, separators=MARKDOWN if config.splitter == _MARKDOWN else langchains.latex(), regex=True)
    length = length_of(config.bytes_per_token if config.mode == "tokens" else 0)
    if config.splitter == _NLTK:
        sentences = langchains.nltk(limits.size, limits.overlap, length)
    else:
        sentences = langchains.spacy(config.pipeline or config.model, limits.size, limits.overlap, length)
    return lambda text, measure, limits: sentences(text)
