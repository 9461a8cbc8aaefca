# SPDX-License-Identifier: MIT
"""A folder of everything that can be wrong, through the chain that indexes documents: the right chunks, or one clear error each."""

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from msoffcrypto.format.ooxml import OOXMLFile
from PIL import Image

from rocketride_core import DOCUMENTS, TAGS, Blob, Component, Entry, Kernel, LaneLink, PipeFile

LANES = [LaneLink(lane, id) for id in ("parse_1", "ocr_1") for lane in ("text", "table")]
CHAIN = PipeFile(
    [
        Component("dropper_1", "dropper"),
        Component("parse_1", "parse", {"max_seconds": 20.0, "max_memory": 256}, input=[LaneLink("tags", "dropper_1")]),
        Component("ocr_1", "ocr", input=[LaneLink("image", "parse_1")]),
        Component("chunks_1", "preprocessor_langchain", input=LANES),
        Component("response_1", "response_documents", input=[LaneLink("documents", "chunks_1")]),
    ]
)


@pytest.fixture
def folder(tmp_path: Path, make: dict[str, Callable[..., Path]]) -> Path:
    """Files by what is wrong with them."""
    place = tmp_path / "folder"
    place.mkdir()
    for kind in ("pdf", "docx", "pptx", "xlsx"):
        make[kind](place / f"good.{kind}")
        whole = (place / f"good.{kind}").read_bytes()
        (place / f"renamed-{kind}.txt").write_bytes(whole)
        (place / f"cut.{kind}").write_bytes(whole[:40] if kind == "pdf" else whole[: len(whole) // 2])
        (place / f"empty.{kind}").touch()
        if kind != "pdf":
            with (place / f"good.{kind}").open("rb") as content, (place / f"locked.{kind}").open("wb") as locked:
                OOXMLFile(content).encrypt("spoke", locked)
    make["pdf"](place / "locked.pdf", password="spoke")
    (place / "blank.txt").write_text(" \n\t\n ")
    (place / "cut.json").write_text('{"a": [1')
    (place / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 60)
    (place / "binary.dat").write_bytes(bytes(range(256)) * 20)
    with zipfile.ZipFile(place / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.txt", bytes(40 << 20))
    with zipfile.ZipFile(place / "good.zip", "w") as archive:
        archive.writestr("inside.txt", "A text inside.")
        archive.write(place / "cut.docx", "inside.docx")
    content = io.BytesIO()
    Image.new("RGB", (80, 60), "white").save(content, "png")
    (place / "blank.png").write_bytes(content.getvalue())
    return place


@pytest.mark.slow
def test_right_chunks_or_one_clear_error(folder, sentences):
    work = [(Entry(path.name, path=path.name), [TAGS(Blob.of(path))]) for path in sorted(folder.iterdir())]
    with Kernel().load(CHAIN) as pipeline:
        results = {result.entry.name: result for result in pipeline.map(work, workers=2)}
    said = {name: " ".join(document.text for found in one[DOCUMENTS] for document in found) for name, one in results.items()}
    errors = {name: str(one.error) for name, one in results.items() if one.error is not None}
    for name in results:
        if name.startswith(("good.", "renamed-")) and name != "good.zip":
            assert all(said[name].replace("\n", " ").count(sentence) >= 1 for sentence in sentences), name
            assert name not in errors
        else:
            assert said[name] == "", name
    failing = {name for name in results if name.startswith(("cut.", "locked.", "bomb.", "binary."))}
    assert set(errors) == failing
    assert len(failing) == 12
    for name, error in errors.items():
        assert error.count(name) == 1, error
        kind = {"cut": "damaged", "locked": "encrypted with a password", "bomb": "max_ratio", "binary": "neither"}[
            name.partition(".")[0]
        ]
        assert kind in error
        assert results[name].error.component == ("ocr_1" if name == "cut.png" else "parse_1")
    text, word = results["good.zip"].children
    assert [document.text for found in text[DOCUMENTS] for document in found] == ["A text inside."]
    assert "inside.docx: damaged" in str(word.error)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS")
def test_what_hangs_or_grows_fails_alone(folder, slow_xlsx, bomb_docx, make):
    parts = [
        part if part.id != "parse_1" else Component("parse_1", "parse", {"max_seconds": 1.5, "max_memory": 200}, part.input)
        for part in CHAIN.components
    ]
    work = [
        (Entry(path.name), [TAGS(Blob.of(path))]) for path in (slow_xlsx, folder / "good.docx", bomb_docx, folder / "good.pdf")
    ]
    with Kernel().load(PipeFile(parts)) as pipeline:
        slow, word, bomb, pdf = pipeline.map(work, workers=2, ordered=True)
    assert "slow.xlsx: not parsed within 1.5 s" in str(slow.error)
    assert "max_memory" in str(bomb.error) or "not parsed within" in str(bomb.error)
    assert word.error is None
    assert pdf.error is None
