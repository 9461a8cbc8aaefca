# SPDX-License-Identifier: MIT
"""Chat completions by Mistral's official client, behind `rocketride_llm.Backend`."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from rocketride_llm import Completion, LLMError, Reply, Request, sse

from .faults import answered, explained
from .messages import arguments_of

if TYPE_CHECKING:
    from mistralai.client import Mistral

__all__ = ["ChatComplete"]

DONE = "[DONE]"


class Reading(Completion):
    """A reply of Mistral's, or the error in its place."""

    def failed(self, error: Any) -> LLMError:
        return answered(0, error)


class ChatComplete:
    """See `rocketride_llm.Backend`.

    Parameters:
        client: see `client_for`; closed with the backend.
        model: as the API calls it.
    """

    def __init__(self, client: Mistral, model: str) -> None:
        self._client, self._model = client, model
        self._chat: Any = client.chat

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        from mistralai.client.errors import MistralError

        sent = arguments_of(request, self._model)
        if on_text is not None:
            return await self._streamed(sent, on_text)
        try:
            completion = await self._chat.complete_async(**sent)
        except MistralError as error:
            return _read(error)
        return Reading().whole(completion)

    async def describe(self) -> None:
        """Asks what the model is, for whether there is one for this account."""
        from mistralai.client.errors import ResponseValidationError

        try:
            await self._client.models.retrieve_async(model_id=self._model)
        except ResponseValidationError as error:
            if not isinstance(json.loads(error.body), dict):
                raise

    def explain(self, error: Exception, /) -> LLMError | None:
        return explained(error)

    async def close(self) -> None:
        configuration = self._client.sdk_configuration
        assert configuration.client is not None  # noqa: S101
        assert configuration.async_client is not None  # noqa: S101
        configuration.client.close()
        await configuration.async_client.aclose()

    async def _streamed(self, sent: dict[str, Any], on_text: Callable[[str], None]) -> Reply:
        """Reads the events itself: the client refuses whole replies for an odd count, and takes half an event for one."""
        from mistralai.client.errors import MistralError

        reading = Reading()
        try:
            stream = await self._chat.stream_async(**sent)
        except MistralError as error:
            reply = _read(error)
            on_text(reply.text)
            return reply
        async with stream, aclosing(sse(stream.response.aiter_bytes())) as events:
            async for _, data in events:
                if data.strip() == DONE:
                    break
                if text := reading.feed(json.loads(data)):
                    on_text(text)
        return reading.reply()


def _read(error: Any) -> Reply:
    """The reply that the client did not accept, for an odd count or since it is no stream.

    Raises:
        MistralError: it is none.
    """
    if error.status_code != 200 or "json" not in error.headers.get("content-type", ""):
        raise error
    return Reading().whole(json.loads(error.body))
