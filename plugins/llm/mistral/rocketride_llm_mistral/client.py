# SPDX-License-Identifier: MIT
"""Mistral's official client, told everything, so that nothing of the process's environment reaches the server."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rocketride_llm import certificates, http_client

if TYPE_CHECKING:
    from mistralai.client import Mistral

__all__ = ["OPENED", "client_for"]

# Responses that began in this task: the client waits for its hooks with one in hand, and a cancel there would leave it open.
OPENED: ContextVar[list[Any] | None] = ContextVar("rocketride_llm_mistral_opened", default=None)


def client_for(address: str, key: str, timeout: float, proxy: str = "") -> Mistral:
    """A client that does not retry, keeps no record of what is said, and heeds neither `MISTRAL_*` variables nor those of proxies.

    Parameters:
        address: without `/v1`.
        timeout: longest wait for the server's next bytes, in seconds.
        proxy: URL of an HTTP or SOCKS proxy.
    """
    import httpx2
    from mistralai.client import Mistral
    from mistralai.client._hooks.custom_user_agent import CustomUserAgentHook
    from mistralai.client.utils.logger import NoOpLogger

    client = Mistral(
        api_key=key,
        server_url=address,
        client=httpx2.Client(trust_env=False, verify=certificates()),
        async_client=http_client(timeout, proxy, heard=_heard),
        retry_config=None,
        debug_logger=NoOpLogger(),
    )
    # The hooks trace what is asked and answered, and one variable lets them send that to Mistral.
    hooks = client.sdk_configuration.__dict__["_hooks"]
    hooks.before_request_hooks = [CustomUserAgentHook()]
    hooks.after_success_hooks, hooks.after_error_hooks = [], []
    return client


async def _heard(response: Any) -> None:
    opened = OPENED.get()
    if opened is not None:
        opened.append(response)
