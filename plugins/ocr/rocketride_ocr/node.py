# SPDX-License-Identifier: MIT
"""The node `ocr`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

import attrs

from rocketride_core import (
    DOCUMENTS,
    IMAGE,
    TABLE,
    TEXT,
    Blob,
    Document,
    Instance,
    Node,
    NodeSpec,
    Problem,
    Profile,
    hookimpl,
    on,
    setting,
)

from .choosing import ENGINES, OTHERS, choose
from .errors import NoEngine, OcrError
from .images import frames
from .languages import FAMILIES
from .layout import blocks, markdown
from .ruled import tables_of, with_tables, without_rules
from .words import Engine

_TITLES = {
    "latin": "Latin (English)", "latin-extended": "Latin Extended (European)", "cyrillic": "Cyrillic (Russian, etc.)",
    "arabic": "Arabic/Persian/Urdu", "devanagari": "Devanagari (Hindi, etc.)", "chinese-simplified": "Chinese (Simplified)",
    "chinese-traditional": "Chinese (Traditional)", "japanese": "Japanese", "korean": "Korean",
}  # fmt: skip
_OTHER_TITLES = {"doctr": "DocTR (Language-agnostic)", "surya": "Surya (Multi-language)", "trocr": "TrOCR (Transformer)"}
_RULED = ("auto", "doctr", "easyocr", "surya")


@attrs.frozen(kw_only=True)
class OcrConfig:
    """Who reads what."""

    engine: str = setting(
        "auto",
        choices=["auto", *ENGINES, *OTHERS],
        title="Engine",
        doc="auto: the first of tesserocr, tesseract, rapidocr that is here; so are easyocr, doctr, surya and trocr understood.",
    )
    script_family: str = setting("latin", choices=list(FAMILIES), title="Script")
    languages: str = setting("", title="Languages", doc="By their Tesseract names, as in deu+eng; empty: those of the script.")
    table_engine: str = setting(
        "auto",
        choices=[*_RULED, "none"],
        title="Tables",
        doc="none: not looked for; all others: tables with ruled lines are found.",
    )
    tables: str = setting(
        "auto",
        choices=["auto", "table", "both"],
        title="Where tables go",
        doc="auto: to the table lane, or into the text when nobody listens to tables; table: to that lane only; both: to both.",
    )
    min_confidence: float = setting(0.2, ge=0, le=1, title="Least confidence", doc="What an engine is less sure of is dropped.")
    max_seconds: float = setting(120.0, ge=0.1, unit="s", title="Time limit per image", doc="rapidocr finishes what it began.")
    max_megapixels: float = setting(80.0, ge=0.1, title="Largest image, in million pixels")
    det_arch: str = setting("", title="Detection model", doc="Of doctr; has no effect here.")
    reco_arch: str = setting("", title="Recognition model", doc="Of doctr; has no effect here.")


class Ocr(Node[OcrConfig]):
    """Reads images with an engine that is installed on this machine."""

    spec = NodeSpec(
        "ocr",
        title="OCR",
        description="Text and tables of images and scanned pages, by Tesseract or RapidOCR on this machine.",
        categories=["image"],
        profiles=[
            *(Profile(id, {"script_family": id}, title=title) for id, title in _TITLES.items()),
            *(Profile(id, {"engine": id}, title=title) for id, title in _OTHER_TITLES.items()),
        ],
    )
    engine: Engine

    @hookimpl
    def begin_global(self) -> None:
        self.engine = self.enter(closing(self._choose()))

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        try:
            found = self._choose()
        except NoEngine as error:
            yield Problem("", error.code, str(error), component=self.id)
            return
        if self.config.engine in OTHERS:
            text = f"the engine {self.config.engine!r} is not offered; {found.name} reads in its place"
            yield Problem("", "engine-replaced", text, f"write engine: {found.name}, or auto", self.id, severity="warning")

    def _choose(self) -> Engine:
        return choose(self.config.engine, self.config.script_family, self.config.languages)

    @on(IMAGE, emits=[TEXT, TABLE])
    def image(self, instance: Instance, blob: Blob) -> None:
        """Emit texts and tables of an image in reading order; a bad one is the object's error, and the object goes on."""
        name = blob.name or instance.entry.name or "image"
        config = self.config
        listened = config.tables != "auto" or instance.wants(TABLE)
        for block in self._read(instance, name, blob):
            if isinstance(block, str):
                instance.emit(TEXT, block)
                continue
            table = markdown(block)
            if listened:
                instance.emit(TABLE, table)
            if not listened or config.tables == "both":
                instance.emit(TEXT, table)

    @on(DOCUMENTS, emits=[TEXT])
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        """Emit the text of documents of the kind Image, whose text is the image in base64; others are left out with a warning."""
        for place, document in enumerate(documents, 1):
            name = str(document.metadata.get("name") or f"document {place}")
            if document.kind.lower() != "image":
                instance.warn("not-an-image", f"{name}: skipped because its kind is {document.kind!r}, not 'Image'")
                continue
            try:
                content = base64.b64decode(document.text.rpartition("base64,")[2], validate=True)
            except (binascii.Error, ValueError):
                instance.report(OcrError(f"{name}: a document of the kind Image has its image in base64 as its text"))
                continue
            read = self._read(instance, name, Blob.of(content))
            found = [block if isinstance(block, str) else markdown(block) for block in read]
            if found:
                instance.emit(TEXT, "\n\n".join(found))

    def _read(self, instance: Instance, name: str, blob: Blob) -> Iterator[str | tuple[tuple[str, ...], ...]]:
        """What all frames of an image say. Nothing is given out of an image that fails half-way."""
        config, found = self.config, list[str | tuple[tuple[str, ...], ...]]()
        try:
            with blob.open() as stream:
                for frame in frames(stream, config.max_megapixels):
                    left = instance.remaining
                    seconds = config.max_seconds if left is None else max(min(config.max_seconds, left), 0.1)
                    tables = tables_of(frame) if config.table_engine != "none" else []
                    wiped = without_rules(frame, tables)
                    words = self.engine.read(wiped, seconds=seconds, on_cancel=instance.on_cancel)
                    if instance.cancelled:
                        return
                    words = [word for word in words if word.confidence >= config.min_confidence]
                    found += blocks(with_tables(words, tables))
        except OcrError as error:
            instance.report(type(error)(f"{name}: {error}"))
            return
        instance.count("images", 1)
        instance.metadata.setdefault("ocr", self.engine.name)
        if not found:
            instance.warn("no-text", f"{name}: no text was found in the image")
        yield from found
