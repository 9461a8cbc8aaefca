# SPDX-License-Identifier: MIT
"""Stand-ins for what nodes call: deterministic, in memory, safe on several threads."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from threading import Lock

from ..payloads import Answer, Question, vector

__all__ = ["FakeChatModel", "FakeEmbedder", "FakeMemory"]


class FakeChatModel:
    """Answers from a script, one after the other; without one (or at its end) it echoes the question's texts.

    Attributes:
        asked: every question it got.
    """

    context_length = 8192
    output_length = 1024

    def __init__(self, answers: Sequence[str] = ()) -> None:
        self._answers = list(answers)
        self._lock = Lock()
        self.asked: list[Question] = []

    def count_tokens(self, text: str, /) -> int:
        return len(text.split())

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Callable[[str], None] | None = None) -> Answer:
        with self._lock:
            self.asked.append(question)
            text = self._answers.pop(0) if self._answers else "\n".join(question.texts)
        for mark in stop:
            text = text.partition(mark)[0]
        if on_token is not None:
            for word in text.split(" "):
                on_token(word)
        return Answer(text)


class FakeEmbedder:
    """Vectors from a hash of each word, so that texts with common words are similar; the same in every process."""

    model = "fake-hash"

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension

    def embed(self, texts: Sequence[str], /, *, query: bool = False) -> Sequence[memoryview]:
        return [vector(self._one(text)) for text in texts]

    def _one(self, text: str) -> list[float]:
        sums = [0.0] * self.dimension
        for word in text.lower().split() or [""]:
            digest = hashlib.blake2b(word.encode(), digest_size=2 * self.dimension).digest()
            for n in range(self.dimension):
                sums[n] += int.from_bytes(digest[2 * n : 2 * n + 2], "big") / 32768 - 1
        length = math.sqrt(sum(x * x for x in sums)) or 1.0
        return [x / length for x in sums]


class FakeMemory:
    """A dict behind the Memory protocol."""

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        self._lock = Lock()

    def put(self, key: str, value: object, /) -> None:
        with self._lock:
            self._values[key] = value

    def get(self, key: str, /) -> object:
        return self._values.get(key)

    def keys(self) -> Sequence[str]:
        with self._lock:
            return sorted(self._values)

    def clear(self, key: str | None = None, /) -> Sequence[str]:
        with self._lock:
            gone = sorted(self._values) if key is None else [key] if key in self._values else []
            for one in gone:
                del self._values[one]
        return gone
