# SPDX-License-Identifier: MIT
"""What the parts of LLMSuite share: a pipeline that asks a language model, pointed at the scripted server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from rocketride_core import (
    ANSWERS,
    LLM,
    ONE,
    QUESTIONS,
    Answer,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    ToolChatModel,
    on,
)

from ..errors import LLMError
from ..node import LLMNode
from .server import ScriptedServer
from .steps import Step

__all__ = ["KEY", "TRIES", "End", "Source", "SuiteKit", "asked_by"]

KEY = "sk-planted-0123456789"
TRIES = 3
Work = Callable[[ToolChatModel, Question], object]


class Source(Node[None]):
    spec = NodeSpec("suite_source", title="Source", emits=[QUESTIONS])


class End(Node[None]):
    spec = NodeSpec("suite_end", title="End", responds=True)

    @on(ANSWERS)
    def keep(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))


@contextmanager
def asked_by(node: type[Node[Any]], config: Mapping[str, Any], work: Work, **kernel: Any) -> Iterator[Any]:
    """A pipeline `source -> asker -> end` whose asker has the language model on its slot and answers what `work` returns.

    Parameters:
        node: the language model's class; its component is `llm`, and it stands on the source's lane too, without an end.
        work: `(model, question)`; what is no Answer becomes one.
        kernel: further arguments of the Kernel.
    """

    class Asker(Node[None]):
        spec = NodeSpec("suite_asker", title="Asker", needs={LLM: ONE})

        @on(QUESTIONS, emits=[ANSWERS])
        def ask(self, instance: Instance, question: Question) -> None:
            model = instance.one(LLM)
            assert isinstance(model, ToolChatModel)
            told = work(model, question)
            instance.emit(ANSWERS, told if isinstance(told, Answer) else Answer(str(told)))

    pipe = PipeFile(
        [
            Component("source", "suite_source"),
            Component("asker", "suite_asker", input=[LaneLink("questions", "source")]),
            Component("llm", node.spec.provider, config, control=[ControlLink("llm", "asker")]),
            Component("end", "suite_end", input=[LaneLink("answers", "asker")]),
        ],
        source="source",
    )
    with Kernel(nodes=[Source, Asker, End, node], **kernel).load(pipe) as pipeline:
        yield pipeline


class SuiteKit:
    """Attributes to set in a subclass:

    node: the class (required).
    wire: what the scripted server is to speak (required): one of `wires()`, or one registered with `register_wire`.
    address: the key of the config that takes the server's address.
    extra: further settings.
    environment: variables that the vendor's library reads; they must change nothing.
    cached: the vendor says how many tokens it had read before.
    keyed: it needs an API key where it is pointed at a server of one's own.
    refuses: it says when it will not answer; otherwise a refusal is an answer like any other.
    probe: what `check --probe` asks the server for, an operation of the scripted server.
    streams: it asks for a stream where tokens are wanted; otherwise they come at once, with the answer.
    """

    node: ClassVar[type[LLMNode[Any]]]
    wire: ClassVar[str]
    address: ClassVar[str] = "base_url"
    extra: ClassVar[Mapping[str, Any]] = {}
    environment: ClassVar[Mapping[str, str]] = {}
    cached: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    keyed: ClassVar[bool] = True
    refuses: ClassVar[bool] = True
    probe: ClassVar[str] = "chat"

    def config(self, server: ScriptedServer, **more: Any) -> dict[str, Any]:
        """As in a `.pipe`: fast, and pointed at the scripted server."""
        fast = {"model": "suite-1", "apikey": KEY, "retryDelay": 0.01, "maxAttempts": TRIES, "timeout": 5}
        return fast | {self.address: server.base_url(self.wire)} | dict(self.extra) | more

    @contextmanager
    def serving(self, *steps: Step, work: Work, kernel: Mapping[str, Any] | None = None, **config: Any) -> Iterator[Any]:
        """`(pipeline, server)` with this script; nothing may come that the script does not expect."""
        with ScriptedServer(steps, key=KEY) as server:
            with asked_by(self.node, self.config(server, **config), work, **(kernel or {})) as pipeline:
                yield pipeline, server
            assert not server.unexpected

    def asked(self, *steps: Step, streamed: bool = False, question: Question | None = None, **config: Any) -> Any:
        """`(result, tokens, chats)` of one question."""
        tokens: list[str] = []

        def work(model: ToolChatModel, asked: Question) -> Answer:
            return model.ask(asked, on_token=tokens.append if streamed else None)

        with self.serving(*steps, work=work, **config) as (pipeline, server):
            result = pipeline.run(Entry("e"), QUESTIONS(question or Question.of("What is it?")))
            return result, "".join(tokens), server.chats

    def cause(self, result: Any) -> LLMError:
        assert result.error is not None, "it answered"
        assert isinstance(result.error.__cause__, LLMError), repr(result.error)
        return result.error.__cause__
