# SPDX-License-Identifier: MIT
"""Real engines read real pages: RapidOCR from its wheel, Tesseract where it is installed."""

import io
import shutil
from importlib.util import find_spec
from pathlib import Path

import fpdf
import pytest
import reportlab
from PIL import Image, ImageDraw, ImageFont

from rocketride_core import TABLE, TAGS, TEXT, Blob, Component, Entry, Instance, Kernel, LaneLink, Node, NodeSpec, PipeFile, on
from rocketride_ocr import Ocr
from rocketride_ocr.languages import FAMILIES, RAPIDOCR
from rocketride_ocr.tesseract import data_folder, installed_languages

ENGINES = [
    pytest.param("rapidocr", marks=[pytest.mark.slow, pytest.mark.skipif(find_spec("rapidocr") is None, reason="no rapidocr")]),
    pytest.param("tesseract", marks=pytest.mark.skipif("eng" not in installed_languages(), reason="no tesseract")),
    pytest.param(
        "tesserocr", marks=pytest.mark.skipif(find_spec("tesserocr") is None or not data_folder(), reason="no tesserocr")
    ),
]
LINES = ["The lens of the great refractor", "was ground in Munich in 1874.", "It weighs 42 kilograms."]
CELLS = [("Item", "Price"), ("Lens", "1200"), ("Tube", "350")]


def page(kind: str = "png") -> bytes:
    font = ImageFont.truetype(str(Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"), 30)
    image = Image.new("RGB", (900, 600), (247, 244, 236))
    draw = ImageDraw.Draw(image)
    for number, text in enumerate(LINES):
        draw.text((60, 40 + 50 * number), text, fill=(30, 30, 40), font=font)
    for row in range(4):
        draw.line((60, 260 + 60 * row, 660, 260 + 60 * row), fill=(30, 30, 40), width=2)
    for column in range(3):
        draw.line((60 + 300 * column, 260, 60 + 300 * column, 440), fill=(30, 30, 40), width=2)
    for row, cells in enumerate(CELLS):
        for column, text in enumerate(cells):
            draw.text((80 + 300 * column, 270 + 60 * row), text, fill=(30, 30, 40), font=font)
    content = io.BytesIO()
    image.save(content, kind)
    return content.getvalue()


class Desk(Node[None]):
    spec = NodeSpec("desk", title="Desk", categories=["source"], emits=[TAGS])


class Tray(Node[None]):
    spec = NodeSpec("tray", title="Tray", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))

    @on(TABLE)
    def table(self, instance: Instance, table: str) -> None:
        instance.respond("table", TABLE(table))


@pytest.mark.parametrize("engine", ENGINES)
def test_scanned_pdf_through_parse_and_ocr(engine, tmp_path):
    pdf = fpdf.FPDF()
    pdf.set_font("Helvetica", size=11)
    pdf.add_page()
    pdf.cell(text="A page with text.")
    pdf.add_page()
    pdf.image(io.BytesIO(page()), 10, 10, 190)
    pdf.output(str(tmp_path / "scan.pdf"))
    sources = [LaneLink(lane, id) for lane in ("text", "table") for id in ("parse_1", "ocr_1")]
    pipe = PipeFile(
        [
            Component("desk", "desk"),
            Component("parse_1", "parse", input=[LaneLink("tags", "desk")]),
            Component("ocr_1", "ocr", {"engine": engine}, input=[LaneLink("image", "parse_1")]),
            Component("tray", "tray", input=sources),
        ]
    )
    with Kernel(nodes=[Desk, Ocr, Tray]).load(pipe) as pipeline:
        result = pipeline.run(Entry("scan.pdf"), TAGS(Blob.of(tmp_path / "scan.pdf"))).checked()
        blank = pipeline.run(Entry("a.png"), TAGS(Blob.of(blank_page(), name="a.png"))).checked()
    first, second = result[TEXT]
    assert first == "A page with text."
    assert " ".join(second.split()) == " ".join(LINES)
    assert result[TABLE] == ["| Item | Price |\n| --- | --- |\n| Lens | 1200 |\n| Tube | 350 |"]
    assert result.to_json()["metadata"]["ocr"] == engine
    assert blank[TEXT] == []
    assert "no-text" in {warning.code for warning in blank.warnings}


def blank_page() -> bytes:
    content = io.BytesIO()
    Image.new("L", (400, 300), 250).save(content, "png")
    return content.getvalue()


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="no rapidocr")
def test_model_in_the_wheel_knows_the_scripts_we_say():
    import onnxruntime

    [model] = Path(find_spec("rapidocr").origin).parent.glob("models/*rec*.onnx")
    letters = set(onnxruntime.InferenceSession(str(model)).get_modelmeta().custom_metadata_map["character"])
    assert {name for name, family in FAMILIES.items() if set(family.sample) <= letters} == RAPIDOCR


def test_tesseract_is_found_where_it_is():
    assert bool(installed_languages()) == (shutil.which("tesseract") is not None)
