# SPDX-License-Identifier: MIT
"""Pictures of a PDF: those that stand in its pages, and whole pages that have no text, as scans have none."""

import ctypes
import hashlib
from collections.abc import Iterator
from typing import Any

from rocketride_parse.parts import Media
from rocketride_parse.png import png
from rocketride_parse.source import Source

_DOTS = 200 / 72
_LONGEST = 4000
# Rules, bullets and spacers.
_SMALLEST = 24


class Pictures:
    """The pictures of one document, each once however often it is shown."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.seen: set[bytes] = set()

    def of(self, page: Any, number: int, has_text: bool) -> list[Media]:
        """The pictures of a page; of one without text, the page as it looks.

        number: of the page, from 1.
        """
        import pypdfium2.raw as raw

        if not has_text:
            return (
                [self._media(f"page-{number}.png", _rendered(page))] if next(iter(page.get_objects()), None) is not None else []
            )
        found: list[Media] = []
        for shown in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]):
            for kind, content in _content(shown):
                mark = hashlib.sha256(content).digest()
                if mark not in self.seen:
                    self.seen.add(mark)
                    found.append(self._media(f"page-{number}-image-{len(found) + 1}.{kind}", content))
        return found

    def _media(self, name: str, content: bytes) -> Media:
        self.source.budget.add(len(content))
        return Media("image", "image/jpeg" if name.endswith(".jpeg") else "image/png", name, content)


def _rendered(page: Any) -> bytes:
    width, height = page.get_size()
    bitmap = page.render(scale=min(_DOTS, _LONGEST / max(width, height, 1)), rev_byteorder=True, maybe_alpha=False)
    try:
        return png(bitmap.width, bitmap.height, bytes(bitmap.buffer), bitmap.n_channels, bitmap.stride)
    finally:
        bitmap.close()


def _content(shown: Any) -> Iterator[tuple[str, bytes]]:
    import pypdfium2

    try:
        if min(shown.get_px_size()) < _SMALLEST:
            return
        filters = shown.get_filters()
        if filters and filters[-1] == "DCTDecode":
            yield "jpeg", ctypes.string_at(data := shown.get_data(decode_simple=True), len(data))
            return
        bitmap = shown.get_bitmap()
    except pypdfium2.PdfiumError:
        # One that no viewer shows either; the text of the page is worth more than an error about it.
        return
    try:
        yield "png", _encoded(bitmap)
    finally:
        bitmap.close()


def _encoded(bitmap: Any) -> bytes:
    pixels, channels = bytearray(bitmap.buffer), bitmap.n_channels
    if channels == 1:
        return png(bitmap.width, bitmap.height, bytes(pixels), 1, bitmap.stride)
    rows = bytearray(bitmap.width * bitmap.height * 3)
    used = bitmap.width * channels
    packed = b"".join(pixels[start : start + used] for start in range(0, bitmap.height * bitmap.stride, bitmap.stride))
    for colour in range(3):
        rows[colour::3] = packed[2 - colour :: channels]
    return png(bitmap.width, bitmap.height, bytes(rows), 3, bitmap.width * 3)
