# SPDX-License-Identifier: MIT
"""Metadata for databases that keep only flat values: nested ones travel as JSON under one key and come back unchanged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from rocketride_core import Document

__all__ = ["flat", "from_flat"]

_NESTED: Final = "rocketride.json"
_KIND: Final = "rocketride.kind"
_RESERVED: Final = ("rocketride.", "chroma:", "$", "#")
_BIGGEST: Final = 2**63


def flat(document: Document) -> dict[str, str | int | float | bool]:
    """A document's metadata and kind as flat values: str, bool, finite float, and int of 64 bits."""
    out: dict[str, str | int | float | bool] = {}
    nested: dict[str, Any] = {}
    for key, value in document.metadata.items():
        plain = (
            isinstance(value, (str, bool))
            or (isinstance(value, float) and math.isfinite(value))
            or (isinstance(value, int) and -_BIGGEST <= value < _BIGGEST)
        )
        if plain and key and not key.startswith(_RESERVED):
            out[key] = value  # type: ignore[assignment]  # narrowed by `plain`
        else:
            nested[key] = value
    if nested:
        out[_NESTED] = json.dumps(nested, ensure_ascii=False)
    if document.kind != "Document":
        out[_KIND] = document.kind
    return out


def from_flat(text: str, metadata: Mapping[str, Any], score: float | None = None) -> Document:
    """The document that `flat` was made from, without its embedding; keys sorted, because databases return them in any order."""
    values = dict(sorted(metadata.items()))
    nested = values.pop(_NESTED, None)
    kind = values.pop(_KIND, "Document")
    if nested:
        values.update(json.loads(nested))
    return Document(text, values, score=score, kind=kind)
