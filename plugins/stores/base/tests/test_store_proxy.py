# SPDX-License-Identifier: MIT
"""The proxy of the test kit breaks what it is told to break, and nothing else."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rocketride_store.testing import FaultProxy

seen: list[bytes] = []


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        seen.append(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


class Quiet(ThreadingHTTPServer):
    """Says nothing of connections that are reset, which is what these tests do to it."""

    def handle_error(self, request: object, client_address: object) -> None: ...


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    seen.clear()
    server = Quiet(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    with FaultProxy("127.0.0.1", server.server_port) as proxy:
        yield proxy
    server.shutdown()
    server.server_close()
    thread.join()


def send(proxy: FaultProxy, body: str, path: str = "/x", timeout: float = 5) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", proxy.port, timeout=timeout)
    try:
        connection.request("POST", path, body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_what_is_not_broken_passes(proxy: FaultProxy) -> None:
    assert send(proxy, "a" * 200_000) == (200, "a" * 200_000)
    assert (proxy.hits, proxy.connections) == (0, 1)


def test_refused_and_back_on_the_same_port(proxy: FaultProxy) -> None:
    port = proxy.port
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        send(proxy, "a")
    proxy.accept()
    assert proxy.port == port
    assert send(proxy, "b") == (200, "b")


def test_503_twice_then_fine_and_only_where_it_is_meant(proxy: FaultProxy) -> None:
    proxy.unavailable(b"POST /points", times=2, retry_after=1.5)
    assert [send(proxy, "b" * 100_000, path)[0] for path in ("/x", "/points", "/points", "/points")] == [200, 503, 503, 200]
    assert (proxy.hits, len(seen)) == (2, 2)


@contextmanager
def begun(proxy: FaultProxy, *pieces: bytes) -> Iterator[socket.socket]:
    """A connection on which the server has got these pieces of a request."""
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as client:
        for piece in pieces:
            client.sendall(piece)
            time.sleep(0.05)  # so that they are pieces
        yield client


HALF = b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize("pieces", [(HALF[:20],), (HALF,), (HALF, b"12345")], ids=["head", "no body", "half a body"])
def test_a_fault_that_comes_in_the_middle_of_a_request_answers_it(proxy: FaultProxy, pieces: tuple[bytes, ...]) -> None:
    rest = (HALF + b"1234567890")[sum(map(len, pieces)) :]
    with begun(proxy, *pieces) as client:
        proxy.unavailable(times=1)
        client.sendall(rest[:2])
        time.sleep(0.05)
        client.sendall(rest[2:])
        assert client.recv(1000).startswith(b"HTTP/1.1 503 ")
    assert (proxy.hits, seen) == (1, [])
    assert send(proxy, "b") == (200, "b")


def test_an_answered_request_is_no_part_of_the_next_one(proxy: FaultProxy) -> None:
    with begun(proxy, HALF, b"1234567890") as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
        proxy.unavailable(times=1)
        client.sendall(HALF + b"12345")
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):  # it is not whole yet
            client.recv(1000)
        client.settimeout(5)
        client.sendall(b"67890")
        assert client.recv(1000).startswith(b"HTTP/1.1 503 ")


def test_the_end_of_a_chunked_request_is_seen_also_in_two_pieces(proxy: FaultProxy) -> None:
    proxy.unavailable(times=1)
    with begun(proxy, b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r", b"\n\r\n") as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 503 ")


def test_a_request_that_is_cut_is_a_reset_for_both(proxy: FaultProxy) -> None:
    proxy.cut(b"secret")
    with pytest.raises(ConnectionResetError):
        send(proxy, "secret")
    assert seen == []
    assert send(proxy, "secret") == (200, "secret")


def test_a_lost_answer_has_been_acted_upon(proxy: FaultProxy) -> None:
    proxy.lose(b"POST")
    with pytest.raises(ConnectionResetError):
        send(proxy, "done")
    assert seen == [b"done"]
    assert send(proxy, "again") == (200, "again")


def test_a_stall_ends_with_clear(proxy: FaultProxy) -> None:
    proxy.stall(times=None)
    with pytest.raises(TimeoutError):
        send(proxy, "a", timeout=0.1)
    threading.Timer(0.1, proxy.clear).start()
    assert send(proxy, "b") == (200, "b")


def test_slow_is_late(proxy: FaultProxy) -> None:
    proxy.slow(0.1, times=1)
    started = time.monotonic()
    assert send(proxy, "a") == (200, "a")
    assert time.monotonic() - started >= 0.1


def test_a_server_that_is_gone_is_a_reset() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with FaultProxy("127.0.0.1", port) as proxy, pytest.raises((ConnectionResetError, ConnectionAbortedError, BrokenPipeError)):
        send(proxy, "a")
