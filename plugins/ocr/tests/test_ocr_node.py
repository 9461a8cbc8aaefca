# SPDX-License-Identifier: MIT
"""The node with a scripted engine, the choice of engines, images of every kind, faults."""

import base64
import io
import stat
import sys
import threading
import time

import pytest
from PIL import Image

from rocketride_core import (
    DOCUMENTS,
    IMAGE,
    TABLE,
    TEXT,
    Blob,
    Component,
    Document,
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
from rocketride_core.testing import NodeSuite
from rocketride_ocr import Ocr, choosing
from rocketride_ocr.errors import BadImage, NoEngine, OcrError, OcrTimeLimit
from rocketride_ocr.languages import FAMILIES, RAPIDOCR, tesseract_languages
from rocketride_ocr.tesseract import Program
from rocketride_ocr.words import Word


class Scripted:
    """Says the size and the colour of what it sees."""

    name = "scripted"
    closed = 0

    def read(self, image, *, seconds, on_cancel):
        assert image.mode == "RGB"
        red, green, blue = image.getpixel((0, 0))
        return [
            Word(f"{image.width}x{image.height}", 0, 0, 50, 10),
            Word(f"{red}-{green}-{blue}", 60, 0, 90, 10),
            Word("~", 0, 30, 9, 40, 0.1),
        ]

    def close(self):
        Scripted.closed += 1


@pytest.fixture(autouse=True)
def scripted(monkeypatch):
    monkeypatch.setattr("rocketride_ocr.node.choose", lambda *_: Scripted())


def picture(
    kind: str = "png", colour: object = "red", size: tuple[int, int] = (30, 20), mode: str = "RGB", **options: object
) -> bytes:
    content = io.BytesIO()
    Image.new(mode, size, colour).save(content, kind, **options)
    return content.getvalue()


class TestOcr(NodeSuite):
    node = Ocr
    send = {"image": [Blob.of(picture(), name="a.png")]}


class Eye(Node[None]):
    spec = NodeSpec("eye", title="Eye", categories=["source"], emits=[IMAGE, DOCUMENTS])


class Out(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))

    @on(TABLE)
    def table(self, instance: Instance, table: str) -> None:
        instance.respond("table", TABLE(table))


def load(*lanes: str, **config: object):
    pipe = PipeFile(
        [
            Component("eye", "eye"),
            Component("ocr_1", "ocr", config, input=[LaneLink("image", "eye"), LaneLink("documents", "eye")]),
            Component("out", "out", input=[LaneLink(lane, "ocr_1") for lane in lanes or ("text", "table")]),
        ]
    )
    return Kernel(nodes=[Eye, Ocr, Out]).load(pipe)


def read(content: bytes, name: str = "a", **config: object):
    with load(**config) as pipeline:
        return pipeline.run(Entry("e"), IMAGE(Blob.of(content, name=name)))


@pytest.mark.parametrize("kind", ["png", "jpeg", "gif", "bmp", "tiff", "webp"])
def test_kinds_of_images(kind):
    result = read(picture(kind)).checked()
    [text] = result[TEXT]
    assert text.startswith("30x20 25")
    assert result.to_json()["metadata"]["ocr"] == "scripted"
    assert result.usage["ocr_1"] == {"images": 1}


def test_every_frame_is_read_and_what_is_unsure_dropped():
    pages = [Image.new("RGB", (size, 10), "white") for size in (20, 30, 40)]
    for kind in ("tiff", "gif"):
        content = io.BytesIO()
        pages[0].save(content, kind, save_all=True, append_images=pages[1:], duration=[1, 1, 1])
        sizes = [text.split("x")[0] for text in read(content.getvalue()).checked()[TEXT]]
        assert sizes == (["20", "30", "40"] if kind == "tiff" else ["20"] * len(sizes))
        assert len(sizes) > 1 or kind == "gif"
    assert read(picture(), min_confidence=0.0).checked()[TEXT][0].endswith("\n\n~")


@pytest.mark.parametrize(
    ("mode", "colour", "says"),
    [
        ("RGBA", (0, 0, 0, 0), "255-255-255"),
        ("LA", (0, 0), "255-255-255"),
        ("P", 0, "0-0-0"),
        ("1", 1, "255-255-255"),
        ("I;16", 65535, "255-255-255"),
    ],
)
def test_paper_is_white_in_every_mode(mode, colour, says):
    assert read(picture(mode=mode, colour=colour)).checked()[TEXT] == [f"30x20 {says}"]


