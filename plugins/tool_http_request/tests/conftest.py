# SPDX-License-Identifier: MIT
"""A real HTTP server on the loopback, and a pipeline whose one agent calls the tool."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
import pytest

from rocketride_core import (
    MANY,
    TEXT,
    TOOL,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Tool,
    on,
)
from rocketride_tool_http_request import HttpRequest

NAME = "http_1.http_request"
Answer = Callable[["Handler"], None]


@attrs.frozen
class Seen:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.seen = Seen(self.command, self.path, dict(self.headers), body)
        self.server.seen.append(self.seen)
        self.server.answers.get(self.path.partition("?")[0], echo)(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def reply(self, body: bytes = b"", status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""


def echo(handler: Handler) -> None:
    seen = handler.seen
    told = {"method": seen.method, "path": seen.path, "headers": seen.headers, "body": seen.body.decode("latin-1")}
    handler.reply(json.dumps(told).encode(), headers=[("Content-Type", "application/json")])


class Server(ThreadingHTTPServer):
    """Answers by path, and echoes what it has no answer for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer] = {}
        self.seen: list[Seen] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, address: object) -> None:
        """Clients that hang up are what some tests are about."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def other() -> Iterator[Server]:
    """A second origin."""
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says anything at all; the URL of it."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = []

    def work() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            open_sockets.append(connection)
            try:
                connection.recv(65536)
                talk(connection)
            except OSError:
                continue

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
        for connection in open_sockets:
            connection.close()


class Asker(Node[None]):
    """An agent. What it calls the tool with does not come over a lane, where a trace would show it."""

    spec = NodeSpec("testing_asker", title="Asker", needs={TOOL: MANY})
    given: dict[str, Any] = {}
    outcomes: dict[str, Any] = {}
    tools: list[Tool] = []

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        type(self).tools = list(instance.tools)
        given = self.given.pop(text)
        try:
            if isinstance(given, list):
                self.outcomes[instance.entry.name] = instance.tools.call_all([(NAME, one) for one in given])
            else:
                self.outcomes[instance.entry.name] = instance.tools.call(NAME, given)
        except Exception as error:
            self.outcomes[instance.entry.name] = error


class Source(Node[None]):
    spec = NodeSpec("testing_texts", title="Texts", categories=["source"], emits=[TEXT])


class Agent:
    """A pipeline with the tool, and ways to call it."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self._number = 0
        self._lock = threading.Lock()

    @property
    def node(self) -> HttpRequest:
        return next(node for node in self.pipeline.bound.nodes if isinstance(node, HttpRequest))

    @property
    def tool(self) -> Tool:
        self.call(method="GET", url="")
        return next(tool for tool in Asker.tools if tool.name == NAME)

    def outcome(self, limit: float | None = None, **arguments: Any) -> Any:
        """The result, or the exception."""
        return self.run(arguments, limit)

    def run(self, arguments: Any, limit: float | None = None) -> Any:
        """As `outcome`; of a list, the calls of one turn, the outcome of each."""
        with self._lock:
            self._number += 1
            name = f"call {id(self)} {self._number}"
        Asker.given[name] = arguments
        self.last = self.pipeline.run(Entry(name), TEXT(name), timeout=limit)
        return Asker.outcomes.pop(name, self.last.error)

    def begin(self, **arguments: Any) -> Any:
        """A run on a worker; its packet."""
        Asker.given["begun"] = arguments
        return self.pipeline.start(Entry("begun"), TEXT("begun"))

    def call(self, **arguments: Any) -> Any:
        return self.outcome(**arguments)

    def get(self, url: str, **arguments: Any) -> Any:
        """The result of a GET that has one."""
        found = self.outcome(method="GET", url=url, **arguments)
        assert isinstance(found, dict), repr(found)
        return found


@contextmanager
def agent(
    trace: Callable[[Any], None] | None = None,
    env: Mapping[str, str] | None = None,
    plugins: Sequence[object] = (),
    workers: int = 1,
    **config: Any,
) -> Iterator[Agent]:
    """Loopback is allowed, unless the config says otherwise."""
    config.setdefault("allowPrivateAddresses", True)
    pipe = PipeFile(
        [
            Component("source", "testing_texts"),
            Component("asker", "testing_asker", input=[LaneLink("text", "source")]),
            Component("http_1", "tool_http_request", config, control=[ControlLink("tool", "asker")]),
        ],
        source="source",
    )
    tracing: dict[str, Any] = {"trace": "payloads", "trace_to": trace} if trace else {}
    with Kernel(nodes=[Source, Asker, HttpRequest], env=env or {}, plugins=plugins, workers=workers, **tracing).load(
        pipe
    ) as pipeline:
        yield Agent(pipeline)


@pytest.fixture
def open_agent() -> Any:
    return agent


@pytest.fixture
def raw() -> Any:
    return raw_server
