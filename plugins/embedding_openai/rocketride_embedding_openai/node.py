# SPDX-License-Identifier: MIT
"""The node `embedding_openai`."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import ClassVar

import attrs

from rocketride_core import Instance, NodeSpec, Profile, hookimpl, setting
from rocketride_embedding import Embedded, EmbeddingNode
from rocketride_llm import KeyConfig, LLMError, ServerNode, estimate

from .backend import Embeddings, Vectors

__all__ = ["EmbeddingOpenAI", "OpenAIEmbeddingConfig"]

ENDPOINT = "/embeddings"
ENCODING = "cl100k_base"  # of every model that OpenAI embeds with
OWN = "text-embedding-"  # begins their names
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
# OpenAI takes 300,000 tokens in a request; ours are estimates.
TOKENS = 200_000
# What one text can be the reason of: whoever else is in the request is asked for again.
OF_A_TEXT = ("too-long", "refused", "invalid-request", "bad-reply")


@attrs.frozen(kw_only=True)
class OpenAIEmbeddingConfig(KeyConfig):
    """Which model, where, and what is put before the texts."""

    base_url: str = setting(
        "",
        aliases=("baseURL", "baseUrl", "serverbase"),
        title="Base URL",
        doc="Of a server with OpenAI's API for embeddings, with /v1 at the end for most; empty is OpenAI's own.",
    )
    tokens: int = setting(8191, ge=1, unit="tokens", title="Longest text", doc="What is longer is cut there, with a warning.")
    dimensions: int = setting(
        0, ge=0, unit="floats", title="Dimensions", doc="Shorter vectors, of models that have them; 0: all."
    )
    document_prefix: str = setting("", title="Prefix of documents")
    query_prefix: str = setting("", title="Prefix of questions")

    @property
    def address(self) -> str:
        """The base URL without what people add to it."""
        return super().address.removesuffix(ENDPOINT)


class EmbeddingOpenAI(EmbeddingNode[OpenAIEmbeddingConfig], ServerNode[OpenAIEmbeddingConfig]):
    """Vectors of OpenAI's models, or of any server with the same API."""

    spec = NodeSpec(
        "embedding_openai",
        title="OpenAI (Embedding)",
        description="Embeds documents and questions with OpenAI's models.",
        categories=["embedding"],
        profiles=[
            Profile(
                "text-embedding-3-small", {"model": "text-embedding-3-small", "tokens": 8191, "apikey": ""}, title="Text Small"
            ),
            Profile(
                "text-embedding-3-large", {"model": "text-embedding-3-large", "tokens": 8191, "apikey": ""}, title="Text Large"
            ),
            Profile("text-embedding-ada-002", {"model": "text-embedding-ada-002", "tokens": 8191}, title="Text Ada"),
        ],
    )
    vendor = "OpenAI"
    address = "https://api.openai.com/v1"
    key_hint = ', or "base_url" for a server of your own'
    batch: ClassVar[int] = 256
    backend: Embeddings
    _found: int = 0

    @hookimpl
    def begin_global(self) -> None:
        EmbeddingNode.begin_global(self)
        ServerNode.begin_global(self)

    def connect(self) -> Embeddings:
        from rocketride_llm_openai_api import client_for

        config = self.config
        client = client_for(config.address or self.address, self.secret, config.timeout, self.proxy)
        return Embeddings(client, config.model, config.dimensions)

    async def probe(self, backend: Embeddings) -> None:
        await backend.embed(["Hi"])

    @property
    def needs_key(self) -> bool:
        return not self.config.address

    @property
    def model(self) -> str:
        return self.config.model

    @property
    def dimension(self) -> int:
        """As configured, as OpenAI documents it, else as the server's first vector has it, which is asked for."""
        known = self.config.dimensions or DIMENSIONS.get(self.config.model) or self._found
        if not known:
            asking = self.asking(self.backend)
            reply = self.wait(asking.persist(lambda: self.backend.embed(["Hi"]), self.config.max_time))
            known = self._found = len(reply.vectors[0])
        return known

    def prepare(self, instance: Instance, texts: Sequence[str], query: bool) -> Sequence[str]:
        prefix = self.config.query_prefix if query else self.config.document_prefix
        most, found, cut = self.config.tokens, [], 0
        for text in texts:
            encoded = (prefix + text or " ").encode(errors="replace")  # OpenAI refuses an empty text, and half a character
            whole = encoded.decode()
            # A token has a byte at least; a model of another maker counts in its own way, and cuts or refuses itself.
            if len(encoded) > most and self.config.model.startswith(OWN):
                from rocketride_llm_openai import head

                short = head(whole, most, ENCODING)
                cut += len(short) < len(whole)
                whole = short
            found.append(whole)
        if cut:
            instance.warn("text-cut", f"{cut} text(s) longer than {most} tokens were embedded by their first {most} tokens")
        return found

    def encode(self, instance: Instance, texts: Sequence[str]) -> Sequence[Embedded | Exception]:
        found: list[Embedded | Exception] = []
        for some in _requests(texts):
            try:
                found += _shared(self._asked(instance, some), some)
            except LLMError as error:
                if error.kind in OF_A_TEXT:
                    raise
                # Each object raises its own: a traceback belongs to one thread.
                return [*found, *(copy.copy(error) for _ in texts[len(found) :])]
        return found

    def _asked(self, instance: Instance, texts: Sequence[str]) -> Vectors:
        def on_retry(error: LLMError, seconds: float) -> None:
            instance.count("retries", 1)
            instance.event("retry", message=str(error), kind=error.kind, seconds=round(seconds, 3))

        asking = self.asking(self.backend, on_retry)
        reply: Vectors = instance.wait(asking.persist(lambda: self.backend.embed(texts), self.config.max_time))
        instance.count("requests", 1)
        self._found = len(reply.vectors[0])
        return reply


def _requests(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Texts that go together, by about how many tokens they have."""
    start = size = 0
    for i, text in enumerate(texts):
        tokens = estimate(text)
        if i > start and size + tokens > TOKENS:
            yield texts[start:i]
            start, size = i, 0
        size += tokens
    yield texts[start:]


def _shared(reply: Vectors, texts: Sequence[str]) -> list[Embedded]:
    """The server counts a request's tokens; each text gets its share, by about how many it has."""
    weights = [estimate(text) for text in texts]
    total = sum(weights)
    tokens = total if reply.tokens is None else reply.tokens
    found, given, seen = [], 0, 0
    for vector, weight in zip(reply.vectors, weights, strict=True):
        seen += weight
        share = tokens * seen // total - given
        given += share
        found.append(Embedded(vector, share))
    return found
