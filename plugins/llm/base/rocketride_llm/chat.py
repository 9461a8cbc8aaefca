# SPDX-License-Identifier: MIT
"""The `ChatModel` that every language model serves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from rocketride_core import Answer, Arguments, Instance, Message, Question, Tool

from .asking import Asking
from .config import LLMConfig
from .errors import LLMError
from .metering import measured
from .names import ToolNames
from .streaming import Pump
from .text import Spoken, cleaned, joined_in, read_json, spoken
from .wire import Offer, Reply, Request

if TYPE_CHECKING:
    from .node import LLMNode

__all__ = ["Chat"]

JSON_TRIES = 3
SHOWN = 200  # characters of an answer that is no JSON


@attrs.frozen
class Chat:
    """One node as one instance of it serves it; a `ToolChatModel`. Keeps nothing, so it is safe on several threads."""

    node: LLMNode[Any]
    instance: Instance

    @property
    def context_length(self) -> int:
        return self.config.total_tokens

    @property
    def output_length(self) -> int:
        return self.config.longest_answer

    @property
    def native_tools(self) -> bool:
        return self.node.native_tools

    @property
    def config(self) -> LLMConfig:
        config: LLMConfig = self.node.config
        return config

    def count_tokens(self, text: str, /) -> int:
        return self.node.count_tokens(text)

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Callable[[str], None] | None = None) -> Answer:
        """The answer to a question, which is sent as one message (`Question.prompt`).

        Where the question expects JSON, a reply that is none is asked for again, at most three times in all; `on_token` gets
        the JSON text once.

        Raises:
            LLMError: there is no answer; `kind` says why.
        """
        ends = time.monotonic() + self.config.max_time
        if not question.expect_json:
            return Answer(self._text(question, stop, on_token, ends))
        asked, text = question, ""
        for _ in range(JSON_TRIES):
            text = self._text(asked, stop, None, ends)
            try:
                answer = Answer(read_json(text))
            except ValueError as error:
                asked = attrs.evolve(question, instructions=(*question.instructions, ("CRITICAL", _again(str(error)))))
                continue
            if on_token is not None:
                on_token(answer.text)
            return answer
        raise self._error("no-json", f"{JSON_TRIES} answers, the last one was: {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}")

    def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), /, *, on_token: Callable[[str], None] | None = None
    ) -> Message:
        """See `rocketride_core.ToolChatModel`.

        Raises:
            LLMError: there is no answer; `kind` says why.
        """
        if not all(tool.name.strip() for tool in tools):
            raise self._error("invalid-request", sentence="A tool without a name cannot be offered to a model")
        used = [call.name for message in messages for call in message.calls]
        names = ToolNames([*(tool.name for tool in tools), *used])
        sent = [
            attrs.evolve(
                message,
                content=cleaned(message.content),
                calls=tuple(attrs.evolve(call, name=names.there(call.name)) for call in message.calls),
            )
            for message in messages
        ]
        offers = [Offer(names.there(tool.name), tool.description, _schema(tool.input_schema)) for tool in tools]
        reply, text = self._say(sent, offers, (), on_token, time.monotonic() + self.config.max_time)
        calls = [attrs.evolve(call, name=names.back(call.name), arguments=joined_in(call.arguments)) for call in reply.calls]
        return Message("assistant", text, tuple(calls))

    def _text(self, question: Question, stop: Sequence[str], on_token: Callable[[str], None] | None, ends: float) -> str:
        prompt = question.prompt()
        if not prompt.strip():
            raise self._error("invalid-request", "Prompt is empty or contains only whitespace.")
        prompt = cleaned(prompt)
        if not prompt.strip():
            raise self._error("invalid-request", "Prompt is empty after sanitization.")
        return self._say([Message("user", prompt)], (), stop, on_token, ends)[1]

    def _say(
        self,
        messages: Sequence[Message],
        offers: Sequence[Offer],
        stop: Sequence[str],
        on_token: Callable[[str], None] | None,
        ends: float,
    ) -> tuple[Reply, str]:
        request = Request(
            messages=messages,
            tools=offers,
            stop=tuple(word for word in stop if word),
            max_tokens=self._room(messages),
            temperature=self.config.temperature,
        )
        left = self.instance.remaining
        # The entry's own limit ends the request from outside, and says so; here it only keeps waits from being begun in vain.
        seconds = min(max(0.0, ends - time.monotonic()), math.inf if left is None else left + 1)
        asking = self._asking()
        if on_token is None:
            reply = self.instance.wait(asking.ask(request, None, seconds))
            text = spoken(reply.text, request.stop)
        else:
            reply, text = self._streamed(asking, request, seconds, on_token)
        self._counted(request, reply)
        self.node.replied(self.instance, reply)
        if reply.finish == "refused":
            raise self._error("refused", reply.text)
        if reply.finish == "length":
            if not text and not reply.calls:
                limit = request.max_tokens
                raise self._error(
                    "bad-reply", f"its {limit} tokens were used up before the answer began; raise modelOutputTokens"
                )
            self.instance.warn("answer-cut", f"the answer was cut at {request.max_tokens} tokens, see modelOutputTokens")
        return reply, text

    def _streamed(
        self, asking: Asking[Any], request: Request, seconds: float, on_token: Callable[[str], None]
    ) -> tuple[Reply, str]:
        shown, told = Spoken(request.stop), list[str]()

        def tell(text: str) -> None:
            if text:
                told.append(text)
                on_token(text)

        pump = Pump[Reply](self.instance.wait, lambda feed: asking.ask(request, feed, seconds))
        reply = pump.run(lambda piece: tell(shown.feed(piece)))
        tell(shown.end())
        return reply, "".join(told)

    def _asking(self) -> Asking[Any]:
        def on_retry(error: LLMError, seconds: float) -> None:
            self.instance.count("retries", 1)
            self.instance.event("retry", message=str(error), kind=error.kind, seconds=round(seconds, 3))

        return self.node.asking(self.node.backend, on_retry)

    def _room(self, messages: Sequence[Message]) -> int:
        """Tokens left for the answer; a question that seems to fill the context is the server's to refuse."""
        asked = sum(self.count_tokens(message.content) for message in messages if message.content)
        left = self.config.total_tokens - asked
        return min(self.config.longest_answer, left) if left > 0 else self.config.longest_answer

    def _counted(self, request: Request, reply: Reply) -> None:
        count, usage = self.instance.count, reply.usage
        count("requests", 1)
        if usage is None:
            asked = sum(self.count_tokens(m.content) for m in request.messages if m.content)
            answered = self.count_tokens(reply.text)
            count("estimated_input_tokens", asked)
            count("estimated_output_tokens", answered)
            measured(asked, answered, estimated=True)
            return
        count("input_tokens", usage.input)
        count("output_tokens", usage.output)
        count("cached_tokens", usage.cached)
        measured(usage.input, usage.output, usage.cached)

    def _error(self, kind: Any, detail: str = "", *, sentence: str = "") -> LLMError:
        return self._asking().placed(LLMError(kind, detail, sentence=sentence))


def _schema(schema: Any) -> Arguments:
    """Arguments of a call are always an object, whatever else a schema like `true` lets pass."""
    return schema if isinstance(schema, Mapping) else {"type": "object"}


def _again(wrong: str) -> str:
    return f"Your last answer was not valid JSON ({wrong}). Answer again, with the JSON value alone."
