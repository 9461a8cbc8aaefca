# SPDX-License-Identifier: MIT
"""Pictures, recordings and films in documents; scanned pages; page ranges; large documents."""

import base64
import io
import tracemalloc
from email.message import EmailMessage
from pathlib import Path

import docx
import fpdf
import openpyxl
import pptx
import pytest
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

from rocketride_core import (
    AUDIO,
    IMAGE,
    TAGS,
    TEXT,
    VIDEO,
    Blob,
    Component,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    on,
)
from rocketride_core.errors import RunError
from rocketride_parse import Parse
from rocketride_parse.errors import Unsupported
from rocketride_parse.formats import parse
from rocketride_parse.media import media_type
from rocketride_parse.parts import Media, Text
from rocketride_parse.process import Parser
from rocketride_parse.source import Options, page_range

SEEN = Options(lanes=("image", "audio", "video"))
WAV = b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 30
MP4 = b"\0\0\0\x18ftypmp42" + b"\0" * 50


def picture(colour: str = "red", kind: str = "png", size: tuple[int, int] = (60, 40)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, colour).save(content, kind)
    return content.getvalue()


def media(path: Path, options: Options = SEEN) -> list[Media]:
    return [part for part in parse(path, options=options) if isinstance(part, Media)]


def opened(part: Media) -> Image.Image:
    return Image.open(io.BytesIO(part.content))


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp", "tiff", "webp", "jpeg2000"])
def test_every_kind_of_image_is_known(kind, tmp_path):
    path = tmp_path / "a.dat"
    path.write_bytes(picture(kind=kind))
    [part] = media(path)
    assert part == ("image", f"image/{'jp2' if kind == 'jpeg2000' else kind}", "a.dat", path)
    with pytest.raises(
        Unsupported, match=r"^a\.dat: a .+ image, not a document with text; its text is read by ocr, wire the image lane"
    ):
        list(parse(path))


def test_sound_and_film_are_known(tmp_path):
    assert media_type(WAV)[0] == "audio/wav"
    assert media_type(MP4)[0] == "video/mp4"
    path = tmp_path / "a.mp4"
    path.write_bytes(MP4)
    assert media(path) == [("video", "video/mp4", "a.mp4", path)]
    with pytest.raises(Unsupported, match="an MP4 media file"):
        media(path, Options(lanes=("image",)))


def test_word_pictures_once_in_order(tmp_path):
    document = docx.Document()
    for colour in ("red", "blue", "red", "green"):
        document.add_paragraph(colour)
        document.add_picture(io.BytesIO(picture(colour)))
    document.save(str(tmp_path / "a.docx"))
    found = media(tmp_path / "a.docx")
    assert [opened(part).getpixel((5, 5)) for part in found] == [(255, 0, 0), (0, 0, 255), (0, 128, 0)]
    assert {part.mime_type for part in found} == {"image/png"}
    assert media(tmp_path / "a.docx", Options()) == []


def test_slides_show_and_play(tmp_path):
    show = pptx.Presentation()
    for number in (1, 2):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
        slide.shapes.add_picture(io.BytesIO(picture("red" if number == 1 else "blue", "jpeg")), 0, 0)
    slide.shapes.add_movie(io.BytesIO(MP4), 0, 0, 100, 100, io.BytesIO(picture("green")), "video/mp4")
    show.save(str(tmp_path / "a.pptx"))
    order = [
        part if isinstance(part, Text) else part.mime_type
        for part in parse(tmp_path / "a.pptx", options=SEEN)
        if isinstance(part, Text | Media)
    ]
    assert order[:3] == [Text("## Slide 1"), "image/jpeg", Text("## Slide 2")]
    assert sorted(order[3:]) == ["image/jpeg", "image/png", "video/mp4"]


