# SPDX-License-Identifier: MIT
"""The node with a scripted model."""

from __future__ import annotations

import json

import pytest

from rocketride_core import DOCUMENTS, LLM, TABLE, TEXT, Component, ControlLink, Entry, Kernel, LaneLink, Node, NodeSpec, PipeFile
from rocketride_core.errors import PipeError
from rocketride_core.testing import FakeChatModel, NodeSuite, run_node
from rocketride_preprocessor_llm import LLMPreprocessor

ONE, TWO = "Boats are red.", "Engines need water."


class Copying(FakeChatModel):
    """Gives the document back: each of its lines as a passage, and a summary."""

    context_length = 4000
    output_length = 2000

    def ask(self, question, /, *, stop=(), on_token=None):
        self._answers = [answer(*question.documents[0].text.splitlines(), summary="In short.")]
        return super().ask(question)


class Start(Node[None]):
    spec = NodeSpec("test_start", title="Start", categories=["source"], emits=[TEXT, TABLE])


def answer(*contents, summary=""):
    entries = [{"content": content} for content in contents]
    return json.dumps({"chunks": [*entries, *([{"content": summary, "summary": True}] if summary else [])]})


def pipe(answers, config=None, **limits):
    return PipeFile(
        [
            Component("start_1", "test_start"),
            Component("cut_1", "preprocessor_llm", config or {}, [LaneLink("text", "start_1"), LaneLink("table", "start_1")]),
            Component(
                "llm_1", "test_llm", {"mode": "script", "answers": answers, **limits}, control=[ControlLink("llm", "cut_1")]
            ),
            Component("out_1", "response_documents", {}, [LaneLink("documents", "cut_1")]),
        ]
    )


def run(packets, answers, config=None, **limits):
    with Kernel(nodes=[Start]).load(pipe(answers, config, **limits)) as pipeline:
        return pipeline.run(Entry("a.txt", object_id="id-7", path="docs/a.txt"), *packets)


def texts(result):
    return [document.text for some in result.checked()[DOCUMENTS] for document in some]


class TestLLMPreprocessor(NodeSuite):
    node = LLMPreprocessor
    controls = {LLM: Copying()}


def test_passages_and_a_summary():
    result = run([TEXT(f"{ONE} {TWO}")], [answer(ONE, TWO, summary="Boats and engines.")])
    assert texts(result) == [ONE, TWO, "Boats and engines."]
    first, second, last = (document.metadata for some in result[DOCUMENTS] for document in some)
    assert first == {
        "objectId": "id-7",
        "chunkId": 0,
        "name": "a.txt",
        "parent": "docs/a.txt",
        "signature": "cut_1",
        "isDeleted": False,
        "isTable": False,
        "tableId": 0,
        "start": 0,
        "end": 14,
    }
    assert (second["chunkId"], second["start"], second["end"]) == (1, 15, 34)
    assert (last["chunkId"], last["start"], last["end"], last["isSummary"]) == (2, 0, 35, True)


def test_tables_leave_first_and_no_model_is_asked_for_them():
    table = "|a b|\n|c d|\n|e f|"
    result = run([TEXT(ONE), TABLE(table), TABLE("|g|")], [answer(ONE)], {"numberOfTokens": 4})
    assert texts(result) == ["|a b|\n|c d|", "|e f|", "|g|", ONE]
    found = [document.metadata for some in result[DOCUMENTS] for document in some]
    assert [one["chunkId"] for one in found] == [0, 1, 2, 3]
    assert [(one["isTable"], one["tableId"]) for one in found] == [(True, 1), (True, 1), (True, 2), (False, 0)]
    assert [table[one["start"] : one["end"]] for one in found[:2]] == ["|a b|\n|c d|", "|e f|"]
    assert texts(run([TABLE(table)], [])) == [table]


def test_an_answer_that_cannot_be_used_is_asked_for_again():
    asked = []

    class Remembering(FakeChatModel):
        def ask(self, question, /, *, stop=(), on_token=None):
            asked.append(question.prompt())
            return super().ask(question)

    model = Remembering(["Sorry?", answer("Boats are blue.", TWO), answer(ONE, TWO)])
    out = run_node(LLMPreprocessor, send={"text": [f"{ONE} {TWO}"]}, controls={LLM: model})
    assert [document.text for document in out[DOCUMENTS][0]] == [ONE, TWO]
    assert len(asked) == 3
    assert "could not be used" not in asked[0]
    assert "no JSON object" in asked[1]
    assert "passage 1 is not a copy of the document's words at this place: 'Boats are blue.'" in asked[2]


@pytest.mark.parametrize("attempts", [1, 3])
def test_answers_that_never_can_be_used_are_an_error_and_nothing_leaves(attempts):
    bad = [answer("Boats are blue.")] * attempts
    result = run([TEXT(ONE)], [*bad, answer(ONE)], {"maxAttempts": attempts})
    assert result.error is not None
    assert result.error.component == "cut_1"
    assert f"asked {attempts} times to divide the characters 0 to 15 of a.txt" in str(result.error)
    assert "passage 1 is not a copy" in str(result.error)
    assert not result[DOCUMENTS]


def test_an_error_of_the_model_is_not_asked_for_again():
    result = run([TEXT(ONE)], [])
    assert "the script has 0 answers" in str(result.error)


def test_a_long_text_is_divided_for_the_model():
    text = "\n\n".join(f"Paragraph {i} " + "word " * 98 for i in range(10))
    model = Copying()
    model.context_length, model.output_length = 4000, 900
    out = run_node(LLMPreprocessor, send={"text": [text]}, controls={LLM: model})
    documents = [document for some in out[DOCUMENTS] for document in some]
    assert len(model.asked) == 3
    assert all(model.count_tokens(one.documents[0].text) <= 400 for one in model.asked)
    assert "".join("".join(one.text.split()) for one in documents if "isSummary" not in one.metadata) == "".join(text.split())
    assert [one.text for one in documents if "isSummary" in one.metadata] == ["In short."] * 3
    for one in documents:
        if "isSummary" not in one.metadata:
            assert (text + "\n")[one.metadata["start"] : one.metadata["end"]] == one.text
    assert [one.metadata["chunkId"] for one in documents] == list(range(len(documents)))


def test_a_passage_that_is_much_too_long_is_cut_further():
    text = "one two three four. " * 10
    result = run([TEXT(text)], [answer(text)], {"numberOfTokens": 8})
    assert texts(result) == ["one two three four. one two three four."] * 5


def test_nothing_is_asked_for_nothing():
    assert texts(run([TEXT(" \n"), TABLE(" ")], [])) == []


def test_a_model_without_room_is_refused():
    result = run([TEXT(ONE)], [answer(ONE)], modelTotalTokens=700)
    assert "needs a language model with more room: it reads 700 tokens" in str(result.error)


def test_without_a_model_it_does_not_load():
    with (
        pytest.raises(PipeError, match="llm"),
        Kernel(nodes=[Start]).load(
            PipeFile(
                [Component("start_1", "test_start"), Component("cut_1", "preprocessor_llm", {}, [LaneLink("text", "start_1")])]
            )
        ),
    ):
        pass
