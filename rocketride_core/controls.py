# SPDX-License-Identifier: MIT
"""Controls: the typed edges over which one node calls another. A control's identity is its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import attrs

from .payloads import Answer, Question

I_co = TypeVar("I_co", covariant=True)
T = TypeVar("T")

__all__ = ["EMBEDDING", "LLM", "MEMORY", "TOOL", "Caller", "ChatModel", "Control", "Embedder", "Memory", "Served"]


@attrs.frozen
class Control(Generic[I_co]):
    """What one node may call on another; `name` is the `classType` in a `.pipe`, a third party's is dotted, `acme.rerank`."""

    name: str


@attrs.frozen
class Caller:
    """Who asks for a served control.

    Parameters:
        component: id of the calling component.
        run: the innermost tool call, else the entry; what a memory is scoped by.
        depth: nesting depth of the entry, 0 for one that a host started.
    """

    component: str
    run: str
    depth: int = 0


@attrs.frozen
class Served(Generic[T]):
    """One of several services of a control, with the component that serves it."""

    component: str
    title: str
    service: T


class ChatModel(Protocol):
    """A language model. Safe on several threads."""

    @property
    def context_length(self) -> int:
        """Tokens of question and answer together."""
        ...

    @property
    def output_length(self) -> int:
        """Tokens of an answer."""
        ...

    def count_tokens(self, text: str, /) -> int: ...
    def ask(
        self, question: Question, /, *, stop: Sequence[str] = (), on_token: Callable[[str], None] | None = None
    ) -> Answer: ...


class Memory(Protocol):
    """Values by key, for one entry and one run. Safe on several threads."""

    def put(self, key: str, value: object, /) -> None: ...
    def get(self, key: str, /) -> object:
        """None when absent."""
        ...

    def keys(self) -> Sequence[str]: ...
    def clear(self, key: str | None = None, /) -> Sequence[str]:
        """Forget one key or all; returns the keys that were forgotten."""
        ...


class Embedder(Protocol):
    """Text to vectors. Safe on several threads."""

    @property
    def model(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Sequence[memoryview]:
        """One L2-normalised float32 buffer, shape (dimension,), for each text, in their order."""
        ...


LLM: Control[ChatModel] = Control("llm")
MEMORY: Control[Memory] = Control("memory")
EMBEDDING: Control[Embedder] = Control("embedding")
TOOL: Control[object] = Control("tool")  # served by @tool and list_tools, used through instance.tools
