# SPDX-License-Identifier: MIT
"""The official client, told everything, so that nothing of the process's environment reaches the server."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rocketride_llm import refuse_broken_off

if TYPE_CHECKING:
    import ssl

    from openai import AsyncOpenAI

__all__ = ["client_for"]

CONNECTING = 15.0  # seconds, at most


def client_for(address: str, key: str, timeout: float, proxy: str = "") -> AsyncOpenAI:
    """A client that does not retry and heeds neither `OPENAI_*` variables nor those of proxies.

    Parameters:
        key: "" sends no Authorization header (see `ChatCompletions`).
        timeout: longest wait for the server's next bytes, in seconds.
        proxy: URL of an HTTP or SOCKS proxy.
    """
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

    limits = Timeout(timeout, connect=min(timeout, CONNECTING), pool=None)
    client = AsyncOpenAI(
        api_key=key,
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=address,
        timeout=limits,
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(
            timeout=limits,
            verify=_certificates(),
            trust_env=False,
            proxy=proxy or None,
            event_hooks={"response": [refuse_broken_off]},
        ),
    )
    # "" kept the variables out; None keeps the headers out. OPENAI_CUSTOM_HEADERS can only be taken out again.
    client.organization = client.project = None
    client._custom_headers = {}
    return client


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Whom this machine trusts, or `SSL_CERT_FILE`; read once, since that takes a tenth of a second."""
    import httpx2

    return httpx2.create_ssl_context()
