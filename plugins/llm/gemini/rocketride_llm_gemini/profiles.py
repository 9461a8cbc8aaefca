# SPDX-License-Identifier: MIT
"""The models that have a profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from rocketride_core import Profile

__all__ = ["MODELS", "Model", "profiles"]


@attrs.frozen
class Model:
    """One of Google's models.

    Parameters:
        name: as the API calls it, without `models/`.
        total: tokens of question and answer together; None where nobody says.
        output: tokens of the longest answer.
        source: who told the figures.
        successor: the model to use in place of one that ends.
    """

    title: str
    name: str
    total: int | None
    output: int
    source: str = "manual"
    successor: str = ""


MILLION = 1_048_576
# By the profile's id, the default first.
MODELS = {
    "gemini-3_1-pro-preview": Model("Gemini 3.1 Pro", "gemini-3.1-pro-preview", MILLION, 65536),
    "gemini-3_1-flash-image-preview": Model("Gemini 3.1 Flash Image Preview", "gemini-3.1-flash-image-preview", 131072, 65536),
    "gemini-3_1-flash-lite-preview": Model("Gemini 3.1 Flash Lite", "gemini-3.1-flash-lite-preview", MILLION, 65536),
    "gemini-3-flash-preview": Model("Gemini 3 Flash Preview", "gemini-3-flash-preview", MILLION, 65536),
    "gemini-3-pro-image-preview": Model("Gemini 3 Pro Image Preview", "gemini-3-pro-image-preview", 65536, 32768),
    "gemini-2_5-pro": Model("Gemini 2.5 Pro", "gemini-2.5-pro", MILLION, 65536),
    "gemini-2_5-flash": Model("Gemini 2.5 Flash", "gemini-2.5-flash", MILLION, 65535),
    "gemini-2_5-flash-lite": Model("Gemini 2.5 Flash Lite", "gemini-2.5-flash-lite", MILLION, 65535),
    "gemini-2_5-flash-image": Model("Gemini 2.5 Flash Image", "gemini-2.5-flash-image", 32768, 32768),
    "gemini-3-pro-preview": Model(
        "Gemini 3 Pro Preview", "gemini-3-pro-preview", MILLION, 65536, successor="gemini-3.1-pro-preview"
    ),
    "gemini-3-pro-image": Model("Gemini 3 Pro Image", "gemini-3-pro-image", 98304, 32768, successor="gemini-3-pro-image-preview"),
    "gemini-2_0-flash": Model("Gemini 2.0 Flash", "gemini-2.0-flash", MILLION, 65535, successor="gemini-2.5-flash"),
    "gemini-2_0-flash-lite": Model(
        "Gemini 2.0 Flash Lite", "gemini-2.0-flash-lite", None, 65536, successor="gemini-2.5-flash-lite"
    ),
    "models-gemini-2-5-flash-lite-preview-09-2025": Model(
        "Google: Gemini 2.5 Flash Lite Preview 09-2025", "gemini-2.5-flash-lite-preview-09-2025", MILLION, 65535, "openrouter"
    ),
    "models-gemini-2-5-pro-preview": Model(
        "Google: Gemini 2.5 Pro Preview 06-05", "gemini-2.5-pro-preview", MILLION, 65536, "openrouter"
    ),
    "models-gemini-2-5-pro-preview-05-06": Model(
        "Google: Gemini 2.5 Pro Preview 05-06", "gemini-2.5-pro-preview-05-06", MILLION, 65535, "openrouter"
    ),
    "models-gemini-3-1-pro-preview-customtools": Model(
        "Google: Gemini 3.1 Pro Preview Custom Tools", "gemini-3.1-pro-preview-customtools", MILLION, 65536, "openrouter"
    ),
    "models-gemini-flash-latest": Model("Google Gemini Flash Latest", "gemini-flash-latest", MILLION, 65536, "openrouter"),
    "models-gemini-pro-latest": Model("Google Gemini Pro Latest", "gemini-pro-latest", MILLION, 65536, "openrouter"),
}
CUSTOM = 1_114_112


def profiles(ids: Iterable[str] | None = None, prefix: str = "models/", **more: Any) -> Iterator[Profile]:
    """The profiles of these models, and `custom`.

    Parameters:
        ids: keys of MODELS, all where None.
        prefix: before a model's name.
        more: further values of each profile.
    """
    for id in MODELS if ids is None else ids:
        model = MODELS[id]
        values: dict[str, Any] = {"model": prefix + model.name, "modelSource": model.source, "modelOutputTokens": model.output}
        values |= {} if model.total is None else {"modelTotalTokens": model.total}
        told = f"Please use '{model.successor}' instead" if model.successor else ""
        yield Profile(id, {**values, **more}, title=model.title, deprecated=told)
    yield Profile("custom", {"model": "", "modelTotalTokens": CUSTOM, "modelOutputTokens": 65536, **more}, title="Custom")
