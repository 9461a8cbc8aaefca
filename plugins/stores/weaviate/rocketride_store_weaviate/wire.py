# SPDX-License-Identifier: MIT
"""The client: opened with checks that end in time, asked without retries of its own, its errors understood."""

from __future__ import annotations

import re
import threading
from typing import Any

import grpc  # type: ignore[import-untyped]
import httpx
from weaviate import WeaviateClient
from weaviate.auth import Auth
from weaviate.config import AdditionalConfig, GrpcConfig, Timeout
from weaviate.connect.base import ConnectionParams
from weaviate.exceptions import (
    AuthenticationFailedError,
    InsufficientPermissionsError,
    ResponseCannotBeDecodedError,
    UnexpectedStatusCodeError,
    WeaviateBaseError,
    WeaviateGRPCUnavailableError,
)
from weaviate.proto.v1 import weaviate_pb2_grpc

from rocketride_store import Address, StoreError, by_status, transport, within

__all__ = ["MINIMUM", "explain", "opened"]

MINIMUM = "1.27.0"  # the client refuses older servers
_CHANNEL = [
    ("grpc.enable_http_proxy", 0),  # as the client's REST half, which looks at no environment
    ("grpc.use_local_subchannel_pool", 1),  # else a new channel would take over the connection of the old one
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5000),
]


def opened(
    rest: Address, calls: Address, key: str, *, init: float = 30.0, query: float = 60.0, insert: float = 120.0
) -> WeaviateClient:
    """A client whose REST and gRPC have both answered.

    Parameters:
        key: API key, "" for a server that asks for none.
        init, query, insert: time limits in seconds, of each check here, of a question, and of a write.
    """
    _ready(rest, key, init)
    client = WeaviateClient(
        ConnectionParams.from_params(rest.host, rest.port, rest.secure, calls.host, calls.port, calls.secure),
        auth_client_secret=Auth.api_key(key) if key else None,
        additional_config=AdditionalConfig(
            timeout=Timeout(init=init, query=query, insert=insert),
            grpc_config=GrpcConfig(channel_options=_CHANNEL),
        ),
        # Its own checks also ask a package index for the newest client.
        skip_init_checks=True,
    )
    connection: Any = client._connection
    try:
        client.connect()
        connection._ping_grpc("sync")
        _Plainly(connection).listen()
        connection._client.event_hooks["request"].append(_in_time)
    except WeaviateGRPCUnavailableError as error:
        client.close()
        told = transport(error) or StoreError("connection")
        said = "did not answer in time" if told.kind == "timeout" else "cannot be reached"
        told.sentence = f"Weaviate answers at {rest}, but its gRPC port {calls} {said}; open it, or set grpc_host and grpc_port"
        raise told from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        client.close()
        raise StoreError("bad-reply", "its /v1/meta tells no version") from error
    except BaseException:
        client.close()
        raise
    return client


def _ready(rest: Address, key: str, seconds: float) -> None:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with httpx.Client(trust_env=False, verify=rest.secure, timeout=within(seconds), headers=headers) as client:
        response = client.get(f"{rest.url}/v1/.well-known/ready")
    if response.status_code == 404:
        raise StoreError("bad-reply", "it knows no /v1/.well-known/ready", status=404)
    if response.status_code >= 300:
        raise by_status(response.status_code, response.text)


def _in_time(request: httpx.Request) -> None:
    limits = request.extensions["timeout"]
    limits |= {name: within(limit) for name, limit in limits.items() if limit}


class _Plainly(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Ends a call when its entry has no more time, and raises what its status means, before the client sees it.

    The client repeats calls for a minute and throws away their status: neither is wanted here. One of these serves one
    channel. Where a call found no answer in time the next ones get a new channel: the old one's connection may be dead without
    anybody having been told.
    """

    def __init__(self, connection: Any) -> None:
        self._connection, self._lock, self._left = connection, threading.Lock(), False

    def listen(self) -> None:
        """Serve the connection's present channel."""
        stub: Any = weaviate_pb2_grpc.WeaviateStub
        self._connection._grpc_stub = stub(grpc.intercept_channel(self._connection._grpc_channel, self))

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        call = continuation(details._replace(timeout=within(details.timeout)), request)
        if isinstance(call, grpc.RpcError):
            told = _by_code(call)
            if told.kind == "timeout":
                self._leave()
            raise told from call
        return call

    def _leave(self) -> None:
        with self._lock:
            if self._left or not self._connection.is_connected():
                return
            self._left = True
            # The old channel closes when the last call on it has ended.
            self._connection.open_connection_grpc("sync")
            _Plainly(self._connection).listen()


def _by_code(call: Any) -> StoreError:
    told = transport(call) or StoreError("unavailable")
    # The server's own refusals come without a status.
    unknown = getattr(call.code(), "name", "") == "UNKNOWN"
    if unknown and re.search(r"could not find class|class .* (not found|does not exist)", told.detail):
        return StoreError("not-found", told.detail)
    return told


def explain(error: Exception) -> StoreError | None:
    """What an exception of weaviate-client, or of httpx and grpc below it, means; None for a mistake of the program."""
    if isinstance(error, AuthenticationFailedError):
        return StoreError("authentication")
    if isinstance(error, InsufficientPermissionsError):
        return StoreError("permission", _words(error.error))
    if isinstance(error, UnexpectedStatusCodeError):
        return by_status(error.status_code, _words(error.error) or str(error))
    if isinstance(error, ResponseCannotBeDecodedError):
        return StoreError("bad-reply", str(error))
    if isinstance(error, httpx.InvalidURL):
        return StoreError("invalid", f"the server's address is none: {error}")
    old = re.search(r"version v?(\S+) is not supported", str(error)) if isinstance(error, WeaviateBaseError) else None
    if old:
        return StoreError("version", sentence=f"Weaviate {old[1]} is too old: {MINIMUM} or newer is needed; update the server")
    return transport(error)


def _words(body: Any) -> str:
    """The sentences in an error's body: `{"error": [{"message": "…"}]}`, `{"message": "…"}`, or text."""
    if isinstance(body, dict):
        listed = body.get("error", body.get("message"))
        parts = listed if isinstance(listed, list) else [listed]
        return "; ".join(str(part.get("message") if isinstance(part, dict) else part) for part in parts if part)
    return str(body or "")
