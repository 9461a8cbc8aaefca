# SPDX-License-Identifier: MIT
"""The embedding_transformer node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

import attrs

from rocketride_core import Instance, NodeSpec, Problem, Profile, hookimpl, setting
from rocketride_embedding import Embedded, EmbeddingNode

from .encoders import Backend, Encoder, shared, views
from .errors import ModelError
from .models import locate

_HUB = "sentence-transformers/"


@attrs.frozen(kw_only=True)
class EmbeddingConfig:
    """Which model, what computes it, and what is put before the texts."""

    model: str = setting(title="Model", doc="A name on the Hugging Face hub, or the path of a model folder.")
    truncate_dim: int = setting(0, ge=0, unit="floats", title="Keep only the first", doc="0 keeps the whole vector.")
    document_prefix: str = setting("", title="Prefix of documents")
    query_prefix: str = setting("", title="Prefix of questions")
    backend: Backend = setting("auto", title="Backend", doc="What computes the model; auto takes the first that can.")
    device: str = setting("", title="Device", doc="cpu, cuda, cuda:1, mps …; empty takes a GPU where the backend has one.")


class EmbeddingTransformer(EmbeddingNode[EmbeddingConfig]):
    """Adds a vector of unit length to documents and questions."""

    spec = NodeSpec(
        "embedding_transformer",
        title="Transformer",
        description="Embeds documents and questions with a sentence-transformers model on this machine.",
        categories=["embedding"],
        profiles=[
            Profile("miniLM", {"model": _HUB + "multi-qa-MiniLM-L6-cos-v1"}, title="miniLM"),
            Profile("miniAll", {"model": _HUB + "all-MiniLM-L6-v2"}, title="miniAll"),
            Profile("mpnet", {"model": _HUB + "multi-qa-mpnet-base-cos-v1"}, title="mpnet"),
            Profile("custom", {}, title="Custom model"),
        ],
    )
    encoder: Encoder

    @hookimpl
    def begin_global(self) -> None:
        super().begin_global()
        self.encoder = self._encoder()
        if self.config.truncate_dim > self.encoder.dimension:
            raise ModelError(
                f"truncate_dim is {self.config.truncate_dim}, but the vectors of {self.config.model!r} "
                f"have {self.encoder.dimension} floats"
            )

    @hookimpl
    def prepare_global(self) -> None:
        import_module("numpy")

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        try:
            self._encoder(download=False)
        except ModelError as error:
            return [Problem("", "model-unavailable", str(error), component=self.id)]
        return []

    @property
    def model(self) -> str:
        return self.config.model

    @property
    def dimension(self) -> int:
        return self.config.truncate_dim or self.encoder.dimension

    def prepare(self, instance: Instance, texts: Sequence[str], query: bool) -> Sequence[str]:
        prefix = self.config.query_prefix if query else self.config.document_prefix
        return [prefix + text for text in texts] if prefix else texts

    def encode(self, instance: Instance, texts: Sequence[str]) -> Sequence[Embedded]:
        return [Embedded(view) for view in views(self.encoder.encode(texts), self.config.truncate_dim)]

    def _encoder(self, *, download: bool = True) -> Encoder:
        config = self.config
        return shared(locate(config.model, config.backend, download=download), config.backend, config.device)
