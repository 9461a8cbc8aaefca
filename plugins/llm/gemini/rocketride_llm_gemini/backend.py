# SPDX-License-Identifier: MIT
"""generateContent by Google's official client, behind `rocketride_llm.Backend`."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any

from rocketride_llm import LLMError, Reply, Request

from .client import STREAMS
from .contents import sent
from .faults import explained
from .reading import Reading

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client

__all__ = ["GenerateContent"]

KEPT = 1000  # signatures of calls


class GenerateContent:
    """See `rocketride_llm.Backend`.

    Parameters:
        client, http: see `client_for` and `http_for`; both are closed with the backend.
        model: as the API calls it, with or without `models/`.
    """

    def __init__(self, client: Client, http: httpx2.AsyncClient, model: str) -> None:
        self._client, self._http, self._model = client, http, model
        self._models: Any = client.aio.models
        self._signatures: dict[str, bytes] = {}
        if ".." in model:
            raise LLMError("invalid-request", sentence="Invalid model name: there are two dots in a row in it")

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        made = sent(request, self._model, self._signatures)
        reading, streamed = Reading(made.names, on_text), on_text is not None
        arguments = {"model": self._model, "contents": made.contents, "config": made.config}
        if streamed:
            async with AsyncExitStack() as streams:
                STREAMS.set(streams)
                parts = await streams.enter_async_context(aclosing(await self._models.generate_content_stream(**arguments)))
                async for part in parts:
                    reading.take(part.model_dump(by_alias=True, mode="json", exclude_none=True))
        else:
            made.config["should_return_http_response"] = True
            whole = await self._models.generate_content(**arguments)
            reading.take(json.loads(whole.sdk_http_response.body))
        reply = reading.reply(streamed=streamed)
        self._keep(reading.signatures)
        return reply

    async def describe(self) -> None:
        """Asks what the model is, for whether there is one for this account."""
        await self._models.get(model=self._model)

    def explain(self, error: Exception, /) -> LLMError | None:
        return explained(error)

    async def close(self) -> None:
        self._client.close()
        await self._http.aclose()

    def _keep(self, signatures: dict[str, bytes]) -> None:
        self._signatures |= signatures
        for id in list(self._signatures)[:-KEPT]:
            del self._signatures[id]
