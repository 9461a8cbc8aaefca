# SPDX-License-Identifier: MIT
"""Clients of Chroma: of a folder, of a server, in memory; and what their exceptions mean."""

from __future__ import annotations

import fcntl
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, ClassVar

import httpx
from chromadb.api.client import Client
from chromadb.api.shared_system_client import SharedSystemClient
from chromadb.config import Settings
from chromadb.errors import ChromaError

from rocketride_store import StoreError, by_status, transport
from rocketride_store.errors import Kind

__all__ = ["OLDEST", "embedded", "explain", "in_memory", "server"]

OLDEST = "1.0"
DEFAULTS = ("default_tenant", "default_database")
# chromadb keeps one database per folder and process and counts its users, but does not lock that book-keeping.
_opening = threading.Lock()


class _Settings(Settings):
    """chromadb's settings, from nowhere but here: its own also read the environment and a file `.env`."""

    @classmethod
    def settings_customise_sources(cls, *sources: Any, init_settings: Any = None, **others: Any) -> tuple[Any, ...]:  # noqa: ARG003
        return (init_settings,)


def embedded(folder: Path) -> Client:
    """The database in a folder, which is made where it does not exist; one for all pipelines of the process.

    Raises:
        StoreError: another process has it open, or what is in it is no database of Chroma.
    """
    place = folder.absolute()
    place.mkdir(parents=True, exist_ok=True)
    place = place.resolve()
    with _opening:
        _Lock.take(place)
        try:
            return _FolderClient(place)
        except Exception as error:
            _Lock.give(place)
            if str(place) not in SharedSystemClient._identifier_to_refcount:
                # What did not start would be given to the next one who asks.
                SharedSystemClient._identifier_to_system.pop(str(place), None)
            raise explain(error) or StoreError("invalid", str(error)) from error


def in_memory() -> Client:
    """A database that is gone when the client closes; nothing is shared between two of them."""
    with _opening:
        return _MemoryClient()


def server(
    host: str,
    port: int,
    headers: Mapping[str, str],
    tenant: str = DEFAULTS[0],
    database: str = DEFAULTS[1],
    *,
    timeout: float = 60.0,
) -> Client:
    """A Chroma server; `timeout` in seconds.

    Raises:
        StoreError: nothing that can be used answers there.
    """
    scheme, _, bare = host.rpartition("://")
    secure = scheme == "https" or (not scheme and port == 443)
    bare = bare.rstrip("/")
    # The client cannot say that a server is too old.
    _greeted(f"{'https' if secure else 'http'}://{bare}:{port}", headers, timeout, secure)
    settings = _Settings(
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=bare,
        chroma_server_http_port=port,
        chroma_server_ssl_enabled=secure,
        chroma_server_headers=dict(headers),
    )
    try:
        return _ServerClient(settings, tenant, database, timeout)
    except Exception as error:
        raise explain(error) or StoreError("bad-reply", str(error)) from error


def explain(error: Exception) -> StoreError | None:
    """What an exception of chromadb, or of httpx below it, means."""
    words = str(error)
    for part, kind in _LOCAL.items():
        if part in words:
            return StoreError(kind, words)
    if isinstance(error, ChromaError):
        return by_status(error.code(), error.message())
    return transport(error)


# SQLite's words for what Chroma takes for an internal error of its own.
_LOCAL: Mapping[str, Kind] = {
    "database or disk is full": "full",
    "readonly database": "permission",
    "file is not a database": "invalid",
    "disk image is malformed": "invalid",
}


def _greeted(url: str, headers: Mapping[str, str], timeout: float, secure: bool) -> None:
    try:
        with httpx.Client(headers=headers, timeout=timeout, trust_env=False, verify=secure) as client:
            reply = client.get(f"{url}/api/v2/heartbeat")
            if reply.status_code in (404, 405, 410):
                old = client.get(f"{url}/api/v1/version")
                found = f"Chroma {old.json()}" if old.is_success else "what answers there"
                raise StoreError(
                    "version",
                    sentence=f"{found} does not speak Chroma's API v2: Chroma {OLDEST} or newer is needed; update the server",
                )
            reply.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise explain(error) or StoreError("connection", str(error)) from error


class _Lock:
    """Keeps other processes out of a folder: Chroma in two processes at once loses what one of them writes."""

    _held: ClassVar[dict[Path, tuple[IO[str], int]]] = {}

    @classmethod
    def take(cls, place: Path) -> None:
        if place in cls._held:
            file, users = cls._held[place]
            cls._held[place] = file, users + 1
            return
        file = (place / "rocketride.lock").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            told = f"The folder {place} is in use by another process; run a Chroma server to share it, or use another folder"
            raise StoreError("invalid", sentence=told) from error
        cls._held[place] = file, 1

    @classmethod
    def give(cls, place: Path) -> None:
        file, users = cls._held.pop(place)
        if users > 1:
            cls._held[place] = file, users - 1
        else:
            file.close()


class _FolderClient(Client):
    def __init__(self, place: Path) -> None:
        self._place: Path | None = place
        super().__init__(settings=_Settings(anonymized_telemetry=False, is_persistent=True, persist_directory=str(place)))

    def close(self) -> None:
        with _opening:
            place, self._place = self._place, None
            super().close()
            if place is not None:
                _Lock.give(place)


class _MemoryClient(Client):
    """chromadb has one database in memory for the whole process; each client takes a part of it for itself."""

    def __init__(self) -> None:
        super().__init__(settings=_Settings(anonymized_telemetry=False))
        self._own = f"rocketride-{uuid.uuid4().hex}"
        self._admin_client.create_database(self._own)
        self.set_database(self._own)

    def close(self) -> None:
        with _opening:
            if not self._closed:
                for collection in self.list_collections():
                    self.delete_collection(collection if isinstance(collection, str) else collection.name)
                self._admin_client.delete_database(self._own)
            super().close()


class _ServerClient(Client):
    """chromadb sets no time limits, goes where the environment's proxies point, and never closes its connections."""

    def __init__(self, settings: Settings, tenant: str, database: str, timeout: float) -> None:
        self._timeout, self._sessions = timeout, list[httpx.Client]()
        try:
            super().__init__(tenant, database, settings)
        except BaseException:
            self._forget()
            raise

    def get_user_identity(self) -> Any:
        self._take_over(self._server)
        return super().get_user_identity()

    def _validate_tenant_database(self, tenant: str, database: str) -> None:
        admin: Any = self._admin_client
        self._take_over(admin._server)
        super()._validate_tenant_database(tenant, database)

    def close(self) -> None:
        with _opening:
            super().close()
        self._forget()

    def _take_over(self, api: Any) -> None:
        if api._session in self._sessions:
            return
        api._session.close()
        secure = api.get_api_url().startswith("https")
        api._session = httpx.Client(timeout=self._timeout, trust_env=False, verify=secure, headers=api._session.headers)
        self._sessions.append(api._session)

    def _forget(self) -> None:
        for session in self._sessions:
            session.close()
        # What is kept under names that nobody counts would stay for as long as the process.
        for name, system in list(SharedSystemClient._identifier_to_system.items()):
            if any(getattr(part, "_session", None) in self._sessions for part in system._instances.values()):
                SharedSystemClient._identifier_to_system.pop(name, None)
