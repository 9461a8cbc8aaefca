# SPDX-License-Identifier: MIT
"""Ollama's official client, behind `rocketride_llm.Backend`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from rocketride_core import ToolCall
from rocketride_llm import LLMError, Reply, Request, Usage, lost, refuse_broken_off

from .faults import explained
from .lines import readable
from .messages import messages_of, tools_of

if TYPE_CHECKING:
    import httpx

__all__ = ["OllamaBackend"]

LEAST_CONTEXT = 4096  # tokens; what Ollama gives a model by itself
SPARE = 1.25  # a prompt may have so many times the tokens that were estimated


class OllamaBackend:
    """See `rocketride_llm.Backend`.

    Parameters:
        key: sent as a bearer token; "" sends none.
        host: the server's address, without /v1.
        timeout: seconds for the server's next bytes.
        context: the most tokens that question and answer may have together.
        count: estimates the tokens of a text.

    Attributes:
        tools: the model calls tools; None as long as the server has not been asked.
    """

    def __init__(
        self, *, key: str, model: str, host: str, timeout: float, context: int, count: Callable[[str], int], proxy: str = ""
    ) -> None:
        import httpx
        import ollama

        # Neither OLLAMA_API_KEY nor a proxy or .netrc of whoever runs this has a say.
        self._client: Any = ollama.AsyncClient(
            host,
            timeout=timeout,
            auth=_auth(key),
            trust_env=False,
            proxy=proxy or None,
            limits=httpx.Limits(max_connections=None),
            event_hooks={"response": [refuse_broken_off, readable]},
        )
        self._model, self._context, self._count = model, context, count
        self._size = 0
        self.tools: bool | None = None

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        reading = Reading(on_text, len([call for message in request.messages for call in message.calls]))
        arguments = {
            "model": self._model,
            "messages": messages_of(request.messages),
            "tools": tools_of(request.tools) or None,
            "options": self._options(request),
        }
        async with aclosing(self._parts(arguments, streamed=on_text is not None)) as parts:
            async for part in parts:
                reading.take(part)
        return reading.reply()

    async def look(self) -> None:
        """Asks the server what the model can do; servers too old to say it are known by the model's template."""
        with _readable():
            shown = await self._client.show(self._model)
        can = shown.capabilities
        self.tools = "tools" in can if can is not None else ".Tools" in (shown.template or "")

    def explain(self, error: Exception, /) -> LLMError | None:
        told = explained(error, self._model)
        if told is not None and told.kind == "no-tools":
            self.tools = False
        return told

    async def close(self) -> None:
        await self._client.close()

    async def _parts(self, arguments: dict[str, Any], *, streamed: bool) -> AsyncGenerator[Any, None]:
        """The parts of the reply, or the whole."""
        with _readable():
            reply: Any = await self._client.chat(**arguments, stream=streamed)
            if not streamed:
                yield reply
                return
            async with aclosing(reply):
                async for part in reply:
                    yield part

    def _options(self, request: Request) -> dict[str, Any]:
        options: dict[str, Any] = {"num_ctx": self._size_for(request), "num_predict": request.max_tokens}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.stop:
            options["stop"] = list(request.stop)
        return options

    def _size_for(self, request: Request) -> int:
        """Tokens of context to ask for. Ollama cuts what is longer without a word, and loads a model anew for another size.

        Raises:
            LLMError: the prompt alone is longer than the model's context.
        """
        texts = [message.content for message in request.messages if message.content]
        texts += [json.dumps(dict(call.arguments)) for message in request.messages for call in message.calls]
        texts += [json.dumps([tool.name, tool.description, tool.input_schema]) for tool in request.tools]
        prompt = sum(self._count(text) for text in texts)
        if prompt >= self._context:
            raise LLMError("too-long", f"about {prompt} tokens, and modelTotalTokens is {self._context}")
        size = LEAST_CONTEXT
        while size < prompt * SPARE + request.max_tokens:
            size *= 2
        self._size = max(self._size, min(size, self._context))
        return self._size


@contextmanager
def _readable() -> Iterator[None]:
    """The library's own surprise at a strange reply, told as that."""
    try:
        yield
    except (AttributeError, TypeError, ValueError) as error:
        raise LLMError("bad-reply", "it is not what Ollama's API promises") from error


def _auth(key: str) -> Callable[[httpx.Request], httpx.Request]:
    def auth(request: httpx.Request) -> httpx.Request:
        request.headers.pop("authorization", None)
        if key:
            request.headers["authorization"] = f"Bearer {key}"
        return request

    return auth


@attrs.define
class Reading:
    """Takes the parts of one reply as they come; thinking is no part of its text.

    Parameters:
        on_text: gets the text piece by piece; None where nobody waits for it.
        known: calls that the conversation has already; Ollama gives calls no ids, so they are numbered.
    """

    on_text: Callable[[str], None] | None
    known: int
    _texts: list[str] = attrs.field(factory=list)
    _calls: list[ToolCall] = attrs.field(factory=list)
    _end: Any = None

    def take(self, part: Any) -> None:
        if text := part.message.content:
            self._texts.append(text)
            if self.on_text is not None:
                self.on_text(text)
        for call in part.message.tool_calls or ():
            id = f"call_{self.known + len(self._calls)}"
            self._calls.append(ToolCall(id, call.function.name, dict(call.function.arguments)))
        if part.done:
            self._end = part

    def reply(self) -> Reply:
        """The reply, once all has come.

        Raises:
            LLMError: it broke off.
        """
        end = self._end
        if end is None:
            raise lost()
        counted = end.prompt_eval_count is not None and end.eval_count is not None
        return Reply(
            text="".join(self._texts),
            calls=self._calls,
            finish="length" if end.done_reason == "length" else "tools" if self._calls else "stop",
            usage=Usage(end.prompt_eval_count, end.eval_count) if counted else None,
        )
