# SPDX-License-Identifier: MIT
"""The main job: documents into an index, and passages out of it, by the pipe files and the program under examples/.

Every node is a distribution of its own; nothing is faked, the embedding model included: `make setup` installs it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import DOCUMENTS, QUESTIONS, TAGS, Blob, Document, Entry, Kernel, PipeError, Question, Result, RunError
from rocketride_core.cli import main
from rocketride_core.pipeline import RunningPipeline

pytestmark = pytest.mark.slow  # of `make quick`: it starts processes, or loads the model

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ASKED: list[dict[str, str]] = json.loads((EXAMPLES / "questions.json").read_text("utf-8"))


class Place:
    """A folder of documents, with an index beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.documents = folder, folder / "documents"
        (folder / "settings.env").write_text(f"ROCKETRIDE_DEMO_STORE={folder / 'store'}\n")
        self.kernel = Kernel(env={"ROCKETRIDE_DEMO_STORE": str(folder / "store")})

    def index(self, *names: str, workers: int = 0) -> list[Result]:
        """Index these files, by default all."""
        paths = [self.documents / name for name in names] or sorted(self.documents.iterdir())
        work = ((Entry(p.name, path=p.relative_to(self.folder).as_posix()), [TAGS(Blob.of(p))]) for p in paths)
        with self.kernel.load(EXAMPLES / "index.pipe") as pipeline:
            return list(pipeline.map(work, workers=workers))

    def passages(self) -> list[Document]:
        """Everything in the index, file by file, chunk by chunk."""
        with self.kernel.load(EXAMPLES / "ask.pipe") as pipeline:
            found = ask(pipeline, Question(type="get", filter={"limit": 100_000}))
        return sorted(found, key=lambda d: (str(d.metadata["parent"]), int(str(d.metadata["chunkId"]))))

    def run(self, pipe: str, *words: str) -> int:
        """The command line, in this folder; its exit code."""
        return main(["run", str(EXAMPLES / pipe), "--env", str(self.folder / "settings.env"), *words])


def ask(pipeline: RunningPipeline, question: Question) -> list[Document]:
    result = pipeline.run(Entry("question"), QUESTIONS(question)).checked()
    return [document for found in result[DOCUMENTS] for document in found]


def of(documents: Sequence[Document], name: str) -> list[Document]:
    return [document for document in documents if document.metadata["name"] == name]


