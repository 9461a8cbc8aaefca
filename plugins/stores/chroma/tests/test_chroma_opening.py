# SPDX-License-Identifier: MIT
"""Clients of Chroma: what the environment may not change, keys, old servers, folders of other processes, what is left behind."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import RunError
from rocketride_store import Address, Collection, Patience, Patient, Request, StoreError, Where
from rocketride_store.testing import FaultProxy, chunk

ALL = Where()
KEY = "secret-word"


def connect(port: int, name: str = "", *, timeout: float = 10.0, **headers: str) -> Any:
    from rocketride_store_chroma.backend import ChromaStore, server

    return ChromaStore(server(Address("127.0.0.1", port), headers, timeout=timeout), name or f"c-{uuid.uuid4().hex}")


def folder(place: Path, name: str = "texts") -> Any:
    from rocketride_store_chroma.backend import ChromaStore, embedded

    return ChromaStore(embedded(place), name)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


# ---- the environment


def test_the_environment_and_its_file_change_nothing(chroma_server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("IS_PERSISTENT=true\nPERSIST_DIRECTORY=elsewhere\n")
    for name, value in {
        "CHROMA_SERVER_HTTP_PORT": "1",
        "CHROMA_SERVER_HOST": "elsewhere.example",
        "ANONYMIZED_TELEMETRY": "true",
        "CHROMA_CLIENT_AUTH_PROVIDER": "chromadb.auth.token_authn.TokenAuthClientProvider",
        "CHROMA_CLIENT_AUTH_CREDENTIALS": "of-somebody-else",
        "CHROMA_API_IMPL": "chromadb.api.segment.SegmentAPI",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
        "NO_PROXY": "",
    }.items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    for store in (connect(chroma_server), folder(tmp_path / "index")):
        settings = store._client.api._system.settings
        assert settings.anonymized_telemetry is False
        assert settings.chroma_client_auth_provider is None
        store.create(Collection("c", 3, "m"))
        store.upsert([chunk("a", 0)])
        assert len(store.ids(ALL)) == 1
        store.close()
    assert not (tmp_path / "elsewhere").exists()


# ---- keys. `chroma run` knows none: a proxy in front of it checks them, as people do it.


@pytest.fixture
def guarded(chroma_server: int) -> Iterator[int]:
    class Guard(Quiet):
        def handle_one(self) -> None:
            given = self.headers.get("X-Chroma-Token") or self.headers.get("Authorization", "").removeprefix("Bearer ")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if given != KEY:
                self.answer(401, json.dumps({"error": "AuthError", "message": f"{given} is wrong"}).encode())
                return
            behind = http.client.HTTPConnection("127.0.0.1", chroma_server)
            behind.request(self.command, self.path, body, {"Content-Type": "application/json"})
            reply = behind.getresponse()
            self.answer(reply.status, reply.read())
            behind.close()

        do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815

    with serving(Guard) as port:
        yield port


@pytest.mark.parametrize("headers", [{"X-Chroma-Token": KEY}, {"Authorization": f"Bearer {KEY}"}])
def test_a_key_goes_with_every_request(guarded: int, headers: dict[str, str]) -> None:
    store = connect(guarded, **headers)
    store.create(Collection("c", 3, "m"))
    store.upsert([chunk("a", 0)])
    assert len(store.ids(ALL)) == 1
    store.close()


@pytest.mark.parametrize("headers", [{}, {"X-Chroma-Token": "wrong-word"}])
def test_a_wrong_key_is_told_and_not_repeated(guarded: int, headers: dict[str, str]) -> None:
    with pytest.raises(StoreError, match="refused the key") as caught:
        connect(guarded, **headers)
    assert caught.value.kind == "authentication"
    assert "wrong-word" not in str(caught.value)


@pytest.mark.parametrize("header", ["X-Chroma-Token", "Authorization"])
def test_the_node_sends_its_key(guarded: int, header: str) -> None:
    from rocketride_core import QUESTIONS, Component, Kernel, LaneLink, Node, NodeSpec, PipeFile
    from rocketride_store_chroma import Chroma

    class Source(Node[None]):
        spec = NodeSpec("in", title="In", categories=["source"], emits=[QUESTIONS])

    def load(key: str) -> Any:
        local = {"host": "http://127.0.0.1", "port": str(guarded), "apikey": key, "auth_header": header}
        parts = [
            Component("in", "in"),
            Component("store", "chroma", {"profile": "local", "local": local}, input=[LaneLink("questions", "in")]),
        ]
        return Kernel(nodes=[Source, Chroma]).load(PipeFile(parts))

    with load(KEY):
        pass
    with pytest.raises(RunError, match="refused the key") as caught, load("wrong-word"):
        pass
    assert "wrong-word" not in str(caught.value)


# ---- servers


def test_a_server_that_has_the_api_but_is_too_old_is_refused() -> None:
    from rocketride_store.probing import checked_version

    replies = {
        "/heartbeat": {"nanosecond heartbeat": 1},
        "/version": "0.6.3",
        "/auth/identity": {"user_id": "", "tenant": "*", "databases": ["*"]},
        "/tenants/default_tenant": {"name": "default_tenant"},
        "/tenants/default_tenant/databases/default_database": {
            "id": "00000000-0000-0000-0000-000000000000",
            "name": "default_database",
            "tenant": "default_tenant",
        },
        "/pre-flight-checks": {"max_batch_size": 100},
    }

    class Old(Quiet):
        def do_GET(self) -> None:
            known = replies.get(self.path.removeprefix("/api/v2"))
            self.answer(200 if known is not None else 404, json.dumps(known).encode())

    with serving(Old) as port:
        store = connect(port)
        with pytest.raises(StoreError, match=r"Chroma 0\.6\.3 is too old: 1\.0 or newer is needed"):
            checked_version(store, store.about())
        store.close()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"{}", b"null", b"\xff\xfe"])
def test_what_is_no_chroma_is_one_clear_error(body: bytes) -> None:
    class Other(Quiet):
        def do_GET(self) -> None:
            self.answer(200, body)

    with serving(Other) as port, pytest.raises(StoreError) as caught:
        connect(port)
    assert not caught.value.passing


def test_a_collection_that_cannot_be_made_says_why(chroma_server: int) -> None:
    with FaultProxy("127.0.0.1", chroma_server) as proxy:
        store = connect(proxy.port)
        proxy.unavailable(b"/collections HTTP", status=507, body="the disk of the server is full", times=None)
        patient = Patient(store, Patience(store="Chroma", attempts=1))
        with pytest.raises(StoreError, match="no room left: the disk of the server is full") as caught:
            patient.create(Collection("c", 3, "m"))
        assert caught.value.kind == "full"
        with pytest.raises(StoreError, match="does not exist") as caught:
            patient.upsert([chunk("a", 0)])
        assert caught.value.kind == "not-found"
        proxy.clear()
        assert patient.create(Collection("c", 3, "m")).dimension == 3
        store.close()


@pytest.mark.slow
def test_a_batch_beyond_what_a_server_takes_at_once_is_cut(chroma_server: int) -> None:
    store = connect(chroma_server)
    store.create(Collection("c", 3, "m"))
    many = [chunk("a", number, "ü" * 2_000_000) for number in range(12)]  # 48 MB; the server takes 40 MiB
    patient = Patient(store, Patience(store="Chroma", attempts=1))
    patient.upsert(many)
    assert len(store.ids(ALL)) == 12
    with pytest.raises(StoreError, match="smaller payloadLimit") as caught:
        patient.upsert([chunk("a", 0, "x" * (42 << 20))])
    assert caught.value.kind == "too-large"
    store.close()


def test_errors_by_kind() -> None:
    from chromadb import errors

    from rocketride_store_chroma.opening import explain

    for error, kind in {
        errors.ChromaAuthError("no"): "permission",
        errors.AuthorizationError("no"): "authentication",
        errors.NotFoundError("no"): "not-found",
        errors.InvalidArgumentError("no"): "invalid",
        errors.BatchSizeExceededError("no"): "too-large",
        errors.RateLimitError("no"): "rate-limit",
        errors.InternalError("no"): "unavailable",
        errors.InternalError("(code: 13) database or disk is full"): "full",
        errors.InternalError("attempt to write a readonly database"): "permission",
    }.items():
        told = explain(error)
        assert told is not None
        assert told.kind == kind, error
    assert explain(ZeroDivisionError()) is None


# ---- folders and memory


SECOND = """
import sys
from pathlib import Path
from rocketride_store_chroma.opening import embedded
for line in sys.stdin:
    try:
        embedded(Path(sys.argv[1])).close()
        print("opened", flush=True)
    except Exception as error:
        print(error, flush=True)
