# SPDX-License-Identifier: MIT
"""Anthropic's official client, behind `rocketride_llm.Backend`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from rocketride_llm import LLMError, Reply, Request, lost, refuse_broken_off

from .faults import explained
from .messages import arguments_of
from .reading import Reading, read_message

__all__ = ["MessagesBackend"]

HEAD = 4096  # bytes of a stream that are kept, to see what it is
SLOWEST = 128_000 / 3600  # tokens a second that Anthropic reckons with


class MessagesBackend:
    """See `rocketride_llm.Backend`.

    Parameters:
        key: the API key.
        base_url: where the API is, with or without /v1.
        timeout: seconds for the server's next bytes.
    """

    def __init__(self, *, key: str, model: str, base_url: str, timeout: float, proxy: str = "") -> None:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

        # All of it is given, so that nothing is taken from variables (ANTHROPIC_*, proxies) or the profiles of Anthropic's own tools.
        self._client = AsyncAnthropic(
            api_key=key,
            base_url=base_url.rstrip("/").removesuffix("/v1"),
            webhook_key="",
            timeout=timeout,
            max_retries=0,
            open_telemetry=False,
            http_client=DefaultAsyncHttpxClient(
                trust_env=False, proxy=proxy or None, event_hooks={"response": [refuse_broken_off]}
            ),
        )
        self._client._custom_headers = {}  # no argument stands against ANTHROPIC_CUSTOM_HEADERS
        self._messages: Any = self._client.messages  # imports for a while, which the loop must not wait for
        self._model, self._timeout = model, timeout
        self._takes_temperature = True

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        from anthropic import BadRequestError

        warm = request.temperature is not None and self._takes_temperature
        try:
            return await self._send(request, on_text, request.temperature if warm else None)
        except BadRequestError as error:
            if not (warm and "temperature" in str(error.api_message).lower()):
                raise
            self._takes_temperature = False
            return await self._send(request, on_text, None)

    def explain(self, error: Exception, /) -> LLMError | None:
        return explained(error)

    async def close(self) -> None:
        await self._client.close()

    async def _send(self, request: Request, on_text: Callable[[str], None] | None, temperature: float | None) -> Reply:
        arguments = arguments_of(request, self._model)
        if temperature is not None:
            arguments["extra_body"] = {"temperature": temperature}  # the client has no argument of its own for it
        # Nothing comes of a plain answer until all of it is written, which may take longer than the time limit between bytes.
        streamed = on_text is not None or request.max_tokens / SLOWEST > self._timeout
        reply: Any = await self._messages.create(stream=streamed, **arguments)
        try:
            return await _streamed(reply, on_text) if streamed else read_message(reply)
        except (AttributeError, TypeError) as error:
            raise LLMError("bad-reply", "it is no message of the Messages API; see 'base_url'") from error


async def _streamed(stream: Any, on_text: Callable[[str], None] | None) -> Reply:
    reading, head = Reading(on_text), bytearray()
    pieces = stream.response.aiter_bytes

    async def kept() -> AsyncIterator[bytes]:
        async for piece in pieces():
            head.extend(piece[: max(0, HEAD - len(head))])
            yield piece

    stream.response.aiter_bytes = kept
    async with stream:
        async for event in stream:
            reading.take(event)
    if not reading.begun and _only_begun(stream.response.headers.get("content-type", ""), bytes(head)):
        raise lost()
    return reading.reply()


def _only_begun(content_type: str, head: bytes) -> bool:
    """It is a stream of events in which none but pings have come; others that the client left out are no Messages API's."""
    *events, _ = head.replace(b"\r", b"").split(b"\n\n")
    return "event-stream" in content_type and all(b"data:" not in event or b"event: ping" in event for event in events)
