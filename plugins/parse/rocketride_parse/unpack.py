# SPDX-License-Identifier: MIT
"""Files inside files: members of archives and attachments of mails, to any depth, under one set of limits."""

import bz2
import gzip
import lzma
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from .errors import Damaged, Encrypted, ParseError, UnpackLimit
from .media import media_type
from .parts import File, clean, one_line
from .source import Source

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAILS = ("eml", "msg")
ARCHIVES = ("zip", "tar", "gz")
OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
BROKEN = (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, OSError, EOFError, ValueError, NotImplementedError)
_FREE = 16 << 20
_CHUNK = 1 << 18
_LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini")


def decompressed(path: Path, head: bytes) -> BinaryIO | None:
    """The content of a gzip, bzip2 or xz file as a stream, None when it is none of them."""
    opener = next((opener for start, opener in OPENERS.items() if head.startswith(start)), None)
    return cast(BinaryIO, opener(path, "rb")) if opener is not None else None


class Budget:
    """What may still be taken out of one object; the archives inside it share what it has."""

    def __init__(self, source: Source) -> None:
        self.name, self.options = source.name, source.options
        self.packed = max(source.path.stat().st_size, 1)
        self.files = self.bytes = 0
        self.names: set[str] = set()

    def name_for(self, label: str) -> str:
        """`label`, or one like it where it was given before: names are identities."""
        name, number = label, 1
        while name in self.names:
            number += 1
            stem, dot, suffix = label.rpartition(".")
            name = f"{stem} ({number}){dot}{suffix}" if stem and "/" not in suffix else f"{label} ({number})"
        self.names.add(name)
        return name

    def file(self) -> None:
        """One file more. UnpackLimit when that is too many."""
        self.files += 1
        if self.files > self.options.max_files:
            raise UnpackLimit(f"{self.name}: holds more than the {self.options.max_files} files that max_files allows")

    def add(self, size: int) -> None:
        """`size` bytes more. UnpackLimit when that is too much, or too much for so small an archive."""
        self.bytes += size
        if self.bytes > self.options.max_unpacked:
            allowed = f"{self.options.max_unpacked >> 20} MiB that max_unpacked allows"
            raise UnpackLimit(f"{self.name}: unpacks to more than the {allowed}")
        if self.bytes > max(_FREE, self.packed * self.options.max_ratio):
            raise UnpackLimit(
                f"{self.name}: unpacks to more than {self.options.max_ratio} times its size (max_ratio), as bombs do"
            )

    def deep(self, depth: int) -> None:
        """An archive or mail at that depth. UnpackLimit when that is too deep."""
        if depth > self.options.max_depth:
            raise UnpackLimit(f"{self.name}: holds archives or mails more than {self.options.max_depth} deep (max_depth)")


class _Counted:
    """A stream for tarfile, which skips what it does not want by reading it: that counts too."""

    def __init__(self, stream: BinaryIO, budget: Budget) -> None:
        self.stream, self.budget = stream, budget

    def read(self, size: int) -> bytes:
        data = self.stream.read(size)
        self.budget.add(len(data))
        return data


def members(source: Source, kind: str, budget: Budget) -> Iterator[tuple[str, BinaryIO]]:
    """Names and streams of the files in an archive; a stream is read before the next is asked for."""
    try:
        if kind == "zip":
            yield from _zip(source)
        elif kind == "tar":
            yield from _tar(source, budget)
        else:
            with cast(BinaryIO, decompressed(source.path, source.head)) as stream:
                yield Path(source.name).stem or "content", stream
    except BROKEN as error:
        raise Damaged(f"{source.name}: damaged, not an archive that can be read ({error})") from error


def _zip(source: Source) -> Iterator[tuple[str, BinaryIO]]:
    with zipfile.ZipFile(source.path) as archive:
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise Encrypted(f"{source.name}: encrypted with a password; save a copy without one")
            if not info.is_dir():
                with archive.open(info) as stream:
                    yield info.filename, cast(BinaryIO, stream)


def _tar(source: Source, budget: Budget) -> Iterator[tuple[str, BinaryIO]]:
    with decompressed(source.path, source.head) or source.path.open("rb") as stream:
        counted = cast("IO[bytes]", _Counted(stream, budget))
        with tarfile.open(fileobj=counted, mode="r|") as archive:
            for info in archive:
                # A link is a name for what is, or is not, elsewhere.
                if info.isfile() and (content := archive.extractfile(info)) is not None:
                    yield info.name, cast(BinaryIO, content)


def files_of(source: Source, kind: str, budget: Budget, prefix: str = "", depth: int = 1) -> Iterator[File]:
    """All files in an archive that something may read; those of the archives and mails among them too."""
    budget.deep(depth)
    for name, stream in members(source, kind, budget):
        label = _label(name)
        if not label or any(part in _LITTER or part.startswith("._") for part in label.split("/")):
            continue
        budget.file()
        # What a tar holds was counted as it came.
        place = _store(stream, source.options.folder, None if kind == "tar" else budget)
        yield from inside(Source(place, name=budget.name_for(prefix + label), options=source.options), budget, depth + 1)


def inside(source: Source, budget: Budget, depth: int) -> Iterator[File]:
    """A file that was taken out and lies in the folder: itself, or what is in it when it is an archive; a mail is both."""
    from .formats.mail import attachments
    from .sniff import kind_of

    kind = ""
    with suppress(ParseError):
        kind = kind_of(source) if source.head else "blank"
    if kind in ARCHIVES:
        try:
            yield from files_of(source, kind, budget, source.name + "/", depth)
        except UnpackLimit:
            raise
        except ParseError:
            # It fails as an object of its own, beside its siblings.
            yield File(source.name, "", source.path)
            return
    elif kind not in ("image", "audio", "video", "blank") or kind in source.options.lanes:
        yield File(source.name, media_type(source.head)[0], source.path)
        if kind in MAILS:
            budget.deep(depth)
            for name, content in attachments(source):
                yield from loose(name, content, source, budget, depth + 1)
        return
    source.path.unlink()


def loose(name: str, content: bytes, owner: Source, budget: Budget, depth: int = 1) -> Iterator[File]:
    """The same for an attachment of `owner`, which is in memory."""
    budget.file()
    budget.add(len(content))
    label = _label(name) or "attachment"
    name = budget.name_for(f"{owner.name}/{label}" if depth > 1 else label)
    yield from inside(Source(_write(content, owner.options.folder), name=name, options=owner.options), budget, depth)


def _label(name: str) -> str:
    """A name fit to be shown and to be a path: no root, no drive, no way up."""
    parts = one_line(clean(name)).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..") and not part.endswith(":"))


def _store(stream: BinaryIO, folder: str, budget: Budget | None) -> Path:
    handle, place = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        while chunk := stream.read(_CHUNK):
            if budget is not None:
                budget.add(len(chunk))
            file.write(chunk)
    return Path(place)


def _write(content: bytes, folder: str) -> Path:
    handle, place = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return Path(place)
