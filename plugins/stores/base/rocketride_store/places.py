# SPDX-License-Identifier: MIT
"""Where a database is: at a server's address, or in a folder that this process has open."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

import attrs

from .errors import StoreError

__all__ = ["MEMORY", "Address", "Folders", "engine", "in_use", "room"]

MEMORY: Final = ":memory:"  # as a folder: a database that keeps nothing
D = TypeVar("D")


@attrs.frozen
class Address:
    """A server's address, taken apart.

    Parameters:
        host: a name or an IP address; "" where none was written.
        port: that of the host's text where it has one.
        secure: what is sent is encrypted.
        prefix: the server's path at its host, "/…" or "".
    """

    host: str
    port: int
    secure: bool = False
    prefix: str = ""

    @classmethod
    def of(
        cls, host: str, port: int, *, store: str = "server's", secure: Callable[[str, int], bool] = lambda _, port: port == 443
    ) -> Address:
        """Reads `localhost`, `https://example.com:6333/path` and the like.

        Parameters:
            host, port: as the config has them; scheme and port in the host's text win.
            store: whose host it is, for messages.
            secure: of name and port, whether a host without http:// or https:// in front is encrypted.

        Raises:
            ValueError: the host cannot be read, and what to write.
        """
        text = host.strip()
        scheme, found, _ = text.partition("://")
        if found and scheme not in ("http", "https"):
            raise ValueError(f"a {store} host begins with http:// or https://, or has nothing in front, not {scheme}://")
        try:
            parts = urlsplit(text if found else f"//{text}")
            name, at = parts.hostname or "", parts.port or port
        except ValueError as error:
            told = f"the host {host!r} cannot be read ({error}); write a name, or a URL like https://example.com"
            raise ValueError(told) from error
        if text and not name:
            raise ValueError(f"the host {host!r} has no name; write one like localhost, or a URL like https://example.com")
        return Address(name, at, scheme == "https" if found else secure(name, at), parts.path.rstrip("/"))

    @property
    def in_the_open(self) -> bool:
        """Others can read what is sent: it is not encrypted, and leaves this machine."""
        local = self.host in ("", "localhost", "::1") or self.host.startswith("127.")
        return not self.secure and not local

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self}{self.prefix}"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@attrs.define
class _Use(Generic[D]):
    database: D
    closing: ExitStack
    users: int = 0


class Folders(Generic[D]):
    """Databases in folders: one of each for all its users in this process, closed when the last of them goes.

    Parameters:
        product: the database's name, for messages.
        locked: a file `rocketride.lock` in the folder keeps other processes out; False where the engine does that itself.

    Attributes:
        lock: held while one is opened and closed; may be held by the thread that asks for it.
    """

    def __init__(self, product: str, *, locked: bool = False) -> None:
        self._product, self._locked = product, locked
        self._open: dict[Path, _Use[D]] = {}
        self.lock = threading.RLock()

    def take(self, folder: Path, open: Callable[[Path], D], close: Callable[[D], object] = lambda _: None) -> D:
        """The folder's database; who takes it gives it back.

        Parameters:
            open, close: makes it for its first user, from the folder's absolute path, and ends it after its last one.

        Raises:
            StoreError: another process has it open.
        """
        place = folder.absolute().resolve()
        with self.lock:
            if place not in self._open:
                with ExitStack() as closing:
                    if self._locked:
                        self._shut_out(place, closing)
                    database = open(place)
                    closing.callback(close, database)
                    self._open[place] = _Use(database, closing.pop_all())
            use = self._open[place]
            use.users += 1
            return use.database

    def give(self, folder: Path) -> None:
        """Ends one use of the folder's database."""
        place = folder.absolute().resolve()
        with self.lock:
            use = self._open[place]
            use.users -= 1
            if not use.users:
                del self._open[place]
                use.closing.close()

    def get(self, folder: Path) -> D | None:
        """The folder's database where it is open."""
        use = self._open.get(folder.absolute().resolve())
        return None if use is None else use.database

    def _shut_out(self, place: Path, closing: ExitStack) -> None:
        import fcntl

        place.mkdir(parents=True, exist_ok=True)
        file = closing.enter_context((place / "rocketride.lock").open("a"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise in_use(self._product, place) from error


def in_use(product: str, folder: Path | None) -> StoreError:
    """The error of a folder whose engine tells that another process has it open."""
    told = f"The folder {folder} is in use by another process; run a {product} server to share it, or use another folder"
    return StoreError("invalid", sentence=told)


def room(folder: Path, least: int = 96 << 20) -> None:
    """Refuses a write into the folder of an engine that a full disk would break: one that writes through mapped memory dies with the process.

    Parameters:
        folder: one that exists.
        least: bytes that must be free.

    Raises:
        StoreError: of kind `full`.
    """
    free = shutil.disk_usage(folder).free
    if free < least:
        told = f"{free >> 20} MiB are free where {folder} is, and its engine needs {least >> 20} MiB; make room, and try again"
        raise StoreError("full", told)


def engine(module: str, product: str, package: str, distribution: str) -> Any:
    """The module of a database that runs in this process.

    Parameters:
        package, distribution: what to install, for messages: the engine's own package, and the store's, whose extra
            `embedded` brings it.

    Raises:
        StoreError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        told = f"{product} in a folder needs the package {package}; pip install '{distribution}[embedded]'"
        raise StoreError("invalid", sentence=told) from error
