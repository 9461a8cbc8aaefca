# SPDX-License-Identifier: MIT
"""Lengths that need no vocabulary."""

from __future__ import annotations

from math import ceil, isfinite


class EstimatedTokens:
    """A length function: the UTF-8 bytes of a text divided by `bytes_per_token`, rounded up.

    The splitter knows it and measures whole chunks with it natively, where it would add up pieces for another function.

    Parameters:
        bytes_per_token: more than 0; 3.0 is cautious for English.

    Raises:
        ValueError: `bytes_per_token` is not more than 0.
    """

    def __init__(self, bytes_per_token: float = 3.0) -> None:
        if not (isfinite(bytes_per_token) and bytes_per_token > 0):
            raise ValueError(f"bytes_per_token must be > 0, got {bytes_per_token}")
        self.bytes_per_token = float(bytes_per_token)

    def __call__(self, text: str) -> int:
        return ceil(len(text.encode("utf-8", "surrogatepass")) / self.bytes_per_token)

    def __repr__(self) -> str:
        return f"EstimatedTokens({self.bytes_per_token})"
