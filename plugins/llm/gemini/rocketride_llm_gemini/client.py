# SPDX-License-Identifier: MIT
"""Google's official client, told everything, so that nothing of the process's environment reaches the server."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rocketride_llm import LLMError, certificates, http_client

from .events import tidied

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client

__all__ = ["STREAMS", "client_for", "http_for"]

# The client leaves a stream half read where an event is an error; without an end of its own the garbage collector would end it.
STREAMS: ContextVar[AsyncExitStack | None] = ContextVar("rocketride_llm_gemini_streams", default=None)
VERSIONED = re.compile(r"(?P<host>.*?)/(?P<version>v\d+\w*)")


def http_for(timeout: float, proxy: str = "") -> httpx2.AsyncClient:
    """The connections below the client, which heed no variable of proxies.

    Parameters:
        timeout: longest wait for the server's next bytes, in seconds.
        proxy: URL of an HTTP or SOCKS proxy.
    """
    # By the client's own setting of a time limit the server would be told too, as the limit of a whole answer.
    return http_client(timeout, proxy, heard=_tidy)


def client_for(http: httpx2.AsyncClient, address: str, **account: Any) -> Client:
    """A client that does not retry and heeds neither `GOOGLE_*` nor `GEMINI_*` variables.

    Parameters:
        address: with or without a version such as `v1beta` at its end.
        account: whose: `vertexai` and `api_key`, or `credentials`, `project` and `location`.
    """
    from google.genai import Client
    from google.genai.client import DebugConfig
    from google.genai.types import HttpOptions

    found = VERSIONED.fullmatch(address)
    host, version = (found["host"], found["version"]) if found else (address, "v1beta1" if account["vertexai"] else "v1beta")
    trusted = certificates()
    options = HttpOptions(
        base_url=host,
        api_version=version,
        httpx_async_client=http,
        client_args={"trust_env": False, "verify": trusted},
        async_client_args={"ssl": trusted},
    )
    try:
        debugging = DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
        client = Client(**account, debug_config=debugging, http_options=options)
    except ImportError as error:
        told = "Google's client cannot use what GOOGLE_GENAI_HTTP_CLIENT names; unset that variable"
        raise LLMError("invalid-request", sentence=told) from error
    client._api_client._async_httpx_use_mtls_endpoint = False  # no argument stands against GOOGLE_API_USE_MTLS_ENDPOINT
    return client


async def _tidy(response: Any) -> None:
    """Hands on the whole events of a stream, their counts made numbers: the client would refuse others."""
    if response.status_code != 200 or "event-stream" not in response.headers.get("content-type", ""):
        return
    written = tidied(response.aiter_bytes())
    response.aiter_bytes = lambda: written
    streams = STREAMS.get()
    if streams is not None:
        streams.push_async_callback(response.aclose)
        streams.push_async_callback(written.aclose)
