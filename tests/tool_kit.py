# SPDX-License-Identifier: MIT
"""Nodes with tools and controls for the kernel's tests, and words to wire them: `wired("agent: agent < text start", "agent -tool-> box")`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

import attrs
import pytest
from nodes import Do, Respond, alone, entry, note, wire

from rocketride_core import (
    LLM,
    MANY,
    MEMORY,
    OPTIONAL,
    TEXT,
    TOOL,
    Answer,
    Arguments,
    Caller,
    Control,
    ControlLink,
    Instance,
    Json,
    Node,
    NodeSpec,
    Packet,
    PipeFile,
    Question,
    RunError,
    Tool,
    ToolFailure,
    hookimpl,
    on,
    serves,
    tool,
)
from rocketride_core.pipeline import RunningPipeline
from rocketride_core.results import EntryResult

E = TypeVar("E", bound=Exception)

ANY: Arguments = {"type": "object"}


class Rerank:
    """What a third party might serve."""

    def best(self, texts: Sequence[str]) -> str:
        return max(texts)


RERANK: Control[Rerank] = Control("acme.rerank")


class Agent(Do):
    """As `do`: what it does stands in the entry's metadata. It may call anything."""

    spec = NodeSpec("agent", title="Agent", needs={TOOL: MANY, LLM: OPTIONAL, MEMORY: OPTIONAL, RERANK: MANY})


def script(instance: Instance, name: str) -> Callable[..., Any] | None:
    """What the entry's metadata say that a node does; they are those of nested entries too."""
    told = instance.entry.metadata.get(instance.node.id)  # type: ignore[attr-defined]
    return told.get(name) if isinstance(told, Mapping) else None  # type: ignore[return-value]


class Box(Node[None]):
    """Tools that do what the entry's metadata say, `{id: {"do": f}}` with `f(instance, n)`; else they answer n."""

    spec = NodeSpec("box", title="Box", needs={TOOL: MANY, LLM: OPTIONAL, MEMORY: OPTIONAL})

    def _do(self, instance: Instance, name: str, n: int) -> Json:
        note(instance, f"{name} {self.id} {n}")
        told = script(instance, name)
        return n if told is None else told(instance, n)  # type: ignore[no-any-return]

    @tool
    def do(self, instance: Instance, n: int = 0) -> Json:
        """One after the other."""
        return self._do(instance, "do", n)

    @tool
    def other(self, instance: Instance, n: int = 0) -> Json:
        """Another one of the same component."""
        return self._do(instance, "other", n)

    @tool(concurrent=True)
    def both(self, instance: Instance, n: int = 0) -> Json:
        """Calls may overlap."""
        return self._do(instance, "both", n)

    @tool(timeout=0.2)
    def soon(self, instance: Instance, n: int = 0) -> Json:
        """Must be quick."""
        return self._do(instance, "soon", n)

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        note(instance, f"open {self.id}")

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        note(instance, f"flush {self.id}")

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        note(instance, f"close {self.id}")


class Plain(Node[None]):
    """One tool and no hooks."""

    spec = NodeSpec("plain", title="Plain")

    @tool
    def add(self, instance: Instance, a: int, b: int = 1) -> int:
        """Adds."""
        return a + b


class Sub(Node[None]):
    """Runs the sub-pipeline on its text output as a tool; `metadata[id]["with"]` may say how: `f(instance, text)`."""

    spec = NodeSpec("sub", title="Sub", emits=[TEXT])

    @tool(concurrent=True)
    def run(self, instance: Instance, text: str) -> Json:
        """Runs it."""
        told = script(instance, "with")
        if told is not None:
            return told(instance, text)  # type: ignore[no-any-return]
        with instance.nested() as child:
            child.send(TEXT(text))
            result = child.result()
        if result.error is not None:
            raise ToolFailure(f"inside: {result.error}", component=result.error.component) from result.error
        return "|".join(result[TEXT])


class Listed(Node[None]):
    """Tools that `metadata[id]["list"]` gives: `f(instance) -> list of Tool`."""

    spec = NodeSpec("listed", title="Listed")

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        told = script(instance, "list")
        return told(instance) if told else []


class Asked(list[str]):
    """What one instance of a Model has heard."""


@attrs.frozen
class Chat:
    node: Any
    instance: Instance
    caller: Caller

    context_length = 100
    output_length = 10

    def count_tokens(self, text: str, /) -> int:
        return len(text)

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Callable[[str], None] | None = None) -> Answer:
        heard = self.instance.state(Asked)
        heard.append(question.texts[0])
        self.instance.count("questions", 1)
        told = script(self.instance, "ask")
        if told is not None:
            told(self.instance, self.caller)
        return Answer(f"{self.node.id} to {self.caller.component}: {'+'.join(heard)}")


