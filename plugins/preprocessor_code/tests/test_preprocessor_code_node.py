# SPDX-License-Identifier: MIT
"""The node in a pipeline."""

from __future__ import annotations

import pytest

from rocketride_core import DOCUMENTS, Entry
from rocketride_core.errors import PipeError
from rocketride_core.testing import NodeSuite, node_harness, run_node
from rocketride_preprocessor_code import CodePreprocessor

SOURCE = "import os\n\n\ndef here():\n    return os.getcwd()\n\n\nclass A:\n    pass\n"


def documents(*texts, entry=None, **config):
    out = run_node(CodePreprocessor, config=config, send={"text": list(texts)}, entry=entry)
    return [document for some in out[DOCUMENTS] for document in some]


class TestCodePreprocessor(NodeSuite):
    node = CodePreprocessor
    send = {"text": [SOURCE]}


def test_metadata_says_where_a_chunk_is_from():
    entry = Entry("here.py", object_id="id-7", path="src/here.py")
    first, second, third = documents(SOURCE, entry=entry)
    assert first.text + second.text + third.text == SOURCE
    assert second.text == "def here():\n    return os.getcwd()\n\n\n"
    assert second.metadata == {
        "objectId": "id-7",
        "chunkId": 1,
        "name": "here.py",
        "parent": "src/here.py",
        "signature": "node",
        "isDeleted": False,
        "isTable": False,
        "tableId": 0,
        "start": 12,
        "end": 49,
        "language": "python",
        "line": 4,
    }
    assert (first.metadata["line"], third.metadata["line"], third.metadata["chunkId"]) == (1, 8, 2)


def test_an_object_is_cut_once_all_of_it_is_there():
    found = documents("def f():\n    a = 1\n", "    b = 2", "    c = 3\n", entry=Entry("a.py"))
    assert [document.text for document in found] == ["def f():\n    a = 1\n    b = 2\n    c = 3\n"]


@pytest.mark.parametrize("profile", ["auto", "c", "cpp", "python", "javascript", "typescript"])
def test_each_profile(profile):
    source = "struct a { int b; };\nint c(void) { return 1; }\n"
    found = documents(source, entry=Entry("a.cpp"), profile=profile, **{profile: {"strlen": 30}})
    assert "".join(document.text for document in found) == source
    assert {document.metadata["language"] for document in found} == {"cpp" if profile == "auto" else profile}


def test_what_is_no_source_is_warned_of():
    out = run_node(CodePreprocessor, send={"text": ["Dear reader, this is a letter."]}, entry=Entry("letter.txt"))
    assert out[DOCUMENTS] == []
    (warning,) = out.warnings
    assert warning.code == "unknown-language"
    assert "letter.txt was not cut" in warning.message
    assert 'write "language" in the config of node' in warning.message


def test_white_space_gives_nothing():
    out = run_node(CodePreprocessor, send={"text": ["", " \n"]}, entry=Entry("a.py"))
    assert (out[DOCUMENTS], list(out.warnings)) == ([], [])


def test_long_sources_leave_in_parts():
    out = run_node(CodePreprocessor, send={"text": ["def f(): pass\n" * 600]}, entry=Entry("a.py"))
    assert [len(some) for some in out[DOCUMENTS]] == [256, 256, 88]
    assert [d.metadata["line"] for some in out[DOCUMENTS] for d in some] == list(range(1, 601))


def test_objects_do_not_mix():
    with node_harness(CodePreprocessor) as harness:
        for name, text in (("a.py", "x = 1\n"), ("b.js", "let y = 2;\n"), ("a.py", "x = 3\n")):
            (some,) = harness.run({"text": [text]}, entry=Entry(name))[DOCUMENTS]
            assert [document.text for document in some] == [text]


@pytest.mark.parametrize("config", [{"language": "cobol"}, {"strlen": 0}, {"profile": "cobol"}])
def test_wrong_configs_are_refused_before_anything_runs(config):
    with pytest.raises(PipeError):
        documents(SOURCE, **config)


def test_the_language_can_be_written_beside_the_profile():
    (found,) = documents("fun", language="python")
    assert found.metadata["language"] == "python"


def test_importing_it_loads_no_grammar():
    import subprocess
    import sys

    code = "import sys, rocketride_preprocessor_code; assert not [m for m in sys.modules if m.startswith('tree_sitter')]"
    subprocess.run([sys.executable, "-c", code], check=True)
