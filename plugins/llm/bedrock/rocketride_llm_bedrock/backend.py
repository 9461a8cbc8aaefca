# SPDX-License-Identifier: MIT
"""Bedrock's Converse: requests by AWS's official client, carried by connections that can be cancelled."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from rocketride_llm import LLMError, Reply, Request, http_client

from .client import Sender
from .faults import FOREIGN, answered
from .messages import arguments_of
from .reading import Reading, events, read_whole

if TYPE_CHECKING:
    import httpx2

__all__ = ["Converse"]

STREAM = "application/vnd.amazon.eventstream"
MOST = re.compile(r"exceeds the model limit of (\d{1,9})")
SLOWEST = 35  # tokens a second that a slow model writes
SETTINGS = {"temperature": r"\btemperature\b", "stopSequences": r"stop.?sequences"}


class Converse:
    """See `rocketride_llm.Backend`.

    Parameters:
        sender: makes the requests; closed with the backend.
        model: its id, an inference profile's, or an ARN.
        timeout: seconds for the server's next bytes.
        proxy: URL of an HTTP or SOCKS proxy.
    """

    def __init__(self, sender: Sender, *, model: str, timeout: float, proxy: str = "") -> None:
        import httpx2

        self._sender, self._model, self._timeout = sender, model, timeout
        self._http = http_client(timeout, proxy)
        self._auth = httpx2.Auth()  # adds nothing: a user in the address must not take the signature's place
        self._tools_whole = False
        self._limit: int | None = None
        self._without: set[str] = set()

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        while True:
            arguments = arguments_of(request, self._model, limit=self._limit, without=frozenset(self._without))
            # Nothing comes of a plain answer until all of it is written, which may take longer than the time limit between bytes.
            long = arguments["inferenceConfig"]["maxTokens"] / SLOWEST > self._timeout
            streamed = (on_text is not None or long) and not (self._tools_whole and "toolConfig" in arguments)
            try:
                if streamed:
                    return await self._streamed(arguments, on_text)
                reply = await self._whole(arguments)
            except LLMError as error:
                if not self._learns(error, arguments["inferenceConfig"], streamed=streamed):
                    raise
                continue
            if on_text is not None:
                on_text(reply.text)
            return reply

    def explain(self, error: Exception, /) -> LLMError | None:
        known = isinstance(error, AttributeError | LookupError | TypeError | ValueError)
        return LLMError("bad-reply", FOREIGN) if known else None

    async def close(self) -> None:
        self._sender.close()
        await self._http.aclose()

    async def _whole(self, arguments: dict[str, Any]) -> Reply:
        response = await self._send("converse", arguments)
        try:
            return read_whole(json.loads(await response.aread()))
        finally:
            await response.aclose()

    async def _streamed(self, arguments: dict[str, Any], on_text: Callable[[str], None] | None) -> Reply:
        response = await self._send("converse_stream", arguments)
        try:
            if not response.headers.get("content-type", "").startswith(STREAM):
                raise LLMError("bad-reply", FOREIGN)
            reading = Reading(on_text)
            async with aclosing(events(response.aiter_bytes())) as found:
                async for kind, body in found:
                    reading.take(kind, body)
            return reading.reply()
        finally:
            await response.aclose()

    async def _send(self, operation: str, arguments: dict[str, Any]) -> httpx2.Response:
        signed = self._sender.request(operation, arguments)
        request = self._http.build_request(signed.method, signed.url, headers=signed.headers, content=signed.body)
        response = await self._http.send(request, stream=True, auth=self._auth)
        if response.status_code != 200:
            try:
                raise answered(response.status_code, response.headers, await response.aread())
            finally:
                await response.aclose()
        return response

    def _learns(self, error: LLMError, sent: dict[str, Any], *, streamed: bool) -> bool:
        """The model does not take what was sent in this way; it is asked once more, and from then on, as it wants."""
        if streamed and error.kind == "no-tools" and "streaming" in error.detail:
            self._tools_whole = True
            return True
        if error.kind != "invalid-request":
            return False
        most = MOST.search(error.detail)
        if most is not None and 0 < int(most[1]) < sent["maxTokens"]:
            self._limit = int(most[1])
            return True
        refused = {name for name, words in SETTINGS.items() if name in sent and re.search(words, error.detail, re.IGNORECASE)}
        self._without |= refused
        return bool(refused)
