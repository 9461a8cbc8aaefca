# SPDX-License-Identifier: MIT
"""Values that may not be shown: which they are, and how they are kept out of traces and results."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from rocketride_core import Secret

__all__ = ["Scrubber", "conceal", "is_secret", "revealed", "secrets_in"]

_PARTS = (
    "authorization",
    "cookie",
    "secret",
    "passw",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "bearer",
    "signature",
    "subscriptionkey",
)
_WHOLE = frozenset({"auth", "key", "sig", "pwd", "pin", "otp", "sid", "sessionid", "xauthkey", "xauth"})
_PAGING = ("page", "next", "prev", "cursor", "tokens", "continuation", "sync", "count", "limit")
SHORTEST = 4  # characters of a value of the config that is hidden in results
SHORTEST_GIVEN = 8  # of one that the model itself gave


def is_secret(name: str) -> bool:
    """Does a header, parameter or member of that name most likely hold a secret?"""
    bare = re.sub(r"[^a-z0-9]", "", name.lower())
    token = "token" in bare and not any(word in bare for word in _PAGING)
    return token or bare in _WHOLE or any(part in bare for part in _PARTS)


def conceal(value: Any, *, named: str = "") -> Any:
    """The same, with a `Secret` for every text that stands, at any depth, under the name of a secret."""
    if isinstance(value, Mapping):
        return {key: conceal(item, named=key if is_secret(key) else named) for key, item in value.items()}
    if isinstance(value, list):
        return [conceal(item, named=named) for item in value]
    if named and value and isinstance(value, str):
        return Secret(value)
    return value


def revealed(value: Any) -> Any:
    """What `conceal` was given."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Mapping):
        return {key: revealed(item) for key, item in value.items()}
    return [revealed(item) for item in value] if isinstance(value, list) else value


def secrets_in(value: Any) -> Iterator[str]:
    """Every secret text inside of arguments."""
    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from secrets_in(item)


class Scrubber:
    """Puts `***` for secrets in texts that come from outside: a server may repeat what it was sent.

    Parameters:
        own: secrets of the config.
        given: secrets that the model gave; short ones may be ordinary words, and are left.
    """

    def __init__(self, own: Iterable[str], given: Iterable[str] = ()) -> None:
        found = {value for value in own if len(value) >= SHORTEST} | {value for value in given if len(value) >= SHORTEST_GIVEN}
        # `Bearer <token>`: a server may repeat the token alone.
        found |= {tail for value in found if len(tail := value.partition(" ")[2]) >= SHORTEST_GIVEN}
        forms = {form for value in found for form in _forms(value)}
        self._forms = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms))) if forms else None

    def __call__(self, text: str, *, cut: bool = False) -> str:
        """The text without the secrets.

        Parameters:
            cut: its end is missing, so the beginning of a secret there, of 4 characters at least, is hidden too.
        """
        if self._pattern is None:
            return text
        begun = max((_overlap(text, form) for form in self._forms), default=0) if cut else 0
        return self._pattern.sub("***", text[: len(text) - begun]) + "***" * bool(begun)


def _overlap(text: str, form: str) -> int:
    """Characters at the end of the text that begin a form of a secret; 0 for fewer than 4."""
    return next((n for n in range(min(len(form), len(text)), SHORTEST - 1, -1) if text.endswith(form[:n])), 0)


def _forms(value: str) -> set[str]:
    """How a value may come back: as it is, in JSON, in a URL, in base64."""
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe="", errors="replace"),
        base64.b64encode(value.encode("utf-8", "replace")).decode(),
    }
