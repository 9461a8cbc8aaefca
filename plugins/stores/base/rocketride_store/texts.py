# SPDX-License-Identifier: MIT
"""What databases refuse of a text goes, the same way where it is stored and where it is looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["encodes", "storable", "whole"]


def storable(text: str) -> str:
    """The text without what databases refuse: NUL characters, and halves of surrogate pairs, both of which parsers produce."""
    if text.isascii() and "\x00" not in text:
        return text
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    return text if encodes(text) else whole(text)


def encodes(text: str) -> bool:
    """Whether it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(value: Any) -> Any:
    """The same JSON value with replacement characters in place of halves of surrogate pairs."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {whole(key): whole(one) for key, one in value.items()}
    return [whole(one) for one in value] if isinstance(value, Sequence) else value
