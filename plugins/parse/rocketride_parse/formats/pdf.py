# SPDX-License-Identifier: MIT
"""PDF, by PDFium: page by page, paragraphs told from line breaks by their distance; pictures and attached files on request."""

import ctypes
import re
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

from rocketride_parse.errors import Damaged, Encrypted, Unsupported
from rocketride_parse.parts import Media, Part, Text, facts, tidy
from rocketride_parse.source import Source, page_range
from rocketride_parse.unpack import loose

from .pictures import Pictures

_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(Z|[+-]\d\d'?(?:\d\d)?)?")
# PDFium puts one of these in the place of a hyphen at the end of a line, and joins the lines.
_HYPHEN = re.compile("(..)?[\ufffe\x02](?:\r\n)?(.)?", re.DOTALL)
_LEADING = 1.35
# What PDF writers put where nobody said anything.
_NOTHING = ("anonymous", "unspecified", "untitled")


def read(source: Source) -> Iterator[Part]:
    """One text a page, and its pictures; a scan has no text, but pictures of its pages."""
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
            shown: list[Media] = []
            try:
                page = document[number]
                words = page.get_textpage()
            except pypdfium2.PdfiumError as error:
                raise Damaged(f"{source.name}: damaged, its page {number + 1} cannot be read ({error})") from error
            try:
                text = tidy(_page(words))
                if "image" in source.options.lanes:
                    shown = pictures.of(page, number + 1, bool(text.strip()))
            finally:
                words.close()
                page.close()
            if text.strip():
                yield Text(text)
            yield from shown
        attached = [document.get_attachment(index) for index in range(document.count_attachments())]
        for item in attached if source.options.files else ():
            data = item.get_data()
            yield from loose(item.get_name(), ctypes.string_at(data, len(data)), source, source.budget)
        yield _facts(document, raw, [item.get_name() for item in attached])
    finally:
        document.close()


def _page(words: Any) -> str:
    text = words.get_text_range()
    lines = text.split("\r\n")
    if words.count_chars() == len(text):
        tops = _tops(words, lines)
        steps = [above - below for above, below in pairwise(tops) if above - below > 1]
        usual = median(steps) if steps else 0.0
        lines = [
            line + ("\r\n" if after < 0 or after > usual * _LEADING else "")
            for line, after in zip(lines, _after(tops), strict=True)
        ]
    return _HYPHEN.sub(_unhyphened, "\r\n".join(lines))


def _unhyphened(match: re.Match[str]) -> str:
    """Between small letters the hyphen only broke the word; in Anne-Marie, CH-01 or x-ray it belongs to it."""
    before, after = match[1] or "", match[2] or ""
    broke = before.isalpha() and before[-1].islower() and after.islower()
    return before + ("" if broke else "-") + after


def _after(tops: list[float]) -> list[float]:
    """The way down from each line to the next; negative where it leads up, into another column."""
    return [*(above - below for above, below in pairwise(tops)), 0.0]


def _tops(words: Any, lines: list[str]) -> list[float]:
    """The height of each line's base on the page, in points; a blank line has that of the line before it."""
    tops: list[float] = []
    place = 0
    for line in lines:
        start = place + len(line) - len(line.lstrip())
        if line.strip():
            tops.append(words.get_charbox(start, loose=True)[1])
        else:
            tops.append(tops[-1] if tops else 0.0)
        place += len(line) + 2
    return tops


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
