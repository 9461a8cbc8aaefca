# SPDX-License-Identifier: MIT
"""The connections below a vendor's client that takes a client of httpx2, or in its place."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .ends import refuse_broken_off

if TYPE_CHECKING:
    import ssl

    import httpx2

__all__ = ["certificates", "http_client"]

CONNECTING = 15.0  # seconds, at most


def http_client(timeout: float, proxy: str = "") -> httpx2.AsyncClient:
    """Connections that heed no variable of proxies, and the time limit given here, whatever a library above them sets.

    Parameters:
        timeout: longest wait for the server's next bytes, in seconds.
        proxy: URL of an HTTP or SOCKS proxy.
    """
    import httpx2

    limits = httpx2.Timeout(timeout, connect=min(timeout, CONNECTING), pool=None).as_dict()

    async def in_time(request: Any) -> None:
        request.extensions = {**request.extensions, "timeout": limits}

    return httpx2.AsyncClient(
        trust_env=False,
        verify=certificates(),
        proxy=proxy or None,
        limits=httpx2.Limits(max_connections=None),
        event_hooks={"request": [in_time], "response": [refuse_broken_off]},
    )


@functools.cache
def certificates() -> ssl.SSLContext:
    """Whom this machine trusts, or `SSL_CERT_FILE`; read once, since that takes a tenth of a second."""
    import httpx2

    return httpx2.create_ssl_context()
