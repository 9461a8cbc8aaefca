# SPDX-License-Identifier: MIT
"""URLs: which are allowed, and what an origin is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

__all__ = ["Whitelist", "origin_of"]

_PLAIN = re.compile(r"(https?://[\w.:\[\]-]+)(/[\w.~%/-]*)?", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}


class Whitelist:
    r"""The URLs that are allowed; all where there is no pattern.

    A pattern is a regular expression that is searched in the URL, with and without its query. One that is a plain address,
    `http://localhost:8765`, stands for that address and all below it, and nothing that merely begins so.

    Raises:
        ValueError: a pattern is no regular expression.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns: list[re.Pattern[str]] = []
        for pattern in patterns:
            if plain := _PLAIN.fullmatch(pattern):
                end = "" if pattern.endswith("/") else "(?=[/?]|$)"
                self._patterns.append(re.compile(f"^{re.escape(_canonical(*plain.groups()))}{end}"))
                continue
            try:
                self._patterns.append(re.compile(pattern))
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"Invalid URL whitelist regex {pattern!r}: {error}") from None

    def allows(self, url: str) -> bool:
        if not self._patterns:
            return True
        bare = url.partition("?")[0]
        return any(pattern.search(url) or pattern.search(bare) for pattern in self._patterns)


def _canonical(origin: str, path: str | None) -> str:
    """As a requested URL is written: the host in small letters, no port that goes without saying."""
    origin = origin.lower()
    port = ":443" if origin.startswith("https:") else ":80"
    return origin.removesuffix(port) + (path or "")


def origin_of(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an http(s) URL; None for anything else."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None:
        return None
    return parts.scheme, parts.hostname.rstrip("."), port
