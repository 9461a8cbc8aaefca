# SPDX-License-Identifier: MIT
"""What PostgreSQL's errors mean: by SQLSTATE, and by their words where libpq gives no SQLSTATE, which is when it connects."""

from __future__ import annotations

import re
from collections.abc import Mapping

import psycopg

from rocketride_store import StoreError, transport
from rocketride_store.errors import Kind

__all__ = ["explain"]

_STATES: Mapping[str, Kind] = {
    "28P01": "authentication",
    "28000": "authentication",
    "3D000": "not-found",
    "3F000": "not-found",
    "42P01": "not-found",
    "42501": "permission",
    "25006": "permission",
    "57014": "timeout",
    "55P03": "timeout",
    "57P01": "connection",
    "57P02": "connection",
    "57P05": "connection",
    "57P03": "unavailable",
    "40001": "unavailable",
    "40P01": "unavailable",
    "53100": "full",
    "0A000": "version",
    "42704": "version",
    "58P01": "version",
}
_CLASSES: Mapping[str, Kind] = {"08": "connection", "53": "unavailable", "54": "too-large"}
# The words are the server's in English; in any other language a refusal counts as `connection`, with those words.
_WORDS: Mapping[str, Kind] = {
    r"authentication failed|no password supplied|no pg_hba\.conf entry|role \".*\" does not exist|not permitted to log in"
    r"|certificate": "authentication",
    r"database \".*\" does not exist": "not-found",
    r"permission denied": "permission",
    r"starting up|shutting down|recovery mode|not (yet )?accepting connections|too many (clients|connections)"
    r"|connection slots are reserved": "unavailable",
    r"timeout expired": "timeout",
}


def explain(error: Exception) -> StoreError | None:
    """The StoreError that an exception of psycopg stands for; None for one that is a mistake of the program."""
    if not isinstance(error, psycopg.Error):
        return transport(error)
    state, words = error.sqlstate or "", _said(error)
    if state:
        return StoreError(_STATES.get(state) or _CLASSES.get(state[:2]) or "invalid", words)
    if not isinstance(error, psycopg.OperationalError):
        return StoreError("invalid", words)
    kind: Kind = next((kind for pattern, kind in _WORDS.items() if re.search(pattern, words)), "connection")
    missing = "The server has no such database; create it, or write another in the config" if kind == "not-found" else ""
    return StoreError(kind, words, sentence=missing)


def _said(error: psycopg.Error) -> str:
    """The server's words, without what psycopg and libpq put in front of them or the statement below them."""
    told = error.diag
    if told.message_primary:
        return ": ".join(part for part in (told.message_primary, told.message_detail) if part)
    return re.sub(r"^connection failed: (connection to server .*? failed: )?(FATAL:\s*)?", "", str(error).partition("\n")[0])
