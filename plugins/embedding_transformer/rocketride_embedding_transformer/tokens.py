# SPDX-License-Identifier: MIT
"""From texts to tokens, and to batches of like length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokenizers import Tokenizer

from .errors import UnsupportedModel
from .folder import Sentences

TOKENS_A_BATCH = 1024
FEWEST = 128  # tokens of a batch below which spreading it over cores costs more than it saves


def tokenizer_of(about: Sentences) -> Tokenizer:
    """The folder's tokenizer, which cuts at the model's length and does not pad."""
    try:
        tokenizer = Tokenizer.from_file(str(about.folder / "tokenizer.json"))
    except Exception as error:  # tokenizers raises just that
        raise UnsupportedModel(about.folder, f"tokenizer.json cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(about.max_length)
    return tokenizer


def batches(ids: Sequence[Sequence[int]], parts: int = 1) -> Iterator[list[int]]:
    """Indices of texts of like length, at most TOKENS_A_BATCH tokens (or one text) at a time.

    Parameters:
        parts: so many are wanted at least, while they have FEWEST tokens.
    """
    most = TOKENS_A_BATCH
    if parts > 1:
        most = max(FEWEST, min(most, -(-sum(map(len, ids)) // parts)))
    batch: list[int] = []
    tokens = 0
    for i in sorted(range(len(ids)), key=lambda i: len(ids[i])):
        if batch and tokens + len(ids[i]) > most:
            yield batch
            batch, tokens = [], 0
        batch.append(i)
        tokens += len(ids[i])
    yield batch
