# SPDX-License-Identifier: MIT
"""Sentence vectors from BERT and MPNet weights, with numpy alone.

The tokens of a batch are laid end to end, without padding: the dense layers see one (tokens, width) matrix, attention
one block for each run of equally long texts. So there is no mask, no work on padding, and a text gets the same
vector alone and in company.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import attrs
import numpy as np
from safetensors import safe_open

from .errors import UnsupportedModel
from .folder import Sentences, sentences
from .maths import Floats, gelu, layer_norm, relu, softmax, unit_rows
from .threads import CORES, single_blas_thread, spread
from .tokens import batches, tokenizer_of

ACTIVATIONS = ("gelu", "relu")
_NAMES: dict[str, tuple[str, str, str, str, str]] = {  # query, key, value, what mixes them, the norm after it
    "bert": (
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "attention.output.LayerNorm",
    ),
    "mpnet": ("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o", "attention.LayerNorm"),
}
ARCHITECTURES = tuple(_NAMES)
Affine = tuple[Floats, Floats]


@attrs.frozen(kw_only=True)
class Description:
    """A model that this module computes; widths are in floats, lengths in tokens."""

    sentences: Sentences
    architecture: str
    width: int
    layers: int
    heads: int
    activation: str
    epsilon: float

    @property
    def folder(self) -> Path:
        return self.sentences.folder


def describe(folder: Path) -> Description:
    """Read `folder`; UnsupportedModel says what in it this module cannot compute."""
    about = sentences(folder)
    config = about.config
    architecture = config.get("model_type", "")
    if architecture not in ARCHITECTURES:
        what = f"its architecture is {architecture!r}, and this package computes {' and '.join(ARCHITECTURES)} itself"
        raise UnsupportedModel(folder, what, elsewhere=True)
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise UnsupportedModel(folder, f"its positions are {config['position_embedding_type']!r}, not 'absolute'", elsewhere=True)
    if config.get("hidden_act") not in ACTIVATIONS:
        what = f"its activation is {config.get('hidden_act')!r}, not one of {', '.join(ACTIVATIONS)}"
        raise UnsupportedModel(folder, what, elsewhere=True)
    if config["hidden_size"] % config["num_attention_heads"]:
        raise UnsupportedModel(
            folder, f"its width {config['hidden_size']} is no multiple of its {config['num_attention_heads']} heads"
        )
    return Description(
        sentences=about,
        architecture=architecture,
        width=about.width,
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        activation=config["hidden_act"],
        epsilon=config.get("layer_norm_eps", 1e-12),
    )


class _Layer:
    """The weights of one transformer layer; dense ones as (in, out) matrix and bias."""

    def __init__(self, weights: Weights, prefix: str) -> None:
        *mixed, out, norm = (f"{prefix}.{name}" for name in _NAMES[weights.about.architecture])
        parts = [weights.dense(name) for name in mixed]
        self.qkv: Affine = (np.concatenate([matrix for matrix, _ in parts], axis=1), np.concatenate([bias for _, bias in parts]))
        self.out = weights.dense(out)
        self.norm = weights.affine(norm)
        self.up = weights.dense(f"{prefix}.intermediate.dense")
        self.down = weights.dense(f"{prefix}.output.dense")
        self.last = weights.affine(f"{prefix}.output.LayerNorm")


class Weights:
    """The tensors of a safetensors file as float32, by name, with or without the architecture's prefix."""

    def __init__(self, about: Description) -> None:
        self.about = about
        try:
            with safe_open(about.folder / "model.safetensors", framework="numpy") as file:
                self.tensors = {name.removeprefix(about.architecture + "."): file.get_tensor(name) for name in list(file.keys())}
        except Exception as error:  # SafetensorError for a broken file, TypeError for bfloat16, which numpy lacks
            raise UnsupportedModel(about.folder, f"model.safetensors cannot be read: {error}") from error

    def __call__(self, name: str) -> Floats:
        if name not in self.tensors:
            raise UnsupportedModel(
                self.about.folder, f"model.safetensors has no tensor {name!r}, which {self.about.architecture} needs"
            )
        return np.ascontiguousarray(self.tensors[name], dtype=np.float32)

    def affine(self, name: str) -> Affine:
        return self(name + ".weight"), self(name + ".bias")

    def dense(self, name: str) -> Affine:
        weight, bias = self.affine(name)
        return np.ascontiguousarray(weight.T), bias


