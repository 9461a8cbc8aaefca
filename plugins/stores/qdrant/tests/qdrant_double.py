# SPDX-License-Identifier: MIT
"""A loopback double of a Qdrant server, for tests where no server can be had. It is not Qdrant.

It speaks REST and gRPC, so that the real client runs with its own transport, serialisation and errors, and keeps its points in that
client's in-memory engine, which is exact and has no real payload indexes but that of full text. Served are the calls that the store
makes. What of a server's behaviour is written here from its documentation, and proves nothing about a server: the texts and codes of errors,
that a payload cannot be set on an id that is missing, the version, the status of a write. Replication, sharding, strict mode's refusals and
real disks are not here.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import grpc  # type: ignore[import-untyped]
from qdrant_double_engine import Engine
from qdrant_double_grpc import services
from qdrant_double_rest import Rest


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        return  # a connection that a test has reset


class Double:
    """Both servers over one engine; `port` and `grpc_port` are free ones."""

    def __init__(self) -> None:
        self.engine = Engine()
        handler = type("Handler", (Rest,), {"engine": self.engine})
        self._rest = Quiet(("127.0.0.1", 0), handler)
        self.port = self._rest.server_address[1]
        self._grpc = grpc.server(ThreadPoolExecutor(8), options=[("grpc.max_receive_message_length", -1)])
        self._grpc.add_generic_rpc_handlers(tuple(services(self.engine)))
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")

    def __enter__(self) -> Self:
        threading.Thread(target=self._rest.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self._grpc.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._rest.shutdown()
        self._rest.server_close()
        self._grpc.stop(0).wait()
