# SPDX-License-Identifier: MIT
"""Milvus in a folder: one milvus-lite for all pipelines of the process, behind a socket."""

from __future__ import annotations

import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rocketride_store import Folders, StoreError, engine, in_use, room

from .kept import Kept
from .opening import UNLIMITED, connected

__all__ = ["Folder", "embedded"]

SMALL = 200  # chunks in memory that are not worth a file


class Folder:
    """The database in a folder: milvus-lite, on a socket that only this user can reach, one for all pipelines of the process.

    Attributes:
        uri: where its clients connect to.

    milvus-lite keeps what was written in memory until that has 128 MiB, and copies all of it, vectors included, for each search
    and filter: 0.1 ms a chunk, where writing it out takes 0.3 ms once, sooner or later. So it is written out before it is copied a second
    time; not before the first, because what is written out takes twice the memory while it is loaded.
    """

    def __init__(self, place: Path) -> None:
        self._place, self._lock = place, threading.Lock()
        self._fresh: dict[str, tuple[int, int]] = {}
        self._kept: dict[str, Kept] = {}
        with ExitStack() as undo:
            # milvus-lite is called from one thread: it does not guard a collection against two writers.
            self._workers = ThreadPoolExecutor(1, thread_name_prefix="milvus-lite")
            undo.callback(self._workers.shutdown)
            self._database = _database(place)
            undo.callback(self._database.close)
            self._socket = tempfile.mkdtemp(prefix="milvus-")
            undo.callback(shutil.rmtree, self._socket, ignore_errors=True)
            server, self.uri = self._serve()
            undo.callback(lambda: server.stop(2).wait())
            self._closing = undo.pop_all()

    def close(self) -> None:
        self._closing.close()

    def release(self) -> None:
        """Ends one use of what `embedded` gave."""
        _folders.give(self._place)

    def kept(self, collection: str) -> Kept:
        """What is known of a collection's chunks."""
        with self._lock:
            return self._kept.setdefault(collection, Kept())

    def room(self) -> None:
        """Refuses a write where a full disk would leave half of it, which hides what is written after it."""
        room(self._place)

    def wrote(self, collection: str, chunks: int) -> None:
        """Tells that so many chunks were written."""
        with self._lock:
            fresh, copied = self._fresh.get(collection, (0, 0))
            self._fresh[collection] = fresh + chunks, copied

    def crowded(self, collection: str) -> bool:
        """Tells that this collection will be read; whether it should be flushed before."""
        with self._lock:
            fresh, copied = self._fresh.get(collection, (0, 0))
            full = fresh > SMALL and copied >= fresh
            self._fresh[collection] = (0, 0) if full else (fresh, copied + fresh)
            return full

    def _serve(self) -> tuple[Any, str]:
        import grpc  # type: ignore[import-untyped]
        from milvus_lite.adapter.grpc.servicer import MilvusServicer  # type: ignore[import-untyped]
        from pymilvus.grpc_gen.milvus_pb2_grpc import add_MilvusServiceServicer_to_server  # type: ignore[import-untyped]

        server = grpc.server(self._workers, options=UNLIMITED)
        add_MilvusServiceServicer_to_server(MilvusServicer(self._database), server)
        uri = f"unix:{self._socket}/lite"
        server.add_insecure_port(uri)
        server.start()
        return server, uri


_folders: Folders[Folder] = Folders("Milvus")


def embedded(path: Path, *, timeout: float = 60.0) -> tuple[Any, Folder]:
    """A client of the database in a folder, which is made where it does not exist, and the folder, to be released after the client is closed.

    Raises:
        StoreError: milvus-lite is not installed, another process has the folder open, or an older milvus-lite made it.
    """
    folder = _folders.take(path, Folder, Folder.close)
    try:
        return connected(folder.uri, timeout=timeout), folder
    except BaseException:
        folder.release()
        raise


def _database(place: Path) -> Any:
    lite = engine("milvus_lite.db", "Milvus", "milvus-lite, 3.2 or newer", "rocketride-store-milvus")
    if place.is_file():
        told = f"{place} is a file, as milvus-lite made them before version 3; name another folder, and store the documents again"
        raise StoreError("version", sentence=told)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        database = lite.MilvusLite(str(place))
    except lite.DataDirLockedError as error:
        raise in_use("Milvus", place) from error
    _tidied(place)
    return database


def _tidied(place: Path) -> None:
    """Removes what a process that was killed leaves of a collection it was making: a folder with no schema and no data.

    milvus-lite says that such a collection does not exist, and refuses to make it.
    """
    for schema in place.glob("**/collections/*/schema.json.tmp"):
        if [one.name for one in schema.parent.iterdir()] == [schema.name]:
            schema.unlink()
    for folder in place.glob("**/collections/*"):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
