# SPDX-License-Identifier: MIT
"""Milvus as a server, as far as it can be had without one: the real client over TCP and gRPC, against a double.

The double is milvus-lite's own gRPC service, which calls itself a Milvus server of a version that the test says, checks a key,
and puts requests off. What only a real cluster does (replicas, quotas, its own wording of errors) is not in it.
"""

from __future__ import annotations

import base64
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import QUESTIONS, Component, Kernel, LaneLink, Node, NodeSpec, PipeFile, RunError
from rocketride_store import Collection, Patience, Patient, StoreError, VectorStore, Where
from rocketride_store.testing import FaultProxy, StoreSuite, chunk, keys, vector
from rocketride_store_milvus import Milvus


@attrs.define(eq=False, slots=False)
class Double:
    """One server on loopback; `version`, `key` and `trouble` may be set at any time."""

    folder: Path
    port: int = 0
    version: str = "v2.6.4"
    key: str = ""
    trouble: list[Callable[[Any], None]] = attrs.field(factory=list)
    calls: list[str] = attrs.field(factory=list)

    def start(self) -> None:
        import grpc
        from milvus_lite.adapter.grpc.servicer import MilvusServicer
        from milvus_lite.db import MilvusLite
        from pymilvus.grpc_gen import common_pb2, milvus_pb2
        from pymilvus.grpc_gen.milvus_pb2_grpc import add_MilvusServiceServicer_to_server

        double = self

        class Service(MilvusServicer):
            def GetVersion(self, request: Any, context: Any) -> Any:
                return milvus_pb2.GetVersionResponse(status=common_pb2.Status(), version=double.version)

            def Upsert(self, request: Any, context: Any) -> Any:
                if double.trouble:
                    told = double.trouble.pop(0)(context)
                    return milvus_pb2.MutationResult(status=told)
                return super().Upsert(request, context)

            def CreateCollection(self, request: Any, context: Any) -> Any:
                return double.trouble.pop(0)(context) if double.trouble else super().CreateCollection(request, context)

        class Gate(grpc.ServerInterceptor):
            def intercept_service(self, continuation: Any, details: Any) -> Any:
                double.calls.append(details.method.rpartition("/")[2])
                given = dict(details.invocation_metadata).get("authorization", "")
                if double.key and given != base64.b64encode(double.key.encode()).decode():
                    return grpc.unary_unary_rpc_method_handler(
                        lambda _, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, f"auth check failure, {given}")
                    )
                return continuation(details)

        self.workers = ThreadPoolExecutor(1)
        self.database = MilvusLite(str(self.folder / "double.db"))
        self.server = grpc.server(self.workers, interceptors=[Gate()], options=[("grpc.max_receive_message_length", 1 << 26)])
        add_MilvusServiceServicer_to_server(Service(self.database), self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def stop(self) -> None:
        self.server.stop(0).wait()
        self.workers.shutdown()
        self.database.close()


def busy(code: int, reason: str) -> Callable[[Any], Any]:
    """Milvus' own "not now"."""
    from pymilvus.grpc_gen import common_pb2

    return lambda context: common_pb2.Status(code=code, error_code=common_pb2.UnexpectedError, reason=reason)


def aborts(name: str, reason: str) -> Callable[[Any], Any]:
    """What stands between a client and Milvus says no."""
    import grpc

    return lambda context: context.abort(grpc.StatusCode[name], reason)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    import rocketride_store_milvus.opening  # pymilvus, without its log  # noqa: F401

    double = Double(tmp_path_factory.mktemp("milvus"))
    double.start()
    yield double
    double.stop()


@pytest.fixture
def double(shared: Double) -> Iterator[Double]:
    yield shared
    shared.version, shared.key = "v2.6.4", ""
    shared.trouble.clear()
    shared.calls.clear()


@pytest.fixture
def proxy(double: Double) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", double.port) as proxy:
        yield proxy


def connect(port: int, name: str = "", *, timeout: float = 10.0, database: str = "") -> VectorStore:
    from rocketride_store_milvus.backend import MilvusStore
    from rocketride_store_milvus.opening import connected, explain

    uri, once = f"http://127.0.0.1:{port}", Patience(store="Milvus", attempts=1)
    client = once.do(explain, lambda: connected(uri, database=database, timeout=timeout))
    return MilvusStore(client, name or f"c_{uuid.uuid4().hex}", timeout=timeout)


def patient(store: VectorStore) -> Patient:
    return Patient(store, Patience(store="Milvus", attempts=5, delay=0.02, seconds=20))


class TestServer(StoreSuite):
    @pytest.fixture(autouse=True)
    def _where(self, double: Double) -> None:
        from rocketride_store_milvus.opening import connected

        self.port, self.database = double.port, f"db_{uuid.uuid4().hex}"
        client = connected(f"http://127.0.0.1:{self.port}")
        client.create_database(self.database)
        client.close()

    def make(self, folder: Path) -> VectorStore:
        return connect(self.port, "suite", database=self.database)


# ---- faults


@pytest.mark.parametrize("fault", ["cut", "lose"])
def test_a_batch_that_breaks_off_is_written_once(double: Double, proxy: FaultProxy, fault: str) -> None:
    store = connect(proxy.port)
    waiting = patient(store)
    waiting.create(Collection("c", 3, "m"))
    getattr(proxy, fault)(b"marker-text")
    waiting.upsert([chunk("a", number, "marker-text") for number in range(300)])
    assert proxy.hits == 1
    assert sorted(keys(waiting.select(Where()))) == [("a", number) for number in range(300)]
    store.close()


def test_a_server_that_is_gone_for_a_moment(double: Double, proxy: FaultProxy) -> None:
    store = connect(proxy.port)
    store.create(Collection("c", 3, "m"))
    proxy.refuse()
    with pytest.raises(Exception) as caught:
        store.upsert([chunk("a", 0)])
    told = store.explain(caught.value)
    assert told is not None
    assert (told.kind, told.passing) == ("connection", True)
    threading.Timer(0.2, proxy.accept).start()
    Patient(store, Patience(store="Milvus", attempts=8, delay=0.1, seconds=20)).upsert([chunk("a", 0)])
    assert len(store.ids(Where())) == 1
    store.close()


def test_a_server_that_does_not_answer_is_a_timeout(double: Double, proxy: FaultProxy) -> None:
    store = connect(proxy.port, timeout=0.5)
    store.create(Collection("c", 3, "m"))
    proxy.stall(b"marker-text")
    started = time.monotonic()
    with pytest.raises(StoreError) as caught:
        Patient(store, Patience(store="Milvus", attempts=1)).upsert([chunk("a", 0, "marker-text")])
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 5
    proxy.clear()
    store.close()


def test_a_request_has_no_more_time_than_its_call(double: Double, proxy: FaultProxy) -> None:
    store = connect(proxy.port, timeout=30)
    store.create(Collection("c", 3, "m"))
    proxy.stall(b"marker-text")
    started = time.monotonic()
    with pytest.raises(StoreError) as caught:
        Patient(store, Patience(store="Milvus", attempts=1, seconds=0.5)).upsert([chunk("a", 0, "marker-text")])
    assert caught.value.kind == "timeout"
    assert time.monotonic() - started < 5
    proxy.clear()
    store.close()


@pytest.mark.parametrize(("code", "kind"), [(8, "rate-limit"), (1, None), (2, "unavailable"), (12, "unavailable")])
def test_milvus_says_not_now_twice(double: Double, code: int, kind: str | None) -> None:
    store = connect(double.port)
    store.create(Collection("c", 3, "m"))
    double.trouble[:] = [busy(code, "not now")] * 2
    if kind is None:
        with pytest.raises(StoreError, match="did not accept the request: not now"):
            patient(store).upsert([chunk("a", 0)])
    else:
        with pytest.raises(StoreError, match="not now") as caught:
            Patient(store, Patience(store="Milvus", attempts=1)).upsert([chunk("a", 0)])
        assert caught.value.kind == kind
        patient(store).upsert([chunk("a", number) for number in range(3)])
        assert sorted(keys(store.select(Where()))) == [("a", 0), ("a", 1), ("a", 2)]
    store.close()


def test_a_proxy_without_a_server_behind_it_twice(double: Double) -> None:
    store = connect(double.port)
    store.create(Collection("c", 3, "m"))
    double.trouble[:] = [aborts("UNAVAILABLE", "no healthy upstream")] * 2
    patient(store).upsert([chunk("a", 0)])
    assert len(store.ids(Where())) == 1
    store.close()


def test_a_write_that_is_not_confirmed_in_full_is_an_error(double: Double) -> None:
    store = connect(double.port)
    store.create(Collection("c", 3, "m"))
    client: Any = store._client  # type: ignore[attr-defined]
    write = client.upsert
    client.upsert = lambda name, rows, **options: write(name, rows[:1], **options)
    with pytest.raises(StoreError, match="Milvus confirms 1 of 2 chunks") as caught:
        patient(store).upsert([chunk("a", 0), chunk("a", 1)])
    assert caught.value.kind == "not-confirmed"
    store.close()


def test_a_message_that_is_too_large_says_what_to_set(double: Double) -> None:
    store = connect(double.port)
    store.create(Collection("c", 3, "m"))
    assert store.capabilities.request == 32 << 20
    with pytest.raises(StoreError, match="smaller payloadLimit") as caught:
        patient(store).upsert([chunk("a", 0, "x" * (65 << 20))])
    assert caught.value.kind == "too-large"
    store.close()


def test_a_collection_that_cannot_be_made_says_why(double: Double) -> None:
    store = connect(double.port)
    double.trouble[:] = [busy(7, "disk quota exceeded")]
    with pytest.raises(StoreError, match="has no room left: disk quota exceeded") as caught:
        patient(store).create(Collection("c", 3, "m"))
    assert caught.value.kind == "full"
    assert store.collection() is None
    store.close()


def test_nobody_there() -> None:
    started = time.monotonic()
    with pytest.raises(StoreError) as caught:
        connect(1)
    assert caught.value.kind == "connection"
    assert time.monotonic() - started < 5


# ---- the node


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[QUESTIONS])


