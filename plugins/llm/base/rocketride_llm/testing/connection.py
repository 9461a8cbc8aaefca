# SPDX-License-Identifier: MIT
"""One client's connection: HTTP/1.1 with keep-alive and chunked streams, and waits that end when the client or the server goes."""

from __future__ import annotations

import json
import selectors
import socket
import struct
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol

from .request import Outcome
from .wires import Answer

__all__ = ["ClientGone", "Connection", "Cut", "ServerClosed"]


class ClientGone(Exception):
    """The client closed the connection before its reply was whole."""


class ServerClosed(Exception):
    """The server closes."""


class Cut(Exception):
    """The script wants the connection closed here."""


class Owner(Protocol):
    """What a connection needs of its server."""

    wakes: socket.socket
    closing: bool

    def answer(self, line: Connection, method: str, path: str, headers: dict[str, str], raw: bytes) -> None: ...


class Connection(BaseHTTPRequestHandler):
    """Serves one connection until it ends; made with `(socket, address, owner)`, it runs at once.

    Attributes:
        reset: end it with a TCP reset.
        framed: a body has a length or chunks; otherwise it ends with the connection.
        allowed: bytes of a body that may still go out before the connection is cut; None is all.
        settle: called with how the request ends, just before the last bytes: the client cannot be quicker than the records.
    """

    protocol_version = "HTTP/1.1"
    server_version = "ScriptedLLM"
    sys_version = ""
    disable_nagle_algorithm = True
    reset = False
    framed = True
    allowed: int | None = None
    settle: Callable[[Outcome], None]
    _chunked = False

    def log_message(self, format: str, *args: Any) -> None:
        """The requests are kept by the server, nothing is printed."""

    def _answer(self) -> None:
        self.allowed = None
        try:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._owner.answer(self, self.command, self.path.partition("?")[0], headers, self._body(headers))
        except (ClientGone, ServerClosed, Cut):
            self.close_connection = True

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = _answer  # noqa: N815

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def wait(self, seconds: float | None) -> None:
        """Waits; None is for ever.

        Raises:
            ClientGone: the client closed the connection meanwhile.
            ServerClosed: the server closes.
        """
        if seconds is not None and seconds <= 0:
            return
        until = None if seconds is None else time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._owner.wakes, selectors.EVENT_READ)
            selector.register(self.connection, selectors.EVENT_READ)
            while until is None or time.monotonic() < until:
                ready = [key.fileobj for key, _ in selector.select(None if until is None else until - time.monotonic())]
                if self._owner.wakes in ready:
                    raise ServerClosed
                if self.connection in ready:
                    try:
                        here = self.connection.recv(1, socket.MSG_PEEK)
                    except OSError as error:
                        raise ClientGone from error
                    if not here:
                        raise ClientGone
                    selector.unregister(self.connection)

    def send(self, answer: Answer, outcome: Outcome = "answered") -> None:
        """Sends a whole reply."""
        if self.allowed is None:
            self.settle(outcome)
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body, ensure_ascii=False)
        data = text.encode()
        self.send_response(answer.status)
        framing = {"content-length": str(len(data))} if self.framed else {"connection": "close"}
        self._headers({"content-type": answer.content_type, **framing, **answer.headers})
        if self.command != "HEAD":
            self._write(data)

    def start(self, content_type: str) -> None:
        """Begins a stream."""
        self._chunked = self.framed and self.request_version != "HTTP/1.0"
        self.close_connection = self.close_connection or not self._chunked
        self.send_response(200)
        framing = {"transfer-encoding": "chunked"} if self._chunked else {"connection": "close"}
        self._headers({"content-type": content_type, "cache-control": "no-cache", **framing})

    def write(self, data: bytes) -> None:
        """Sends a piece of a stream."""
        self._write(data, framed=self._chunked)

    def end(self, outcome: Outcome = "answered") -> None:
        """Ends a stream in good order."""
        self.settle(outcome)
        if self._chunked:
            self._push(b"0\r\n\r\n")

    def cut(self, *, reset: bool = False) -> None:
        """Closes the connection as it is.

        Raises:
            Cut: always.
        """
        self.reset = reset
        raise Cut

    def linger(self) -> None:
        """Makes the socket end with a reset when it is closed."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    @property
    def _owner(self) -> Owner:
        return self.server  # type: ignore[return-value]

    def _headers(self, headers: dict[str, str]) -> None:
        for name, value in headers.items():
            self.send_header(name, value)
        try:
            self.end_headers()
        except OSError as error:
            raise self._gone() from error

    def _write(self, data: bytes, *, framed: bool = False) -> None:
        if self.allowed is not None:
            if len(data) > self.allowed:
                data = data[: self.allowed]
            self.allowed -= len(data)
        if data:
            self._push(b"%x\r\n%b\r\n" % (len(data), data) if framed else data)
        if self.allowed == 0:
            raise Cut

    def _push(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
        except OSError as error:
            raise self._gone() from error

    def _gone(self) -> Exception:
        return ServerClosed() if self._owner.closing else ClientGone()
