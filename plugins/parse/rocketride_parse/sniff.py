# SPDX-License-Identifier: MIT
"""What kind of file it is: told by its content, then by its mime type, then by its name."""

import csv
import json
import re
import tarfile
import zipfile
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from .errors import Damaged, Encrypted, Unsupported
from .media import media_type
from .source import Source
from .unpack import BROKEN, OLE, OPENERS, decompressed

MIME_TYPES = {
    "text/markdown": "md",
    "text/x-markdown": "md",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "application/json": "json",
    "application/x-ndjson": "json",
    "text/xml": "xml",
    "application/xml": "xml",
    "message/rfc822": "eml",
    "application/vnd.ms-outlook": "msg",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/x-tar": "tar",
}
SUFFIXES = {
    "md": "md", "markdown": "md", "html": "html", "htm": "html", "xhtml": "html", "csv": "csv", "tsv": "csv", "json": "json",
    "jsonl": "json", "ndjson": "json", "xml": "xml", "eml": "eml", "msg": "msg", "pdf": "pdf", "docx": "docx", "docm": "docx", "pptx": "pptx",
    "pptm": "pptx", "xlsx": "xlsx", "xlsm": "xlsx", "tar": "tar", "txt": "txt", "text": "txt", "log": "txt",
}  # fmt: skip
TITLES = {
    "pdf": "a PDF", "docx": "a Word document", "pptx": "a PowerPoint presentation", "xlsx": "an Excel workbook",
    "zip": "a ZIP archive", "tar": "a tar archive", "gz": "a compressed file", "image": "an image", "audio": "a recording",
    "video": "a film", "json": "JSON", "xml": "XML", "html": "HTML", "csv": "CSV", "eml": "a mail", "msg": "an Outlook mail", "md": "Markdown", "txt": "text",
}  # fmt: skip
_OOXML = (
    (re.compile(r"(wordprocessingml|ms-word)[\w.]*\.main\+xml"), "docx"),
    (re.compile(r"(presentationml|ms-powerpoint)[\w.]*\.main\+xml"), "pptx"),
    (re.compile(r"(spreadsheetml|ms-excel\.(sheet|template)\.macroEnabled)[\w.]*\.main\+xml"), "xlsx"),
)
_FOREIGN = (
    (b"RIFF", "a RIFF media file"), (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"), (b"Rar!\x1a\x07", "a RAR archive"), (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program"), (b"{\\rtf", "an RTF document"), (b"SQLite format 3\0", "an SQLite database"),
)  # fmt: skip
_HTML = re.compile(r"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_HEADER = re.compile(r"([!-9;-~]+):")
_MAIL_SURE = {"received", "message-id", "mime-version", "return-path", "delivered-to", "x-mailer", "date"}


def kind_of(source: Source) -> str:
    """The format of `source`, a key of `formats.FORMATS`.

    Raises Damaged, Encrypted or Unsupported when the content itself says that nothing can be read from it.
    """
    head = source.head
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zipped(source)
    if head.startswith(OLE):
        if "EncryptedPackage".encode("utf-16-le") in source.data:
            raise Encrypted(f"{source.name}: encrypted with a password; save a copy without one")
        if "__properties_version1.0".encode("utf-16-le") in source.data:
            return "msg"
        raise Unsupported(f"{source.name}: an old binary Office file; save it as .docx, .xlsx or .pptx")
    mime_type, _ = media_type(head)
    if mime_type:
        return mime_type.partition("/")[0]
    if head[257:262] == b"ustar" or (declared_kind(source) == "tar" and tarfile.is_tarfile(source.path)):
        return "tar"
    if head.startswith(tuple(OPENERS)):
        return _compressed(source)
    foreign = next((title for magic, title in _FOREIGN if head.startswith(magic)), "")
    if foreign:
        raise Unsupported(f"{source.name}: {foreign}, not a document this node reads")
    return _textual(source)


def declared_kind(source: Source) -> str:
    """What mime type, then name, say; a generic mime type says nothing. "" when neither does."""
    kind = MIME_TYPES.get(source.mime_type, "")
    return kind or SUFFIXES.get(PurePosixPath(source.name).suffix.lstrip(".").lower(), "")


def _zipped(source: Source) -> str:
    claimed = declared_kind(source)
    try:
        with zipfile.ZipFile(source.path) as archive:
            names = set(archive.namelist())
            if "[Content_Types].xml" in names:
                types = archive.read("[Content_Types].xml").decode("utf-8", "replace")
                kind = next((kind for main, kind in _OOXML if main.search(types)), "")
                if kind:
                    return kind
            mime = archive.read("mimetype")[:80].decode("ascii", "replace") if "mimetype" in names else ""
    except RuntimeError as error:
        raise Encrypted(f"{source.name}: encrypted with a password; save a copy without one") from error
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError, KeyError) as error:
        title = TITLES[claimed] if claimed in ("docx", "pptx", "xlsx") else "a ZIP file"
        raise Damaged(f"{source.name}: damaged, not {title} that opens ({error})") from error
    if claimed in ("docx", "pptx", "xlsx") and not mime:
        raise Damaged(f"{source.name}: damaged, not {TITLES[claimed]} but a ZIP archive without an Office document in it")
    if mime:
        raise Unsupported(f"{source.name}: {mime}, not a document this node reads")
    return "zip"


