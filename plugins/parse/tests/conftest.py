# SPDX-License-Identifier: MIT
"""Makes real files with the libraries that other people make them with."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

from rocketride_parse.formats import parse
from rocketride_parse.parts import Meta, Part, Table, Text, markdown

SENTENCES = [f"Sentence number {number} tells of wheel {number * 7} and of nothing else." for number in range(24)]


class Read:
    """What a file gave: all parts, and what tests ask of them."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.texts = [part.text for part in parts if isinstance(part, Text)]
        self.tables = [part.rows for part in parts if isinstance(part, Table)]
        self.facts = {key: value for part in parts if isinstance(part, Meta) for key, value in part.values.items()}
        pieces = [part.text if isinstance(part, Text) else markdown(part) for part in parts if not isinstance(part, Meta)]
        self.all = re.sub(r"\s+", " ", "\n".join(pieces))

    def assert_once_in_order(self, sentences: list[str]) -> None:
        places = []
        for sentence in sentences:
            assert self.all.count(sentence) == 1, f"{sentence!r} comes {self.all.count(sentence)} times in {self.all[:2000]!r}"
            places.append(self.all.index(sentence))
        assert places == sorted(places)


@pytest.fixture
def read() -> Callable[..., Read]:
    def reader(path: Path, **hints: str) -> Read:
        return Read(list(parse(path, **hints)))  # type: ignore[arg-type]

    return reader


@pytest.fixture
def sentences() -> list[str]:
    return SENTENCES


def make_pdf(path: Path, sentences: list[str] = SENTENCES, password: str = "", **info: str) -> Path:
    style = getSampleStyleSheet()["Normal"]
    encryption = StandardEncryption(password, strength=128) if password else None
    story: list[object] = []
    for number, sentence in enumerate(sentences):
        story.append(Paragraph(f"<b>{number}.</b> {sentence}", style))
        if number % 8 == 7:
            story.append(PageBreak())
    SimpleDocTemplate(str(path), encrypt=encryption, **info).build(story)
    return path


def make_docx(path: Path, sentences: list[str] = SENTENCES) -> Path:
    document = docx.Document()
    for sentence in sentences:
        document.add_paragraph(sentence)
    document.save(str(path))
    return path


def make_pptx(path: Path, sentences: list[str] = SENTENCES) -> Path:
    show = pptx.Presentation()
    for number, sentence in enumerate(sentences):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = sentence
    show.save(str(path))
    return path


def make_xlsx(path: Path, sentences: list[str] = SENTENCES) -> Path:
    book = openpyxl.Workbook()
    for number, sentence in enumerate(sentences):
        book.active.append([number, sentence])
    book.save(path)
    return path


@pytest.fixture
def make() -> dict[str, Callable[..., Path]]:
    return {"pdf": make_pdf, "docx": make_docx, "pptx": make_pptx, "xlsx": make_xlsx}


@pytest.fixture
def slow_xlsx(tmp_path: Path) -> Path:
    """A workbook of two million cells in a few kilobytes: honest XML that takes any reader seconds."""
    path = make_xlsx(tmp_path / "slow.xlsx")
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename == "xl/worksheets/sheet1.xml":
                row = b"<row>" + b"<c><v>1</v></c>" * 20 + b"</row>"
                data = re.sub(
                    rb"<sheetData>.*</sheetData>", b"<sheetData>" + row * 100_000 + b"</sheetData>", data, flags=re.DOTALL
                )
            new.writestr(info, data)
    path.write_bytes(content.getvalue())
    return path


@pytest.fixture
def bomb_docx(tmp_path: Path) -> Path:
    """A Word file of some megabytes whose body unpacks to half a gigabyte."""
    path = make_docx(tmp_path / "bomb.docx", ["A small beginning."])
    target = tmp_path / "big.docx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for info in old.infolist():
            if info.filename != "word/document.xml":
                new.writestr(info, old.read(info))
        head, tail = old.read("word/document.xml").split(b"</w:p>", 1)
        with new.open("word/document.xml", "w") as body:
            body.write(head + b"</w:p>")
            filler = b"<w:p><w:r><w:t>" + b"x" * ((1 << 20) - 33) + b"</w:t></w:r></w:p>"
            for _ in range(512):
                body.write(filler)
            body.write(tail)
    return target