@pytest.fixture(scope="module")
def observatory(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """All example documents, indexed; nobody changes it."""
    folder = tmp_path_factory.mktemp("observatory")
    shutil.copytree(EXAMPLES / "documents", folder / "documents")
    place = Place(folder)
    for result in place.index():
        result.checked()
    return place


@pytest.fixture(scope="module")
def asking(observatory: Place) -> Iterator[RunningPipeline]:
    with observatory.kernel.load(EXAMPLES / "ask.pipe") as pipeline:
        yield pipeline


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Three small text documents, not yet indexed, in the working directory."""
    (tmp_path / "documents").mkdir()
    bees = "".join(f"Bee number {n} dances to tell the others where flower number {n * n} is.\n" for n in range(25))
    (tmp_path / "documents" / "bees.txt").write_text(bees)
    (tmp_path / "documents" / "bread.md").write_text("# Bread\n\nRye bread is baked for two hours.\n")
    (tmp_path / "documents" / "trains.csv").write_text("train,leaves\nnight train,22:40\nmorning train,06:10\n")
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path)


# ---- the right answers


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED, ids=[asked["file"] for asked in ASKED])
def test_the_right_document_comes_first(asking: RunningPipeline, asked: dict[str, str]) -> None:
    found = ask(asking, Question.of(asked["question"]))
    assert found[0].metadata["name"] == asked["file"]
    assert asked["answer"] in "\n".join(document.text for document in of(found, asked["file"]))
    scores = [document.score or 0 for document in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_eleven_questions_about_eleven_documents() -> None:
    assert len({asked["file"] for asked in ASKED}) == 11
    assert {asked["file"] for asked in ASKED} <= {path.name for path in (EXAMPLES / "documents").iterdir()}


@pytest.mark.slow
def test_every_passage_says_where_it_is(observatory: Place) -> None:
    passages = observatory.passages()
    files = {path.name for path in observatory.documents.iterdir()}
    assert {str(document.metadata["name"]) for document in passages} == files
    for document in passages:
        known = document.metadata
        assert known["parent"] == f"documents/{known['name']}"
        assert known["objectId"] == Entry(path=f"documents/{known['name']}").object_id
        assert int(str(known["end"])) - int(str(known["start"])) == len(document.text) > 0
    for name in files:
        assert [d.metadata["chunkId"] for d in of(passages, name)] == list(range(len(of(passages, name))))
    assert any(document.metadata["isTable"] for document in of(passages, "prices.csv"))


def test_the_model_is_the_one_that_was_asked_for(small: Place) -> None:
    pipe = json.loads((EXAMPLES / "index.pipe").read_text())
    pipe["components"].append(
        {
            "id": "seen",
            "provider": "response_documents",
            "config": {},
            "input": [{"lane": "documents", "from": "embedding_transformer_1"}],
        }
    )
    (small.folder / "seen.pipe").write_text(json.dumps(pipe))
    with small.kernel.load(small.folder / "seen.pipe") as pipeline:
        result = pipeline.run(Entry("bread.md"), TAGS(Blob.of(small.documents / "bread.md"))).checked()
    [[document]] = result[DOCUMENTS]
    assert document.embedding_model == "sentence-transformers/all-MiniLM-L6-v2"
    assert document.embedding is not None
    assert (document.embedding.format, len(document.embedding)) == ("f", 384)
    assert sum(x * x for x in document.embedding) == pytest.approx(1, abs=1e-5)


# ---- again, and changed


@pytest.mark.slow
def test_indexing_twice_changes_nothing(observatory: Place) -> None:
    before = observatory.passages()
    assert [result.error for result in observatory.index(workers=1)] == [None] * len(list(observatory.documents.iterdir()))
    assert observatory.passages() == before
    observatory.index(workers=8)
    assert observatory.passages() == before


def test_a_changed_document_replaces_its_passages(small: Place) -> None:
    assert [result.error for result in small.index()] == [None] * 3
    before = small.passages()
    assert len(of(before, "bees.txt")) > 2
    (small.documents / "bees.txt").write_text("Wasps do not dance.\n")
    [result] = small.index("bees.txt")
    result.checked()
    after = small.passages()
    [wasps] = of(after, "bees.txt")
    assert wasps.text.strip() == "Wasps do not dance."
    assert [d for d in after if d is not wasps] == [d for d in before if d.metadata["name"] != "bees.txt"]


def test_two_files_of_one_name_are_two_documents(small: Place) -> None:
    (small.documents / "more").mkdir()
    (small.documents / "more" / "bread.md").write_text("Wheat bread is baked for forty minutes.\n")
    small.index("bread.md", "more/bread.md")
    assert [d.metadata["parent"] for d in small.passages()] == ["documents/bread.md", "documents/more/bread.md"]


def test_autopipe_is_the_same_chain() -> None:
    """What `make demo` indexes with, but for the ids."""
    kernel = Kernel()
    made, written = kernel.expand(EXAMPLES / "autopipe.pipe"), kernel.expand(EXAMPLES / "index.pipe")
    names = dict(zip([one.id for one in written.components], [one.id for one in made.components], strict=True))
    assert [(one.provider, one.config, [(link.lane, link.source) for link in one.input]) for one in made.components] == [
        (one.provider, one.config, [(link.lane, names[link.source]) for link in one.input]) for one in written.components
    ]


# ---- one that fails


def spoil(small: Place) -> None:
    """Two files that cannot be read, between those that can."""
    whole = (EXAMPLES / "documents" / "committee-minutes.docx").read_bytes()
    (small.documents / "cut-short.docx").write_bytes(whole[: len(whole) // 2])
    (small.documents / "no.pdf").write_bytes(b"%PDF-1.7\nand nothing more")


def test_a_broken_file_fails_alone(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(small)
    assert small.run("index.pipe", "documents") == 1
    said = capsys.readouterr()
    failed = re.findall(r"^failed  (\S+): (.+)$", said.err, re.MULTILINE)
    assert sorted(name for name, _ in failed) == ["documents/cut-short.docx", "documents/no.pdf"]
    assert all("parse_1" in reason and Path(name).name in reason for name, reason in failed)
    assert "5 objects, 2 failed" in said.err
    assert "Traceback" not in said.err
    assert {d.metadata["name"] for d in small.passages()} == {"bees.txt", "bread.md", "trains.csv"}


def test_a_broken_file_keeps_what_the_index_had_of_it(small: Place) -> None:
    small.index()
    before = small.passages()
    (small.documents / "bread.md").rename(small.documents / "bread.txt")
    (small.documents / "bread.md").write_bytes(b"PK\x03\x04 no longer readable")
    [result] = small.index("bread.md")
    assert isinstance(result.error, RunError)
    assert result.error.component == "parse_1"
    assert small.passages() == before


def test_nothing_found_is_an_answer_and_no_error(small: Place) -> None:
    with small.kernel.load(EXAMPLES / "ask.pipe") as pipeline:
        result = pipeline.run(Entry("question"), QUESTIONS(Question.of("Is anyone here?"))).checked()
    assert [list(found) for found in result[DOCUMENTS]] == [[]]
    assert [warning.code for warning in result.warnings] == ["no-collection"]


# ---- the command line


def test_json_is_one_object_a_line(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(small)
    assert small.run("index.pipe", "--json", "documents") == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    by_name: dict[str, dict[str, Any]] = {line["name"]: line for line in lines}
    assert sorted(by_name) == sorted(path.name for path in small.documents.iterdir())
    for name, line in by_name.items():
        assert line["path"] == "documents"
        assert line["objectId"] == Entry(path=f"documents/{name}").object_id
        assert line["metadata"]["size"] == (small.documents / name).stat().st_size
    assert {name for name, line in by_name.items() if "error" in line} == {"cut-short.docx", "no.pdf"}
    error = by_name["no.pdf"]["error"]
    assert (error["component"], error["phase"], error["lane"]) == ("parse_1", "handler", "tags")
    assert "no.pdf" in error["message"]


def test_command_line_and_program_agree(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert small.run("index.pipe", "documents") == 0
    by_command = small.passages()
    assert [result.error for result in small.index()] == [None] * 3
    assert small.passages() == by_command
    capsys.readouterr()

    question = "When does the night train leave?"
    assert small.run("ask.pipe", "--json", "--question", question) == 0
    printed = json.loads(capsys.readouterr().out)
    with small.kernel.load(EXAMPLES / "ask.pipe") as pipeline:
        result = pipeline.run(Entry("Question 1"), QUESTIONS(Question.of(question))).checked()
    assert printed == result.to_json()
    assert printed["result_types"] == {"documents": "documents"}
    assert "22:40" in printed["documents"][0]["page_content"]

    assert small.run("ask.pipe", "--question", question) == 0
    first = capsys.readouterr().out.splitlines()[0]
    document = result[DOCUMENTS][0][0]
    assert re.search(rf"documents/trains\.csv, table 1, .*score {document.score:.3f}", first)


def test_settings_of_the_command_line_reach_the_nodes(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "preprocessor_langchain_1.strlen=60", "--workers", "2"]
    assert small.run("index.pipe", *words, "documents/bees.txt") == 0
    assert {len(d.text) <= 60 for d in small.passages()} == {True}
    assert small.run("ask.pipe", "--set", "chroma_1.top_k=1", "--json", "--question", "Where are flowers?") == 0
    assert len(json.loads(capsys.readouterr().out)["documents"]) == 1
    assert small.run("ask.pipe", "--set", "chroma_1.top_k=0", "--question", "Where?") == 2
    assert "$.components[2].config.embedded.top_k" in capsys.readouterr().err


def test_a_model_that_cannot_be_had_says_how_to_get_it(small: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(small.folder / "empty"))
    pipe = json.loads((EXAMPLES / "ask.pipe").read_text())
    pipe["components"][1]["config"] = {"profile": "custom", "custom": {"model": "nobody/nothing-of-this-name"}}
    (small.folder / "other.pipe").write_text(json.dumps(pipe))
    with (
        pytest.raises((RunError, PipeError), match="nobody/nothing-of-this-name"),
        small.kernel.load(small.folder / "other.pipe"),
    ):
        pass


@pytest.mark.slow
def test_the_demo_twice(tmp_path: Path) -> None:
    def demo() -> str:
        env = {**os.environ, "ROCKETRIDE_DEMO_STORE": "", "OPENBLAS_NUM_THREADS": "1"}
        words = [sys.executable, str(EXAMPLES / "demo.py")]
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    first, second = demo(), demo()
    assert (tmp_path / ".rocketride" / "demo").is_dir()
    holds = re.findall(r"The index holds (\d+) passages of (\d+) documents", first)
    assert holds == re.findall(r"The index holds (\d+) passages of (\d+) documents", second)
    [(passages, documents)] = holds
    assert int(documents) == len(list((EXAMPLES / "documents").iterdir())) >= 10
    assert int(passages) > int(documents)
    best = re.findall(r"^  1\. (\S+), .*characters \d+-\d+: score (0\.\d{3})$", first, re.MULTILINE)
    assert [Path(name).name for name, _ in best] == ["history.txt", "prices.csv", "incidents.json", "clock-letter.pdf"]
    # What is printed of the answers does not depend on the order in which files were ready.
    assert first.partition("The index holds")[2] == second.partition("The index holds")[2]


# ---- the other example files


@pytest.mark.parametrize("pipe", sorted(EXAMPLES.glob("*.pipe")), ids=lambda path: path.stem)
def test_every_example_is_without_fault(pipe: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETRIDE_LLM_URL", "http://127.0.0.1:9/v1")  # the two that a model's address takes
    monkeypatch.setenv("ROCKETRIDE_LLM_MODEL", "any")
    assert main(["check", "--strict", str(pipe)]) == 0
    assert capsys.readouterr().out == f"{pipe}: ok\n"


def test_hello(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (small.folder / "word.txt").write_text("hello")
    assert small.run("hello.pipe", "word.txt") == 0
    assert capsys.readouterr().out == "HELLO!\n"


def test_a_model_sees_question_and_instructions(small: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert small.run("ask-llm.pipe", "--question", "Why is the sky blue?") == 0
    out = capsys.readouterr().out
    assert "Answer in one sentence." in out
    assert out.rstrip().endswith("Why is the sky blue?")
