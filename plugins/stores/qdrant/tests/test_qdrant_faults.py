# SPDX-License-Identifier: MIT
"""What goes wrong between the node and its server: the right error or the right retry, no lost and no doubled chunk."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import httpx
import pytest
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from rocketride_store import Address, Collection, Patience, Patient, StoreError, VectorStore, Where
from rocketride_store.testing import FaultProxy, chunk
from rocketride_store_qdrant.backend import QdrantStore
from rocketride_store_qdrant.opening import explain, server

CHUNKS = [chunk("a", number) for number in range(200)]
QUICK = Patience(store="Qdrant", component="store", address="there", attempts=3, delay=0.05, seconds=20)


def through(port: int, how: str, *, timeout: int = 10, patience: Patience = QUICK) -> Patient:
    client = server(Address("127.0.0.1", port, False), "", grpc_port=port if how == "grpc" else None, timeout=timeout)
    return Patient(QdrantStore(client, "suite", kind="server"), patience)


@pytest.fixture(params=["rest", "grpc"])
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def proxy(double: Any, how: str) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", double.grpc_port if how == "grpc" else double.port) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: FaultProxy, how: str) -> Iterator[VectorStore]:
    store = through(proxy.port, how)
    store.create(Collection("suite", 3, "m"))
    yield store
    store._backend.close()


def kept(double: Any) -> int:
    points, _ = double.engine("scroll", "suite", scroll_filter=None, limit=1000, with_payload=False)
    return len(points) - 1  # without the collection's record


@pytest.mark.parametrize("fault", ["cut", "lose"])
def test_a_batch_that_was_reset_is_written_again(store: VectorStore, proxy: FaultProxy, double: Any, fault: str) -> None:
    getattr(proxy, fault)(b"content")
    store.upsert(CHUNKS)
    assert proxy.hits == 1
    assert kept(double) == len(store.ids(Where())) == 200


def test_a_connection_that_is_refused_is_one_error_after_all_attempts(store: VectorStore, proxy: FaultProxy) -> None:
    proxy.refuse()
    with pytest.raises(StoreError, match=r"Qdrant cannot be reached at there.*asked 3 times") as caught:
        store.upsert(CHUNKS)
    assert caught.value.kind == "connection"
    proxy.accept()


@pytest.mark.parametrize("how", ["rest"], indirect=True)
def test_503_twice_then_fine(store: VectorStore, proxy: FaultProxy, double: Any) -> None:
    proxy.unavailable(times=2, body='{"status": {"error": "Service Unavailable"}}')
    store.upsert(CHUNKS)
    assert proxy.hits == 2
    assert kept(double) == 200


@pytest.mark.parametrize("how", ["rest"], indirect=True)
def test_too_many_requests_waits_as_long_as_the_server_says(store: VectorStore, proxy: FaultProxy, double: Any) -> None:
    proxy.unavailable(times=1, status=429, retry_after=1)
    started = time.monotonic()
    store.upsert(CHUNKS)
    assert time.monotonic() - started >= 1
    assert kept(double) == 200


def test_a_stall_ends_at_the_time_limit(proxy: FaultProxy, double: Any, how: str) -> None:
    store = through(proxy.port, how, timeout=1, patience=Patience(store="Qdrant", attempts=1))
    store.create(Collection("suite", 3, "m"))
    proxy.stall(b"content", times=None)
    started = time.monotonic()
    with pytest.raises(StoreError, match="Qdrant did not answer in time"):
        store.upsert(CHUNKS[:3])
    assert time.monotonic() - started < 8
    proxy.clear()
    store._backend.close()


@pytest.mark.parametrize("how", ["rest"], indirect=True)
def test_a_server_that_is_no_qdrant(store: VectorStore, proxy: FaultProxy) -> None:
    proxy.unavailable(times=None, status=200, body="<html>hello</html>")
    with pytest.raises(StoreError, match="cannot be read; is it really the server") as caught:
        store.collection()
    assert caught.value.kind == "bad-reply"


@pytest.mark.parametrize("how", ["rest"], indirect=True)
def test_a_request_has_no_more_time_than_its_call(proxy: FaultProxy, double: Any, how: str) -> None:
    store = through(proxy.port, how, timeout=30, patience=Patience(store="Qdrant", attempts=1, seconds=0.3))
    store.create(Collection("suite", 3, "m"))
    proxy.stall(b"content", times=None)
    started = time.monotonic()
    with pytest.raises(StoreError, match="Qdrant did not answer in time"):
        store.upsert(CHUNKS[:3])
    assert time.monotonic() - started < 8
    store._backend.close()


def test_a_collection_that_is_gone(store: VectorStore, double: Any) -> None:
    double.engine._client.delete_collection("suite")
    with pytest.raises(StoreError, match="has no such.*doesn't exist") as caught:
        store.upsert(CHUNKS)
    assert (caught.value.kind, caught.value.attempts) == ("not-found", 1)


def test_many_creators_agree(double: Any, how: str) -> None:
    port = double.grpc_port if how == "grpc" else double.port
    made: list[Any] = []

    def create(number: int) -> None:
        try:
            store = through(port, how)
            made.append(store.create(Collection("suite", 3, f"model-{number}")))
            store._backend.close()
        except BaseException as error:
            made.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 1, made
    assert double.engine.calls["index"] == 11


class Said(grpc.RpcError):  # type: ignore[misc]
    def __init__(self, code: grpc.StatusCode) -> None:
        self._code = code

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "words"


def answered(status: int, content: bytes) -> UnexpectedResponse:
    return UnexpectedResponse(status, "", content, httpx.Headers())


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (answered(401, b"Must provide an API key"), "authentication"),
        (answered(403, b"Forbidden"), "permission"),
        (answered(404, b'{"status": {"error": "Not found: Collection `x`"}}'), "not-found"),
        (answered(400, b'{"status": {"error": "Wrong input"}}'), "invalid"),
        (answered(413, b"too large"), "too-large"),
        (answered(429, b"slow"), "rate-limit"),
        (answered(503, b""), "unavailable"),
        (answered(500, b"{"), "unavailable"),
        (ResponseHandlingException(httpx.ConnectError("refused")), "connection"),
        (ResponseHandlingException(httpx.ReadTimeout("late")), "timeout"),
        (ResponseHandlingException(httpx.RemoteProtocolError("cut")), "connection"),
        (ResourceExhaustedResponse("slow", 3), "rate-limit"),
        (Said(grpc.StatusCode.UNAVAILABLE), "connection"),
        (Said(grpc.StatusCode.DEADLINE_EXCEEDED), "timeout"),
        (Said(grpc.StatusCode.UNAUTHENTICATED), "authentication"),
        (Said(grpc.StatusCode.PERMISSION_DENIED), "permission"),
        (Said(grpc.StatusCode.NOT_FOUND), "not-found"),
        (Said(grpc.StatusCode.INVALID_ARGUMENT), "invalid"),
        (ValueError("a mistake"), None),
    ],
    ids=repr,
)
def test_what_exceptions_mean(error: Exception, kind: str | None) -> None:
    told = explain(error)
    assert (told.kind if told else None) == kind


def test_the_servers_words_and_wait_are_told() -> None:
    told = explain(answered(400, b'{"status": {"error": "Wrong input: Vector dimension error"}}'))
    assert told is not None
    assert "Wrong input: Vector dimension error (HTTP 400)" in str(told)
    slow = explain(UnexpectedResponse(503, "", b"", httpx.Headers({"retry-after": "7"})))
    assert slow is not None
    assert slow.retry_after == 7


def test_a_batch_that_a_folder_refuses_is_an_error(tmp_path: Path) -> None:
    from rocketride_store_qdrant.folder import FolderClient

    store = Patient(QdrantStore(FolderClient(tmp_path), "suite", kind="folder"), QUICK)
    store.create(Collection("suite", 4, "m"))
    with pytest.raises(StoreError, match="expected dim: 4, got 3"):
        store.upsert(CHUNKS[:1])
    assert store.collection() == Collection("suite", 4, "m")
    store.close()
