# SPDX-License-Identifier: MIT
"""The example documents of the repository: readable, coherent with their questions, and made by their script."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from rocketride_parse.formats import DOCUMENTS as KINDS
from rocketride_parse.formats import parse
from rocketride_parse.parts import Media, Meta
from rocketride_parse.source import Options

EXAMPLES = Path(__file__).parents[3] / "examples"
DOCUMENTS = EXAMPLES / "documents"
SCAN = "clock-letter.pdf"


@pytest.fixture(scope="module")
def contents() -> dict[str, str]:
    return {path.name: re.sub(r"\s+", " ", str(list(parse(path)))) for path in DOCUMENTS.iterdir()}


def test_every_format_is_there():
    kinds = [path.suffix.lstrip(".") for path in DOCUMENTS.iterdir()]
    assert set(kinds) == KINDS - {"msg"}, "nothing free writes Outlook's files"
    assert len(kinds) >= 10


def test_each_answer_is_in_its_document_and_in_no_other(contents):
    questions = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))
    assert len(questions) == 11
    assert len({item["file"] for item in questions}) == 11
    for item in (item for item in questions if item["file"] != SCAN):
        assert [name for name, content in contents.items() if item["answer"] in content.replace("\\n", " ")] == [item["file"]]


def test_scan_is_a_picture_and_no_text():
    [picture, *facts] = parse(DOCUMENTS / SCAN, options=Options(lanes=("image",)))
    assert isinstance(picture, Media)
    assert (picture.name, picture.mime_type) == ("page-1.png", "image/png")
    assert all(isinstance(part, Meta) for part in facts)


def test_script_makes_what_is_committed(tmp_path):
    spec = importlib.util.spec_from_file_location("make_documents", EXAMPLES / "make_documents.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path)
    made = sorted(tmp_path.iterdir())
    assert [path.suffix for path in made] == [".pdf", ".docx", ".pptx", ".pdf", ".xlsx"]
    for path in made:
        assert list(parse(path)) == list(parse(DOCUMENTS / path.name))