def load(port: int, **more: object) -> Any:
    block = {"host": "127.0.0.1", "port": port, "collection": f"c_{uuid.uuid4().hex}", **more}
    pipe = PipeFile(
        [
            Component("in", "in"),
            Component("store", "milvus", {"profile": "local", "local": block}, input=[LaneLink("questions", "in")]),
        ]
    )
    return Kernel(nodes=[Source, Milvus]).load(pipe)


@pytest.mark.parametrize("version", ["v2.3.4", "2.5.9", "v2.5.0-beta"])
def test_an_old_server_is_refused_with_both_versions(double: Double, version: str) -> None:
    double.version = version
    found = version.removeprefix("v")
    with pytest.raises(RunError, match=rf"Milvus {found}.* is too old: 2\.6 or newer is needed"), load(double.port):
        pass


@pytest.mark.parametrize("version", ["v2.6.0", "2.6.11", "v3.1.0", "Zilliz Cloud Vector Database(Compatible with Milvus 2.6)"])
def test_a_new_one_is_not(double: Double, version: str) -> None:
    double.version = version
    with load(double.port):
        pass


def test_a_key_is_sent_and_never_repeated(double: Double) -> None:
    double.key = "user:secret-word"
    with load(double.port, apikey="user:secret-word"):
        pass
    for wrong in ("", "wrong-key"):
        with pytest.raises(RunError, match="refused the key or password") as caught, load(double.port, apikey=wrong):
            pass
        assert wrong not in str(caught.value) or not wrong
        assert base64.b64encode(wrong.encode()).decode() not in str(caught.value) or not wrong


def test_a_bad_address_is_one_clear_error() -> None:
    with pytest.raises(RunError, match=r"store: Milvus cannot be reached at 127.0.0.1:1; is it running") as caught, load(1):
        pass
    assert caught.value.component == "store"


def test_an_http_server_is_not_taken_for_milvus(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        with pytest.raises(RunError, match=r"Milvus .* at 127.0.0.1"), load(server.server_port, timeout=2):
            pass
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_threshold_is_given_to_the_server(double: Double) -> None:
    store = connect(double.port)
    store.create(Collection("c", 3, "m"))
    store.upsert([chunk("near", 0, at=0), *(chunk("far", number, at=120) for number in range(50))])
    client: Any = store._client  # type: ignore[attr-defined]
    asked: list[Any] = []
    search = client.search
    client.search = lambda *args, **options: (asked.append(options["search_params"]["params"]), search(*args, **options))[1]
    assert keys(store.search(vector(1, 0, 0), Where(), 25, least=0.75)) == [("near", 0)]
    assert [params["radius"] for params in asked] == pytest.approx([0.5], abs=1e-5)
    assert len(store.search(vector(1, 0, 0), Where(), 60, least=0.0)) == 51
    assert asked[1] == {}
    store.close()
