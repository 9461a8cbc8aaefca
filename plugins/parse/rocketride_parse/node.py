# SPDX-License-Identifier: MIT
"""The node `parse`: tags in, text and tables out, facts on the entry."""

from typing import Any

import attrs

from rocketride_core import TABLE, TAGS, TEXT, Blob, Instance, Node, NodeSpec, hookimpl, on, setting

from .encoding import canonical
from .parts import Meta, Table, Text, markdown
from .process import Parser
from .source import Options


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


class Parse(Node[ParseConfig]):
    """Parses each file in a process of its own worker, so that one that hangs or crashes the parser fails alone."""

    spec = NodeSpec(
        "parse",
        title="Parser",
        description="Text, tables and metadata of PDF, Office, HTML, Markdown, CSV, JSON, XML, mail and text files.",
        categories=["data"],
    )

    @hookimpl
    def begin_global(self) -> None:
        if self.config.encoding and not canonical(self.config.encoding):
            raise ValueError(f"unknown encoding {self.config.encoding!r}; leave it empty to have it found out for each file")

    def parser(self) -> Parser:
        """A parser for one worker; its process starts with the first file."""
        return Parser(self.config.max_memory << 20)

    @on(TAGS, emits=[TEXT, TABLE])
    def parse(self, instance: Instance, blob: Blob) -> None:
        """Emit what the file holds, in reading order; raises one ParseError, and emits nothing, when it cannot be read."""
        config, entry = self.config, instance.entry
        name = blob.name or entry.path or entry.name or "unnamed file"
        if blob.size == 0:
            instance.warn("empty-file", f"{name}: skipped because the file is empty")
            return
        parser = instance.per_worker(self.parser)
        left = instance.remaining
        seconds = config.max_seconds if left is None else min(config.max_seconds, left)
        mime_type = blob.mime_type or entry.mime_type
        with blob.path() as path, instance.on_cancel(parser.kill):
            parts = parser.parse(
                path,
                name=name,
                mime_type=mime_type,
                options=Options(config.encoding),
                seconds=seconds,
                cancelled=lambda: instance.cancelled,
            )
        listened = config.tables != "auto" or instance.wants(TABLE)
        said = False
        for part in parts:
            match part:
                case Text(text):
                    instance.emit(TEXT, text)
                    said = True
                case Table():
                    table = markdown(part)
                    if listened:
                        instance.emit(TABLE, table)
                    if not listened or config.tables == "both":
                        instance.emit(TEXT, table)
                    said = True
                case Meta(values):
                    self._note(instance.metadata, values)
        if not said:
            instance.warn("no-text", f"{name}: holds no text (a scanned document needs OCR)")

    @staticmethod
    def _note(metadata: dict[str, Any], values: dict[str, Any]) -> None:
        """What the host said about the object beats what the file says of itself."""
        for key, value in values.items():
            metadata.setdefault(key, value)
