# SPDX-License-Identifier: MIT
"""The node in a pipeline: what is indexed, and what is found."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    MANY,
    QUESTIONS,
    TEXT,
    TOOL,
    Component,
    ControlLink,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    on,
)
from rocketride_core.testing import Harness, NodeSuite, node_harness
from rocketride_indexer import Indexer
from rocketride_store import Request, chunk_key


@pytest.fixture
def index() -> Iterator[Harness]:
    with node_harness(Indexer, config={"path": ":memory:"}) as harness:
        yield harness


def put(harness, id, *texts, **send):
    return harness.run({"text": list(texts), **send}, entry=Entry(f"{id}.txt", object_id=id, path=f"docs/{id}.txt"))


def found(harness, *texts, type="keyword", **filter):
    out = harness.run({"questions": [Question(texts, type=type, filter=filter)]}, entry=Entry("question"))
    return out[DOCUMENTS][0]


def ids(documents):
    return [document.metadata["objectId"] for document in documents]


class Starts(Node[None]):
    spec = NodeSpec("test_starts", title="Start", categories=["source"], emits=[TEXT, QUESTIONS])


class TestIndexer(NodeSuite):
    node = Indexer
    config = {"path": ":memory:"}
    send = {
        "text": ["A sample text."],
        "table": ["| a |"],
        "documents": [[Document("A sample document.", {"objectId": "sample", "chunkId": 0})]],
    }


class TestIndexerAsked(NodeSuite):
    node = Indexer
    config = {"path": ":memory:"}
    send = {"questions": [Question(("sample",), type="keyword")]}


# ---- what is found


def test_a_text_is_found_by_its_words_with_where_it_is_from(index):
    put(index, "a", "The red boat.", "It sails.")
    put(index, "b", "The blue boat.")
    (one,) = found(index, "RED boat")
    assert (one.text, one.score, one.embedding) == ("The red boat.\nIt sails.", None, None)
    assert one.metadata == {
        "objectId": "a",
        "chunkId": 0,
        "name": "a.txt",
        "parent": "docs/a.txt",
        "signature": "node",
        "isDeleted": False,
        "isTable": False,
        "tableId": 0,
        "start": 0,
        "end": 23,
    }
    assert sorted(ids(found(index, "boat"))) == ["a", "b"]
    assert found(index, "boats") == found(index, "green") == found(index, "...") == found(index, "") == []


@pytest.mark.parametrize(("text", "query"), [
    ("引擎读取文件并回答问题。", "读取文件"), ("引擎读取文件并回答问题。", "题"), ("引擎读取文件并回答问题。", "引"), ("東京タワーへ行く", "タワー"),
    ("학교에서 배웠다", "학교"), ("ภาษาไทยเขียนติดกัน", "เขียน"), ("Перевёрнутый ящик", "перевернутыи"), ("हिन्दी में लिखा है", "हिन्दी"), ("كِتَابٌ جديد", "كتاب"),
    ("Işık açıldı", "ışık"), ("IŞIK AÇILDI", "ışık"), ("Größe", "GRÖSSE"), ("so good 👍🏽", "👍"), ("call foo_bar()", "foo_bar"), ("a C++ book", "c++"),
])  # fmt: skip
def test_every_script_is_found(index, text, query):
    put(index, "a", text)
    put(index, "b", "Something else entirely, 别的内容, другое.")
    assert ids(found(index, query)) == ["a"]


def test_words_in_quotes_and_words_of_several_parts_stay_together(index):
    put(index, "a", "send an e-mail to the red boat")
    put(index, "b", "the boat is red, e the mail")
    assert ids(found(index, "e-mail")) == ["a"]
    assert ids(found(index, '"red boat"')) == ["a"]
    assert sorted(ids(found(index, "red boat"))) == ["a", "b"]
    assert found(index, "引擎") == []


def test_characters_that_do_not_follow_each_other_are_not_a_word(index):
    put(index, "a", "读引擎取")
    assert found(index, "读取") == []
    assert ids(found(index, "引擎")) == ["a"]


def test_the_best_comes_first_and_a_question_needs_only_some_of_its_words(index):
    put(index, "a", "boats and engines and boats")
    put(index, "b", "engines need water " + "and so on " * 50)
    put(index, "c", "nothing of it")
    assert ids(found(index, "Which boats have engines?", type="question")) == ["a", "b"]
    assert ids(found(index, "boats engines", type="prompt")) == ["a", "b"]
    assert ids(found(index, "engines")) == ["a", "b"]


def test_several_texts_of_a_question_are_several_searches(index):
    put(index, "a", "red boat")
    put(index, "b", "blue sky")
    assert ids(found(index, "red", "sky", "boat")) == ["a", "b"]


def test_get_takes_what_the_filter_takes_in_pages(index):
    for number in range(7):
        put(index, str(number), f"text {number}")
    whole = ids(found(index, type="get"))
    assert sorted(whole) == [str(number) for number in range(7)]
    assert [*ids(found(index, type="get", limit=4)), *ids(found(index, type="get", limit=4, offset=4))] == whole
    assert ids(found(index, type="get", offset=9)) == []


def test_pages_of_a_search_are_those_of_the_whole(index):
    for number in range(9):
        put(index, str(number), "boat " * (number + 1) + "other " * 5)
    whole = ids(found(index, "boat"))
    assert whole[0] == "8"
    assert [one for offset in (0, 4, 8) for one in ids(found(index, "boat", limit=4, offset=offset))] == whole


@pytest.mark.parametrize("type", ["semantic", "execute"])
def test_a_question_that_words_do_not_answer_is_refused(index, type):
    with pytest.raises(Exception, match=f"node cannot answer a question of type '{type}'"):
        found(index, "x", type=type)


def test_a_long_text_is_found_in_passages(index):
    text = "\n\n".join(f"Paragraph {number}. " + "filler " * 200 for number in range(6)) + " needle"
    put(index, "a", text)
    (one,) = found(index, "needle")
    assert len(one.text) <= 2000
    assert (text + "\n")[one.metadata["start"] : one.metadata["end"]] == one.text
    (whole,) = found(index, "needle", fullDocuments=True)
    assert "".join(whole.text.split()) == "".join(text.split())
    assert [document.metadata["chunkId"] for document in sorted(found(index, "filler"), key=chunk_key)] == list(range(6))


# ---- lanes out


def test_answers_and_questions_have_what_was_found(index):
    put(index, "a", "red boat")
    carried = Document("Carried.", {"objectId": "z", "chunkId": 3})
    question = Question(("boat",), type="keyword", documents=(carried,), filter={"colour": "red"})
    out = index.run({"questions": [question]}, entry=Entry("question"))
    assert [one.text for one in out[DOCUMENTS][0]] == ["Carried.", "red boat"]
    assert [one["page_content"] for one in json.loads(out[ANSWERS][0].text)] == ["Carried.", "red boat"]
    (asked,) = out[QUESTIONS]
    assert [one.text for one in asked.documents] == ["Carried.", "red boat"]
    assert asked.filter["objectIds"] == ["z", "a"]
    (warning,) = out.warnings
    assert (warning.code, "colour" in warning.message) == ("unknown-filter", True)


# ---- what is indexed


def test_indexing_again_replaces_the_text(index):
    put(index, "a", "\n\n".join("old " * 300 for _ in range(5)))
    put(index, "b", "old too")
    put(index, "a", "new")
    assert ids(found(index, "old")) == ["b"]
    assert ids(found(index, type="get")).count("a") == 1


@pytest.mark.parametrize("texts", [[""], [" \n"]])
def test_a_text_that_is_empty_now_is_gone(index, texts):
    put(index, "a", "something")
    put(index, "a", *texts)
    assert found(index, type="get") == []


def test_an_object_that_brings_no_text_keeps_what_it_has(index):
    put(index, "a", "something")
    index.run({}, entry=Entry("a.txt", object_id="a"))
    index.run({"documents": [[]]}, entry=Entry("a.txt", object_id="a"))
    assert ids(found(index, "something")) == ["a"]


def test_tables_and_documents_are_indexed_too(index):
    chunk = Document(
        "a chunk",
        {"objectId": "other", "chunkId": 4, "nested": {"a": [1, None]}},
        memoryview(b"\0\0\0\0").cast("f"),
        "model",
        kind="Note",
    )
    put(index, "a", "a text", table=["| a cell |", "", "| second |"], documents=[[chunk]])
    assert [(one.metadata["isTable"], one.metadata["tableId"]) for one in found(index, "second")] == [(True, 2)]
    assert ids(found(index, "a", isTable=False)) in (["a", "other"], ["other", "a"])
    (kept,) = found(index, "chunk")
    assert (kept.text, kept.kind, kept.embedding) == ("a chunk", "Note", None)
    assert (kept.metadata["nested"], kept.metadata["chunkId"], kept.metadata["objectId"]) == ({"a": [1, None]}, 4, "other")


def test_chunks_of_two_producers_get_numbers_of_their_own(index):
    put(index, "a", "a text", documents=[[Document("one", {"chunkId": 0}), Document("two", {"chunkId": 1})]])
    assert sorted((one.metadata["chunkId"], one.text) for one in found(index, type="get")) == [
        (0, "one"),
        (1, "two"),
        (2, "a text"),
    ]


def test_an_object_that_fails_keeps_what_it_had():
    class Broken(Node[None]):
        spec = NodeSpec("test_broken", title="Broken", responds=True)

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None:
            if text == "new and bad":
                raise OSError("no")

    wired = [LaneLink("text", "start"), LaneLink("questions", "start")]
    pipe = PipeFile(
        [
            Component("start", "test_starts"),
            Component("index", "indexer", {"path": ":memory:"}, wired),
            Component("broken", "test_broken", {}, [LaneLink("text", "start")]),
            Component("out", "response_documents", {}, [LaneLink("documents", "index")]),
        ]
    )
    with Kernel(nodes=[Starts, Broken]).load(pipe) as pipeline:
        pipeline.run(Entry("good", object_id="a"), TEXT("old")).checked()
        assert pipeline.run(Entry("bad", object_id="a"), TEXT("new"), TEXT("new and bad")).error is not None
        result = pipeline.run(Entry("q"), QUESTIONS(Question(type="get"))).checked()
    assert [one.text for one in result[DOCUMENTS][0]] == ["old"]


def test_what_no_index_takes_is_made_takeable(index):
    put(index, "a", "half \ud83d of a pair \x00 boat")
    (one,) = found(index, "boat")
    assert one.text == "half \ufffd of a pair \ufffd boat"
    with pytest.raises(Exception, match="an object's id has at most 16000 characters"):
        put(index, "x" * 20_000, "text")


# ---- filters


METADATA = st.fixed_dictionaries(
    {
        "isDeleted": st.booleans(),
        "isTable": st.booleans(),
        "tableId": st.integers(0, 2),
        "parent": st.sampled_from(["p", "q/r", "é 引"]),
    },
    optional={"nodeId": st.sampled_from(["n", "m"]), "permissionId": st.integers(-2, 2), "name": st.just("a")},
)
FILTER = st.fixed_dictionaries(
    {},
    optional={
        "isDeleted": st.booleans(),
        "isTable": st.booleans(),
        "tableIds": st.lists(st.integers(0, 2), max_size=2),
        "parent": st.sampled_from(["p", "q/r", "é 引", "q"]),
        "nodeId": st.sampled_from(["n", "m", "a'b\ud800"]),
        "permissions": st.lists(st.integers(-2, 2), max_size=2),
        "objectIds": st.lists(st.sampled_from(["0", "1", "2"]), max_size=2),
        "chunkIds": st.lists(st.integers(0, 3), max_size=3),
        "minChunkId": st.integers(-1, 3),
        "maxChunkId": st.integers(-1, 3),
        "name": st.sampled_from(["a", "b"]),
    },
)


@given(st.lists(METADATA, min_size=1, max_size=8), st.lists(FILTER, min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_filters_mean_the_same_as_in_every_store(rows, filters):
    from rocketride_indexer.asking import Asker
    from rocketride_indexer.shared import SharedIndex

    index = SharedIndex(None)
    documents = [Document("word", {**row, "objectId": str(at % 3), "chunkId": at // 3}) for at, row in enumerate(rows)]
    index.replace({id: [one for one in documents if one.metadata["objectId"] == id] for id in "012"}, wait=0)
    asker = Asker(index.searcher(), "index")
    for filter in filters:
        request = Request.of(filter)
        expected = sorted(chunk_key(one) for one in documents if request.where.accepts(one.metadata))
        assert sorted(map(chunk_key, asker.select(request.where))) == expected
        assert sorted(map(chunk_key, asker.words("word", request, every=True))) == expected
    index.close()


def test_permissions_hide_what_is_inside_of_whole_documents_too(index):
    chunks = [Document(f"part {number}", {"objectId": "a", "chunkId": number, "permissionId": number}) for number in range(3)]
    index.run({"documents": [chunks]}, entry=Entry("a"))
    (one,) = found(index, "part", permissions=[0, 2], fullDocuments=True)
    assert one.text == "part 0\npart 2"
    assert found(index, "part", permissions=[]) == []


def test_a_bad_filter_names_its_key(index):
    with pytest.raises(Exception, match="a question's filter has 'parent' with 3"):
        found(index, "x", parent=3)


def test_the_rank_by_objects(index):
    put(index, "a", "boat")
    put(index, "b", "\n\n".join(["boat engine " + "x " * 900, "engine boat " + "y " * 900, "boat " + "z " * 900]))
    assert ids(found(index, "boat", useGroupRank=True)) in (["a", "b", "b", "b"], ["b", "b", "b", "a"])


def test_metadata_of_the_object_that_filters_ask_for_is_kept(index):
    index.run({"text": ["boat"]}, entry=Entry("a", object_id="a", metadata={"nodeId": "n", "permissionId": 7, "other": 1}))
    assert ids(found(index, "boat", permissions=[7], nodeId="n")) == ["a"]
    assert found(index, "boat", permissions=[8]) == []


# ---- deleting


def test_marked_objects_are_hidden_until_they_are_active_again(index):
    put(index, "a", "boat")
    put(index, "b", "boat")
    assert index.node.mark_deleted(["a", "none"]) == 1
    assert ids(found(index, "boat")) == ["b"]
    assert sorted(ids(found(index, "boat", isDeleted=True))) == ["a", "b"]
    assert index.node.mark_active(["a"]) == 1
    assert sorted(ids(found(index, "boat"))) == ["a", "b"]


def test_deleted_objects_are_gone(index):
    put(index, "a", "boat")
    assert index.node.delete(["a", "a", "none"]) == 1
    assert index.node.delete(["a"]) == index.node.delete([]) == 0
    assert found(index, "boat", isDeleted=True) == []


# ---- tools


def test_its_tools_search_and_delete():
    class Agent(Node[None]):
        spec = NodeSpec("test_calls", title="Calls", needs={TOOL: MANY}, responds=True)

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None:
            for name, arguments in json.loads(text):
                instance.respond("text", TEXT(json.dumps(instance.tools.call(name, arguments))))

    pipe = PipeFile(
        [
            Component("start", "test_starts"),
            Component("agent", "test_calls", {}, [LaneLink("text", "start")]),
            Component("words", "indexer", {"path": ":memory:"}, [LaneLink("text", "start")], [ControlLink("tool", "agent")]),
        ]
    )
    calls = [
        ("words.search", {"query": "red boat"}),
        ("words.search", {"query": "calls", "filter": {"objectId": "a"}}),
        ("words.search", {"query": "calls nothing", "top_k": 1}),
        ("words.delete", {"object_ids": ["a", "none"]}),
        ("words.search", {"query": "calls"}),
    ]
    with Kernel(nodes=[Agent, Starts]).load(pipe) as pipeline:
        pipeline.run(Entry("a", object_id="a"), TEXT('[["words.search", {"query": "calls"}]]')).checked()
        result = pipeline.run(Entry("b", object_id="b"), TEXT(json.dumps(calls))).checked()
    first, second, third, deleted, after = (json.loads(one) for one in result[TEXT])
    assert first == {"results": [], "total": 0}
    assert (second["total"], second["results"][0]["score"], second["results"][0]["metadata"]["objectId"]) == (1, None, "a")
    assert third["note"] == "no passage has all of these words; these have some of them"
    assert deleted == {"success": True, "deleted_count": 1}
    assert after["total"] == 0


# ---- many at once


@pytest.mark.slow
def test_two_pipelines_with_eight_workers_write_into_one_index(tmp_path):
    def pipe(interval):
        config = {"path": str(tmp_path / "index"), "commitInterval": interval}
        links = [LaneLink("text", "start"), LaneLink("questions", "start")]
        answers = Component("out", "response_documents", {}, [LaneLink("documents", "index")])
        return PipeFile([Component("start", "test_starts"), Component("index", "indexer", config, links), answers])

    kernel = Kernel(nodes=[Starts])
    failed = []

    def work(pipeline, name):
        objects = (
            (Entry(f"{name}{i}", object_id=f"{name}{i % 16}"), [TEXT(f"boat {name} version {i // 16} number{i % 16}")])
            for i in range(32)
        )
        failed.extend(result.error for result in pipeline.map(objects, workers=8) if result.error)

    with kernel.load(pipe(0)) as one, kernel.load(pipe(2.0)) as two:
        threads = [threading.Thread(target=work, args=pair) for pair in ((one, "x"), (two, "y"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not failed
        for pipeline in (one, two):
            result = pipeline.run(Entry("q"), QUESTIONS(Question(("boat",), type="keyword", filter={"limit": 200}))).checked()
            assert sorted(ids(result[DOCUMENTS][0])) == sorted(f"{name}{i}" for name in "xy" for i in range(16))
    with kernel.load(pipe(0)) as again:
        result = again.run(Entry("q"), QUESTIONS(Question(("number7",), type="keyword"))).checked()
        assert sorted(ids(result[DOCUMENTS][0])) == ["x7", "y7"]
