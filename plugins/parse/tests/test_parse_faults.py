# SPDX-License-Identifier: MIT
"""Wrong names, broken, locked and empty files."""

from pathlib import Path

import pytest
from msoffcrypto.format.ooxml import OOXMLFile

from rocketride_parse.errors import Damaged, Encrypted, ParseError, Unsupported
from rocketride_parse.formats import DOCUMENTS, FORMATS, parse

DATA = Path(__file__).parent / "data"
OFFICE = ["pdf", "docx", "pptx", "xlsx"]


@pytest.mark.parametrize("kind", OFFICE)
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.html", "noextension", "a.docx", "a.pdf"])
def test_wrong_name_and_mime_type_are_survived(kind, name, make, read, sentences, tmp_path):
    path = make[kind](tmp_path / f"real.{kind}").rename(tmp_path / name)
    got = read(path, mime_type="text/plain")
    got.assert_once_in_order(sentences)
    assert got.facts["format"] == kind


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("html", "<!DOCTYPE html><p>Found it."),
        ("html", "<html><body>Found it.</body></html>"),
        ("xml", "<?xml version='1.0'?><a>Found it.</a>"),
        ("json", '{"a": "Found it."}'),
        (
            "eml",
            "Message-ID: <1@example.org>\nFrom: a@example.org\nDate: Mon, 2 Mar 2026 10:00:00 +0000\nSubject: s\n\nFound it.\n",
        ),
        ("csv", "a,b,c\n1,2,Found it.\n3,4,5\n6,7,8\n9,10,11\n"),
        ("txt", "Found it. And: more text, with commas, in it.\nAnother line here.\n"),
    ],
)
@pytest.mark.parametrize("name", ["file", "file.pdf", "file.docx", "file.xyz"])
def test_text_formats_by_content(kind, content, name, read, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    got = read(path)
    assert got.all.count("Found it.") == 1
    assert got.facts["format"] == kind


def test_mime_type_before_name(read, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a;b\n1;2\n")
    assert read(path).facts["format"] == "txt"
    assert read(path, mime_type="text/csv").facts["format"] == "csv"
    assert read(path, name="a.csv", mime_type="text/plain").facts["format"] == "csv", "text/plain says nothing"
    assert read(path, name="a.csv", mime_type="application/octet-stream").facts["format"] == "csv"


def test_markdown_that_starts_like_html_or_json_stays_markdown(read, tmp_path):
    path = tmp_path / "readme.md"
    path.write_text('<p align="center">Logo</p>\n\n# Title\n')
    assert read(path).facts["format"] == "md"
    path.write_text("[link](https://example.org) and text\n")
    assert read(path).facts["format"] == "md"


def damage(content: bytes, how: str) -> bytes:
    match how:
        case "cut":
            return content[: len(content) // 2]
        case "head only":
            return content[:40]
        case _:
            middle = len(content) // 3
            return content[:middle] + bytes(byte ^ 0x5A for byte in content[middle : 2 * middle]) + content[2 * middle :]


@pytest.mark.parametrize("how", ["cut", "head only", "garbled"])
@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_damaged_office_file(kind, how, make, tmp_path):
    path = make[kind](tmp_path / f"broken.{kind}")
    path.write_bytes(damage(path.read_bytes(), how))
    with pytest.raises(Damaged, match=rf"^broken\.{kind}: damaged"):
        list(parse(path))


def test_damaged_pdf(tmp_path):
    path = tmp_path / "broken.pdf"
    path.write_bytes(b"%PDF-1.7\n" + b"no objects at all " * 20)
    with pytest.raises(Damaged, match=r"^broken\.pdf: damaged, not a PDF that opens"):
        list(parse(path))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("broken.json", b'{"a": [1, 2', "line 1, column 12"),
        ("broken.xml", b"<?xml version='1.0'?><a><b></a>", "not XML"),
        ("broken.html", bytes(range(256)) * 8, "not HTML"),
        ("broken.csv", bytes(range(256)) * 8, "not CSV"),
        ("broken.md", bytes(range(256)) * 8, "not Markdown"),
        ("broken.txt", bytes(range(256)) * 8, "not text"),
        ("broken.eml", bytes(range(256)) * 8, "not a mail"),
        ("broken.docx", b"\x01\x02" * 500, "not a Word document"),
        ("plain.docx", b"PK\x03\x04" + b"\0" * 100, "not a Word document"),
    ],
)
def test_damaged_others(name, content, says, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Damaged, match=says) as caught:
        list(parse(path))
    assert str(caught.value).startswith(f"{name}: damaged")


def test_every_format_has_a_damaged_file_here():
    tested = {"msg", "docx", "pptx", "xlsx", "pdf", "json", "xml", "html", "csv", "md", "txt", "eml"}
    assert tested == DOCUMENTS, "the archives are in test_parse_inside.py"


def test_encrypted_pdf(make, tmp_path):
    path = make["pdf"](tmp_path / "locked.pdf", password="spoke")
    with pytest.raises(Encrypted, match=r"^locked\.pdf: encrypted with a password"):
        list(parse(path))


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_encrypted_office_file(kind, make, tmp_path):
    path = make[kind](tmp_path / f"open.{kind}")
    with path.open("rb") as content, (tmp_path / f"locked.{kind}").open("wb") as locked:
        OOXMLFile(content).encrypt("spoke", locked)
    with pytest.raises(Encrypted, match=rf"^locked\.{kind}: encrypted with a password; save a copy without one"):
        list(parse(tmp_path / f"locked.{kind}"))


def test_encrypted_docx():
    with pytest.raises(Encrypted, match=r"^encrypted\.docx: encrypted with a password"):
        list(parse(DATA / "encrypted.docx"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "a PNG image"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "an old binary Office file"),
        (b"\0\0\0\x18ftypmp42" + b"\0" * 50, "an MP4 media file"),
        (b"\0\1\2\3" * 300, "neither a document format"),
    ],
)
def test_unsupported_names_what_it_is(content, says, tmp_path):
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(Unsupported, match=f"^thing: .*{says}"):
        list(parse(path))


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_empty_file_yields_nothing(kind, tmp_path):
    path = tmp_path / f"empty.{kind}"
    path.touch()
    assert list(parse(path)) == []


@pytest.mark.parametrize("kind", ["txt", "md", "csv", "html"])
def test_blank_file_yields_no_text(kind, read, tmp_path):
    path = tmp_path / f"blank.{kind}"
    path.write_text(" \n\t\n  \n")
    got = read(path)
    assert got.texts == []
    assert got.tables == []


def test_too_deep_json(tmp_path):
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(Damaged, match="nested too deeply"):
        list(parse(path))


def test_billion_laughs_is_refused(tmp_path):
    path = tmp_path / "laughs.xml"
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    path.write_text(f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{entities}]><a>&l9;</a>')
    with pytest.raises(ParseError, match=r"laughs\.xml"):
        list(parse(path))
