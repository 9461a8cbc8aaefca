# SPDX-License-Identifier: MIT
"""Clients of Milvus, of a server and of a folder, and what their exceptions mean."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rocketride_store import StoreError, transport
from rocketride_store.errors import Kind

__all__ = ["Folder", "connected", "embedded", "explain"]

_DOTENV = "PYTHON_DOTENV_DISABLED"
SMALL = 200  # chunks in memory that are not worth a file
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@contextmanager
def _without_dotenv() -> Iterator[None]:
    """pymilvus reads a file `.env` above its own folder into the environment of the whole process."""
    before = os.environ.get(_DOTENV)
    os.environ[_DOTENV] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_DOTENV]
        else:
            os.environ[_DOTENV] = before


_importing = threading.Lock()


def library() -> Any:
    """pymilvus; its log, which repeats each error with a traceback, is silenced by who imports it first."""
    with _importing:
        first = "pymilvus" not in sys.modules
        with _without_dotenv():
            import pymilvus  # type: ignore[import-untyped]
        if first:
            logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    return pymilvus


def connected(uri: str, token: str = "", database: str = "", *, timeout: float = 60.0) -> Any:
    """A client of a server, on a connection of its own.

    Parameters:
        uri: `http://localhost:19530`, `https://…`, or `unix:<path>`.
        token: a key, or `user:password`; "" for none.
        database: "" is the default one.
        timeout: of the attempt to connect, in seconds.

    Raises:
        StoreError: nothing that can be used answers there.
    """
    client = library().MilvusClient
    try:
        return client(uri, token=token, db_name=database, timeout=timeout, dedicated=True, grpc_options=dict(_UNLIMITED))
    except Exception as error:
        told = explain(error)
        if told is None:
            raise
        raise told from error


# ---- a folder


class Folder:
    """The database in a folder: milvus-lite, on a socket that only this user can reach, one for all pipelines of the process.

    Attributes:
        uri: where its clients connect to.

    milvus-lite keeps what was written in memory until that has 128 MiB, and copies all of it, vectors included, for each search
    and filter: 0.1 ms a chunk, where writing it out takes 0.3 ms once. So it is written out when the copies have cost as much.
    """

    _lock = threading.Lock()
    _open: dict[Path, Folder] = {}

    def __init__(self, place: Path) -> None:
        self._place, self._users = place, 0
        self._fresh: dict[str, tuple[int, int]] = {}
        # milvus-lite is called from one thread: it does not guard a collection against two writers.
        self._workers = ThreadPoolExecutor(1, thread_name_prefix="milvus-lite")
        with ExitStack() as undo:
            undo.callback(self._workers.shutdown)
            self._database = _database(place)
            undo.callback(self._database.close)
            self._socket = tempfile.mkdtemp(prefix="milvus-")
            undo.callback(shutil.rmtree, self._socket, ignore_errors=True)
            self._server, self.uri = self._serve()
            self._closing = undo.pop_all()

    @classmethod
    def shared(cls, path: Path) -> Folder:
        """The database of this folder, which is made where it does not exist; each user calls `release`."""
        place = path.absolute().resolve()
        with cls._lock:
            folder = cls._open.get(place)
            if folder is None:
                folder = cls._open[place] = cls(place)
            folder._users += 1
            return folder

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            del self._open[self._place]
            self._server.stop(2).wait()
            self._closing.close()

    def wrote(self, collection: str, chunks: int) -> None:
        """Tells that so many chunks were written."""
        with self._lock:
            fresh, copied = self._fresh.get(collection, (0, 0))
            self._fresh[collection] = fresh + chunks, copied

    def crowded(self, collection: str) -> bool:
        """Tells that this collection will be read; whether it should be flushed before."""
        with self._lock:
            fresh, copied = self._fresh.get(collection, (0, 0))
            full = copied > 3 * fresh > 3 * SMALL
            self._fresh[collection] = (0, 0) if full else (fresh, copied + fresh)
            return full

    def _serve(self) -> tuple[Any, str]:
        import grpc  # type: ignore[import-untyped]
        from milvus_lite.adapter.grpc.servicer import MilvusServicer  # type: ignore[import-untyped]
        from pymilvus.grpc_gen.milvus_pb2_grpc import add_MilvusServiceServicer_to_server  # type: ignore[import-untyped]

        server = grpc.server(self._workers, options=_UNLIMITED)
        add_MilvusServiceServicer_to_server(MilvusServicer(self._database), server)
        uri = f"unix:{self._socket}/lite"
        server.add_insecure_port(uri)
        server.start()
        return server, uri


def embedded(path: Path, *, timeout: float = 60.0) -> tuple[Any, Folder]:
    """A client of the database in a folder, and the folder, to be released after the client is closed."""
    library()
    folder = Folder.shared(path)
    try:
        return connected(folder.uri, timeout=timeout), folder
    except BaseException:
        folder.release()
        raise


def _database(place: Path) -> Any:
    try:
        from milvus_lite.db import MilvusLite  # type: ignore[import-untyped]
        from milvus_lite.exceptions import DataDirLockedError  # type: ignore[import-untyped]
    except ImportError as error:
        told = "Milvus in a folder needs the package milvus-lite, 3.2 or newer; pip install 'rocketride-store-milvus[embedded]'"
        raise StoreError("invalid", sentence=told) from error
    if place.is_file():
        told = f"{place} is a file, as milvus-lite made them before version 3; name another folder, and store the documents again"
        raise StoreError("version", sentence=told)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        database = MilvusLite(str(place))
        _tidied(place)
        return database
    except DataDirLockedError as error:
        told = f"The folder {place} is in use by another process; run a Milvus server to share it, or use another folder"
        raise StoreError("invalid", sentence=told) from error
    except OSError as error:
        raise StoreError("full" if "No space left" in str(error) else "invalid", str(error)) from error


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
)


def explain(error: Exception) -> StoreError | None:
    """What an exception of pymilvus, or of grpc below it, means; its codes are those of Milvus' own source."""
    words = " ".join(str(getattr(error, "message", "") or error).split())
    if (told := transport(error)) is not None:
        # Who refuses a key may repeat it.
        kind: Kind = "too-large" if "larger than max" in told.detail else told.kind
        return StoreError(kind, "" if kind == "authentication" else told.detail)
    if type(error).__module__.partition(".")[0] != "pymilvus":
        return None
    kind = _kind(getattr(error, "code", None), words)
    if getattr(error, "retriable", False) and kind == "invalid":
        kind = "unavailable"
    return StoreError(kind, "" if kind == "authentication" else words)


def _kind(code: object, words: str) -> Kind:
    for part, kind in _WORDS:
        if part.lower() in words.lower():
            return kind
    if isinstance(code, int):
        return _CODES.get(code, "invalid")
    # A call that failed below Milvus again and again comes with the code of grpc.
    return "connection" if getattr(code, "name", "") == "UNAVAILABLE" else "unavailable"
