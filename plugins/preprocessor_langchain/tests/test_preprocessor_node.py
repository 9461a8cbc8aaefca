# SPDX-License-Identifier: MIT
"""The node in a pipeline: what becomes of an object's text and tables."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from rocketride_core import (
    DOCUMENTS,
    TABLE,
    TEXT,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    Packet,
    PipeFile,
    Pipeline,
    Result,
    on,
)
from rocketride_core.errors import PipeError
from rocketride_core.testing import NodeSuite
from rocketride_preprocessor_langchain import LangchainPreprocessor, SplitterConfig


class Start(Node[None]):
    spec = NodeSpec("test_start", title="Start", categories=["source"], emits=[TEXT, TABLE])


class Keep(Node[None]):
    """Responds with each list of documents as it came."""

    spec = NodeSpec("test_keep", title="Keep", responds=True)

    @on(DOCUMENTS)
    def keep(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))


def pipe(config: Mapping[str, Any]) -> PipeFile:
    return PipeFile(
        [
            Component("start_1", "test_start", {"mode": "Source"}),
            Component("cut_1", "preprocessor_langchain", config, [LaneLink("text", "start_1"), LaneLink("table", "start_1")]),
            Component("keep_1", "test_keep", {}, [LaneLink("documents", "cut_1")]),
        ]
    )


def kernel() -> Kernel:
    return Kernel(nodes=[Start, Keep, LangchainPreprocessor])


def cut(*packets: Packet, entry: Entry | None = None, **config: Any) -> list[Document]:
    with kernel().load(pipe(config)) as pipeline:
        return documents(pipeline, *packets, entry=entry)


def documents(pipeline: Pipeline, *packets: Packet, entry: Entry | None = None) -> list[Document]:
    return documents_of(pipeline.run(entry or Entry("a.txt"), *packets))


def documents_of(result: Result) -> list[Document]:
    return [document for documents in result.checked()[DOCUMENTS] for document in documents]


class TestPreprocessor(NodeSuite):
    node = LangchainPreprocessor


def test_an_object_is_cut_once_all_of_it_is_there():
    found = cut(TEXT("one two"), TEXT("three"), strlen=12)
    assert [document.text for document in found] == ["one two", "three"]
    joined = cut(TEXT("one two"), TEXT("three"))
    assert [document.text for document in joined] == ["one two\nthree"]


def test_metadata_says_where_a_chunk_is_from():
    entry = Entry("b.md", object_id="id-7", path="docs/b.md")
    text = "alpha beta\n\ngamma"
    first, second = cut(TEXT(text), entry=entry, strlen=10)
    assert first.metadata == {
        "objectId": "id-7",
        "chunkId": 0,
        "name": "b.md",
        "parent": "docs/b.md",
        "signature": "cut_1",
        "isDeleted": False,
        "isTable": False,
        "tableId": 0,
        "start": 0,
        "end": 10,
    }
    assert (second.metadata["chunkId"], second.metadata["start"], second.metadata["end"]) == (1, 12, 17)
    assert (second.text, second.kind, second.embedding, second.embedding_model) == ("gamma", "Document", None, "")


@pytest.mark.parametrize("profile", ["default", "recursive", "character", "markdown"])
@pytest.mark.parametrize("mode", ["strlen", "tokens"])
def test_every_chunk_is_where_it_says_and_within_the_limit(profile, mode):
    pieces = [
        "# Title 引擎\n\nOne paragraph.\n\nAnother one, e\u0301t\u0301 👩🏽 and more words.",
        "\n\n## Next\n\n- item\n- item",
    ]
    text = "".join(piece + "\n" for piece in pieces)
    found = cut(*map(TEXT, pieces), profile=profile, **{profile: {"mode": mode, "strlen": 30, "tokens": 10}})
    assert len(found) > 2
    for number, document in enumerate(found):
        where = document.metadata
        assert text[where["start"] : where["end"]] == document.text == document.text.strip() != ""
        assert where["chunkId"] == number
        size = len(document.text) / 30 if mode == "strlen" else len(document.text.encode()) / 30
        assert size <= 1 or profile == "character"
    assert "".join("".join(document.text for document in found).split()) == "".join(text.split())


@pytest.mark.parametrize("packets", [(), (TEXT(""),), (TEXT(" \n\t"), TEXT("\u3000"), TABLE("\n"))])
def test_nothing_gives_nothing(packets):
    assert cut(*packets) == []


def test_tables_are_chunks_of_their_own_numbered_with_the_text():
    rows = "| a | b |\n|---|---|\n" + "".join(f"| {i} | value {i} |\n" for i in range(12))
    found = cut(TEXT("before"), TABLE("| x |\n|---|\n| 1 |"), TEXT("after"), TABLE(rows), strlen=80)
    kinds = [(d.metadata["isTable"], d.metadata["tableId"]) for d in found]
    assert kinds[0] == (True, 1)
    assert kinds[-1] == (False, 0)
    assert set(kinds[1:-1]) == {(True, 2)}
    assert len(kinds) > 4
    assert [d.metadata["chunkId"] for d in found] == list(range(len(found)))
    assert found[-1].text == "before\nafter"
    for document in found[1:-1]:
        assert rows[document.metadata["start"] : document.metadata["end"]] == document.text
        assert all(line.startswith("|") and line.endswith("|") for line in document.text.splitlines())


def test_overlap_is_configurable():
    found = cut(TEXT("aa bb cc dd ee ff"), strlen=9, overlap=3)
    assert [document.text for document in found] == ["aa bb cc", "cc dd ee", "ee ff"]


def test_separators_are_taken_from_texts_and_lists():
    text = "one;two|three four"
    for written in ("';', '|'", [";", "|"]):
        found = cut(TEXT(text), profile="recursive", recursive={"separators": written, "strlen": 5})
        assert [document.text for document in found] == ["one", ";two", "|three four"]
    found = cut(TEXT("one\ntwo"), profile="character", character={"separator": '"\\n"', "strlen": 4})
    assert [document.text for document in found] == ["one", "two"]


def test_ids_and_positions_do_not_depend_on_the_run():
    text = "\n\n".join(f"Paragraph {i} with a few words." for i in range(40))
    with kernel().load(pipe({"strlen": 100})) as pipeline:
        first, second = (documents(pipeline, TEXT(text), entry=Entry("a", object_id="a")) for _ in range(2))
    assert first == second
    assert len(first) > 10


def test_objects_in_flight_together_do_not_mix():
    with kernel().load(pipe({"strlen": 30})) as pipeline:
        barrier = threading.Barrier(2)

        def packets(letter: str) -> Iterator[Packet]:
            for i in range(50):
                if i == 25:
                    barrier.wait(30)
                yield TEXT(f"{letter * 5} {letter * 4} {letter * 9}")

        found: dict[str, list[Document]] = {}

        def work(letter: str) -> None:
            with pipeline.start(Entry(letter, object_id=letter)) as run:
                for packet in packets(letter):
                    run.send(packet)
                found[letter] = documents_of(run.result())

        threads = [threading.Thread(target=work, args=(letter,)) for letter in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for letter in "ab":
        assert {document.metadata["objectId"] for document in found[letter]} == {letter}
        assert set("".join(document.text for document in found[letter])) == {letter, " "}
        assert [document.metadata["chunkId"] for document in found[letter]] == list(range(50))


def test_many_objects_at_once():
    with kernel().load(pipe({})) as pipeline:
        work = (
            (Entry(str(i), object_id=str(i)), [TEXT(f"object {i} "), TABLE(f"table {i}"), TEXT(f"end {i}")]) for i in range(300)
        )
        for result in pipeline.map(work, workers=4):
            number = result.entry.object_id
            found = documents_of(result)
            assert [d.text for d in found] == [f"table {number}", f"object {number} \nend {number}"]
            assert {d.metadata["objectId"] for d in found} == {number}


def test_a_chunk_over_the_limit_is_warned_of():
    with kernel().load(pipe({"profile": "character", "character": {"strlen": 10}})) as pipeline:
        result = pipeline.run(Entry("a"), TEXT("x" * 25 + "\n\nshort")).checked()
    assert [document.text for document in documents_of(result)] == ["x" * 25, "short"]
    (warning,) = result.warnings
    assert (warning.code, warning.component) == ("long-chunk", "cut_1")
    assert "a chunk has 25 characters, more than 10" in warning.message


def test_long_texts_leave_in_parts():
    sizes: list[int] = []

    class Count(Keep):
        spec = NodeSpec("test_keep", title="Count", responds=True)

        @on(DOCUMENTS)
        def keep(self, instance: Instance, documents: Sequence[Document]) -> None:
            sizes.append(len(documents))

    with Kernel(nodes=[Start, Count, LangchainPreprocessor]).load(pipe({"strlen": 5})) as pipeline:
        pipeline.run(Entry("a"), TEXT(" ".join(["abc"] * 600))).checked()
    assert sizes == [256, 256, 88]


@pytest.mark.parametrize(("config", "words"), [
    ({"profile": "sentences"}, ["sentences"]),
    ({"splitter": "HTMLTextSplitter"}, ["HTMLTextSplitter"]),
    ({"strlen": 0}, ["strlen"]),
    ({"mode": "words"}, ["mode"]),
    ({"overlap": 512}, ["overlap 512 is not less than the longest chunk, 512"]),
    ({"separators": "'a', 1"}, ["Invalid separators specified 'a', 1"]),
    ({"profile": "character", "character": {"separator": "\\n"}}, ["Invalid separator specified \\n"]),
])  # fmt: skip
def test_wrong_configs_are_refused_before_anything_runs(config, words):
    problems = kernel().check(pipe(config))
    assert [problem for problem in problems if problem.severity == "error"]
    assert all(any(word in f"{problem.path} {problem.message}" for problem in problems) for word in words), problems
    with pytest.raises(PipeError), kernel().load(pipe(config)):
        pass


@pytest.mark.parametrize(("config", "size"), [
    ({}, 512), ({"max_model_tokens": 256}, 224), ({"max_model_tokens": 256, "token_safety_margin": 0}, 256),
    ({"max_model_tokens": 9999}, 512),
    ({"bytes_per_token": 1.0, "tokens": 100}, 100),
])  # fmt: skip
def test_the_models_limit_caps_chunks_in_tokens(config, size):
    found = cut(TEXT("é" * 4000), mode="tokens", **config)
    per_token = config.get("bytes_per_token", 3.0)
    longest = max(len(document.text.encode()) for document in found)
    assert size - 1 < longest / per_token <= size


def test_a_limit_that_the_margin_uses_up():
    with pytest.raises(ValueError, match="max_model_tokens 30 is used up by token_safety_margin 32"):
        SplitterConfig(mode="tokens", max_model_tokens=30)


def test_chunks_of_both_kinds_count_on_across_lanes():
    found = cut(*itertools.chain.from_iterable((TABLE(f"t{i}"), TEXT(f"x{i}")) for i in range(3)), strlen=4)
    assert [(d.text, d.metadata["chunkId"]) for d in found] == [
        (t, i) for i, t in enumerate(["t0", "t1", "t2", "x0", "x1", "x2"])
    ]