def test_pictures_in_a_workbook(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    for place, colour in (("C3", "red"), ("C9", "blue")):
        book.active.add_image(SheetImage(io.BytesIO(picture(colour))), place)
    book.save(tmp_path / "a.xlsx")
    assert [opened(part).getpixel((5, 5)) for part in media(tmp_path / "a.xlsx")] == [(255, 0, 0), (0, 0, 255)]


def test_pictures_in_html_and_mail(tmp_path):
    address = "data:image/png;base64," + base64.b64encode(picture("blue")).decode()
    page = f"<!doctype html><p>Text</p><img alt=Logo src='{address}'><img src='data:image/png;base64,!!'><img src='https://example.org/x.png'>"
    (tmp_path / "a.html").write_text(page)
    [part] = media(tmp_path / "a.html")
    assert (part.lane, part.name, opened(part).size) == ("image", "Logo", (60, 40))
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "s"
    message.set_content("<p>Hello</p><img src='cid:1'>", subtype="html")
    message.add_related(picture("red"), "image", "png", cid="<1>", filename="inline.png")
    message.add_attachment(picture("green"), maintype="image", subtype="png", filename="attached.png")
    (tmp_path / "a.eml").write_bytes(bytes(message))
    parts = list(parse(tmp_path / "a.eml", options=SEEN._replace(files=True)))
    assert [(type(part).__name__, part.name) for part in parts if hasattr(part, "name")] == [
        ("Media", "inline.png"),
        ("File", "attached.png"),
    ]


@pytest.mark.parametrize("kind", ["png", "jpeg"])
def test_pictures_in_pdf_pages_once(kind, tmp_path):
    page = canvas.Canvas(str(tmp_path / "a.pdf"))
    for number in range(3):
        page.drawString(50, 700, f"Text of page {number}.")
        page.drawImage(ImageReader(io.BytesIO(picture("red", kind, (90, 50)))), 50, 400)
        page.drawImage(ImageReader(io.BytesIO(picture("blue", kind, (8, 8)))), 50, 300)
        page.showPage()
    page.save()
    [part] = media(tmp_path / "a.pdf")
    assert part.mime_type == f"image/{kind}"
    assert part.name == f"page-1-image-1.{kind}"
    image = opened(part)
    assert image.size == (90, 50)
    red, green, blue = image.convert("RGB").getpixel((5, 5))
    assert red > 240
    assert green < 15
    assert blue < 15


def test_page_without_text_comes_as_a_picture_in_its_place(tmp_path):
    pdf = fpdf.FPDF(format=(148, 210))
    pdf.set_font("Helvetica", size=11)
    for number in range(3):
        pdf.add_page()
        if number == 1:
            pdf.image(io.BytesIO(picture("red", size=(300, 300))), 0, 0, 50, 50)
        else:
            pdf.cell(text=f"Page {number}")
    pdf.add_page()
    pdf.output(str(tmp_path / "scan.pdf"))
    parts = [part for part in parse(tmp_path / "scan.pdf", options=SEEN) if isinstance(part, Text | Media)]
    assert [part.text if isinstance(part, Text) else part.name for part in parts] == ["Page 0", "page-2.png", "Page 2"], (
        "a blank page is nothing"
    )
    image = opened(parts[1])
    assert image.size == (1166, 1654)
    assert image.getpixel((50, 50)) == (255, 0, 0)
    assert image.getpixel((1100, 1600)) == (255, 255, 255)


# --- page ranges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pages"),
    [("", [1, 2, 3, 4, 5]), ("2", [2]), ("2-3", [2, 3]), ("-2,4", [1, 2, 4]), (" 4 - , 1", [1, 4, 5]), ("9", [])],
)
def test_page_ranges(text, pages):
    assert [page for page in range(1, 6) if page_range(text)(page)] == pages


@pytest.mark.parametrize("text", ["a", "1-b", "-", "3-2", "0", "1,,2", "1.5"])
def test_wrong_page_ranges(text):
    with pytest.raises(ValueError, match="pages"):
        page_range(text)


def test_pages_of_pdf_and_slides(make, read, sentences, tmp_path):
    for kind, first in (("pdf", 8), ("pptx", 1)):
        path = make[kind](tmp_path / f"a.{kind}")
        texts = " ".join(part.text for part in parse(path, options=Options(pages="2")) if isinstance(part, Text))
        assert sentences[first] in texts.replace("\n", " ")
        assert sentences[0] not in texts
        assert read(path).facts["pages"] == (3 if kind == "pdf" else 24)
    with pytest.raises(RunError, match="pages is a range as in '1-5,8,11-', not 'first'"), load(pages="first"):
        pass


