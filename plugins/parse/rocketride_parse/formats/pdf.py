# SPDX-License-Identifier: MIT
"""PDF, by PDFium: page by page, paragraphs told from line breaks by their distance; pictures and attached files on request."""

import ctypes
import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

from rocketride_parse.errors import Damaged, Encrypted, Unsupported
from rocketride_parse.parts import Part, Text, facts, tidy
from rocketride_parse.source import Source, page_range
from rocketride_parse.unpack import loose

from .pdftable import Line, tables
from .pictures import Pictures

_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(Z|[+-]\d\d'?(?:\d\d)?)?")
# PDFium puts one of these in the place of a hyphen at the end of a line, and joins the lines.
_HYPHEN = re.compile("(..)?[\ufffe\x02](?:\r\n)?(.)?", re.DOTALL)
_LEADING = 1.35
# What PDF writers put where nobody said anything.
_NOTHING = ("anonymous", "unspecified", "untitled")


def read(source: Source) -> Iterator[Part]:
    """Text and ruled tables page by page, and pictures; a scan has no text, but pictures of its pages."""
    import pypdfium2
    import pypdfium2.raw as raw

    try:
        document = pypdfium2.PdfDocument(source.path)
    except pypdfium2.PdfiumError as error:
        reason = {
            raw.FPDF_ERR_PASSWORD: Encrypted(f"{source.name}: encrypted with a password; save a copy without one"),
            raw.FPDF_ERR_SECURITY: Unsupported(f"{source.name}: a PDF whose protection is not supported; save a copy without it"),
        }.get(error.err_code or 0)
        raise reason or Damaged(f"{source.name}: damaged, not a PDF that opens ({error})") from error
    chosen, pictures = page_range(source.options.pages), Pictures(source)
    try:
        for number in range(len(document)):
            if not chosen(number + 1):
                continue
            try:
                page = document[number]
                words = page.get_textpage()
            except pypdfium2.PdfiumError as error:
                raise Damaged(f"{source.name}: damaged, its page {number + 1} cannot be read ({error})") from error
            try:
                parts = list(_page(page, words))
                if "image" in source.options.lanes:
                    parts += pictures.of(page, number + 1, bool(parts))
            finally:
                words.close()
                page.close()
            yield from parts
        attached = [document.get_attachment(index) for index in range(document.count_attachments())]
        for item in attached if source.options.files else ():
            data = item.get_data()
            yield from loose(item.get_name(), ctypes.string_at(data, len(data)), source, source.budget)
        yield _facts(document, raw, [item.get_name() for item in attached])
    finally:
        document.close()


def _page(page: Any, words: Any) -> Iterator[Part]:
    """Texts and ruled tables of a page, in its order."""
    text = words.get_text_range()
    lines = text.split("\r\n")
    if words.count_chars() != len(text):
        yield from _text([text])
        return
    places = _places(words, lines)
    found = tables(page, words, places)
    steps = [above.bottom - below.bottom for above, below in pairwise(places) if above.bottom - below.bottom > 1]
    usual = median(steps) if steps else 0.0
    said: list[str] = []
    for number, (line, after) in enumerate(zip(lines, _after(places), strict=True)):
        inside = next((one for one in found if number in one.lines), None)
        if inside is None:
            said.append(line + ("\r\n" if after < 0 or after > usual * _LEADING else ""))
        elif number == min(inside.lines):
            yield from _text(said)
            said.clear()
            yield inside.table
    yield from _text(said)


def _text(lines: list[str]) -> Iterator[Part]:
    text = tidy(_HYPHEN.sub(_unhyphened, "\r\n".join(lines)))
    if text.strip():
        yield Text(text)


def _unhyphened(match: re.Match[str]) -> str:
    """Between small letters the hyphen only broke the word; in Anne-Marie, CH-01 or x-ray it belongs to it."""
    before, after = match[1] or "", match[2] or ""
    broke = before.isalpha() and before[-1].islower() and after.islower()
    return before + ("" if broke else "-") + after


def _after(places: list[Line]) -> list[float]:
    """The way down from each line to the next; negative where it leads up, into another column."""
    return [*(above.bottom - below.bottom for above, below in pairwise(places)), 0.0]


def _places(words: Any, lines: list[str]) -> list[Line]:
    """Where each line stands on the page; a blank one where the line before it does."""
    places: list[Line] = []
    index = 0
    for line in lines:
        start = index + len(line) - len(line.lstrip())
        if line.strip():
            left, bottom, *_ = words.get_charbox(start, loose=True)
            places.append(Line(line, left, bottom))
        else:
            places.append(Line("", *(places[-1][1:] if places else (0.0, 0.0))))
        index += len(line) + 2
    return places


def _facts(document: Any, raw: Any, attachments: list[str]) -> Part:
    found = {
        key: value
        for key, value in document.get_metadata_dict(skip_empty=True).items()
        if value.strip("()").lower() not in _NOTHING
    }
    size = raw.FPDFCatalog_GetLanguage(document, None, 0)
    language = ""
    if size > 2:
        buffer = ctypes.create_string_buffer(size)
        raw.FPDFCatalog_GetLanguage(document, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
        language = buffer.raw[: size - 2].decode("utf-16-le", "replace")
    return facts(
        title=found.get("Title"),
        author=found.get("Author"),
        subject=found.get("Subject"),
        pages=len(document),
        language=language,
        created=_iso(found.get("CreationDate", "")),
        modified=_iso(found.get("ModDate", "")),
        attachments=attachments,
    )


def _iso(text: str) -> str:
    match = _DATE.match(text)
    if match is None:
        return ""
    year, month, day, *clock, zone = match.groups()
    days = "-".join(piece for piece in (year, month, day) if piece)
    if not all(clock):
        return days
    zone = (zone or "").replace("'", "")
    offset = f"{zone[:3]}:{zone[3:] or '00'}" if len(zone) > 1 else zone
    return f"{days}T{':'.join(clock)}{offset}"
