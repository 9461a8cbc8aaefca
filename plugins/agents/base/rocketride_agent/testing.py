# SPDX-License-Identifier: MIT
"""For tests of agents: models that play replies, and an agent in a real pipeline with its tools."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from rocketride_core import (
    ANSWERS,
    LLM,
    MANY,
    QUESTIONS,
    TOOL,
    Answer,
    Caller,
    ChatModel,
    Component,
    ControlLink,
    Entry,
    Event,
    Instance,
    Json,
    Kernel,
    LaneLink,
    Message,
    Node,
    NodeSpec,
    PipeFile,
    Pipeline,
    Question,
    Result,
    Tool,
    ToolCall,
    on,
    serves,
)

__all__ = ["Bench", "PlayedModel", "PlayedToolModel", "Told", "agent_bench"]


class PlayedModel:
    """Gives its replies one after the other, in pieces to whoever listens; an exception among them is raised.

    Parameters:
        replies: texts or exceptions; one question more than there are is an AssertionError.
        piece: characters of a piece.

    Attributes:
        asked: the questions it got, `stops` their stop words.
    """

    context_length = 16384
    output_length = 4096

    def __init__(self, replies: Sequence[str | Exception | Message] = (), *, piece: int = 3) -> None:
        self._replies, self._piece, self._lock = list(replies), piece, threading.Lock()
        self.asked: list[Question] = []
        self.stops: list[tuple[str, ...]] = []

    @property
    def left(self) -> int:
        """Replies that nobody has asked for."""
        return len(self._replies)

    def count_tokens(self, text: str, /) -> int:
        return len(text.split())

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Callable[[str], None] | None = None) -> Answer:
        with self._lock:
            self.asked.append(question)
            self.stops.append(tuple(stop))
            reply = self.next()
        text = reply.content
        for word in stop:
            text = text.partition(word)[0]
        self.say(text, on_token)
        return Answer(text)

    def next(self) -> Message:
        assert self._replies, f"the model was asked once more than it has replies: {self.asked[-1:]}"
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Message("assistant", reply) if isinstance(reply, str) else reply

    def say(self, text: str, on_token: Callable[[str], None] | None) -> None:
        for start in range(0, len(text), self._piece) if on_token is not None else ():
            assert on_token is not None
            on_token(text[start : start + self._piece])


class PlayedToolModel(PlayedModel):
    """The same, and it calls tools in its own format: a reply may be a Message with calls.

    Attributes:
        turns: the messages of each turn, `offered` the names of the tools that came with them.
    """

    native_tools = True

    def __init__(self, replies: Sequence[str | Exception | Message] = (), *, piece: int = 3) -> None:
        super().__init__(replies, piece=piece)
        self.turns: list[list[Message]] = []
        self.offered: list[list[str]] = []

    @staticmethod
    def calls(*calls: tuple[str, dict[str, object]], text: str = "") -> Message:
        """A reply that asks for these calls; their ids are call-1, call-2, …"""
        made = [ToolCall(f"call-{n}", name, arguments) for n, (name, arguments) in enumerate(calls, 1)]  # type: ignore[arg-type]
        return Message("assistant", text, made)

    def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), /, *, on_token: Callable[[str], None] | None = None
    ) -> Message:
        with self._lock:
            self.turns.append(list(messages))
            self.offered.append([tool.name for tool in tools])
            reply = self.next()
        self.say(reply.content, on_token)
        return reply


class Told:
    """What came of one entry.

    Attributes:
        result: the whole.
        events: what was said on the way.
    """

    def __init__(self, result: Result, events: Sequence[Event]) -> None:
        self.result, self.events = result, list(events)

    @property
    def content(self) -> Json:
        """Of the one answer."""
        (answer,) = self.result[ANSWERS]
        return answer.content

    @property
    def payload(self) -> dict[str, Any]:
        """What `run_agent` returned; see `Bench.call`."""
        assert isinstance(self.content, Mapping), f"not a payload: {self.content!r}"
        return cast("dict[str, Any]", dict(self.content))

    def said(self, kind: str, key: str) -> list[Any]:
        """One value of each event of a kind."""
        return [event.data[key] for event in self.events if event.kind == kind]

    @property
    def tokens(self) -> list[str]:
        return self.said("token", "text")

    @property
    def meta(self) -> dict[str, Any]:
        """Of the last run that ended: with several agents, the outermost."""
        return cast("dict[str, Any]", self.said("agent", "meta")[-1])

    @property
    def stack(self) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", self.said("agent", "stack")[-1])


class Bench:
    """An agent that has begun, in a real pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def ask(self, question: Question | str, *, check: bool = True, timeout: float | None = 60) -> Told:
        """One entry.

        Parameters:
            check: raise the entry's error, if it has one.
        """
        asked = Question.of(question) if isinstance(question, str) else question
        with self.pipeline.start(Entry("test"), QUESTIONS(asked), timeout=timeout) as run:
            events = list(run)
            result = run.result()
        return Told(result.checked() if check else result, events)

    def call(self, arguments: Mapping[str, Json], *, check: bool = True) -> Told:
        """One entry in which a node calls the agent as its tool; needs `agent_bench(called=True)`."""
        return self.ask(Question((), filter=arguments), check=check)


