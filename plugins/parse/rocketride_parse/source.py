# SPDX-License-Identifier: MIT
"""The file a parser works on, and the options that came with it."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .encoding import NotText, canonical, decode
from .errors import Unsupported

if TYPE_CHECKING:
    from .unpack import Budget


class Options(NamedTuple):
    """How to read; the same for every file of a node, but for `folder` and `files`.

    encoding: of text, "" to find it out. pages: as `page_range` takes it. lanes: of image, audio, video, those that are taken out.
    files: whether attachments and members of archives are. folder: where large contents are written; "" to keep all in memory.
    max_files, max_unpacked (bytes), max_depth, max_ratio: limits on all that is taken out of one object together.
    """

    encoding: str = ""
    pages: str = ""
    lanes: Sequence[str] = ()
    files: bool = False
    folder: str = ""
    max_files: int = 1000
    max_unpacked: int = 512 << 20
    max_depth: int = 4
    max_ratio: int = 200


DEFAULTS = Options()


def page_range(text: str) -> Callable[[int], bool]:
    """Whether a page, counted from 1, is in a range as "1-5,8,11-"; "" has all pages.

    Raises ValueError for a text that is no such range.
    """
    spans: list[tuple[float, float]] = []
    for item in text.replace(" ", "").split(",") if text.strip() else ():
        first, dash, last = item.partition("-")
        if not (first or last) or not (first or "1").isdecimal() or not (last or "1").isdecimal():
            raise ValueError(f"pages is a range as in '1-5,8,11-', not {text!r}")
        low = int(first or 1)
        high = float(last) if last else float("inf") if dash else low
        if low < 1 or high < low:
            raise ValueError(f"pages {item!r} holds no page; pages are counted from 1, the lower first")
        spans.append((low, high))
    return lambda page: not spans or any(low <= page <= high for low, high in spans)


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
    def budget(self) -> "Budget":
        """What may be taken out of this file."""
        from .unpack import Budget

        return Budget(self)

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
