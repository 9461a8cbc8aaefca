# SPDX-License-Identifier: MIT
"""Chroma in memory, in a folder, on a server; and what its exceptions mean.

What chromadb.Client does beyond its API is not used: one database in memory for the whole process, books of users that nothing locks, no time
limits, the environment's proxies, and connections that never close.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
import httpx
from chromadb.api import ServerAPI
from chromadb.config import Settings, System
from chromadb.errors import ChromaError

from rocketride_store import Address, Folders, StoreError, by_status, http_limits, transport
from rocketride_store.errors import Kind

__all__ = ["OLDEST", "Client", "embedded", "explain", "in_memory", "server"]

OLDEST = "1.0"


class _Settings(Settings):
    """chromadb's settings, from nowhere but here: its own also read the environment and a file `.env`."""

    @classmethod
    def settings_customise_sources(cls, *sources: Any, init_settings: Any = None, **others: Any) -> tuple[Any, ...]:  # noqa: ARG003
        return (init_settings,)


@attrs.frozen(kw_only=True)
class Client:
    """chromadb's API, and whose collections are meant.

    Attributes:
        writing: held through a write, where all who write are in this process; None where others may.
        closing: ends it; once is enough.
    """

    api: ServerAPI
    closing: ExitStack
    writing: threading.Lock | None = None
    tenant: str = "default_tenant"
    database: str = "default_database"

    @property
    def place(self) -> dict[str, Any]:
        """Where its collections are, as the methods of the API take it."""
        return {"tenant": self.tenant, "database": self.database}

    def close(self) -> None:
        self.closing.close()


def in_memory() -> Client:
    """A database that is gone when the client closes; nothing is shared between two of them."""
    return _local()


def embedded(folder: Path) -> Client:
    """The database in a folder, which is made where it does not exist; one for all pipelines of the process.

    Raises:
        StoreError: another process has it open, or what is in it is no database of Chroma.
    """
    with _told("invalid"):
        shared = _folders.take(folder, lambda place: _local(is_persistent=True, persist_directory=str(place)), Client.close)
    closing = ExitStack()
    closing.callback(_folders.give, folder)
    return attrs.evolve(shared, closing=closing)


def server(
    where: Address,
    headers: Mapping[str, str],
    tenant: str = "default_tenant",
    database: str = "default_database",
    *,
    timeout: float = 60.0,
) -> Client:
    """A Chroma server.

    Parameters:
        headers: of every request.
        timeout: of each request, in seconds.

    Raises:
        StoreError: nothing that can be used answers there.
    """
    settings = _Settings(
        anonymized_telemetry=False,
        chroma_api_impl="chromadb.api.fastapi.FastAPI",
        chroma_server_host=where.url,
        chroma_server_http_port=where.port,
        chroma_server_ssl_enabled=where.secure,
    )

    with ExitStack() as closing:
        limits: Any = http_limits(timeout)
        session = closing.enter_context(httpx.Client(headers=headers, trust_env=False, verify=where.secure, event_hooks=limits))
        with _told("bad-reply"):
            # The client cannot say that a server is too old.
            _greet(session, where.url)
            system = System(settings)
            api: Any = system.instance(_API)
            api._session.close()
            session.headers.update({name: api._session.headers[name] for name in ("content-type", "user-agent")})
            api._session = session
            system.start()
            api.get_database(database, tenant)
        return Client(api=api, closing=closing.pop_all(), tenant=tenant, database=database)


def explain(error: Exception) -> StoreError | None:
    """What an exception of chromadb, or of httpx below it, means."""
    words = str(error)
    for part, kind in _LOCAL.items():
        if part in words:
            return StoreError(kind, words)
    if isinstance(error, ChromaError):
        return by_status(error.code(), error.message())
    return transport(error)


_API: Any = ServerAPI  # what implements it is chosen by the settings
_folders: Folders[Client] = Folders("Chroma", locked=True)
# SQLite's words for what Chroma takes for an internal error of its own.
_LOCAL: Mapping[str, Kind] = {
    "database or disk is full": "full",
    "readonly database": "permission",
    "file is not a database": "invalid",
    "disk image is malformed": "invalid",
}


def _local(**options: Any) -> Client:
    system, closing = System(_Settings(anonymized_telemetry=False, **options)), ExitStack()
    api = system.instance(_API)
    system.start()
    closing.callback(system.stop)
    return Client(api=api, closing=closing, writing=threading.Lock())


@contextmanager
def _told(kind: Kind) -> Iterator[None]:
    """At the opening chromadb raises all sorts of things."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise explain(error) or StoreError(kind, str(error)) from error


def _greet(session: httpx.Client, url: str) -> None:
    reply = session.get(f"{url}/api/v2/heartbeat")
    if reply.status_code in (404, 405, 410):
        old = session.get(f"{url}/api/v1/version")
        found = f"Chroma {old.json()}" if old.is_success else "what answers there"
        told = f"{found} does not speak Chroma's API v2: Chroma {OLDEST} or newer is needed; update the server"
        raise StoreError("version", sentence=told)
    reply.raise_for_status()
