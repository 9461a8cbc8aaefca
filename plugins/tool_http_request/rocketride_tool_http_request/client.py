# SPDX-License-Identifier: MIT
"""The HTTP client: one guarded request with its redirects. Imported when a pipeline opens."""

from __future__ import annotations

import asyncio
import io
import os
import socket
import ssl
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import aiohttp
import attrs
from aiohttp.abc import AbstractResolver
from multidict import CIMultiDictProxy
from yarl import URL

from rocketride_core import Json, ToolDenied, ToolError, ToolFailure, ToolInput, ToolTimeout

from .addresses import Allowed
from .concealed import Scrubber, is_secret
from .config import HttpRequestConfig
from .content import BadBody, Body, parsed, text_of
from .request import Guard, Prepared, credentials, host_of, shown, target

__all__ = ["Client", "Reply"]

_LONGEST_HEADERS = 65_536
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@attrs.define
class _Hop:
    """The request that connections are made for, and why one was not."""

    host: str
    refused: str = ""


_hop: ContextVar[_Hop] = ContextVar("hop")


@attrs.frozen
class Reply:
    """What came of a request; `size` in bytes as it is decompressed, `result` as the tool gives it."""

    result: Mapping[str, Json]
    size: int
    redirects: int


class Client:
    """Makes requests on one event loop; keeps connections, but no cookies.

    Parameters:
        resolver: asks for the addresses of a host; the system's by default.
    """

    def __init__(self, config: HttpRequestConfig, resolver: AbstractResolver | None = None) -> None:
        self._config, self._resolver = config, resolver
        self._guard = Guard(config)
        self._allowed = Allowed(config.allow_private, config.allowed_addresses)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def check(self, request: Prepared) -> None:
        """Raises ToolDenied for what may not be requested, whatever its host resolves to."""
        self._guard.check(request.method, request.url)

    async def run(self, request: Prepared, seconds: float) -> Reply:
        """The response, after redirects.

        Parameters:
            seconds: for all of it.

        Raises:
            ToolError: nothing usable came; one sentence says why.
        """
        begun = time.monotonic()
        host = host_of(request.url)
        try:
            async with asyncio.timeout(seconds):
                return await self._followed(request, begun)
        except TimeoutError:
            elapsed = time.monotonic() - begun
            raise ToolTimeout(f"{host} did not answer completely within {seconds:g} s.", elapsed=elapsed) from None

    async def _followed(self, request: Prepared, begun: float) -> Reply:
        hops = 0
        while True:
            self._guard.check(request.method, request.url)
            hop = _Hop((request.url.raw_host or "").lower())
            _hop.set(hop)
            try:
                found = await self._once(request, hops, begun)
            except (aiohttp.ClientError, BadBody, OSError, ValueError) as error:
                raise self._told(error, hop, request.url) from None
            if isinstance(found, Reply):
                return found
            hops += 1
            if hops > self._config.max_redirects:
                raise ToolFailure(
                    f"More than {self._config.max_redirects} redirects; the last one is from {host_of(request.url)}."
                )
            request = found

    async def _once(self, request: Prepared, hops: int, begun: float) -> Reply | Prepared:
        url, headers = credentials(request, self._config)
        secret = (value for name, value in headers.items() if is_secret(name))
        scrub = Scrubber((*self._config.secrets, *secret), request.given)
        # aiohttp warns of long bodies that are plain bytes: sending these would hold up the loop.
        data = io.BytesIO(request.body) if request.body and len(request.body) >= 2**16 else request.body
        async with self._open().request(request.method, url, headers=headers, data=data, allow_redirects=False) as response:
            location = response.headers.get("Location")
            if response.status in _REDIRECTS and location and self._config.max_redirects:
                return request.redirected(response.status, _next(request.url, location))
            body = Body(", ".join(response.headers.getall("Content-Encoding", ())), self._config.max_response)
            if request.method != "HEAD":
                async for piece in response.content.iter_any():
                    if not body.feed(piece):
                        response.close()
                        break
            found = body.end()
        content_type = response.headers.get("Content-Type", "")
        text, encoding = text_of(found, content_type, cut=body.truncated)
        text = text if encoding == "base64" else scrub(text, cut=body.truncated)
        result: dict[str, Json] = {
            "status_code": response.status,
            "status_text": scrub(response.reason or ""),
            "headers": self._headers(response.headers, scrub),
            "body": text,
            "encoding": encoding,
            "json": None if body.truncated else parsed(text, content_type),
            "truncated": body.truncated,
            "elapsed_ms": round((time.monotonic() - begun) * 1000),
            "content_type": scrub(content_type),
            "url": scrub(shown(request.url)),
            "redirects": hops,
        }
        return Reply(result, len(found), hops)

    def _headers(self, headers: CIMultiDictProxy[str], scrub: Scrubber) -> dict[str, Json]:
        if sum(map(len, headers.values())) > _LONGEST_HEADERS:
            raise BadBody(f"its headers are longer than {_LONGEST_HEADERS} characters")
        out: dict[str, list[str]] = {}
        names: dict[str, str] = {}
        for name, value in headers.items():
            if name.lower() in {"set-cookie", "set-cookie2"} and not self._config.return_cookies:
                cookie, mark, _ = value.partition("=")
                value = f"{cookie}=***" if mark else "***"
            out.setdefault(names.setdefault(name.lower(), name), []).append(scrub(value))
        return {name: ", ".join(values) for name, values in out.items()}

    def _open(self) -> aiohttp.ClientSession:
        """On the loop, which only it is called on."""
        if self._session is None:
            self._loop = asyncio.get_running_loop()
            connector = aiohttp.TCPConnector(
                resolver=self._resolver or aiohttp.ThreadedResolver(),
                use_dns_cache=False,
                socket_factory=self._socket,
                limit=0,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    def _socket(self, info: Any) -> socket.socket:
        """The one place where connections come from: what is judged is the address that is connected to."""
        family, kind, protocol, _, address = info
        hop = _hop.get()
        if refused := self._allowed.refused(hop.host, address[0]):
            hop.refused = refused
            raise PermissionError(f"{refused} address")
        return socket.socket(family, kind, protocol)

    def close(self) -> None:
        """From any thread but the loop's."""
        session, loop = self._session, self._loop
        if session is not None and loop is not None and not loop.is_closed():
            asyncio.run_coroutine_threadsafe(session.close(), loop).result(5)
        self._session = None

    def _told(self, error: Exception, hop: _Hop, url: URL) -> ToolError:
        host = host_of(url)
        place = host if url.is_default_port() else f"{host}:{url.port}"
        if hop.refused and isinstance(error, aiohttp.ClientConnectorError):
            hint = "the settings allowedAddresses and allowPrivateAddresses of the node can allow it"
            return ToolDenied(f"{place} is refused, for it leads to {hop.refused} address; {hint}.")
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return ToolFailure(f"The host {host} is unknown: its name does not resolve to an address.")
        if isinstance(error, aiohttp.InvalidURL):
            return ToolFailure(f"The host {host} is not a valid one.")
        if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
            return ToolFailure(f"No secure connection to {place}: its certificate is not trusted, or it speaks no TLS.")
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = os.strerror(error.os_error.errno) if error.os_error.errno else "it does not answer"
            return ToolFailure(f"Cannot connect to {place}: {reason}.")
        if isinstance(error, aiohttp.ClientResponseError):
            return ToolFailure(f"{place} sent a response that is no valid HTTP, or whose headers are too long.")
        if isinstance(error, aiohttp.ClientPayloadError):
            return ToolFailure(f"{place} broke off in the middle of the response.")
        if isinstance(error, BadBody):
            return ToolFailure(f"The response of {place} cannot be read: {error}.")
        if isinstance(error, ValueError):
            return ToolFailure(f"The request to {place} cannot be sent as it is: HTTP does not allow its headers or its URL.")
        return ToolFailure(f"The connection to {place} was lost before there was a response.")


def _next(base: URL, location: str) -> URL:
    """Where a redirect leads.

    Raises:
        ToolDenied: it is no http(s) URL.
    """
    try:
        joined = base.join(URL(location.strip()))
        return target(str(joined.with_user(None) if joined.raw_user is not None else joined))
    except (ToolInput, ValueError):
        raise ToolDenied(f"{host_of(base)} redirects to something that is no http or https URL, which is not followed.") from None
