# SPDX-License-Identifier: MIT
"""Chroma over a connection that breaks: the right error or the right retry, no chunk lost and none doubled."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import DOCUMENTS, Component, Document, Entry, Kernel, LaneLink, Node, NodeSpec, PipeFile, RunError
from rocketride_store import Address, StoreError, Where
from rocketride_store.testing import FaultProxy, chunk
from rocketride_store_chroma import Chroma

UPSERT = b"/upsert"


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[DOCUMENTS])


@pytest.fixture
def proxy(chroma_server: int) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", chroma_server) as proxy:
        yield proxy


def pipe(port: int, collection: str, **config: Any) -> PipeFile:
    local = {"host": "127.0.0.1", "port": port, "collection": collection, "retryDelay": 0.01, "timeout": 30.0} | config
    return PipeFile(
        [
            Component("in", "in"),
            Component("store", "chroma", {"profile": "local", "local": local}, input=[LaneLink("documents", "in")]),
        ]
    )


def load(port: int, collection: str, **config: Any) -> Any:
    return Kernel(nodes=[Source, Chroma]).load(pipe(port, collection, **config))


def documents(count: int) -> list[Document]:
    return [attrs.evolve(chunk("a", n, at=n / 10), embedding_model="m") for n in range(count)]


def stored(port: int, collection: str) -> Sequence[str]:
    from rocketride_store_chroma.backend import ChromaStore, server

    store = ChromaStore(server(Address("127.0.0.1", port), {}), collection)
    try:
        return store.ids(Where())
    finally:
        store.close()


@pytest.mark.parametrize("fault", ["cut", "lose", "unavailable", "stall"])
def test_a_fault_in_the_middle_of_an_ingest_is_bridged(proxy: FaultProxy, chroma_server: int, fault: str) -> None:
    name = f"bridged-{fault}"
    with load(proxy.port, name, timeout=1.0) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS(documents(5))).checked()
        {"cut": proxy.cut, "lose": proxy.lose, "unavailable": proxy.unavailable, "stall": proxy.stall}[fault](UPSERT)
        pipeline.run(Entry("a"), DOCUMENTS(documents(620))).checked()
    assert proxy.hits == (2 if fault == "unavailable" else 1)
    ids = stored(chroma_server, name)
    assert len(ids) == len(set(ids)) == 620


def test_a_server_that_stays_away_is_an_error_that_names_it(proxy: FaultProxy, chroma_server: int) -> None:
    with load(proxy.port, "away", maxAttempts=2) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS(documents(3))).checked()
        proxy.refuse()
        error = pipeline.run(Entry("a"), DOCUMENTS(documents(5))).error
    assert error is not None
    assert isinstance(error.__cause__, StoreError)
    assert (error.__cause__.kind, error.__cause__.attempts) == ("connection", 2)
    assert f"store: Chroma Vector Store cannot be reached at 127.0.0.1:{proxy.port}" in str(error)
    assert len(stored(chroma_server, "away")) == 3


def test_a_server_that_never_answers_ends_with_the_time_limit(proxy: FaultProxy) -> None:
    proxy.stall(times=None)
    started = time.monotonic()
    with pytest.raises(RunError, match="did not answer in time"), load(proxy.port, "stalled", timeout=0.2):
        pass
    assert time.monotonic() - started < 5
    problems = Kernel(nodes=[Source, Chroma]).check(pipe(proxy.port, "stalled"), probe=True)
    assert time.monotonic() - started < 10
    assert ["did not answer in time" in problem.message for problem in problems if problem.code == "probe-failed"] == [True]


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication"), (403, "permission"), (500, "unavailable")])
def test_what_a_server_refuses_is_told_as_what_it_is(proxy: FaultProxy, status: int, kind: str) -> None:
    proxy.unavailable(status=status, times=None)
    with pytest.raises(RunError) as caught, load(proxy.port, "refused", maxAttempts=2):
        pass
    assert isinstance(caught.value.__cause__, StoreError)
    assert (caught.value.__cause__.kind, caught.value.__cause__.status) == (kind, status)


class OldChroma(BaseHTTPRequestHandler):
    """What a server before API v2 says."""

    def do_GET(self) -> None:
        known = self.path == "/api/v1/version"
        body = b'"0.4.24"' if known else b'{"detail":"Not Found"}'
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


def test_an_old_server_is_refused_with_both_versions() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), OldChroma) as old:
        threading.Thread(target=old.serve_forever, args=(0.01,), daemon=True).start()
        told = r"Chroma 0.4.24 does not speak Chroma's API v2: Chroma 1.0 or newer"
        with pytest.raises(RunError, match=told) as caught, load(old.server_port, "old"):
            pass
        old.shutdown()
    assert isinstance(caught.value.__cause__, StoreError)
    assert caught.value.__cause__.kind == "version"


def test_a_probe_of_a_good_server_finds_nothing(chroma_server: int, tmp_path: Path) -> None:
    problems = Kernel(nodes=[Source, Chroma]).check(pipe(chroma_server, "never-made"), probe=True)
    assert [problem for problem in problems if problem.code == "probe-failed"] == []