class Model(Node[None]):
    """Serves LLM, and sits on a lane too."""

    spec = NodeSpec("model", title="Model")

    @serves(LLM)
    def chat(self, instance: Instance, caller: Caller) -> Chat:
        return Chat(self, instance, caller)

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        heard = instance.state(Asked)
        heard.append(text)
        instance.emit(TEXT, f"{self.id} on its lane: {'+'.join(heard)}")

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        note(instance, f"open {self.id}{' (called)' if instance._control else ''}")  # type: ignore[attr-defined]

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        note(instance, f"flush {self.id}{' (called)' if instance._control else ''}")  # type: ignore[attr-defined]

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        note(instance, f"close {self.id}{' (called)' if instance._control else ''}")  # type: ignore[attr-defined]


class Scopes(dict[str, dict[str, object]]):
    """Values by run."""


@attrs.frozen
class Kept:
    values: dict[str, object]

    def put(self, key: str, value: object, /) -> None:
        self.values[key] = value

    def get(self, key: str, /) -> object:
        return self.values.get(key)

    def keys(self) -> Sequence[str]:
        return sorted(self.values)

    def clear(self, key: str | None = None, /) -> Sequence[str]:
        gone = [k for k in sorted(self.values) if key in (None, k)]
        for one in gone:
            del self.values[one]
        return gone


class Store(Node[None]):
    """Serves MEMORY, scoped by the caller's run."""

    spec = NodeSpec("store", title="Store")

    @serves(MEMORY)
    def memory(self, instance: Instance, caller: Caller) -> Kept:
        return Kept(instance.state(Scopes).setdefault(caller.run, {}))


class Ranker(Node[None]):
    """Serves a third party's control."""

    spec = NodeSpec("ranker", title="Ranker")

    @serves(RERANK)
    def ranker(self, instance: Instance, caller: Caller) -> Rerank:
        return Rerank()


NODES: tuple[type[Node[Any]], ...] = (Agent, Box, Plain, Sub, Listed, Model, Store, Ranker)


def wired(*lines: str, **config: Mapping[str, Any]) -> PipeFile:
    """`wire`, with lines `caller -control-> callee` between the others."""
    calls = [found.groups() for line in lines if (found := re.fullmatch(r"(\w+) -([\w.]+)-> (\w+)", line))]
    pipe = wire(*[line for line in lines if "->" not in line], **config)
    links = {
        part.id: [ControlLink(control, caller) for caller, control, callee in calls if callee == part.id]
        for part in pipe.components
    }
    return attrs.evolve(pipe, components=[attrs.evolve(part, control=links[part.id]) for part in pipe.components])


@contextmanager
def opened(
    *lines: str, nodes: Sequence[type[Node[Any]]] = (), kernel: Mapping[str, Any] | None = None, **config: Mapping[str, Any]
) -> Iterator[RunningPipeline]:
    with alone(*NODES, *nodes, **(kernel or {})).load(wired(*lines, **config)) as pipeline:
        yield pipeline


def answering(
    pipeline: RunningPipeline, *packets: Packet, timeout: float | None = None, name: str = "e", **scripts: Any
) -> EntryResult:
    """Run an entry; a script under `text` of an agent gives the text that the agent emits."""

    def emitting(f: Callable[[Instance, str], Any]) -> Callable[[Instance, str], None]:
        def text(instance: Instance, payload: str) -> None:
            said = f(instance, payload)
            if said is not None:
                instance.emit(TEXT, said if isinstance(said, str) else repr(said))

        return text

    made = {
        id: {**told, "text": emitting(told["text"])} if "text" in told else told
        for id, told in scripts.items()
        if id != "journal"
    }
    return pipeline.run(entry(name, scripts.get("journal"), **made), *(packets or (TEXT("go"),)), timeout=timeout)


class Log(list[str]):
    """Lines of several threads."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = Lock()

    def say(self, line: str) -> None:
        with self.lock:
            self.append(line)


def calling(kind: type[E], instance: Instance, name: str, arguments: Any = {}, **more: Any) -> E:  # noqa: B006 - never written
    """The error that a call raises."""
    with pytest.raises(kind) as caught:
        instance.tools.call(name, arguments, **more)
    return caught.value


def error_of(result: EntryResult) -> RunError:
    assert result.error is not None
    return result.error


LONE = ("agent: agent < text start", "box: box", "r: respond < text agent", "agent -tool-> box")
"""An agent with one box."""

__all__ = [
    "ANY", "LONE", "RERANK", "Agent", "Asked", "Box", "Chat", "Listed", "Log", "Model", "Plain", "Respond", "Scopes", "Sub",
    "answering", "calling", "error_of", "opened", "script", "wired",
]  # fmt: skip
