# SPDX-License-Identifier: MIT
"""A proxy on loopback between a store and its server that breaks what passes through it, on demand."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self

import attrs

__all__ = ["FaultProxy"]

Fault = Literal["cut", "lose", "answer", "stall", "slow"]
PIECE = 65536
HEAD = b"\r\n\r\n"
LAST = b"0\r\n\r\n"


@attrs.define
class Rule:
    """One fault that is waiting for traffic, until `freed`; `times` None is every time."""

    fault: Fault
    when: bytes
    times: int | None
    freed: threading.Event
    reply: bytes = b""
    seconds: float = 0.0


class FaultProxy:
    """Passes TCP on to a server, except where it is told to break it. HTTP, gRPC and any other protocol without TLS.

    ```python
    with FaultProxy("127.0.0.1", port) as proxy:
        store = connect("127.0.0.1", proxy.port)
        proxy.unavailable(times=2)
        ...
        assert proxy.hits == 2
    ```

    Each fault waits for a piece of traffic from the client that holds the bytes `when` (b"" is any piece), and strikes
    `times` times, None for every time. `clear()` ends them all.

    Attributes:
        port: where the store connects to.
        connections: how many the store has made.
        hits: how often a fault has struck.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._lock = threading.RLock()
        self._rules: list[Rule] = []
        self._open: set[socket.socket] = set()
        self._freed = threading.Event()
        self._listener: socket.socket | None = None
        self.port = 0
        self.connections = self.hits = 0
        self.accept()

    # ---- faults

    def refuse(self) -> None:
        """Nobody listens: connections are refused, open ones are reset, until `accept()`."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            _shut(listener)
        self._reset_all()

    def accept(self) -> None:
        """Listen, on the same port as before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.port, self._listener = listener.getsockname()[1], listener
        _start(self._serve, listener)

    def cut(self, when: bytes = b"", *, times: int | None = 1) -> None:
        """Half of the piece reaches the server, then both sides are reset: a write in the middle of a batch."""
        self._add("cut", when, times)

    def lose(self, when: bytes = b"", *, times: int | None = 1) -> None:
        """The server gets the piece and does what it says; its answer is lost, and the connection is reset."""
        self._add("lose", when, times)

    def unavailable(
        self, when: bytes = b"", *, times: int | None = 2, status: int = 503, retry_after: float | None = None, body: str = ""
    ) -> None:
        """The server does not see the whole of the HTTP/1 request; the store gets this status. `retry_after` in seconds."""
        told = f"Retry-After: {retry_after:g}\r\n" if retry_after is not None else ""
        head = f"HTTP/1.1 {status} Fault\r\nContent-Type: text/plain\r\n{told}Content-Length: {len(body.encode())}\r\n"
        self._add("answer", when, times, (head + "Connection: close\r\n\r\n" + body).encode())

    def stall(self, when: bytes = b"", *, times: int | None = 1) -> None:
        """The piece is kept until `clear()`: nobody answers, and the connection stays open."""
        self._add("stall", when, times)

    def slow(self, seconds: float, when: bytes = b"", *, times: int | None = None) -> None:
        """The piece arrives so many seconds late."""
        self._add("slow", when, times, seconds=seconds)

    def clear(self) -> None:
        """No more faults; what is stalled goes on."""
        with self._lock:
            self._rules.clear()
            freed, self._freed = self._freed, threading.Event()
        freed.set()

    # ---- life

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.refuse()
        self.clear()

    # ---- traffic

    def _add(self, fault: Fault, when: bytes, times: int | None, reply: bytes = b"", seconds: float = 0.0) -> None:
        with self._lock:
            self._rules.append(Rule(fault, when, times, self._freed, reply, seconds))

    def _struck(self, piece: bytes) -> Rule | None:
        with self._lock:
            for rule in self._rules:
                if rule.when in piece and rule.times != 0:
                    rule.times = None if rule.times is None else rule.times - 1
                    self.hits += 1
                    return rule
        return None

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                server = socket.create_connection(self._server, timeout=10)
            except OSError:
                _reset(client)
                continue
            server.settimeout(None)
            with self._lock:
                refused = self._listener is not listener
                self._open |= set() if refused else {client, server}
            pair = _Pair(client, server)
            if refused:
                self._end(pair, reset=True)
                return
            _start(self._upward, pair)
            _start(self._downward, pair)

    def _upward(self, pair: _Pair) -> None:
        for piece in iter(lambda: _read(pair.client), b""):
            rule = self._struck(piece)
            if rule is not None and not self._break(rule, pair, piece):
                return
            pair.request += piece
            if not _send(pair.server, piece):
                break
        self._end(pair)

    def _break(self, rule: Rule, pair: _Pair, piece: bytes) -> bool:
        """Whether the piece goes on to the server, and the connection with it."""
        if rule.fault == "cut":
            _send(pair.server, piece[: len(piece) // 2])
            self._end(pair, reset=True)
            return False
        if rule.fault == "answer":
            _drain(pair.client, bytes(pair.request) + piece)
            _send(pair.client, rule.reply)
            _reset(pair.server)  # some servers take a request that ends too early for a whole one
            self._end(pair)
            return False
        if rule.fault == "lose":
            pair.lost = True
        elif rule.fault == "slow":
            rule.freed.wait(rule.seconds)
        else:
            rule.freed.wait()
        return True

    def _downward(self, pair: _Pair) -> None:
        for piece in iter(lambda: _read(pair.server), b""):
            if pair.lost:
                self._end(pair, reset=True)
                return
            pair.request.clear()
            if not _send(pair.client, piece):
                break
        self._end(pair)

    def _end(self, pair: _Pair, *, reset: bool = False) -> None:
        for side in (pair.client, pair.server):
            with self._lock:
                self._open.discard(side)
            (_reset if reset else _shut)(side)

    def _reset_all(self) -> None:
        with self._lock:
            sockets, self._open = self._open, set()
        for one in sockets:
            _reset(one)


@attrs.define(eq=False)
class _Pair:
    """Two connections, and what the server got of a request that it has not answered yet."""

    client: socket.socket
    server: socket.socket
    request: bytearray = attrs.field(factory=bytearray)
    lost: bool = False


def _start(target: Callable[[Any], None], argument: Any) -> None:
    threading.Thread(target=target, args=(argument,), name="fault proxy", daemon=True).start()


def _read(side: socket.socket) -> bytes:
    try:
        return side.recv(PIECE)
    except OSError:
        return b""


def _send(side: socket.socket, piece: bytes) -> bool:
    try:
        side.sendall(piece)
    except OSError:
        return False
    return True


def _shut(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)  # wakes whoever waits in recv or accept
    side.close()


def _reset(side: socket.socket) -> None:
    with suppress(OSError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # A close alone does nothing while another thread waits in recv; half a shutdown wakes it and still sends the reset.
    with suppress(OSError):
        side.shutdown(socket.SHUT_RD)
    side.close()


def _drain(client: socket.socket, begun: bytes) -> None:
    """Reads the rest of an HTTP/1 request: a client that is still writing would not read the answer."""
    while HEAD not in begun:
        more = _read(client)
        if not more:
            return
        begun += more
    head, _, body = begun.partition(HEAD)
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    chunked = re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head)
    got, end = len(body), body[-len(LAST) :]
    while (length and got < int(length[1])) or (chunked and end != LAST):
        more = _read(client)
        if not more:
            return
        got, end = got + len(more), (end + more)[-len(LAST) :]
