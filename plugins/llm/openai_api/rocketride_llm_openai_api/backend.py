# SPDX-License-Identifier: MIT
"""Chat Completions by the official client."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rocketride_llm import LLMError, Reply, Request, shown

from .explaining import explain, read_error
from .reading import Gathering, whole
from .sending import body, only_streams, refused_parameters, told_most

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["ChatCompletions"]


class ChatCompletions:
    """A `rocketride_llm.Backend`.

    An optional parameter that the server refuses is left out from then on, so that new models and simple servers work; of a
    limit that it says is too high, what it names as the highest is sent; a model that only streams is asked for a stream. A
    vendor's own may be read with a `gathering` of its own, and written into what `body` returns.

    Parameters:
        client: is closed with the backend.
        extra: sent in the body beside what is Chat Completions', a vendor's own parameters for one.
    """

    gathering: ClassVar[type[Gathering]] = Gathering

    def __init__(self, client: AsyncOpenAI, model: str, extra: Mapping[str, Any] | None = None) -> None:
        from openai import Omit

        self._client, self._model, self._extra = client, model, dict(extra or {})
        self._headers = {} if client.api_key else {"Authorization": Omit()}
        self._refused: set[str] = set()
        self._most: int | None = None
        self._streams_only = False

    def body(self, request: Request, refused: Collection[str], *, stream: bool) -> dict[str, Any]:
        """What is sent; see `sending.body`."""
        return body(self._model, request, refused, stream=stream, most=self._most)

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        from openai import APIStatusError

        once: set[str] = set()
        while True:
            hear = on_text or (_nobody if self._streams_only else None)
            sent = self.body(request, self._refused | once, stream=hear is not None)
            try:
                if hear is None:
                    return whole(await self._create(sent), self.gathering())
                return await self._streamed(sent, hear)
            except APIStatusError as error:
                said = read_error(error.body)[0]
                if error.status_code not in (400, 422):
                    raise
                if hear is None and only_streams(said):
                    self._streams_only = True
                    continue
                most = told_most(said)
                if most is not None and most < min(request.max_tokens, self._most or request.max_tokens):
                    self._most = most
                    continue
                refused = refused_parameters(said, error.param, sent)
                if not refused:
                    raise
                once.update(refused)
                # What is too much in this context may fit into another question's.
                if "context" not in said.lower():
                    self._refused.update(refused)

    def explain(self, error: Exception, /) -> LLMError | None:
        return explain(error, shown(str(self._client.base_url)))

    async def close(self) -> None:
        await self._client.close()

    async def _create(self, sent: Mapping[str, Any]) -> Any:
        create = cast(Any, self._client.chat.completions.create)
        return await create(**sent, extra_headers=self._headers, extra_body=self._extra or None)

    async def _streamed(self, sent: Mapping[str, Any], on_text: Callable[[str], None]) -> Reply:
        gathering = self.gathering()
        async with await self._create(sent) as stream:
            kind = stream.response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "application/json":  # a server that cannot stream
                reply = whole(json.loads(await stream.response.aread()), gathering)
                if reply.finish != "refused":
                    on_text(reply.text)
                return reply
            if kind not in ("", "text/event-stream"):
                raise LLMError("bad-reply", "it is a web page" if kind == "text/html" else f"it is {kind}")
            async for chunk in stream:
                if text := gathering.feed(chunk):
                    on_text(text)
        return gathering.reply()


def _nobody(text: str) -> None:
    """Hears the stream of an answer that was asked for as a whole."""
