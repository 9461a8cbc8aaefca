# SPDX-License-Identifier: MIT
"""Mistral's official client, told everything, so that nothing of the process's environment reaches the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocketride_llm import certificates, http_client

if TYPE_CHECKING:
    from mistralai.client import Mistral

__all__ = ["client_for"]


def client_for(address: str, key: str, timeout: float, proxy: str = "") -> Mistral:
    """A client that does not retry, keeps no record of what is said, and heeds neither `MISTRAL_*` variables nor those of proxies.

    Parameters:
        address: without `/v1`.
        timeout: longest wait for the server's next bytes, in seconds.
        proxy: URL of an HTTP or SOCKS proxy.
    """
    import httpx2
    from mistralai.client import Mistral
    from mistralai.client._version import __version__
    from mistralai.client.utils.logger import NoOpLogger

    http = http_client(timeout, proxy)

    async def send(*, request: Any, stream: bool = False, **_: Any) -> Any:
        return await http.send(request, stream=stream)

    client = Mistral(
        api_key=key,
        server_url=address,
        client=httpx2.Client(trust_env=False, verify=certificates()),
        async_client=http,
        retry_config=None,
        debug_logger=NoOpLogger(),
    )
    client.sdk_configuration.user_agent = f"mistral-client-python/{__version__}"  # what a hook makes of the client's other name
    # The client's own way has hooks: they record what is said, for Mistral too if a variable says so; and as they run on threads, a
    # request that is cancelled then leaves its connection open.
    parts: Any = (client.chat, client.models)
    for part in parts:
        part.do_request_async = send
    return client