def test_photos_are_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert read(picture("jpeg", exif=exif)).checked()[TEXT][0].startswith("20x30")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no image at all", "not an image of a kind that can be read here"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "damaged, not an image that can be read"),
        (picture(size=(300, 300), colour="blue", compress_level=0)[:2000], "damaged"),
        (picture(size=(2000, 1000), mode="1", colour=1), r"2000 x 1000 pixels, more than max_megapixels allows \(1 million\)"),
        (b"", "not an image"),
    ],
)
def test_a_bad_image_is_one_error_on_its_object(content, says):
    result = read(content, "x.png", max_megapixels=1.0)
    assert isinstance(result.error, RunError)
    assert isinstance(result.error.__cause__, BadImage)
    with pytest.raises(RunError, match=f"ocr_1: x.png: .*({says})"):
        result.checked()
    assert result[TEXT] == []


def test_the_other_images_of_the_object_are_read():
    with load() as pipeline:
        result = pipeline.run(
            Entry("e"), IMAGE(Blob.of(b"bad", name="1")), IMAGE(Blob.of(picture(), name="2")), IMAGE(Blob.of(b"bad", name="3"))
        )
        assert "1: not an image" in str(result.error)
        assert result[TEXT] == ["30x20 255-0-0"]
        assert pipeline.run(Entry("f"), IMAGE(Blob.of(picture()))).checked()[TEXT] == ["30x20 255-0-0"]


def test_no_text_is_a_warning(monkeypatch):
    monkeypatch.setattr(Scripted, "read", lambda *_, **__: [])
    assert [w.code for w in read(picture(), "blank.png").checked().warnings if w.component == "ocr_1"] == ["no-text"]


def test_documents_that_are_images():
    image = base64.b64encode(picture(colour="blue")).decode()
    documents = [
        Document(image, {"name": "one"}, kind="Image"),
        Document("just text", {"name": "two"}),
        Document("data:image/png;base64," + image, kind="Image"),
        Document("!!!", {"name": "four"}, kind="Image"),
    ]
    with load() as pipeline:
        result = pipeline.run(Entry("e"), DOCUMENTS(documents))
    assert result[TEXT] == ["30x20 0-0-255"] * 2
    assert [w.message for w in result.warnings if w.code == "not-an-image"] == [
        "two: skipped because its kind is 'Document', not 'Image'"
    ]
    assert "four: a document of the kind Image has its image in base64" in str(result.error)


@pytest.mark.parametrize(
    ("lanes", "tables", "texts", "number"),
    [(("text", "table"), "auto", 1, 1), (("text",), "auto", 2, 0), (("text", "table"), "both", 2, 1), (("text",), "table", 1, 0)],
)
def test_where_tables_go(lanes, tables, texts, number, monkeypatch):
    table = Word("", 0, 50, 90, 90, rows=(("a", "b"), ("1", "2")))
    monkeypatch.setattr("rocketride_ocr.node.with_tables", lambda words, _: [*words, table])
    with load(*lanes, tables=tables) as pipeline:
        result = pipeline.run(Entry("e"), IMAGE(Blob.of(picture()))).checked()
    assert len(result[TEXT]) == texts
    assert result[TABLE] == ["| a | b |\n| --- | --- |\n| 1 | 2 |"] * number


def test_engine_is_closed_with_its_pipeline():
    before = Scripted.closed
    with load():
        pass
    assert Scripted.closed == before + 1


# --- choice of engines ------------------------------------------------------------------------------------------------


@pytest.fixture
def here(monkeypatch):
    """What is installed: `here(modules, languages)`."""

    def install(modules: str = "", languages: str = "") -> None:
        monkeypatch.setattr(choosing, "find_spec", lambda name: name in modules.split() or None)
        monkeypatch.setattr(choosing, "installed_languages", languages.split)
        monkeypatch.setattr(choosing, "data_folder", lambda: "somewhere" if languages else "")
        monkeypatch.setattr(choosing, "data_languages", lambda _: languages.split())

    return install


@pytest.mark.parametrize(
    ("modules", "languages", "engine", "family", "chosen"),
    [
        ("tesserocr rapidocr onnxruntime", "eng", "auto", "latin", "tesserocr"),
        ("rapidocr onnxruntime", "eng", "auto", "latin", "tesseract"),
        ("rapidocr onnxruntime", "", "auto", "latin", "rapidocr"),
        ("tesserocr rapidocr onnxruntime", "", "auto", "japanese", "rapidocr"),
        ("tesserocr rapidocr onnxruntime", "eng rus", "auto", "cyrillic", "tesserocr"),
        ("tesserocr rapidocr onnxruntime", "eng", "rapidocr", "latin", "rapidocr"),
        ("rapidocr onnxruntime", "eng", "easyocr", "latin", "tesseract"),
        ("rapidocr onnxruntime", "", "surya", "chinese-simplified", "rapidocr"),
    ],
)
def test_choice(modules, languages, engine, family, chosen, here):
    here(modules, languages)
    assert choosing.choose(engine, family, "").name == chosen


