# SPDX-License-Identifier: MIT
"""Small nodes for the kernel's tests, and words to wire them: `opened("a: do < text start", "r: respond < text a")`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import attrs

from rocketride_core import (
    ANSWERS,
    AUDIO,
    DOCUMENTS,
    IMAGE,
    QUESTIONS,
    TABLE,
    TAGS,
    TEXT,
    VIDEO,
    Answer,
    Blob,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    Lane,
    LaneLink,
    Node,
    NodeSpec,
    Packet,
    PipeFile,
    Question,
    hookimpl,
    on,
    setting,
)
from rocketride_core.pipeline import RunningPipeline
from rocketride_core.registry import Registry
from rocketride_core.results import EntryResult
from rocketride_core.testing import HostileNode

CORE_LANES = (TEXT, TABLE, QUESTIONS, ANSWERS, DOCUMENTS, TAGS, IMAGE, AUDIO, VIDEO)

Script = Mapping[str, Callable[..., Any]]


def note(instance: Instance, line: str) -> None:
    """Append to the entry's journal, if it carries one."""
    journal = instance.entry.metadata.get("journal")
    if isinstance(journal, list):
        journal.append(line)


class Start(Node[None]):
    """The host feeds it, on any lane."""

    spec = NodeSpec("start", title="Start", categories=["source"], emits=CORE_LANES)


class Do(Node[None]):
    """text → text, answers. Writes its hooks into the entry's journal. What it does in a phase stands in the entry's metadata:
    `{id: {"open": f, "text": f, "flush": f, "close": f}}` with `f(instance)`, for texts `f(instance, text)`; else it passes texts on."""

    spec = NodeSpec("do", title="Do")

    def _do(self, instance: Instance, phase: str, *payload: str) -> bool:
        note(instance, " ".join([phase, self.id, *payload]))
        script: Any = instance.entry.metadata.get(self.id)
        if script is None or phase not in script:
            return False
        script[phase](instance, *payload)
        return True

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        self._do(instance, "open")

    @on(TEXT, emits=[TEXT, ANSWERS])
    def text(self, instance: Instance, text: str) -> None:
        if not self._do(instance, "text", text):
            instance.emit(TEXT, text)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        self._do(instance, "flush")

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        self._do(instance, "close")


@attrs.frozen(kw_only=True)
class MarkConfig:
    times: int = setting(1)


class Mark(Node[MarkConfig]):
    """text → text: the payload grows by the node's id; so many times."""

    spec = NodeSpec("mark", title="Mark")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        note(instance, f"{self.id} {text}")
        for n in range(self.config.times):
            instance.emit(TEXT, f"{text}>{self.id}{n + 1 if self.config.times > 1 else ''}")


class Parts(list[str]):
    """What a Collect has got so far."""


@attrs.frozen(kw_only=True)
class CollectConfig:
    sort: bool = setting(False)


class Collect(Node[CollectConfig]):
    """text → text, only at the flush: `id(a+b)`."""

    spec = NodeSpec("collect", title="Collect")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.state(Parts).append(text)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        parts = instance.state(Parts)
        if parts:
            instance.emit(TEXT, f"{self.id}({'+'.join(sorted(parts) if self.config.sort else parts)})")


class Keeper(Node[None]):
    """questions → questions, answers → answers: two ports that have nothing to do with each other."""

    spec = NodeSpec("keeper", title="Keeper")

    @on(QUESTIONS, emits=[QUESTIONS])
    def question(self, instance: Instance, question: Question) -> None:
        note(instance, f"{self.id} asks {question.texts[0]}")
        instance.emit(QUESTIONS, question)

    @on(ANSWERS, emits=[ANSWERS])
    def answer(self, instance: Instance, answer: Answer) -> None:
        note(instance, f"{self.id} hears {answer.text}")
        instance.emit(ANSWERS, answer)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        note(instance, f"flush {self.id}")