# --- in a pipeline ----------------------------------------------------------------------------------------------------


class Shelf(Node[None]):
    spec = NodeSpec("shelf", title="Shelf", categories=["source"], emits=[TAGS])


class Viewer(Node[None]):
    spec = NodeSpec("viewer", title="Viewer", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("all", TEXT(text))

    @on(IMAGE)
    def image(self, instance: Instance, blob: Blob) -> None:
        instance.respond("all", TEXT(f"{blob.name} {blob.mime_type} {len(blob.read())}"))

    @on(AUDIO)
    def audio(self, instance: Instance, blob: Blob) -> None:
        instance.respond("all", TEXT(f"sound {blob.mime_type}"))

    @on(VIDEO)
    def video(self, instance: Instance, blob: Blob) -> None:
        instance.respond("all", TEXT(f"film {blob.mime_type}"))


def load(*lanes: str, **config: object):
    pipe = PipeFile(
        [
            Component("shelf", "shelf"),
            Component("parse_1", "parse", config, input=[LaneLink("tags", "shelf")]),
            Component(
                "viewer", "viewer", input=[LaneLink(lane, "parse_1") for lane in lanes or ("text", "image", "audio", "video")]
            ),
        ]
    )
    return Kernel(nodes=[Shelf, Parse, Viewer]).load(pipe)


def test_media_on_their_lanes_and_nothing_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    document, content = docx.Document(), io.BytesIO()
    document.add_paragraph("Before.")
    noise = Image.effect_noise((400, 400), 90)
    noise.save(large := io.BytesIO(), "png")
    for one in (picture("red"), large.getvalue()):
        document.add_picture(io.BytesIO(one))
    document.save(content)
    with load() as pipeline:
        got = pipeline.run(Entry("a"), TAGS(Blob.of(content.getvalue(), name="a.docx"))).checked()
        assert got[TEXT] == [
            "Before.",
            f"image1.png image/png {len(picture('red'))}",
            f"image2.png image/png {len(large.getvalue())}",
        ]
        assert pipeline.run(Entry("b"), TAGS(Blob.of(WAV, name="b"))).checked()[TEXT] == ["sound audio/wav"]
        assert pipeline.run(Entry("c"), TAGS(Blob.of(MP4, name="c"))).checked()[TEXT] == ["film video/mp4"]
        known = Blob.of(picture(), name="d.png", mime_type="image/png")
        assert pipeline.run(Entry("d"), TAGS(known)).checked()[TEXT] == [f"d.png image/png {len(picture())}"]
    with load("text") as pipeline:
        assert pipeline.run(Entry("a"), TAGS(Blob.of(content.getvalue(), name="a.docx"))).checked()[TEXT] == ["Before."]
        assert "wire the image lane" in str(pipeline.run(Entry("d"), TAGS(known)).error)
    assert list(tmp_path.iterdir()) == []


# --- large ones -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_thousand_pages_in_bounded_memory(tmp_path):
    page = canvas.Canvas(str(tmp_path / "long.pdf"))
    for number in range(2000):
        for line in range(20):
            page.drawString(50, 750 - 20 * line, f"Page {number}, line {line}: wheels turn and nothing else does.")
        page.showPage()
    page.save()
    with Parser(256 << 20) as parser:
        parts = parser.parse(tmp_path / "long.pdf", name="long.pdf")
        used = int(Path(f"/proc/{parser.pid}/statm").read_text().split()[1]) * 4096 if Path("/proc/self/statm").exists() else 0
    texts = [part.text for part in parts if isinstance(part, Text)]
    assert len(texts) == 2000
    assert all(text.startswith(f"Page {number}, line 0:") for number, text in enumerate(texts))
    assert used < 160 << 20


@pytest.mark.slow
def test_twenty_megabytes_of_text_in_bounded_memory(tmp_path):
    path = tmp_path / "big.txt"
    path.write_text("Wheel number seven größer\n" * 800_000, encoding="utf-8")
    with Parser(256 << 20) as parser:
        tracemalloc.start()
        try:
            [part] = [part for part in parser.parse(path, name="big.txt") if isinstance(part, Text)]
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert len(part.text) == 26 * 800_000 - 1
    assert peak < 100 << 20, "the text, and its bytes while they come"
