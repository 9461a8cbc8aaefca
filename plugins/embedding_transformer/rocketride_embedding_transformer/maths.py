# SPDX-License-Identifier: MIT
"""The few float32 functions a BERT needs and numpy lacks; all of them work in place on their first argument."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]

# erf(x) = x * P(x^2) / Q(x^2) on [-4, 4], highest power first: the single-precision fit that Eigen and XLA use.
_P = (-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
      -2.95459980854025e-03, -1.60960333262415e-02)  # fmt: skip
_Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02)
_ROOT_HALF = np.float32(0.5**0.5)
_BLOCK = 1 << 15


def erf(x: Floats) -> Floats:
    """The error function of each element, within 5e-7, in place; `x` is any C-contiguous float32 array."""
    np.clip(x, -4, 4, out=x)
    square = x * x
    top = np.full_like(square, _P[0])
    for factor in _P[1:]:
        top *= square
        top += np.float32(factor)
    bottom = np.full_like(square, _Q[0])
    for factor in _Q[1:]:
        bottom *= square
        bottom += np.float32(factor)
    top /= bottom
    x *= top
    return x


def gelu(x: Floats) -> Floats:
    """GELU by the exact error function, `0.5 x (1 + erf(x / sqrt 2))`, in place; `x` is C-contiguous."""
    flat = x.reshape(-1)
    for start in range(0, flat.size, _BLOCK):  # a block and its temporaries stay in the cache
        part = flat[start : start + _BLOCK]
        half = part * np.float32(0.5)
        part *= _ROOT_HALF
        erf(part)
        part *= half
        part += half
    return x


def relu(x: Floats) -> Floats:
    """`max(x, 0)` in place."""
    return np.maximum(x, 0, out=x)


def layer_norm(x: Floats, weight: Floats, bias: Floats, epsilon: float) -> Floats:
    """Layer normalisation of each row of `x` (rows, width), in place."""
    x -= x.mean(axis=1, keepdims=True)
    spread = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    x *= (1 / np.sqrt(spread + np.float32(epsilon)))[:, None]
    x *= weight
    x += bias
    return x


def softmax(x: Floats) -> Floats:
    """Softmax over the last axis, in place."""
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x


def unit_rows(x: Floats) -> Floats:
    """Each row of `x` (rows, width) divided by its length, in place; a zero row stays zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", x, x))
    x /= np.maximum(lengths, np.float32(1e-12))[:, None]
    return x
