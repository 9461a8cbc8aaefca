# SPDX-License-Identifier: MIT
"""One small corpus with questions, so that all stores can be asked for the same ranking."""

from __future__ import annotations

from collections.abc import Sequence

from rocketride_core import Document, Json

from ..backend import Collection, VectorStore
from ..filters import Where
from ..memory import InMemory

__all__ = ["DIMENSION", "QUESTIONS", "corpus", "embedded", "expected"]

DIMENSION = 32
MODEL = "hash-32"
SUBJECTS = ("the river", "an old engine", "the library", "a small garden", "the night train", "her red boat")
VERBS = ("carries", "needs", "keeps", "hides")
THINGS = ("letters from abroad", "more water than sand", "a key of brass")
QUESTIONS = (
    "which engine needs water",
    "letters in the library",
    "what does the red boat hide",
    "a key of brass in the garden",
    "the night train carries",
)


def embedded(text: str) -> memoryview:
    """A unit vector made of hashes of the text's words: texts with common words are similar, in every process the same."""
    import hashlib
    from array import array
    from math import sqrt

    sums = [0.0] * DIMENSION
    for word in text.lower().split():
        digest = hashlib.blake2b(word.encode(), digest_size=2 * DIMENSION).digest()
        for at in range(DIMENSION):
            sums[at] += int.from_bytes(digest[2 * at : 2 * at + 2], "big") / 32768 - 1
    length = sqrt(sum(x * x for x in sums)) or 1.0
    return memoryview(array("f", [x / length for x in sums]))


def corpus() -> list[Document]:
    """72 chunks of 6 objects, embedded; no two of them are equally far from a question."""
    out = []
    for subject in SUBJECTS:
        texts = [f"{subject} {verb} {thing}" for verb in VERBS for thing in THINGS]
        for number, text in enumerate(texts):
            metadata: dict[str, Json] = {"objectId": subject, "chunkId": number, "isDeleted": False, "parent": f"{subject}.txt"}
            out.append(Document(text, metadata, embedded(text), MODEL))
    return out


def expected(question: str, limit: int, metric: str = "cosine") -> Sequence[Document]:
    """What an exact search answers, best first."""
    store: VectorStore = InMemory("expected")
    store.create(Collection("expected", DIMENSION, MODEL, metric))
    store.upsert(corpus())
    return store.search(embedded(question), Where(), limit)
