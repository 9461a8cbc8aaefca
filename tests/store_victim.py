# SPDX-License-Identifier: MIT
"""A process that writes into a store and kills itself on the way: run with its orders as JSON on standard input.

`where` is one of `POINTS`: how the process ends, at which call of the database.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from rocketride_core import Document
from rocketride_store.testing import chunk

__all__ = ["OBJECTS", "POINTS", "documents", "ingest"]

# The call, which one of its kind, and what is done there: `during` kills from another thread while it runs.
POINTS = {
    "while the collection is made": ("create", 1, "during"),
    "when the collection is made": ("create", 1, "after"),
    "during the first write": ("upsert", 1, "during"),
    "during the second write": ("upsert", 2, "during"),
    "before stale chunks are removed": ("delete", 1, "before"),
    "while stale chunks are removed": ("delete", 1, "during"),
}
# Chunks of the first version and of the second; the third object is new.
OBJECTS = {"long": (560, 520), "short": (40, 12), "new": (0, 30)}


def documents(object_id: str, version: int) -> list[Document]:
    count = OBJECTS[object_id][version]
    return [chunk(object_id, number, f"{object_id} v{version} {number}", at=number % 360) for number in range(count)]


def ingest(pipeline: Any, version: int) -> None:
    from store_kit import store

    for object_id in OBJECTS:
        if OBJECTS[object_id][version]:
            store(pipeline, object_id, documents(object_id, version))


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _later() -> None:
    time.sleep(0.004)
    _kill()


class Mortal:
    """A backend, until its time has come."""

    def __init__(self, backend: Any, call: str, number: int, how: str) -> None:
        self._backend, self._call, self._left, self._how = backend, call, number, how

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._backend, name)
        return self._counted(method) if name == self._call else method

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if method.__name__ == "delete" and not args[0]:
                return method(*args, **options)
            self._left -= 1
            if self._left == 0:
                if self._how == "before":
                    _kill()
                if self._how == "during":
                    threading.Thread(target=_later).start()
            done = method(*args, **options)
            if self._left == 0:
                _kill()
            return done

        return call


def main(told: dict[str, Any]) -> None:
    from store_kit import Place

    plain = getattr(importlib.import_module(told["module"]), told["name"])

    class Victim(plain):  # type: ignore[misc]
        spec = plain.spec

        def connect(self) -> Any:
            return Mortal(super().connect(), *POINTS[told["where"]])

    with Place(Victim, told["config"]).load() as pipeline:
        ingest(pipeline, 1)


if __name__ == "__main__":
    main(json.load(sys.stdin))
    sys.exit("still alive")
