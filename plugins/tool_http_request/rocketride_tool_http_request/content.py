# SPDX-License-Identifier: MIT
"""Bodies of responses: decompressed and read up to a limit, then made a text."""

from __future__ import annotations

import base64
import codecs
import json
import re
import zlib
from typing import Any

__all__ = ["BadBody", "Body", "parsed", "text_of"]

_DEEPEST = 100  # levels of JSON
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})
_TEXTUAL = re.compile(r"text/|[/+](json|xml|javascript|ecmascript|yaml|x-yaml|toml|graphql|x-www-form-urlencoded|csv)\b|json")
_BINARY = re.compile(r"(image|audio|video|font)/|application/(pdf|zip|gzip|x-tar|x-7z-compressed|wasm)\b")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class BadBody(Exception):
    """A body cannot be read; the text says why."""


class Body:
    """Takes a body piece by piece, and decompresses no more of it than the limit.

    Parameters:
        coding: Content-Encoding of the response.
        limit: bytes of the decompressed body.

    Raises:
        BadBody: the coding is none that was asked for.
    """

    def __init__(self, coding: str, limit: int) -> None:
        self.coding, self._limit = coding.strip().lower(), limit
        if self.coding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise BadBody(f"the body is compressed as {self.coding[:40]!r}, which was not asked for")
        self._zip: Any = None if self.coding in {"", "identity"} else zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._out = bytearray()
        self._seen = b""
        self._fed = False

    @property
    def truncated(self) -> bool:
        return len(self._out) > self._limit

    def feed(self, piece: bytes) -> bool:
        """Whether more is wanted.

        Raises:
            BadBody: it cannot be decompressed.
        """
        self._fed = True
        try:
            self._out += piece[: self._room] if self._zip is None else self._unzipped(piece)
        except zlib.error:
            raise BadBody(f"the body is no valid {self.coding}") from None
        return not self.truncated

    def end(self) -> bytes:
        """The body, cut where it is too long.

        Raises:
            BadBody: a compressed body is not complete.
        """
        if self._zip is not None and self._fed and not self._zip.eof and not self.truncated:
            raise BadBody(f"the body is an incomplete {self.coding}")
        return bytes(self._out[: self._limit])

    @property
    def _room(self) -> int:
        return self._limit + 1 - len(self._out)

    def _unzipped(self, piece: bytes) -> bytes:
        if self.coding == "deflate" and not self._out:  # some servers send it without the frame of zlib
            self._seen += piece
            try:
                return bytes(self._zip.decompress(piece, self._room))
            except zlib.error:
                self._zip = zlib.decompressobj(-zlib.MAX_WBITS)
                return bytes(self._zip.decompress(self._seen, self._room))
        out = bytearray()
        while piece and (room := self._room - len(out)) > 0:
            if self._zip.eof:  # gzip files may be several in a row; anything else behind one is padding
                if not piece.startswith(b"\x1f\x8b"):
                    break
                self._zip = zlib.decompressobj(zlib.MAX_WBITS | 32)
            out += self._zip.decompress(piece, room)
            piece = self._zip.unused_data
        return bytes(out)


def text_of(data: bytes, content_type: str, *, cut: bool = False) -> tuple[str, str]:
    """The body as text and the character set it was read with; base64 for what is no text.

    Parameters:
        cut: the end is missing, maybe in the middle of a character.
    """
    kind = content_type.lower()
    declared = _charset(kind)
    if declared and not _BINARY.match(kind):
        return _decoded(data, declared, "replace", cut), declared
    if _BINARY.match(kind) and not _TEXTUAL.search(kind):
        return base64.b64encode(data).decode(), "base64"
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "")
    textual = bool(_TEXTUAL.search(kind))
    try:
        if marked or textual or b"\0" not in data:
            return _decoded(data, marked or "utf-8", "strict", cut), marked or "utf-8"
    except UnicodeDecodeError:
        if marked:
            return _decoded(data, marked, "replace", cut), marked
    if textual:
        return data.decode("cp1252", "replace"), "cp1252"
    return base64.b64encode(data).decode(), "base64"


def _decoded(data: bytes, charset: str, errors: str, cut: bool) -> str:
    return codecs.getincrementaldecoder(charset)(errors).decode(data, not cut)


def _charset(content_type: str) -> str:
    """The declared one, where Python knows it and it is one for texts."""
    found = re.search(r"""charset\s*=\s*["']?([\w.:+-]+)""", content_type)
    try:
        name = codecs.lookup(found[1]).name if found else ""
        # Python has codecs that are no character sets (base64, rot13), which `encode` refuses.
        return name if name and name not in _NO_CHARSETS and "".encode(name) is not None else ""
    except (LookupError, ValueError):
        return ""


def parsed(text: str, content_type: str) -> Any:
    """The JSON value of a text; None where it is none, or none that can be handed on."""
    kind = content_type.lower()
    if "json" not in kind and "javascript" not in kind:
        return None
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    level, depth = [value], 0
    while level:
        level = [
            item for one in level if isinstance(one, dict | list) for item in (one.values() if isinstance(one, dict) else one)
        ]
        depth += 1
        if depth > _DEEPEST:
            return None
    return value


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    return value if abs(value) != float("inf") else _refuse(text)
