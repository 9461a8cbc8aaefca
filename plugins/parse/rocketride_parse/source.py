# SPDX-License-Identifier: MIT
"""The file a parser works on, and the options that came with it."""

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from .encoding import NotText, canonical, decode
from .errors import Unsupported


class Options(NamedTuple):
    """How to read; the same for every file of a node."""

    encoding: str = ""


DEFAULTS = Options()


class Source:
    """One file: where it is, what it is called, and what its sender says it is.

    path: a readable file. name: for messages and as the last hint at the type. mime_type: may carry a charset.
    """

    def __init__(self, path: Path, *, name: str = "", mime_type: str = "", options: Options = DEFAULTS) -> None:
        self.path = path
        self.name = name or path.name
        self.mime_type, _, parameters = mime_type.partition(";")
        self.mime_type = self.mime_type.strip().lower()
        self.charset = parameters.partition("charset=")[2].partition(";")[0] if "charset=" in parameters else ""
        self.options = options
        self.encoding = ""

    @cached_property
    def head(self) -> bytes:
        """The first 4,096 bytes."""
        with self.path.open("rb") as file:
            return file.read(4096)

    @cached_property
    def data(self) -> bytes:
        """The whole content."""
        return self.path.read_bytes()

    @cached_property
    def text(self) -> str:
        """The whole content as text; `encoding` is known afterwards. Unsupported for binary content."""
        return self.decode()

    def decode(self, declared: Iterable[str] = ()) -> str:
        """The content as text, where the file itself declares charsets. Unsupported for binary content."""
        forced = self.options.encoding
        if forced:
            self.encoding = canonical(forced)
            return self.data.decode(self.encoding, "replace")
        try:
            text, self.encoding = decode(self.data, [self.charset, *declared])
        except NotText:
            raise Unsupported(f"{self.name}: neither a document format this node reads nor text in a known encoding") from None
        return text