@contextmanager
def agent_bench(
    agent: type[Node[Any]],
    model: ChatModel,
    *,
    config: Mapping[str, Any] | None = None,
    tools: Sequence[type[Node[Any]]] = (),
    called: bool = False,
    plugins: Sequence[object] = (),
    more: Sequence[Component] = (),
    nodes: Sequence[type[Node[Any]]] = (),
    workers: int = 0,
    env: Mapping[str, str] | None = None,
) -> Iterator[Bench]:
    """The component `agent` with its `llm`, and one component `<provider>_1` for each class of tools.

    Parameters:
        called: the agent stands on no lane; a node calls its `run_agent`, and answers with what that returns.
        more, nodes: further components, and classes that are not installed.
        env: the variables that their configs may name.
    """

    def serve(self: Any, instance: Instance, caller: Caller) -> ChatModel:
        return model

    def call(self: Any, instance: Instance, question: Question) -> None:
        instance.emit(ANSWERS, Answer(instance.tools.call("agent.run_agent", question.filter)))

    def respond(self: Any, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))

    def made(name: str, spec: NodeSpec, **body: Any) -> type[Node[Any]]:
        return type(name, (Node,), {"spec": spec, "__module__": __name__, **body})

    source = made("Source", NodeSpec("bench_source", title="Source", categories=["source"], emits=[QUESTIONS]))
    llm = made("Llm", NodeSpec("bench_llm", title="Model"), serve=serves(LLM)(serve))
    asker = made("Asker", NodeSpec("bench_caller", title="Caller", needs={TOOL: MANY}), call=on(QUESTIONS, emits=[ANSWERS])(call))
    out = made("Out", NodeSpec("bench_out", title="Out", responds=True), respond=on(ANSWERS)(respond))
    first = "caller" if called else "agent"
    from_source = [LaneLink("questions", "source")]
    components = [
        Component("source", "bench_source"),
        *([Component("caller", "bench_caller", input=from_source)] if called else []),
        Component(
            "agent",
            agent.spec.provider,
            config or {},
            input=[] if called else from_source,
            control=[ControlLink("tool", "caller")] if called else [],
        ),
        Component("llm", "bench_llm", control=[ControlLink("llm", "agent")]),
        *(Component(f"{one.spec.provider}_1", one.spec.provider, control=[ControlLink("tool", "agent")]) for one in tools),
        *more,
        Component("out", "bench_out", input=[LaneLink("answers", first)]),
    ]
    kernel = Kernel(nodes=[source, llm, asker, out, agent, *tools, *nodes], env=env or {}, plugins=plugins, workers=workers)
    with kernel.load(PipeFile(components, source="source")) as pipeline:
        yield Bench(pipeline)