class NumpyEncoder:
    """An Encoder over the model in a folder; safe on several threads, as nothing in it changes after loading.

    Raises UnsupportedModel for a folder it cannot compute exactly.
    """

    def __init__(self, about: Description) -> None:
        self.about = about
        self.dimension = about.width
        self.max_length = about.sentences.max_length
        self.tokenizer = tokenizer_of(about.sentences)
        weights = Weights(about)
        self.words = weights("embeddings.word_embeddings.weight")
        self.positions = weights("embeddings.position_embeddings.weight")[about.sentences.first_position :]
        self.norm = weights.affine("embeddings.LayerNorm")
        mpnet = about.architecture == "mpnet"
        if not mpnet:
            self.positions = self.positions + weights("embeddings.token_type_embeddings.weight")[0]
        self.layers = [_Layer(weights, f"encoder.layer.{i}") for i in range(about.layers)]
        self.bias = _relative_bias(weights("encoder.relative_attention_bias.weight"), self.max_length) if mpnet else None
        self.activation = {"gelu": gelu, "relu": relu}[about.activation]

    @classmethod
    def load(cls, folder: Path) -> NumpyEncoder:
        return cls(describe(folder))

    def encode(self, texts: Sequence[str]) -> Floats:
        """The unit vectors of `texts`, (len(texts), dimension); a text beyond `max_length` tokens is cut there."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        if not texts:
            return vectors
        prepared = [self.about.sentences.prepared(text) for text in texts]
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(prepared)]

        def compute(batch: list[int]) -> None:
            vectors[batch] = self._forward([ids[i] for i in batch])

        with single_blas_thread():
            spread(compute, list(batches(ids, CORES)))
        return unit_rows(vectors)

    def _forward(self, rows: list[list[int]]) -> Floats:
        lengths = [len(row) for row in rows]
        x = self.words[np.concatenate(rows)]
        x += self.positions[np.concatenate([np.arange(length) for length in lengths])]
        layer_norm(x, *self.norm, self.about.epsilon)
        runs = [(length, len(list(group))) for length, group in groupby(lengths)]
        for layer in self.layers:
            y = self._attention(x, layer.qkv, runs) @ layer.out[0]
            y += layer.out[1]
            y += x
            x = layer_norm(y, *layer.norm, self.about.epsilon)
            inner = x @ layer.up[0]
            inner += layer.up[1]
            y = self.activation(inner) @ layer.down[0]
            y += layer.down[1]
            y += x
            x = layer_norm(y, *layer.last, self.about.epsilon)
        return self._pool(x, lengths)

    def _attention(self, x: Floats, qkv: Affine, runs: list[tuple[int, int]]) -> Floats:
        heads, width = self.about.heads, self.about.width
        size = width // heads
        mixed = x @ qkv[0]
        mixed += qkv[1]
        mixed[:, :width] *= np.float32(size**-0.5)
        result = np.empty_like(x)
        start = 0
        for length, count in runs:
            end = start + length * count
            q, k, v = mixed[start:end].reshape(count, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
            scores = q @ k.transpose(0, 1, 3, 2)
            if self.bias is not None:
                scores += self.bias[:, :length, :length]
            context = softmax(scores) @ v
            result[start:end] = context.transpose(0, 2, 1, 3).reshape(count * length, width)
            start = end
        return result

    def _pool(self, x: Floats, lengths: list[int]) -> Floats:
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        if self.about.sentences.pooling == "cls":
            first: Floats = x[starts]
            return first
        if self.about.sentences.pooling == "max":
            highest: Floats = np.maximum.reduceat(x, starts, axis=0)
            return highest
        total: Floats = np.add.reduceat(x, starts, axis=0)
        total /= np.asarray(lengths, np.float32)[:, None]
        return total


def _relative_bias(weight: Floats, length: int) -> Floats:
    """MPNet's (heads, length, length) attention bias from its (buckets, heads) table.

    Half of the buckets are for keys after the query; in each half distances below a quarter have their own bucket, longer
    ones share logarithmically wider ones up to distance 128.
    """
    half = weight.shape[0] // 2
    exact = half // 2
    relative = np.arange(length)[None, :] - np.arange(length)[:, None]
    distance = np.abs(relative)
    scaled = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(exact)) / np.log(128 / exact) * (half - exact)
    bucket = np.where(distance < exact, distance, np.minimum(exact + scaled.astype(np.int64), half - 1))
    return np.ascontiguousarray(weight[bucket + half * (relative > 0)].transpose(2, 0, 1))
