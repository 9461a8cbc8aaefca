# SPDX-License-Identifier: MIT
"""Addresses of servers and proxies: whether they can be right, and how a message shows them."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import unquote, urlsplit

__all__ = ["PROXIES", "WEB", "is_address", "passwords", "shown"]

WEB = ("http", "https")
PROXIES = (*WEB, "socks5", "socks5h")


def is_address(text: str, schemes: Collection[str] = WEB) -> bool:
    """It begins with one of the schemes, names a host, and has nothing in it that no URL has."""
    if not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def shown(address: str) -> str:
    """An address for a message: without user, password, query and fragment."""
    scheme, found, rest = address.strip().rpartition("://")
    rest = rest.partition("?")[0].partition("#")[0]
    host, slash, path = rest.partition("/")
    return f"{scheme}{found}{host.rpartition('@')[2]}{slash}{path}".rstrip("/")


def passwords(address: str) -> list[str]:
    """The password in an address, as it is written there and as it is meant."""
    rest = address.strip().rpartition("://")[2]
    written = rest.rpartition("@")[0].partition(":")[2]
    return sorted({written, unquote(written)} - {""}, key=len, reverse=True)
