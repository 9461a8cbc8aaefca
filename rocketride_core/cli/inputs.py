# SPDX-License-Identifier: MIT
"""From words on the command line to objects: files, folders, standard input, questions."""

from __future__ import annotations

import mimetypes
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from rocketride_core.blob import Blob
from rocketride_core.entry import Entry

from .arguments import Usage

__all__ = ["STDIN", "collect", "file_object", "mime_type", "stdin_object"]

STDIN = Path("-")
# What Python's own table lacks and minimal systems do not add.
TYPES = {
    ".7z": "application/x-7z-compressed",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".flac": "audio/flac",
    ".jsonl": "application/jsonl",
    ".m4a": "audio/mp4",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".mkv": "video/x-matroska",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ogg": "audio/ogg",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".rst": "text/x-rst",
    ".rtf": "application/rtf",
    ".webp": "image/webp",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
PACKED = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
    "compress": "application/x-compress",
}
SNIFF = 8192


def collect(names: Iterable[str]) -> list[Path]:
    """The files that these names stand for, each once: a folder's sorted, hidden ones left out unless they are named themselves.

    Raises:
        Usage: a name stands for nothing.
    """
    found: dict[str, Path] = {}
    for name in names:
        path = Path(name)
        if path == STDIN:
            found.setdefault(name, STDIN)
        elif path.is_dir():
            for file in _files(path):
                found.setdefault(os.path.normpath(file.absolute()), file)
        elif path.exists():
            found.setdefault(os.path.normpath(path.absolute()), path)
        else:
            raise Usage(f"there is no file or folder {name}")
    return list(found.values())


def _files(folder: Path) -> list[Path]:
    out: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        out += [path for name in files if not name.startswith(".") and (path := Path(place, name)).is_file()]
    return sorted(out, key=lambda path: path.parts)


def mime_type(name: str) -> str:
    """The media type by the file's name, "" where it says nothing."""
    if known := TYPES.get(Path(name).suffix.lower()):
        return known
    guess, packed = mimetypes.guess_type(name)
    return PACKED.get(packed, "application/octet-stream") if packed else guess or ""


def file_object(path: Path) -> tuple[Entry, Blob]:
    """The object of a file; its content stays where it is.

    Raises:
        OSError: it is gone, or may not be read.
    """
    status = path.stat()
    if not path.is_file():  # a pipe or a device
        with path.open("rb") as stream:
            return _streamed(stream, path.name)
    with path.open("rb"):
        pass
    place = Path(os.path.normpath(path.absolute()))
    cwd = Path.cwd()
    mime = mime_type(path.name)
    modified = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
    entry = Entry(
        path.name,
        path=(place.relative_to(cwd) if place.is_relative_to(cwd) else place).as_posix(),
        mime_type=mime,
        metadata={"size": status.st_size, "modified": modified},
    )
    return entry, Blob.of(path, mime_type=mime, name=path.name)


def stdin_object(stream: BinaryIO | None = None) -> tuple[Entry, Blob]:
    """All of standard input as one object: text where it begins like UTF-8, else unknown bytes."""
    return _streamed(stream or sys.stdin.buffer, "stdin")


def _streamed(source: BinaryIO, name: str) -> tuple[Entry, Blob]:
    head = source.read(SNIFF)
    mime = "text/plain" if _is_text(head) else "application/octet-stream"
    blob = Blob.of(_pieces(head, source), mime_type=mime, name=name)
    return Entry(name, mime_type=mime, metadata={"size": blob.size}), blob


def _pieces(head: bytes, source: BinaryIO) -> Iterator[bytes]:
    yield head
    while piece := source.read(1 << 20):
        yield piece


def _is_text(head: bytes) -> bool:
    if b"\0" in head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A letter may be cut in two where the sample ends.
        return len(head) == SNIFF and error.start > len(head) - 4
    return True
