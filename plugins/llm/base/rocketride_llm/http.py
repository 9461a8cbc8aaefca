# SPDX-License-Identifier: MIT
"""The connections below a vendor's client that takes a client of httpx2, or in its place."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from .ends import refuse_broken_off

if TYPE_CHECKING:
    import ssl

    import httpx2

__all__ = ["certificates", "http_client", "time_limits"]

CONNECTING = 15.0  # seconds, at most


def time_limits(timeout: float) -> httpx2.Timeout:
    """For the server's next bytes what is asked for, in seconds; shorter for the connection, and none for a free one of the pool."""
    import httpx2

    return httpx2.Timeout(timeout, connect=min(timeout, CONNECTING), pool=None)


def http_client(timeout: float, proxy: str = "", *, heard: Callable[[Any], Awaitable[None]] | None = None) -> httpx2.AsyncClient:
    """Connections that heed no variable of proxies, and the time limit given here, whatever a library above them sets.

    Parameters:
        timeout: longest wait for the server's next bytes, in seconds.
        proxy: URL of an HTTP or SOCKS proxy.
        heard: a response hook of the vendor's own.
    """
    import httpx2

    limits = time_limits(timeout).as_dict()

    async def in_time(request: Any) -> None:
        request.extensions = {**request.extensions, "timeout": limits}

    return httpx2.AsyncClient(
        trust_env=False,
        verify=certificates(),
        proxy=proxy or None,
        limits=httpx2.Limits(max_connections=None),
        event_hooks={"request": [in_time], "response": [refuse_broken_off, *([heard] if heard else ())]},
    )


@functools.cache
def certificates() -> ssl.SSLContext:
    """Whom this machine trusts, or `SSL_CERT_FILE`; read once, since that takes a tenth of a second."""
    import httpx2

    return httpx2.create_ssl_context()