@pytest.mark.parametrize(
    ("modules", "languages", "engine", "family", "asked", "says"),
    [
        ("", "", "auto", "latin", "", r"pip install rocketride-ocr\[tesserocr\]; tesseract: not on PATH, .*rocketride-ocr\[rapidocr\]"),
        ("rapidocr onnxruntime", "eng", "auto", "thai", "", "no language data for thai .*tesseract-ocr-tha.*its package reads chinese"),
        ("rapidocr", "", "rapidocr", "latin", "", "rapidocr: not installed"),
        ("rapidocr onnxruntime", "eng", "rapidocr", "latin", "deu", "leave `languages` empty"),
        ("", "eng", "tesseract", "latin", "eng+deu", "no language data for deu"),
        ("", "eng", "tesseract", "chinese-simplified", "", "tesseract-ocr-chi-sim"),
        ("", "eng", "tesseract", "latin-extended", "", "no language data for latin-extended"),
    ],
)  # fmt: skip
def test_nothing_reads_it(modules, languages, engine, family, asked, says, here):
    here(modules, languages)
    with pytest.raises(NoEngine, match=f"nothing here reads {(asked or family)!s}".replace("+", r"\+") + f"; .*{says}"):
        choosing.choose(engine, family, asked)


def test_a_pipeline_without_an_engine_does_not_load(here, monkeypatch):
    here()
    monkeypatch.setattr("rocketride_ocr.node.choose", choosing.choose)
    with pytest.raises(RunError, match="nothing here reads latin"), load():
        pass
    pipe = PipeFile([Component("eye", "eye"), Component("ocr_1", "ocr", {"engine": "easyocr"}, input=[LaneLink("image", "eye")])])
    kernel = Kernel(nodes=[Eye, Ocr])
    assert [p.code for p in kernel.check(pipe, probe=True) if p.component == "ocr_1" and "ocr" in p.code] == ["no-ocr-engine"]
    here("rapidocr onnxruntime")
    [problem] = [p for p in kernel.check(pipe, probe=True) if p.code == "engine-replaced"]
    assert problem.severity == "warning"
    assert "'easyocr' is not offered; rapidocr reads in its place" in problem.message


def test_languages_of_families():
    assert tesseract_languages("latin-extended", "", ["eng", "deu", "rus"]) == ("eng+deu", "")
    assert tesseract_languages("latin-extended", "", ["eng", "deu", "script/Latin"]) == ("script/Latin", "")
    assert tesseract_languages("latin", "deu+eng", ["eng", "deu"]) == ("deu+eng", "")
    assert set(FAMILIES) >= RAPIDOCR


# --- the program ------------------------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A `tesseract` on PATH that does what it is told."""

    def make(body: str) -> Program:
        path = tmp_path / "tesseract"
        path.write_text(f"#!{sys.executable}\nimport sys, time, os\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        return Program("eng+deu")

    return make


class Never:
    def __init__(self, callback: object) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...


def test_program_is_told_and_read(program):
    row = "5\\t1\\t1\\t1\\t1\\t1\\t10\\t20\\t30\\t40\\t90"
    engine = program(
        "data = sys.stdin.buffer.read()\n"
        "assert data.startswith(b'P6\\n30 20\\n255\\n') and os.environ['OMP_THREAD_LIMIT'] == '1'\n"
        f"print('{row}\\t' + '+'.join(sys.argv[1:5]))"
    )
    [word] = engine.read(Image.new("RGB", (30, 20)), seconds=20, on_cancel=Never)
    assert word == Word("stdin+stdout+-l+eng+deu", 10, 20, 40, 60, 0.9, (1, 1, 1))


def test_program_that_fails_or_hangs(program):
    image = Image.new("RGB", (30, 20))
    with pytest.raises(OcrError, match="tesseract failed: Error: no such language"):
        program("print('first', file=sys.stderr); sys.exit('Error: no such language')").read(image, seconds=20, on_cancel=Never)
    began = time.monotonic()
    with pytest.raises(OcrTimeLimit, match=r"not read within 0\.5 s; raise max_seconds"):
        program("time.sleep(60)").read(image, seconds=0.5, on_cancel=Never)
    assert time.monotonic() - began < 10


def test_cancel_ends_the_program(program, monkeypatch):
    engine = program("time.sleep(60)")
    monkeypatch.setattr("rocketride_ocr.node.choose", lambda *_: engine)
    with load() as pipeline:
        began = time.monotonic()
        with pipeline.start(Entry("e"), IMAGE(Blob.of(picture()))) as run:
            threading.Timer(0.4, run.cancel).start()
            result = run.result(timeout=30)
        assert result.error is not None
        assert time.monotonic() - began < 10
