# SPDX-License-Identifier: MIT
"""The node and its profiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar, cast

import attrs

from rocketride_core import NodeSpec, Profile, RunError, Secret, setting
from rocketride_llm import Backend, LLMConfig, LLMError, LLMNode, is_address

from .backend import OllamaBackend

__all__ = ["Ollama", "OllamaConfig"]

SERVER = "http://localhost:11434/v1"
ASKING = 5.0  # seconds for what the model can do
# Profile: title, model, tokens of the context.
MODELS = {
    "llama3_3": ("Llama 3.3", "llama3.3:latest", 128_000),
    "llama3_1-8b": ("Llama 3.1 8B", "llama3.1:8b", 128_000),
    "llama3_1-70b": ("Llama 3.1 70B", "llama3.1:70b", 128_000),
    "llama3_1-405b": ("Llama 3.1 405B", "llama3.1:405b", 128_000),
    "phi4-14b": ("Phi 4 14B", "phi4", 16_000),
    "llama3_2-3b": ("Llama 3.2 3B", "llama3.2", 128_000),
    "llama3_2-1b": ("Llama 3.2 1B", "llama3.2:1b", 128_000),
    "llama4-latest": ("Llama 4 Latest", "llama4:latest", 10_000_000),
    "mistral-7b": ("Mistral 7B", "mistral", 32_000),
    "qwen2_5-7b": ("Qwen 2.5 7B", "qwen2.5", 128_000),
    "qwen2_5-0_5b": ("Qwen 2.5 0.5B", "qwen2.5:0.5b", 128_000),
    "qwen2_5-1_5b": ("Qwen 2.5 1.5B", "qwen2.5:1.5b", 128_000),
    "qwen2_5-3b": ("Qwen 2.5 3B", "qwen2.5:3b", 128_000),
    "qwen2_5-14b": ("Qwen 2.5 14B", "qwen2.5:14b", 128_000),
    "qwen2_5-32b": ("Qwen 2.5 32B", "qwen2.5:32b", 128_000),
    "qwen2_5-72b": ("Qwen 2.5 72B", "qwen2.5:72b", 128_000),
    "qwen3-latest": ("Qwen 3 Latest", "qwen3:latest", 128_000),
    "deepseek-r1-1_5b": ("DeepSeek R1 1.5B", "deepseek-r1:1.5b", 128_000),
    "deepseek-r1-7b": ("DeepSeek R1 7B", "deepseek-r1:7b", 128_000),
    "deepseek-r1-14b": ("DeepSeek R1 14B", "deepseek-r1:14b", 128_000),
    "deepseek-r1-32b": ("DeepSeek R1 32B", "deepseek-r1:32b", 128_000),
    "deepseek-r1-671b": ("DeepSeek R1 671B", "deepseek-r1:671b", 128_000),
}


def profiles() -> Iterator[Profile]:
    """The server is not in them: every one has the default, and what a file says under either of its names must win."""
    for id, (title, model, total) in MODELS.items():
        yield Profile(id, {"model": model, "modelTotalTokens": total}, title=title)
    yield Profile("custom", {"model": "", "modelTotalTokens": 16_385}, title="Custom")


@attrs.frozen(kw_only=True)
class OllamaConfig(LLMConfig):
    """Which model, and which server has it."""

    server_base: str = setting(
        SERVER,
        key="serverbase",
        aliases=("base_url",),
        title="Server",
        doc="Address of the Ollama server; /v1 at its end may be there or not.",
    )
    api_key: Secret = setting(
        Secret(), key="apikey", title="API key", doc="Only for servers that ask for one, as ollama.com does."
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if "${" not in self.server_base:
            host_of(self.server_base)

    @property
    def address(self) -> str:
        return self.server_base if "${" in self.server_base else host_of(self.server_base)


def host_of(address: str) -> str:
    """The address as Ollama's client takes it, which asks for /api behind it.

    Raises:
        ValueError: it is none.
    """
    given = address.strip()
    if not is_address(given if "://" in given else f"http://{given}"):
        raise ValueError("'serverbase' is the address of an Ollama server, such as http://localhost:11434")
    return given.rstrip("/").removesuffix("/v1").rstrip("/")


class Ollama(LLMNode[OllamaConfig]):
    """A model that an Ollama server runs, by Ollama's own API."""

    spec = NodeSpec(
        "llm_ollama",
        title="Ollama",
        description="Answers questions with a model that an Ollama server runs.",
        categories=["llm"],
        profiles=list(profiles()),
        tile=["Model: ${parameters.llm_ollama.profile}"],
    )
    vendor: ClassVar[str] = "Ollama"
    backend: OllamaBackend

    def connect(self) -> OllamaBackend:
        config = self.config
        return OllamaBackend(
            key=self.secret,
            model=config.model,
            host=config.address,
            timeout=config.timeout,
            context=config.total_tokens,
            count=self.count_tokens,
            proxy=self.proxy,
        )

    @property
    def native_tools(self) -> bool:
        """Whether the model calls tools; the server is asked at the first look, for 5 s at most, and its answer is kept.

        True while it has not answered: then `converse` meets the same trouble, and tells exactly what it is.
        """
        if self.backend.tools is None:
            with suppress(LLMError, RunError):  # RunError: this is the loop's own thread, which must not wait
                self.wait(self.asking(self.backend).once(self.backend.look, ASKING))
        return self.backend.tools is not False

    async def probe(self, backend: Backend) -> None:
        """Is the server there, and has it the model? Nothing is generated, for which the model would be loaded first."""
        await cast("OllamaBackend", backend).look()
