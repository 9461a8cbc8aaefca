# SPDX-License-Identifier: MIT
"""watsonx.ai's text chat by its REST API, behind `rocketride_llm.Backend`; the README says why IBM's client is not used."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from rocketride_core import Message
from rocketride_llm import Completion, LLMError, Reply, Request, message_json, sse, tool_json

from .faults import FOREIGN, answered, refused
from .tokens import Tokens

if TYPE_CHECKING:
    import httpx2

__all__ = ["TextChat"]

VERSION = "2026-10-14"  # of the API, as a date
MOST_STOPS = 4
AT_ONCE, IN_PARTS = "application/json", "text/event-stream"


class Reading(Completion):
    """A reply, or the errors in its place."""

    def choice(self, completion: Any) -> Any:
        if isinstance(completion, dict) and completion.get("errors"):
            raise answered(0, completion)
        return super().choice(completion)


class TextChat:
    """See `rocketride_llm.Backend`.

    Parameters:
        http: connections; closed with the backend.
        model: its id, such as `ibm/granite-4-h-small`.
        project: the id of the project that is charged.
    """

    def __init__(self, http: httpx2.AsyncClient, tokens: Tokens, *, address: str, model: str, project: str) -> None:
        self._http, self._tokens, self._address = http, tokens, address
        self._whose = {"model_id": model, "project_id": project}

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        reading = Reading()
        async with self._sent("chat" if on_text is None else "chat_stream", self._body(request)) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in (AT_ONCE, IN_PARTS):
                raise LLMError("bad-reply", FOREIGN)
            if kind == AT_ONCE:
                reply = reading.whole(json.loads(await response.aread()))
                if on_text is not None:  # a gateway that cannot stream
                    on_text(reply.text)
                return reply
            async with aclosing(sse(response.aiter_bytes())) as events:
                async for name, data in events:
                    if name == "close":  # of the API's older streams
                        break
                    text = reading.feed(json.loads(data))
                    if text and on_text is not None:
                        on_text(text)
        return reading.reply()

    def explain(self, error: Exception, /) -> LLMError | None:
        known = isinstance(error, AttributeError | LookupError | TypeError | ValueError)
        return LLMError("bad-reply", FOREIGN) if known else None

    async def close(self) -> None:
        await self._http.aclose()

    @asynccontextmanager
    async def _sent(self, operation: str, body: dict[str, Any]) -> AsyncIterator[httpx2.Response]:
        import httpx2

        token = await self._tokens.get()
        made = self._http.build_request(
            "POST",
            f"{self._address}/ml/v1/text/{operation}",
            params={"version": VERSION},
            json=body,
            headers={"Authorization": f"Bearer {token}", "Accept": AT_ONCE if operation == "chat" else IN_PARTS},
        )
        # An own Auth adds nothing: a user in the address must not take the token's place.
        response = await self._http.send(made, stream=True, auth=httpx2.Auth())
        try:
            if response.status_code == 401:
                self._tokens.forget(token)
            if response.status_code != 200:
                raise refused(response.status_code, await response.aread(), response.headers)
            yield response
        finally:
            await response.aclose()

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {**self._whose, "messages": _messages(request.messages), "max_tokens": request.max_tokens}
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if stop := [word for word in request.stop if word.strip()]:
            body["stop"] = stop[:MOST_STOPS]  # the base cuts at the others
        if request.tools:
            body |= {"tools": [tool_json(tool) for tool in request.tools], "tool_choice_option": "auto"}
        return body


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Without empty ones; the result of a call that is not in the conversation is the user's word."""
    sent, called = [], set[str]()
    for message in messages:
        called |= {call.id for call in message.calls}
        result = message.role == "tool" and message.call_id in called
        if result or message.calls:
            sent.append({name: value for name, value in message_json(message).items() if value is not None})
        elif message.content.strip():
            sent.append({"role": "user" if message.role == "tool" else message.role, "content": message.content})
    return sent
