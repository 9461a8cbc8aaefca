# SPDX-License-Identifier: MIT
"""Clients of Qdrant: of a server, in memory; and what their exceptions mean."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from pydantic import ValidationError
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from rocketride_store import Address, StoreError, by_status, http_limits, transport
from rocketride_store.errors import Kind

__all__ = ["explain", "in_memory", "server"]


def server(where: Address, key: str, *, grpc_port: int | None = None, timeout: int = 60) -> QdrantClient:
    """A Qdrant server; it is asked nothing yet.

    Parameters:
        where: its address.
        key: sent with every request, "" for none.
        grpc_port: asks by gRPC on this port; None asks by REST.
        timeout: of a request, in seconds.
    """
    return QdrantClient(
        host=where.host,
        port=where.port,
        https=where.secure,
        prefix=where.prefix or None,
        prefer_grpc=grpc_port is not None,
        grpc_port=grpc_port or 6334,
        timeout=timeout,
        event_hooks=http_limits(timeout),
        # As a header of our own: as `api_key` it would switch encryption on, and warn where the config says otherwise.
        headers={"api-key": key} if key else None,
        # Asked by the node itself, which refuses what cannot work; the client only warns, from a thread.
        check_compatibility=False,
    )


class _InTurn:
    """The client's engine in memory, one thread at a time: it does not lock by itself."""

    def __init__(self, client: QdrantClient) -> None:
        self._client, self._lock = client, threading.Lock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*args: Any, **options: Any) -> Any:
            with self._lock:
                return method(*args, **options)

        return call


def in_memory() -> Any:
    """The client's own engine, which keeps nothing."""
    return _InTurn(QdrantClient(":memory:"))


def explain(error: Exception) -> StoreError | None:
    """What an exception of qdrant_client, of httpx and grpc below it, or of the engine in a folder, means."""
    if isinstance(error, ResourceExhaustedResponse):
        return StoreError("rate-limit", str(error), retry_after=error.retry_after_s)
    if isinstance(error, UnexpectedResponse):
        told = error.headers.get("retry-after", "")
        return by_status(error.status_code or 0, _said(error.content), retry_after=float(told) if told.isdecimal() else None)
    if isinstance(error, ResponseHandlingException):
        source: Any = error.source
        if isinstance(source, ValidationError | json.JSONDecodeError | UnicodeDecodeError):
            return StoreError("bad-reply", type(source).__name__)
        return transport(source)
    if isinstance(error, json.JSONDecodeError):
        return StoreError("bad-reply", str(error))
    if isinstance(error, httpx.InvalidURL):
        return StoreError("invalid", str(error))
    if type(error) is Exception:  # the engine in a folder knows no other; its words say what happened
        return StoreError(next((kind for part, kind in _LOCAL.items() if part in str(error)), "invalid"), str(error))
    return transport(error)


_LOCAL: Mapping[str, Kind] = {
    "No space left": "full",
    "Read-only file system": "permission",
    "Permission denied": "permission",
}


def _said(content: bytes) -> str:
    text = content.decode(errors="replace")
    try:
        status = json.loads(text)["status"]
        return str(status["error"]) if isinstance(status, dict) else text
    except (ValueError, KeyError, TypeError):
        return text
