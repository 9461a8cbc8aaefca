# SPDX-License-Identifier: MIT
"""The `ChatModel` that stands for several: asks one after the other until one answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import attrs

from rocketride_core import Answer, ChatModel, Instance, Message, Question, Served, Tool, ToolChatModel
from rocketride_llm import LLMError, metered, transport
from rocketride_llm.chat import JSON_TRIES

from .spending import Spending, TooDear

if TYPE_CHECKING:
    from .node import Router

__all__ = ["Routed"]

R = TypeVar("R")
BROKEN = frozenset({"rate-limit", "timeout", "connection", "unavailable"})  # what a circuit breaker counts
Tell = Callable[[str], None]


@attrs.define
class Listener:
    """Hands tokens on, and remembers whether there were any: an answer must not be said twice."""

    on_token: Tell | None
    told: bool = False
    error: BaseException | None = None

    @property
    def tell(self) -> Tell | None:
        return None if self.on_token is None else self._tell

    def _tell(self, text: str) -> None:
        self.told = self.told or bool(text)
        try:
            if self.on_token is not None:
                self.on_token(text)
        except BaseException as error:  # the listener's own, of which no model is to blame
            self.error = error
            raise


@attrs.frozen
class Routed:
    """One router as one instance of it serves it; a `ToolChatModel`.

    Parameters:
        models: those connected, in the order in which they are asked; at least one.
        spending: of the entry.
    """

    node: Router
    instance: Instance
    models: Sequence[Served[ChatModel]]
    spending: Spending

    @property
    def context_length(self) -> int:
        """The shortest of all, so that a question fits whoever answers."""
        return min(served.service.context_length for served in self.models)

    @property
    def output_length(self) -> int:
        """The shortest of all."""
        return min(served.service.output_length for served in self.models)

    @property
    def native_tools(self) -> bool:
        """All of them call tools in their own format: a conversation that began so must be able to go on with any."""
        return all(_calls_tools(served.service) for served in self.models)

    def count_tokens(self, text: str, /) -> int:
        """As the first one counts."""
        return self.models[0].service.count_tokens(text)

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Tell | None = None) -> Answer:
        """The answer of the first one that gives one.

        Raises:
            LLMError: of the model whose error is no reason to ask another, or of all of them.
        """
        tries = JSON_TRIES if question.expect_json else 1

        def asked(model: ChatModel) -> int:
            return model.count_tokens(question.prompt()) * tries

        def ask(model: ChatModel, tell: Tell | None) -> Answer:
            return model.ask(question, stop=stop, on_token=tell)

        def answered(model: ChatModel, answer: Answer) -> int:
            return model.count_tokens(answer.text)

        return self._first(self.models, ask, asked, answered, on_token, tries)

    def converse(self, messages: Sequence[Message], tools: Sequence[Tool] = (), /, *, on_token: Tell | None = None) -> Message:
        """The next turn of the first one that gives one. Those that take no conversations are left out, or no tools where there are some.

        Raises:
            LLMError: as `ask`, and `no-tools` where none is left.
        """
        able = [s for s in self.models if isinstance(s.service, ToolChatModel) and (not tools or s.service.native_tools)]
        if not able:
            told = f"None of the language models of {self.node.id} calls tools in its own format; set tool_mode to react"
            raise self._own(LLMError("no-tools", sentence=told))
        offered = "".join(f"{t.name}{t.description}{json.dumps(t.input_schema, default=str)}" for t in tools)
        said = [message.content for message in messages if message.content]
        calls = [json.dumps(dict(call.arguments), default=str) for message in messages for call in message.calls]

        def asked(model: ChatModel) -> int:
            return sum(model.count_tokens(text) for text in (*said, *calls, offered) if text)

        def converse(model: ChatModel, tell: Tell | None) -> Message:
            assert isinstance(model, ToolChatModel)  # noqa: S101
            return model.converse(messages, tools, on_token=tell)

        def answered(model: ChatModel, turn: Message) -> int:
            return sum(model.count_tokens(text) for text in (turn.content, *(str(dict(c.arguments)) for c in turn.calls)) if text)

        return self._first(able, converse, asked, answered, on_token, 1)

    def _first(
        self,
        models: Sequence[Served[ChatModel]],
        ask: Callable[[ChatModel, Tell | None], R],
        asked: Callable[[ChatModel], int],
        answered: Callable[[ChatModel, R], int],
        on_token: Tell | None,
        tries: int,
    ) -> R:
        failed: list[tuple[str, LLMError]] = []
        for served in models:
            listener = Listener(on_token)
            try:
                found = self._one(served, ask, asked, answered, listener, tries)
            except LLMError as error:
                failed.append((served.component, error))
                self.instance.count(f"failed.{served.component}", 1)
                reason = "cost" if isinstance(error.__cause__, TooDear) else error.kind
                if listener.told or reason not in self.node.config.switch_on:
                    for component, before in failed[:-1]:
                        error.add_note(f"before that, {component}: {before}")
                    if len(models) > 1 and error.component != self.node.id:
                        error.among = error.among or served.component
                    raise
                continue
            self._tell(served.component, failed)
            return found
        raise self._all_of(failed)

    def _one(
        self,
        served: Served[ChatModel],
        ask: Callable[[ChatModel, Tell | None], R],
        asked: Callable[[ChatModel], int],
        answered: Callable[[ChatModel, R], int],
        listener: Listener,
        tries: int,
    ) -> R:
        """What one model answers, inside the ceiling and its circuit breaker."""
        model, node, price = served.service, self.node, self.node.price_of(served.component)
        longest = node.config.answer_tokens or model.output_length
        most = price.of(asked(model), longest * tries) if price is not None and node.config.max_cost else 0.0
        try:
            self.spending.set_aside(most, node.config.max_cost)
        except TooDear as error:
            ceiling = (
                f"The ceiling of {node.config.max_cost:g} (maxCost of {node.id}) would be exceeded by asking {served.component}"
            )
            raise self._own(LLMError("quota", sentence=f"{ceiling}: {error}")) from error
        cost = 0.0
        try:
            with metered() as meter:
                try:
                    found = self._guarded(served, ask, listener)
                    if price is not None and not meter.requests:  # a model that does not say what it counts
                        cost = price.of(asked(model) // tries, answered(model, found))
                finally:
                    if price is not None:
                        cost += price.measured(meter)
            return found
        finally:
            self.spending.settle(most, cost)
            if price is not None:
                self.instance.count("cost", cost)

    def _guarded(self, served: Served[ChatModel], ask: Callable[[ChatModel, Tell | None], R], listener: Listener) -> R:
        breaker = self.node.breaker_of(served.component)
        ticket = breaker.admit()
        if ticket is None:
            rest = breaker.rest
            again = f"asked again in {rest:.3g} s" if rest else "tried by another question just now"
            told = f"The circuit breaker of {served.component} is open after failures; it is {again}"
            raise self._own(LLMError("unavailable", sentence=told, retry_after=rest))
        try:
            found = ask(served.service, listener.tell)
        except Exception as error:
            told_error = error if isinstance(error, LLMError) else transport(error)
            if told_error is None or error is listener.error:
                breaker.leave(ticket)
                raise
            if told_error.kind not in BROKEN:
                breaker.succeed(ticket)
            elif breaker.fail(ticket, told_error.retry_after):
                self.instance.event("circuit", component=served.component, seconds=round(breaker.rest, 3))
            if told_error is error:
                raise
            told_error.component = served.component
            raise told_error from error
        except BaseException:
            breaker.leave(ticket)
            raise
        breaker.succeed(ticket)
        return found

    def _tell(self, component: str, failed: Sequence[tuple[str, LLMError]]) -> None:
        """Who answered: in the usage, as an event, and as a warning where it was not the first."""
        instance = self.instance
        instance.count("requests", 1)
        instance.count(f"answered_by.{component}", 1)
        instance.event("routed", component=component, failed=[{"component": n, "kind": e.kind} for n, e in failed])
        for name, error in failed:
            if self.spending.first_time(name, component):
                instance.warn("llm-switched", f"{component} answered in place of {name}: {error}")

    def _all_of(self, failed: Sequence[tuple[str, LLMError]]) -> LLMError:
        """One error for all that failed."""
        if len(failed) == 1:
            return failed[0][1]
        kinds = {error.kind for _, error in failed}
        waits = [error.retry_after for _, error in failed if error.retry_after is not None]
        told = "; ".join(f"{name}: {error}" for name, error in failed)
        made = LLMError(
            kinds.pop() if len(kinds) == 1 else "unavailable",
            sentence=f"None of the {len(failed)} language models of {self.node.id} answered: {told}",
            retry_after=min(waits, default=None),
        )
        made.__cause__ = failed[-1][1]
        return self._own(made)

    def _own(self, error: LLMError) -> LLMError:
        error.vendor, error.component = self.node.title or self.node.id, self.node.id
        return error


def _calls_tools(model: ChatModel) -> bool:
    return isinstance(model, ToolChatModel) and model.native_tools
