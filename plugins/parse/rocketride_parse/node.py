# SPDX-License-Identifier: MIT
"""The node `parse`: tags in, text, tables and media out, facts on the entry, files inside as entries of their own."""

from typing import Any

import attrs

from rocketride_core import (
    AUDIO,
    IMAGE,
    TABLE,
    TAGS,
    TEXT,
    VIDEO,
    Blob,
    Entry,
    Instance,
    Lane,
    Node,
    NodeSpec,
    hookimpl,
    on,
    setting,
)

from .encoding import canonical
from .holding import Folder
from .parts import File, Media, Meta, Part, Table, Text, markdown
from .process import Parser
from .source import Options, page_range

LANES: dict[str, Lane[Blob]] = {"image": IMAGE, "audio": AUDIO, "video": VIDEO}
# On the entry of a file that was inside another: all that is inside it came with it already.
INSIDE = "unpackedFrom"


@attrs.frozen(kw_only=True)
class ParseConfig:
    """Limits, and how to read."""

    max_seconds: float = setting(
        60.0, ge=0.1, unit="s", title="Time limit per file", doc="A file that takes longer fails alone; its parser is killed."
    )
    max_memory: int = setting(
        512,
        ge=128,
        unit="MiB",
        title="Memory limit per file",
        doc="Address space of the parser process, and the most that one file may yield. Not enforced on Windows.",
    )
    tables: str = setting(
        "auto",
        choices=["auto", "table", "both"],
        title="Where tables go",
        doc="auto: to the table lane, or into the text when nobody listens to tables; table: to that lane only; both: to both.",
    )
    encoding: str = setting("", title="Character encoding", doc="Of text files; empty: found out for each file.")
    pages: str = setting("", title="Pages", doc="Of PDFs and presentations, as in 1-5,8,11-; empty: all.")
    inside: str = setting(
        "children",
        choices=["children", "names"],
        title="Files inside",
        doc="Attachments and members of archives. children: each is an object of its own; names: they are only named.",
    )
    max_files: int = setting(1000, ge=1, title="Most files inside one file", doc="Those in archives inside it included.")
    max_unpacked: int = setting(512, ge=1, unit="MiB", title="Most that is taken out of one file", doc="Media included.")
    max_depth: int = setting(4, ge=1, title="How deep archives and mails may lie in each other")
    max_ratio: int = setting(
        200, ge=2, title="Most that an archive may grow", doc="Its unpacked by its packed size; from 16 MiB on."
    )


class Parse(Node[ParseConfig]):
    """Parses each file in a process of its own worker, so that one that hangs or crashes the parser fails alone."""

    spec = NodeSpec(
        "parse",
        title="Parser",
        description="Text, tables, media and metadata of PDF, Office, HTML, Markdown, CSV, JSON, XML, mail and text files, and archives.",
        categories=["data"],
    )

    @hookimpl
    def begin_global(self) -> None:
        if self.config.encoding and not canonical(self.config.encoding):
            raise ValueError(f"unknown encoding {self.config.encoding!r}; leave it empty to have it found out for each file")
        page_range(self.config.pages)

    def parser(self) -> Parser:
        """A parser for one worker; its process starts with the first file."""
        return Parser(self.config.max_memory << 20)

    @on(TAGS, emits=[TEXT, TABLE, IMAGE, AUDIO, VIDEO])
    def parse(self, instance: Instance, blob: Blob) -> None:
        """Emit what the file holds, in reading order; raises one ParseError, and emits nothing, when it cannot be read."""
        name = blob.name or instance.entry.path or instance.entry.name or "unnamed file"
        if blob.size == 0:
            instance.warn("empty-file", f"{name}: skipped because the file is empty")
            return
        folder = Folder()
        try:
            parts = self._parts(instance, blob, name, folder)
        finally:
            folder.close()
        if not sum(self._emit(instance, part) for part in parts):
            instance.warn("no-text", f"{name}: holds no text (a scanned document needs OCR)")

    def _parts(self, instance: Instance, blob: Blob, name: str, folder: Folder) -> list[Part | tuple[Part, Blob]]:
        """What the parser found; media and files with the blob that has their content."""
        config, entry = self.config, instance.entry
        left = instance.remaining
        options = Options(
            encoding=config.encoding,
            pages=config.pages,
            lanes=[name for name, lane in LANES.items() if instance.wants(lane)],
            files=config.inside == "children" and INSIDE not in entry.metadata,
            folder=str(folder.path),
            max_files=config.max_files,
            max_unpacked=config.max_unpacked << 20,
            max_depth=config.max_depth,
            max_ratio=config.max_ratio,
        )
        parser = instance.per_worker(self.parser)
        with blob.path() as path, instance.on_cancel(parser.kill):
            found = parser.parse(
                path,
                name=name,
                mime_type=blob.mime_type or entry.mime_type,
                options=options,
                seconds=config.max_seconds if left is None else min(config.max_seconds, left),
                cancelled=lambda: instance.cancelled,
            )
        made: list[Part | tuple[Part, Blob]] = []
        for part in found:
            if isinstance(part, Media) and part.content == path:
                made.append((part, _typed(blob, part.mime_type)))
            elif isinstance(part, Media | File):
                label = part.name.rpartition("/")[2]
                made.append((part, folder.blob(part.content, name=label, mime_type=part.mime_type)))
            else:
                made.append(part)
        return made

    def _emit(self, instance: Instance, item: Part | tuple[Part, Blob]) -> bool:
        """Send a part on; whether it is more than a fact."""
        match item:
            case Text(text):
                instance.emit(TEXT, text)
            case Table():
                listened, table = self.config.tables != "auto" or instance.wants(TABLE), markdown(item)
                if listened:
                    instance.emit(TABLE, table)
                if not listened or self.config.tables == "both":
                    instance.emit(TEXT, table)
            case Meta(values):
                self._note(instance.metadata, values)
                return False
            case (Media() as media, Blob() as content):
                instance.emit(LANES[media.lane], content)
            case (File() as file, Blob() as content):
                self._spawn(instance, file, content)
        return True

    @staticmethod
    def _spawn(instance: Instance, file: File, content: Blob) -> None:
        owner = instance.entry
        where = owner.path or owner.name
        instance.spawn(
            Entry(
                content.name,
                path=f"{where}/{file.name}" if where else file.name,
                mime_type=content.mime_type,
                metadata={INSIDE: where or content.name},
            ),
            TAGS(content),
        )

    @staticmethod
    def _note(metadata: dict[str, Any], values: dict[str, Any]) -> None:
        """What the host said about the object beats what the file says of itself."""
        for key, value in values.items():
            metadata.setdefault(key, value)


def _typed(blob: Blob, mime_type: str) -> Blob:
    """The blob, or one like it that says what it is."""
    if blob.mime_type == mime_type:
        return blob
    with blob.open() as reader:
        return Blob.of(iter(lambda: reader.read(1 << 20), b""), mime_type=mime_type, name=blob.name)
