# SPDX-License-Identifier: MIT
"""Is the store there, and is it the one that the config means? In three seconds, whatever the client's own limits are."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import attrs

from .backend import Collection, Server, VectorStore
from .errors import StoreError, transport
from .patience import Patience

__all__ = ["SECONDS", "Findings", "checked_version", "introduced", "probe", "unmade"]

SECONDS = 3.0


@attrs.frozen
class Findings:
    """What a probe saw.

    Attributes:
        server: who answered.
        collection: what the collection records; None where it is not made yet.
    """

    server: Server
    collection: Collection | None


def checked_version(backend: VectorStore, server: Server) -> None:
    """Refuses a server that is too old.

    Raises:
        StoreError: of kind `version`, with the version that was found and the one that is needed.
    """
    least = backend.capabilities.minimum
    if least and server.version and _numbers(server.version) < _numbers(least):
        found = f"{server.product or 'The server'} {server.version}"
        raise StoreError("version", sentence=f"{found} is too old: {least} or newer is needed; update the server")


def introduced(backend: VectorStore, patience: Patience) -> Server:
    """Who answers, where it is a server of this kind, and new enough.

    Raises:
        StoreError: it is not.
    """

    def explain(error: Exception) -> StoreError | None:
        told = backend.explain(error)
        if told is not None and (told.kind, told.status) == ("not-found", 404):
            # It was asked for nothing that could be missing.
            return StoreError("bad-reply", told.detail, status=404)
        return told

    server = patience.do(explain, backend.about)
    patience.do(explain, lambda: checked_version(backend, server))
    return server


def _numbers(version: str) -> list[int]:
    """1.8.0-rc1 is [1, 8]: what follows a zero at the end, or letters, does not make it older."""
    found = re.match(r"\D*(\d+(?:\.\d+)*)", version)
    numbers = [int(part) for part in found[1].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def unmade(folder: Path) -> bool:
    """Nothing is in this folder yet, and it can be made and written.

    Raises:
        StoreError: it cannot.
    """
    place = folder.absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        return False
    there = next(one for one in (place, *place.parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = "is no folder" if not there.is_dir() else "cannot be written"
        raise StoreError("permission", sentence=f"The folder {place} cannot be made: {there} {why}; use another folder")
    return True


def probe(
    connect: Callable[[], VectorStore],
    patience: Patience,
    seconds: float = SECONDS,
    *,
    explain: Callable[[Exception], StoreError | None] = transport,
) -> Findings:
    """Connect, ask who answers and what the collection records, and close, on a thread of its own.

    Parameters:
        explain: what an exception of `connect` means.

    Raises:
        StoreError: what is wrong; of kind `timeout` after `seconds`: then the thread closes what it opened when it can.
    """
    once = attrs.evolve(patience, attempts=1)
    outcome: list[Findings | BaseException] = []

    def look() -> None:
        try:
            backend = once.do(explain, connect)
            try:
                server = introduced(backend, once)
                outcome.append(Findings(server, once.do(backend.explain, backend.collection)))
            finally:
                backend.close()
        except BaseException as error:  # noqa: BLE001 - raised below, on the caller's thread
            outcome.append(error)

    thread = threading.Thread(target=look, name=f"probe {patience.component}", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise patience.placed(StoreError("timeout", f"{seconds:g} s are over"))
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
