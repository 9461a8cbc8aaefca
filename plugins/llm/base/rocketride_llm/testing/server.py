# SPDX-License-Identifier: MIT
"""A server that speaks the vendors' protocols and answers from a script: for tests and examples, on this machine only."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterable
from functools import partial
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

from .connection import ClientGone, Connection, Cut, ServerClosed
from .player import play
from .request import Outcome, Request
from .script import Rule, Script, ScriptAtEnd
from .steps import CallTools, Echo, Fail, PlainStep, Say, Step, Think
from .wires import Answer, Wire, wire_for, wires

__all__ = ["ScriptedServer"]

CLOSE_WITHIN = 1.0
BACKLOG = 512


class ScriptedServer:
    """Speaks to the official client libraries over a real socket, and says what the script tells it.

    ```python
    with ScriptedServer([rate_limited(0.1), Say("Paris")]) as server:
        client = openai.OpenAI(base_url=server.base_url("openai"), api_key="any")
        ...
        assert [request.question for request in server.requests] == ["Capital of France?"] * 2
        assert not server.unexpected
    ```

    Args:
        steps: what answers the chats, in the order in which they come, or a `Script`, as `load_script` reads it.
        rules: asked before the steps: `Rule`s, or (regular expression, step) pairs matched with the prompt.
        key: another key than this is answered with 401; None takes any.
        strict: refuse with 400 what the real servers refuse, such as a tool's name with a dot, and record it as unexpected.
        repeat: begin again with the first step after the last.
        host: the address to listen at.
        port: 0 takes a free one.

    Attributes:
        unexpected: what a test should not see: requests beyond the script's end, unknown paths, refused requests, steps that failed.
        peak: the most chats that were being answered at one time.
        closing: whether it closes, or is closed.
    """

    def __init__(
        self,
        steps: Iterable[Step] | Script = (),
        *,
        rules: Iterable[Rule | tuple[str, Step]] = (),
        key: str | None = None,
        strict: bool = True,
        repeat: bool = False,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        if isinstance(steps, Script):
            self.script = steps
            self.script.add_rules(rules)
        else:
            self.script = Script(steps, rules, repeat=repeat)
        self.unexpected: list[str] = []
        self.peak = 0
        self.closing = False
        self._key, self._strict, self._address = key, strict, (host, port)
        self._requests: list[Request] = []
        self._came = threading.Condition()
        self._chats = 0
        self._open: dict[threading.Thread, socket.socket] = {}
        self._listener: socket.socket | None = None
        self._accepting: threading.Thread | None = None

    def start(self) -> Self:
        """Listens; `with` does this by itself.

        Raises:
            OSError: the port is taken.
        """
        if self._listener is not None:
            raise RuntimeError("this ScriptedServer has been started before: make another one")
        self._listener = socket.create_server(self._address, backlog=BACKLOG)
        self._address = self._listener.getsockname()[:2]
        self.wakes, self._wake = socket.socketpair()
        self._accepting = threading.Thread(target=self._accept, name="scripted-llm", daemon=True)
        self._accepting.start()
        return self

    def close(self) -> None:
        """Ends every connection, hanging ones too, and waits for the threads, about a second at most."""
        if self.closing or self._listener is None or self._accepting is None:
            return
        with self._came:
            self.closing = True
        self._wake.close()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(CLOSE_WITHIN)
        self._listener.close()
        with self._came:
            left = dict(self._open)
        for connection in left.values():
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + CLOSE_WITHIN
        for thread in left:
            thread.join(max(0.0, until - time.monotonic()))
        self.wakes.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def url(self) -> str:
        """`http://host:port`."""
        if self._listener is None:
            raise RuntimeError("the ScriptedServer is not started: use it in a with statement, or call start()")
        return f"http://{self._address[0]}:{self._address[1]}"

    def base_url(self, wire: str) -> str:
        """What the official client of this wire wants as base URL or host: `openai` with /v1, `anthropic` and `ollama` without.

        Raises:
            KeyError: there is no such wire.
        """
        if wire not in wires():
            raise KeyError(f"there is no wire {wire!r}; there are {', '.join(sorted(wires()))}")
        return self.url + wires()[wire].base_path

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in the order in which they came."""
        with self._came:
            return list(self._requests)

    @property
    def chats(self) -> list[Request]:
        """The requests that are chats."""
        return [request for request in self.requests if request.operation == "chat"]

    @property
    def remaining(self) -> int:
        """Steps that no request has had yet."""
        return self.script.remaining

    def add(self, *steps: Step) -> None:
        """Puts steps at the end of the script."""
        self.script.add(*steps)

    def wait_for(self, count: int, timeout: float = 5.0) -> list[Request]:
        """Waits until so many requests have come.

        Raises:
            TimeoutError: they did not come within `timeout` seconds.
        """
        with self._came:
            if not self._came.wait_for(lambda: len(self._requests) >= count, timeout):
                raise TimeoutError(f"{len(self._requests)} of {count} requests came within {timeout:g} s")
            return list(self._requests)

    def _accept(self) -> None:
        assert self._listener is not None
        while not self.closing:
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection, address), name="scripted-llm", daemon=True)
            with self._came:
                if self.closing:
                    connection.close()
                    return
                self._open[thread] = connection
            thread.start()

    def _serve(self, connection: socket.socket, address: Any) -> None:
        try:
            line = Connection(connection, address, self)  # type: ignore[arg-type]
            if line.reset:
                line.linger()
            else:
                connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001
            self.unexpected.append(f"a connection ended with {type(error).__name__}: {error}")
        finally:
            connection.close()
            with self._came:
                self._open.pop(threading.current_thread(), None)

    def answer(self, line: Connection, method: str, path: str, headers: dict[str, str], raw: bytes) -> None:
        """Answers one request; called by its connection."""
        wire, operation = wire_for(method, path, headers) or (None, "")
        with self._came:
            number = len(self._requests) + 1
            request = Request(number, wire.name if wire else "", operation, method, path, headers, None, time.monotonic())
            wrong = self._read(wire, request, raw)
            self._requests.append(request)
            self._chats += operation == "chat"
            self.peak = max(self.peak, self._chats)
            self._came.notify_all()
        line.settle = partial(self._settle, request)
        try:
            if wire is None:
                self.unexpected.append(f"request {number}: no wire knows {method} {path}")
                line.send(
                    Answer(404, {"error": {"message": f"no wire knows {method} {path}", "type": "not_found_error"}}), "failed"
                )
            else:
                self._respond(line, wire, request, wrong)
        except ClientGone:
            self._settle(request, "client gone")
            raise
        except ServerClosed:
            self._settle(request, "server closed")
            raise
        except Cut:
            self._settle(request, "dropped")
            raise

    def _settle(self, request: Request, outcome: Outcome) -> None:
        with self._came:
            if not request.done.is_set():
                self._chats -= request.operation == "chat"
            request.outcome = outcome
            request.done.set()

    @staticmethod
    def _read(wire: Wire | None, request: Request, raw: bytes) -> str | None:
        try:
            form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
            request.body = dict(parse_qsl(raw.decode())) if form else json.loads(raw) if raw else None
            if wire is not None:
                request.key = wire.key(request.headers) or ""
                wire.read(request)
        except (ValueError, TypeError, AttributeError) as error:
            return f"the body of the request cannot be read: {error}"
        return None

    def _respond(self, line: Connection, wire: Wire, request: Request, wrong: str | None) -> None:
        if self._key is not None and not secrets.compare_digest(request.key.encode(), self._key.encode()):
            play(line, wire, request, Fail(kind="bad_key"))
            return
        step: PlainStep | None
        if wrong := wrong or (wire.complaint(request) if self._strict else None):
            self.unexpected.append(f"request {request.number} was refused: {wrong}")
            play(line, wire, request, Fail(400, "bad_request", wrong))
            return
        try:
            step = self.script.step_for(request)
            if request.operation != "chat" and isinstance(step, Say | Think | CallTools | Echo):
                raise TypeError(f"{request.operation} is answered by failures only, not by {step!r}")
        except ScriptAtEnd as error:
            step = self._blame(str(error))
        except Exception as error:  # noqa: BLE001
            step = self._blame(f"the step for request {request.number} failed: {type(error).__name__}: {error}")
        if step is None:
            line.send(wire.other(request))
        else:
            play(line, wire, request, step)

    def _blame(self, message: str) -> Fail:
        """The official clients do not repeat a request that is answered so."""
        self.unexpected.append(message)
        return Fail(500, "server_error", message, headers={"x-should-retry": "false"})