"""


def test_a_second_process_is_told_until_the_first_has_closed(tmp_path: Path) -> None:
    one, two = folder(tmp_path / "x"), folder(tmp_path / "x", "other")
    one.close()
    command = [sys.executable, "-c", SECOND, str(tmp_path / "x")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask() -> str:
            process.stdin.write("open\n")
            process.stdin.flush()
            return process.stdout.readline()

        told = f"The folder {tmp_path / 'x'} is in use by another process; run a Chroma server to share it, or use another folder"
        assert ask() == f"{told}\n"
        two.close()
        two.close()
        assert ask() == "opened\n"
        process.stdin.close()


def test_a_folder_that_cannot_be_opened_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "chroma.sqlite3").write_text("no database at all, and long enough to be looked at " * 100)
    with pytest.raises(StoreError, match="file is not a database") as caught:
        folder(tmp_path / "x")
    assert not caught.value.passing
    (tmp_path / "x" / "chroma.sqlite3").unlink()
    folder(tmp_path / "x").close()


def test_nothing_is_shared_in_memory_and_nothing_stays() -> None:
    from rocketride_store_chroma.backend import ChromaStore, in_memory

    one, two = (ChromaStore(in_memory(), "texts", persistent=False) for _ in range(2))
    one.create(Collection("texts", 3, "m"))
    one.upsert([chunk("a", 0)])
    assert two.collection() is None
    one.close()
    two.create(Collection("texts", 4, "n"))
    assert two.ids(ALL) == []
    two.close()
    two.close()


def test_a_closed_client_leaves_nothing_in_the_process(chroma_server: int, tmp_path: Path) -> None:
    from chromadb.api.shared_system_client import SharedSystemClient

    before = set(SharedSystemClient._identifier_to_system)
    for _ in range(3):
        store = connect(chroma_server)
        session = store._client.api._session
        store.close()
        assert session.is_closed
    folder(tmp_path).close()
    assert set(SharedSystemClient._identifier_to_system) <= before


def test_a_chunk_that_is_written_anew_is_not_found_by_keys_that_it_had(tmp_path: Path, chroma_server: int) -> None:
    for store in (folder(tmp_path), connect(chroma_server)):
        store.create(Collection("texts", 3, "m"))
        store.upsert([chunk("a", 0, name="old", permissionId=1)])
        store.upsert([chunk("a", 0), chunk("a", 1, name="new")])
        assert [len(store.ids(Request.of(f).where)) for f in ({"name": "old"}, {"permissions": [1]}, {"name": "new"})] == [
            0,
            0,
            1,
        ]
        store.close()


def test_a_request_has_no_more_time_than_its_call(chroma_server: int) -> None:
    with FaultProxy("127.0.0.1", chroma_server) as proxy:
        store = connect(proxy.port, timeout=30.0)
        store.create(Collection("c", 3, "m"))
        proxy.stall(b"/upsert", times=None)
        started = time.monotonic()
        with pytest.raises(StoreError, match="did not answer in time"):
            Patient(store, Patience(store="Chroma", attempts=1, seconds=0.3)).upsert([chunk("a", 0)])
        assert time.monotonic() - started < 5
        store.close()