def _compressed(source: Source) -> str:
    try:
        with cast(BinaryIO, decompressed(source.path, source.head)) as stream:
            return "tar" if stream.read(512)[257:262] == b"ustar" else "gz"
    except BROKEN as error:
        raise Damaged(f"{source.name}: damaged, not a compressed file that can be read ({error})") from error


def _textual(source: Source) -> str:
    claimed = declared_kind(source)
    text = _readable(source, claimed)
    start = text[:2000].lstrip().lstrip("\ufeff")
    if _HTML.match(text[:4000]):
        return "html"
    if start.startswith("<?xml"):
        return "xml"
    if start[:1] in ("{", "[") and (claimed == "json" or _is_json(text)):
        return "json"
    if _is_mail(text[:20000], claimed == "eml"):
        return "eml"
    if start.startswith("<") and claimed in ("html", "xml", ""):
        return claimed or ("xml" if _is_xml(source.data) else "txt")
    if claimed in ("txt", "md", "csv", "html") or (claimed == "json" and _is_json(text)):
        return claimed
    return "csv" if _is_csv(text[:20000]) else "txt"


def _readable(source: Source, claimed: str) -> str:
    try:
        return source.text
    except Unsupported as error:
        if claimed in ("pdf", "docx", "pptx", "xlsx", "json", "xml", "html", "csv", "eml", "md", "txt"):
            raise Damaged(f"{source.name}: damaged, its content is not {TITLES[claimed]}") from error
        raise


def _is_json(text: str) -> bool:
    try:
        json.loads(text.lstrip("\ufeff"))
    except RecursionError:
        return True
    except ValueError:
        lines = [line for line in text.split("\n") if line.strip()][:20]
        return len(lines) > 1 and all(line.lstrip()[:1] == "{" for line in lines) and all(map(_is_json, lines[:-1]))
    return True


def _is_xml(data: bytes) -> bool:
    from lxml import etree

    try:
        etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except (etree.XMLSyntaxError, ValueError):
        return False
    return True


def _is_mail(text: str, claimed: bool) -> bool:
    block = re.split(r"\r?\n\r?\n", text.lstrip("\r\n"), maxsplit=1)[0]
    names: set[str] = set()
    for line in block.splitlines():
        if line[:1] in (" ", "\t") or (not names and line.startswith("From ")):
            continue
        header = _HEADER.match(line)
        if header is None:
            return False
        names.add(header[1].lower())
    if claimed:
        return bool(names & ({"from", "to", "subject"} | _MAIL_SURE))
    return len(names & _MAIL_SURE) >= 1 and len(names & {"from", "to", "subject", "received", "message-id"}) >= 2


def _is_csv(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()][:-1][:50]
    for delimiter in (",", ";", "\t", "|"):
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        except csv.Error:
            continue
        if len(widths) >= 3 and widths[0] >= 3 and len(set(widths)) == 1:
            return True
    return False
