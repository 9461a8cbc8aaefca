# SPDX-License-Identifier: MIT
"""Clients of Milvus, and what their exceptions mean."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

from rocketride_store import StoreError, transport, within
from rocketride_store.errors import Kind

__all__ = ["UNLIMITED", "connected", "explain", "pymilvus"]

UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_DOTENV = "PYTHON_DOTENV_DISABLED"


def _imported() -> Any:
    """pymilvus, which reads a file `.env` above its own folder into the environment of the whole process where it is let.

    Its log, which repeats each error with a traceback, is silenced by who imports it first.
    """
    first, before = "pymilvus" not in sys.modules, os.environ.get(_DOTENV)
    os.environ[_DOTENV] = "1"
    try:
        import pymilvus  # type: ignore[import-untyped]
    finally:
        os.environ.pop(_DOTENV)
        os.environ.update({} if before is None else {_DOTENV: before})
    if first:
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return pymilvus


pymilvus: Any = _imported()


def connected(uri: str, token: str = "", database: str = "", *, timeout: float = 60.0) -> Any:
    """A client of a server, on a connection of its own.

    Parameters:
        uri: `http://localhost:19530`, `https://…`, or `unix:<path>`.
        token: a key, or `user:password`; "" for none.
        database: "" is the default one.
        timeout: of the attempt to connect, in seconds.
    """
    return pymilvus.MilvusClient(
        uri, token=token, db_name=database, timeout=within(timeout), dedicated=True, grpc_options=dict(UNLIMITED)
    )


# ---- errors

_CODES: Mapping[int, Kind] = {
    2: "unavailable",
    3: "full",
    4: "rate-limit",
    5: "unavailable",
    7: "full",
    8: "rate-limit",
    9: "full",
    10: "version",
    11: "unavailable",
    12: "unavailable",
    22: "authentication",
    100: "not-found",
    101: "unavailable",
    103: "unavailable",
    106: "unavailable",
    700: "not-found",
    800: "not-found",
    1102: "too-large",
    1400: "authentication",
    1401: "permission",
    1800: "authentication",
    1807: "permission",
}
_WORDS: tuple[tuple[str, Kind], ...] = (
    ("Retry timeout", "timeout"),
    ("Fail connecting to server", "connection"),
    ("closed channel", "connection"),
    ("auth check failure", "authentication"),
    ("unauthenticated", "authentication"),
    ("PrivilegeNotPermitted", "permission"),
    ("permission deny", "permission"),
    ("larger than max", "too-large"),
    ("No space left on device", "full"),
)


def explain(error: Exception) -> StoreError | None:
    """What an exception of pymilvus, or of grpc below it, means; its codes are those of Milvus' own source."""
    words = " ".join(str(getattr(error, "message", "") or error).split())
    if (told := transport(error)) is not None or type(error).__module__.partition(".")[0] != "pymilvus":
        return told
    kind = _kind(getattr(error, "code", None), words)
    if getattr(error, "retriable", False) and kind == "invalid":
        kind = "unavailable"
    return StoreError(kind, "" if kind == "authentication" else words)  # who refuses a key may repeat it


def _kind(code: object, words: str) -> Kind:
    for part, kind in _WORDS:
        if part.lower() in words.lower():
            return kind
    if isinstance(code, int):
        return _CODES.get(code, "invalid")
    # A call that failed below Milvus again and again comes with the code of grpc.
    return "connection" if getattr(code, "name", "") == "UNAVAILABLE" else "unavailable"
