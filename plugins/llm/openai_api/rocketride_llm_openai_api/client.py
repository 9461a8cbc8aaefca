# SPDX-License-Identifier: MIT
"""The official client, told everything, so that nothing of the process's environment reaches the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketride_llm import certificates, refuse_broken_off, time_limits

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["client_for"]


def client_for(address: str, key: str, timeout: float, proxy: str = "") -> AsyncOpenAI:
    """A client that does not retry and heeds neither `OPENAI_*` variables nor those of proxies.

    Parameters:
        key: "" sends no Authorization header (see `ChatCompletions`).
        timeout: longest wait for the server's next bytes, in seconds.
        proxy: URL of an HTTP or SOCKS proxy.
    """
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    limits = time_limits(timeout)
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
            verify=certificates(),
            trust_env=False,
            proxy=proxy or None,
            event_hooks={"response": [refuse_broken_off]},
        ),
    )
    # "" kept the variables out; None keeps the headers out. OPENAI_CUSTOM_HEADERS can only be taken out again.
    client.organization = client.project = None
    client._custom_headers = {}
    return client
