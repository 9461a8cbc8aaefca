# SPDX-License-Identifier: MIT
"""Immutable bytes by reference: in memory, in a file, or spooled to disk when large."""

from __future__ import annotations

import io
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from .errors import RunError

__all__ = ["Blob"]

SPOOL_ABOVE = 8 << 20


class Blob:
    """One whole object: a file, an image, a recording.

    Make it with `Blob.of`; it is freed with the last reference, and so is the file it was spooled to.

    Parameters:
        name: file name, "" where there is none.
        mime_type: RFC 6838 media type, "" where unknown.
        size: bytes.
        metadata: anything known of it.
    """

    __slots__ = ("__weakref__", "_data", "_path", "metadata", "mime_type", "name", "size")

    name: str
    mime_type: str
    size: int
    metadata: Mapping[str, Any]

    def __init__(self, data: bytes | None, path: Path | None, size: int, mime_type: str, name: str) -> None:
        self._data, self._path = data, path
        self.size, self.mime_type, self.name = size, mime_type, name
        self.metadata = {}

    def __repr__(self) -> str:
        return f"<Blob {self.name!r} {self.mime_type or 'unknown type'}, {self.size} bytes>"

    @staticmethod
    def of(data: bytes | Path | Iterable[bytes], *, mime_type: str = "", name: str = "") -> Blob:
        """A blob of these bytes, of this file (by reference: it must not change), or of these pieces, read now.

        Pieces go to a temporary file once they exceed 8 MiB.

        Raises:
            FileNotFoundError, IsADirectoryError: `data` is a path without a file.
            TypeError: `data` is text; encode it first.
        """
        if isinstance(data, (bytes, bytearray, memoryview)):
            held = bytes(data)
            return Blob(held, None, len(held), mime_type, name)
        if isinstance(data, Path):
            if data.is_dir():
                raise IsADirectoryError(f"{data} is a folder; a Blob is one file")
            if not data.is_file():  # a pipe or a device: it can be read once, and its size is not known before
                with data.open("rb") as stream:
                    return _spool(iter(lambda: stream.read(1 << 20), b""), mime_type, name or data.name)
            return Blob(None, data, data.stat().st_size, mime_type, name or data.name)
        if isinstance(data, cast(type, str)):  # an iterable, but not of bytes
            raise TypeError(
                "Blob.of takes bytes, a Path or an iterable of bytes, not str: encode the text, or wrap the name in Path(...)"
            )
        return _spool(data, mime_type, name)

    def open(self) -> BinaryIO:
        """A new seekable reader from the start; every call gives its own."""
        return io.BytesIO(self._data) if self._data is not None else cast(BinaryIO, cast(Path, self._path).open("rb"))

    def read(self, limit: int = 64 << 20) -> bytes:
        """All of it, in memory.

        Raises:
            RunError: it is larger than `limit` bytes; use `open()` or `path()`.
        """
        if self.size > limit:
            raise RunError(f"{self.name or 'blob'} has {self.size} bytes, more than the limit of {limit}; use open() or path()")
        if self._data is not None:
            return self._data
        with self.open() as reader:
            return reader.read()

    @contextmanager
    def path(self) -> Iterator[Path]:
        """A real file for libraries and child processes, valid inside the `with`; a blob in memory is written to a temporary one."""
        if self._path is not None:
            yield self._path
            return
        handle, name = tempfile.mkstemp(prefix="rocketride-", suffix=Path(self.name).suffix)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self._data or b"")
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)


def _spool(pieces: Iterable[bytes], mime_type: str, name: str) -> Blob:
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_ABOVE) as spool:
        for piece in pieces:
            spool.write(piece)
        size = spool.tell()
        spool.seek(0)
        if size <= SPOOL_ABOVE:
            return Blob(spool.read(), None, size, mime_type, name)
        handle, place = tempfile.mkstemp(prefix="rocketride-", suffix=Path(name).suffix)
        try:
            with os.fdopen(handle, "wb") as file:
                while chunk := spool.read(1 << 20):
                    file.write(chunk)
        except BaseException:
            Path(place).unlink(missing_ok=True)
            raise
    blob = Blob(None, Path(place), size, mime_type, name)
    weakref.finalize(blob, Path(place).unlink, missing_ok=True)
    return blob
