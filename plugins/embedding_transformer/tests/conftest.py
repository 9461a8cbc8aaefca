# SPDX-License-Identifier: MIT
"""Tiny models with weights that plain arithmetic gives, so that other programs can compute the same vectors."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WIDTH, LAYERS, HEADS, INNER, POSITIONS = 16, 2, 2, 24, 24
VOCABULARY = [
    "[CLS]",
    "[PAD]",
    "[SEP]",
    "[UNK]",
    "the",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "a",
    "##s",
    "##ing",
    "sing",
    "mountain",
    "river",
    "猫",
    "é",
]
Tiny = Callable[..., Path]


def _tensor(shape: tuple[int, ...], seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    count = int(np.prod(shape))
    numbers = (np.arange(1, count + 1, dtype=np.int64) * 7919 + seed * 104729) % 1009
    return ((numbers / 1009 - 0.5) * 0.8).astype(np.float32).reshape(shape)


def _shapes(architecture: str) -> dict[str, tuple[int, ...]]:
    dense = {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
    square = {
        "bert": ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
        "mpnet": ("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"),
    }[architecture]
    norm = {"bert": "attention.output.LayerNorm", "mpnet": "attention.LayerNorm"}[architecture]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    if architecture == "bert":
        shapes["embeddings.token_type_embeddings.weight"] = (2, WIDTH)
    else:
        shapes["encoder.relative_attention_bias.weight"] = (32, HEADS)
    for i in range(LAYERS):
        for name, shape in {**dict.fromkeys(square, (WIDTH, WIDTH)), **dense}.items():
            shapes[f"encoder.layer.{i}.{name}.weight"] = shape
            shapes[f"encoder.layer.{i}.{name}.bias"] = shape[:1]
        for name in (norm, "output.LayerNorm"):
            shapes[f"encoder.layer.{i}.{name}.weight"] = shapes[f"encoder.layer.{i}.{name}.bias"] = (WIDTH,)
    return shapes


def write_tiny(
    folder: Path, architecture: str = "bert", *, pooling: str = "mean", max_length: int | None = None, **config: Any
) -> Path:
    """A model folder; `config` overrides what config.json says, None takes a key out."""
    (folder / "1_Pooling").mkdir(parents=True)
    tensors = {name: _tensor(shape, seed) for seed, (name, shape) in enumerate(_shapes(architecture).items())}
    for name in tensors:
        if name.endswith("LayerNorm.weight"):
            tensors[name] += np.float32(1)
    save_file({f"{architecture}.{name}": tensor for name, tensor in tensors.items()}, folder / "model.safetensors")
    written = {
        "model_type": architecture,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS,
        "vocab_size": len(VOCABULARY),
        "type_vocab_size": 2,
        "relative_attention_num_buckets": 32,
        "pad_token_id": 1,
    }
    files: dict[str, Any] = {
        "config.json": {key: value for key, value in {**written, **config}.items() if value is not None},
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": WIDTH,
            **{f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("cls_token", "mean_tokens", "max_tokens")},
        },
        "sentence_bert_config.json": {"max_seq_length": max_length, "do_lower_case": False},
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": 512},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    vocabulary = {token: i for i, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 0))
    tokenizer.enable_padding(length=16, pad_id=1)  # as some published files have it; it must not change a vector
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """`tiny("name", architecture, …)`: the folder of a tiny model, see `write_tiny`."""

    def make(name: str = "model", architecture: str = "bert", **options: Any) -> Path:
        return write_tiny(tmp_path_factory.mktemp("models") / name, architecture, **options)

    return make


@pytest.fixture(scope="session")
def export() -> Callable[..., None]:
    """`export(folder, file)` of onnx_graph.py, which stands beside the tests and is in no package."""
    spec = importlib.util.spec_from_file_location("onnx_graph", Path(__file__).with_name("onnx_graph.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Callable[..., None] = module.export
    return made
