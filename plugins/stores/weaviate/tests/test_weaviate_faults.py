# SPDX-License-Identifier: MIT
"""What goes wrong on the way: the right error, or the right retry, and no chunk lost or doubled."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import grpc  # type: ignore[import-untyped]
import pytest

from rocketride_store import Address, Collection, Patience, Patient, StoreError, Where
from rocketride_store.testing import FaultProxy, chunk, keys, vector

FIRST = Collection("suite", 3, "model-a")
NEEDLE = "a needle in the batch"
MANY = [chunk("a", number, NEEDLE if number == 150 else "hay " * 200, at=number) for number in range(300)]


@attrs.frozen
class Way:
    """A double with a proxy before each of its ports."""

    double: Any
    rest: FaultProxy
    grpc: FaultProxy

    def store(self, **limits: float) -> Any:
        from rocketride_store_weaviate.backend import WeaviateStore, opened

        rest, calls = Address("127.0.0.1", self.rest.port), Address("127.0.0.1", self.grpc.port)
        return WeaviateStore(opened(rest, calls, "", **limits), "suite")


@pytest.fixture
def way(double: Any) -> Iterator[Way]:
    with FaultProxy("127.0.0.1", double.port) as rest, FaultProxy("127.0.0.1", double.grpc_port) as calls:
        yield Way(double, rest, calls)


def patient(store: Any, **more: Any) -> Patient:
    return Patient(store, Patience(store="Weaviate", **({"delay": 0.01, "attempts": 4} | more)))


def complete(store: Any) -> bool:
    return sorted(keys(store.select(Where()))) == [("a", number) for number in range(300)]


@pytest.fixture
def store(way: Way) -> Iterator[Any]:
    store = way.store(query=5, insert=5)
    store.create(FIRST)
    yield store
    store.close()


@pytest.mark.parametrize("fault", ["cut", "lose"])
def test_a_connection_that_breaks_in_the_middle_of_a_batch(way: Way, store: Any, fault: str) -> None:
    getattr(way.grpc, fault)(NEEDLE.encode(), times=1)
    patient(store).upsert(MANY)
    assert way.grpc.hits == 1
    assert complete(store)


def test_a_batch_of_which_half_was_stored(way: Way, store: Any) -> None:
    way.double.half = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED]
    patient(store).upsert(MANY)
    assert way.double.calls["BatchObjects"] == 3
    assert complete(store)


def test_a_batch_that_stays_broken_is_an_error_and_nothing_is_removed(way: Way, store: Any) -> None:
    store.upsert(MANY)
    way.grpc.cut(NEEDLE.encode(), times=None)
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        patient(store, attempts=3).upsert(MANY)
    assert (caught.value.kind, caught.value.attempts) == ("connection", 3)
    way.grpc.clear()
    assert complete(store)


def test_the_client_does_not_repeat_calls_by_itself(way: Way, store: Any) -> None:
    store.upsert(MANY[:3])
    way.double.statuses = [grpc.StatusCode.UNAVAILABLE]
    started = time.monotonic()
    with pytest.raises(StoreError) as caught:
        store.search(vector(1, 0, 0), Where(), 3)
    assert (caught.value.kind, caught.value.detail) == ("connection", "no, not now")
    assert time.monotonic() - started < 0.9  # it would sleep for a second first
    way.double.statuses = [grpc.StatusCode.UNAVAILABLE] * 2
    assert len(patient(store).search(vector(1, 0, 0), Where(), 3)) == 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "authentication"),
        (grpc.StatusCode.PERMISSION_DENIED, "permission"),
        (grpc.StatusCode.UNKNOWN, "invalid"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate-limit"),
        (grpc.StatusCode.UNIMPLEMENTED, "version"),
    ],
)
def test_the_status_of_a_call_is_kept(way: Way, store: Any, status: Any, kind: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: store.search(vector(1, 0, 0), Where(), 3),
        lambda: store.upsert(MANY[:3]),
        lambda: store.delete(["00000000-0000-4000-8000-000000000000"]),
    ]
    for call in calls:
        way.double.statuses = [status]
        with pytest.raises(StoreError) as caught:
            call()
        assert caught.value.kind == kind


def test_a_stall_ends_at_the_time_limit(way: Way) -> None:
    store = way.store(query=0.4, insert=0.4)
    try:
        store.create(FIRST)
        for stalling, call in (
            (way.grpc, lambda: store.upsert(MANY)),
            (way.grpc, lambda: store.search(vector(1, 0, 0), Where(), 3)),
            (way.rest, store.collection),
            (way.rest, lambda: store.mark(["00000000-0000-4000-8000-000000000000"], True)),
        ):
            stalling.stall(times=None)
            started = time.monotonic()
            with pytest.raises(StoreError, match="did not answer in time") as caught:
                Patience(store="Weaviate", attempts=1).do(store.explain, call)
            assert caught.value.kind == "timeout"
            assert time.monotonic() - started < 3
            stalling.clear()
        patient(store, attempts=6).upsert(MANY)
        assert complete(store)
    finally:
        store.close()


@pytest.mark.parametrize("what", ["search", "mark", "collection"])
def test_no_request_outlives_its_call(way: Way, store: Any, what: str) -> None:
    marked = "00000000-0000-4000-8000-000000000000"
    calls: dict[str, tuple[FaultProxy, Callable[[], Any]]] = {
        "search": (way.grpc, lambda: store.search(vector(1, 0, 0), Where(), 3)),
        # Of its two requests the first is answered.
        "mark": (way.rest, lambda: store.mark([marked], True)),
        "collection": (way.rest, store.collection),
    }
    stalling, call = calls[what]
    stalling.stall(b"PATCH" if what == "mark" else b"", times=None)
    started = time.monotonic()
    with pytest.raises(StoreError, match="did not answer in time"):
        Patience(store="Weaviate", attempts=1, seconds=0.3).do(store.explain, call)
    assert time.monotonic() - started < 3  # the store's own limits are 5 s
    assert stalling.hits == 1


def test_many_that_found_no_answer_share_one_new_connection(way: Way) -> None:
    store = way.store(query=0.5)
    try:
        store.create(FIRST)
        store.upsert(MANY)
        before = way.grpc.connections
        way.grpc.stall(times=1)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: len(patient(store).search(vector(1, 0, 0), Where(), 3)), range(8)))
        assert found == [3] * 8
        assert way.grpc.connections == before + 1
    finally:
        store.close()


def test_a_server_that_cannot_serve_twice_and_then_can(way: Way, store: Any) -> None:
    way.rest.unavailable(times=2, body="restarting")
    assert patient(store).collection() == FIRST
    assert way.rest.hits == 2
    way.rest.unavailable(times=None, body="restarting")
    with pytest.raises(StoreError, match="cannot serve requests now.*HTTP 503") as caught:
        patient(store, attempts=2).collection()
    assert (caught.value.kind, caught.value.status) == ("unavailable", 503)


def test_a_server_that_restarts_is_found_again(way: Way, store: Any) -> None:
    store.upsert(MANY)
    for one in (way.rest, way.grpc):
        one.refuse()
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        patient(store, attempts=1).search(vector(1, 0, 0), Where(), 3)
    assert caught.value.kind == "connection"
    for one in (way.rest, way.grpc):
        one.accept()
    assert len(patient(store, attempts=50, delay=0.1).search(vector(1, 0, 0), Where(), 3)) == 3
    assert patient(store).collection() == FIRST


# ---- when the pipeline opens


def opening(double: Any, key: str = "", *, port: int = 0, grpc_port: int = 0) -> StoreError:
    from rocketride_store_weaviate.backend import explain, opened

    rest, calls = Address("127.0.0.1", port or double.port), Address("127.0.0.1", grpc_port or double.grpc_port)
    once = Patience(store="Weaviate", attempts=1)
    with pytest.raises(StoreError) as caught:
        once.do(explain, lambda: opened(rest, calls, key, init=0.5, query=0.5))
    return caught.value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_nobody_is_there(double: Any) -> None:
    assert opening(double, port=free_port()).kind == "connection"
    closed = free_port()
    told = opening(double, grpc_port=closed)
    assert told.kind == "connection"
    assert f"its gRPC port 127.0.0.1:{closed} cannot be reached; open it, or set grpc_host and grpc_port" in str(told)


def test_somebody_who_says_nothing(double: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        started = time.monotonic()
        assert opening(double, port=port).kind == "timeout"
        told = opening(double, grpc_port=port)
        assert (told.kind, "did not answer in time" in str(told)) == ("timeout", True)
        assert time.monotonic() - started < 4


def test_an_old_server_is_named_with_what_is_needed(double: Any) -> None:
    double.version = "1.22.4"
    told = opening(double)
    assert told.kind == "version"
    assert str(told) == "Weaviate 1.22.4 is too old: 1.27.0 or newer is needed; update the server"


@pytest.mark.parametrize("version", ["", "who knows", None, 3])
def test_a_version_that_cannot_be_read(double: Any, version: Any) -> None:
    double.version = version
    assert opening(double).kind in ("bad-reply", "version")


@pytest.mark.parametrize("key", ["", "a-wrong-key"])
def test_a_wrong_key_is_refused_and_never_shown(double: Any, key: str) -> None:
    double.key = "the-right-key"
    told = opening(double, key)
    assert told.kind == "authentication"
    assert "key" not in told.detail


def test_another_server_is_not_taken_for_weaviate(double: Any) -> None:
    with FaultProxy("127.0.0.1", double.port) as proxy:
        proxy.unavailable(times=None, status=404, body="<html>")
        assert opening(double, port=proxy.port).kind == "bad-reply"
        proxy.clear()
        proxy.unavailable(b"/v1/meta", times=None, status=200, body="<html>")
        assert opening(double, port=proxy.port).kind == "bad-reply"


def test_a_server_that_is_about_to_be_ready(double: Any) -> None:
    from rocketride_store_weaviate.backend import explain, opened

    double.not_ready = 2
    patience = Patience(store="Weaviate", delay=0.01, kinds=("unavailable",))
    rest, calls = Address("127.0.0.1", double.port), Address("127.0.0.1", double.grpc_port)
    patience.do(explain, lambda: opened(rest, calls, "")).close()
    assert double.calls["GET .well-known"] == 3


def test_messages_that_are_too_large(way: Way) -> None:
    way.double.largest = 50_000
    store = way.store()
    try:
        store.create(FIRST)
        with pytest.raises(StoreError, match="larger than max") as caught:
            store.upsert([chunk("a", 0, "x" * 60_000)])
        assert (caught.value.kind, caught.value.passing) == ("too-large", False)
        for number in range(20):
            store.upsert([chunk("a", number, "x" * 10_000)])
        assert sorted(keys(store.select(Where()))) == [("a", number) for number in range(20)]
    finally:
        store.close()