class Thinker(Node[None]):
    """questions → answers."""

    spec = NodeSpec("thinker", title="Thinker")

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        instance.emit(ANSWERS, Answer(f"re: {question.texts[0]}"))

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        note(instance, f"flush {self.id}")


@attrs.frozen(kw_only=True)
class RespondConfig:
    lane_name: str = setting("", key="laneName")


def _respond(lane: Lane[Any]) -> Callable[[Any, Instance, Any], None]:
    @on(lane)
    def handler(self: Any, instance: Instance, payload: Any) -> None:
        instance.respond(self.config.lane_name or lane.name, lane(payload))

    return handler


class Respond(Node[RespondConfig]):
    """Every lane to the result."""

    spec = NodeSpec("respond", title="Respond", responds=True)
    text, table, questions, answers = _respond(TEXT), _respond(TABLE), _respond(QUESTIONS), _respond(ANSWERS)
    documents, tags, image, audio, video = _respond(DOCUMENTS), _respond(TAGS), _respond(IMAGE), _respond(AUDIO), _respond(VIDEO)


NODES: tuple[type[Node[Any]], ...] = (Start, Do, Mark, Collect, Keeper, Thinker, Respond, HostileNode)
START = "start: start"


def wire(*lines: str, source: str = "start", **config: Mapping[str, Any]) -> PipeFile:
    """A pipe of lines `id: provider < lane from, lane from …`; `start: start` stands first unless a line says otherwise."""
    components = []
    for line in lines if any(line.startswith("start:") for line in lines) else (START, *lines):
        found = re.fullmatch(r"(\w+): (\w+)(?: < (.*))?", line)
        assert found, line
        id, provider, inputs = found.groups()
        links = [LaneLink(*one.split()) for one in inputs.split(",")] if inputs else []
        components.append(Component(id, provider, config.get(id, {}), input=links))
    return PipeFile(components, source=source)


def straight(provider: str, count: int) -> list[str]:
    """`n0 … n<count-1>` of one provider in a line behind the start, `r` at its end."""
    lines = [f"n{n}: {provider} < text {f'n{n - 1}' if n else 'start'}" for n in range(count)]
    return [*lines, f"r: respond < text n{count - 1}"]


def alone(*nodes: type[Node[Any]], **settings: Any) -> Kernel:
    """A kernel with these nodes and the ones here, without the host plugins that happen to be installed."""
    with patch.object(Registry, "plugins", lambda _: []):
        return Kernel(nodes=[*NODES, *nodes], **settings)


@contextmanager
def opened(
    *lines: str, nodes: Sequence[type[Node[Any]]] = (), kernel: Mapping[str, Any] | None = None, **config: Mapping[str, Any]
) -> Iterator[RunningPipeline]:
    """A running pipeline of `wire(*lines)`, with these nodes beside the ones here."""
    with alone(*nodes, **(kernel or {})).load(wire(*lines, source="start", **config)) as pipeline:
        yield pipeline


def entry(name: str = "e", journal: list[str] | None = None, **scripts: Script) -> Entry:
    """An entry with scripts for its `do` nodes."""
    return Entry(name, metadata={**scripts, **({} if journal is None else {"journal": journal})})  # type: ignore[dict-item]


def run(pipeline: RunningPipeline, *packets: Packet, journal: list[str] | None = None, **scripts: Script) -> EntryResult:
    return pipeline.run(entry("e", journal, **scripts), *packets)


def first(call: Callable[[Instance, str], object]) -> Script:
    """A script that calls this for every text, and passes the text on."""

    def text(instance: Instance, text: str) -> None:
        call(instance, text)
        instance.emit(TEXT, text)

    return {"text": text}


def raising(error: BaseException) -> Callable[..., None]:
    """A script that raises."""

    def fail(*_: object) -> None:
        raise error

    return fail


def blob(data: bytes = b"x", mime_type: str = "", name: str = "") -> Blob:
    return Blob.of(data, mime_type=mime_type, name=name)


def document(text: str) -> list[Document]:
    return [Document(text)]
