# SPDX-License-Identifier: MIT
"""Connections to one server, each used by one thread at a time, each statement with a time limit that the client keeps too."""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from rocketride_store import StoreError, within

__all__ = ["Connections", "Link", "conninfo"]

R = TypeVar("R")
# Seconds in which the server may tell that it stopped a statement, before the client stops to listen.
_GRACE = 1.0


def conninfo(uri: str, parts: Mapping[str, Any], *, connect_timeout: int, timeout: float) -> str:
    """What libpq needs to connect.

    Parameters:
        uri: a URI, or libpq's `key=value` pairs; may be empty.
        parts: what counts in place of the same in the URI, by libpq's names.
        connect_timeout, timeout: seconds to connect, and until a peer that confirms nothing counts as lost; the URI may say other.

    Raises:
        ValueError: the URI is none.
    """
    usual = {"connect_timeout": connect_timeout, "tcp_user_timeout": round(timeout * 1000), "application_name": "rocketride"}
    try:
        return make_conninfo("", **{**usual, **conninfo_to_dict(uri), **parts, "client_encoding": "utf8"})
    except psycopg.Error:
        # Its message repeats the URI, and with it the password.
        raise ValueError(
            "the uri is none that PostgreSQL reads; it looks like postgresql://user:password@host:5432/database"
        ) from None


class Link(psycopg.Connection[Any]):
    """A connection that waits for an answer no longer than `limit` seconds, or than its entry has, then closes itself.

    `statement_timeout` alone does not help where the server, or what is between, has fallen silent.

    Raises:
        TimeoutError: the server did not answer in time.
    """

    limit: float = 60.0

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().wait(_until(gen, time.monotonic() + within(self.limit)), *args, **kwargs)
        except TimeoutError:
            self.close()
            raise

    @property
    def usable(self) -> bool:
        """An idle server says nothing: what can be read is its farewell, or the end of the connection."""
        if self.closed or self.info.transaction_status != TransactionStatus.IDLE:
            return False
        look = select.poll()
        look.register(self.fileno(), select.POLLIN)
        return not look.poll(0)


def _until(steps: Generator[Any, Any, R], end: float) -> Generator[Any, Any, R]:
    """The same steps, until a moment of the monotonic clock; psycopg looks at least every 0.1 s whether there is a next one."""
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if time.monotonic() > end:
                raise TimeoutError
            wanted = steps.send(ready)
    except StopIteration as done:
        result: R = done.value
        return result


class Connections:
    """Opens a connection when a thread needs one and none is idle, so that its error is raised where it can be told.

    Parameters:
        conninfo: as libpq takes it.
        size: connections at most; who needs one more waits.
        timeout: seconds for a statement, and to wait for a free connection.
    """

    def __init__(self, conninfo: str, *, size: int = 8, timeout: float = 60.0) -> None:
        self._conninfo, self._size, self._timeout = conninfo, size, timeout
        self._slots = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._closed = False

    @contextmanager
    def use(self) -> Iterator[Link]:
        """A connection in autocommit mode; whoever leaves it in a transaction, or broken, does not get it again."""
        if not self._slots.acquire(timeout=within(self._timeout)):
            raise StoreError("timeout", f"its {self._size} connections were all in use; set a greater poolSize")
        try:
            link = self._take()
            try:
                yield link
            finally:
                self._give(link)
        finally:
            self._slots.release()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def _take(self) -> Link:
        while True:
            with self._lock:
                link = self._idle.pop() if self._idle else None
            if link is None:
                return self._open()
            if link.usable:
                return link
            link.close()

    def _open(self) -> Link:
        # Not prepared: a pooler between may give each transaction another connection of the server.
        link = Link.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        try:
            link.limit = self._timeout + _GRACE
            link.execute("SELECT set_config('statement_timeout', %s, false)", [str(max(1, round(self._timeout * 1000)))])
        except BaseException:
            link.close()
            raise
        return link

    def _give(self, link: Link) -> None:
        with self._lock:
            if not self._closed and link.usable:
                self._idle.append(link)
                return
        link.close()
