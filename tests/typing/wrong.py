# SPDX-License-Identifier: MIT
"""Mistakes that a type checker must find: every line that ends in E and a number, and no other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import attrs

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    IMAGE,
    LLM,
    MEMORY,
    QUESTIONS,
    TEXT,
    Answer,
    Blob,
    Caller,
    Document,
    Entry,
    Instance,
    Kernel,
    Lane,
    Node,
    NodeSpec,
    Pipeline,
    Question,
    hookimpl,
    on,
    serves,
    setting,
    source,
    tool,
)


@attrs.frozen(kw_only=True)
class Settings:
    size: int = setting(512, ge=1)
    name: str = setting()
    count: int = setting("many")  # E1 the default is no int


Settings(name="a", sise=3)  # E2 there is no such setting
Settings(name=3)  # E3 the name is a str


@attrs.frozen
class Frame:
    number: int


FRAMES = Lane.many_of("acme.frames", Frame)


@contextmanager
def connection() -> Generator[str]:
    yield "connected"


class Wrong(Node[Settings]):
    spec = NodeSpec("wrong", title="Wrong", needs={LLM: 1})  # E4 an Arity, not a number

    @on(TEXT)  # E5 a text is no int
    def takes_a_number(self, instance: Instance, text: int) -> None: ...

    @on(FRAMES)  # E6 the lane carries a sequence
    def takes_one(self, instance: Instance, frames: Frame) -> None: ...

    @on(DOCUMENTS, emits=[TEXT, "text"])  # E7 lanes, not names
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.emit(TEXT, 3)  # E8 a text is no int
        instance.emit("text", "abc")  # E9 a lane is no str
        instance.emit(DOCUMENTS, documents[0])  # E10 the lane carries a sequence
        instance.emit(FRAMES, [Document("x")])  # E11 other items
        documents.append(Document("x"))  # E12 payloads are shared: read only
        documents[0].text = "changed"  # E13 frozen
        instance.one(LLM).aks(Question.of("x"))  # E14 no such method
        answer: str = instance.one(LLM).ask(Question.of("x"))  # E15 an Answer
        memory = instance.maybe(MEMORY)
        memory.put("key", answer)  # E16 it may be None
        size: str = self.config.size  # E17 an int
        instance.emit(TEXT, size + self.config.nmae)  # E18 no such setting
        parts: dict[str, int] = instance.state(list)  # E19 a list
        connected: int = instance.enter(connection())  # E20 a str
        instance.respond("key", "text")  # E21 a packet
        instance.spawn("child", TEXT("x"))  # E22 an Entry
        print(parts, connected)

    @serves(LLM)  # E23 no ChatModel
    def model(self, instance: Instance, caller: Caller) -> str:
        return ""

    @hookimpl
    def open_instance(self, inst: int) -> None: ...  # E24 another signature

    @hookimpl
    def end_global(self) -> int:  # E25 it answers nothing
        return 0

    @tool  # E26 a tool takes the instance first
    def without_instance(self, data: str) -> str:
        return data

    @source(emits=[TEXT])  # E27 a Feed
    def feed(self, feed: int) -> None: ...


def host(pipeline: Pipeline) -> None:
    pipeline.run(Entry("x"), TEXT(3))  # E28 a text is no int
    pipeline.run(Entry("x"), "abc")  # E29 a packet
    pipeline.run("x", TEXT("abc"))  # E30 an Entry
    number: int = pipeline.run(Entry("x"), TEXT("a"))[ANSWERS][0]  # E31 an Answer
    pipeline.run(Entry("x"), QUESTIONS("why?"))  # E32 a Question
    pipeline.run(Entry("x"), IMAGE(b"bytes"))  # E33 a Blob
    for result in pipeline.map([(Entry("x"), TEXT("a"))]):  # E34 a list of packets
        print(result.entry.nmae, number)  # E35 no such field
    with pipeline.start(Entry("x")) as run:
        run.send(TEXT)  # E36 a lane is no packet


def kernel() -> None:
    Kernel(trace="loud")  # E37 off, calls or payloads
    Kernel(nodes=[Wrong()])  # E38 classes, not objects
    with Kernel().load(3) as pipeline:  # E39 a path or a PipeFile
        pipeline.close(5)  # E40 by its name
    Blob.of("a.txt")  # E41 text is neither bytes nor a Path
    Answer()  # E42 it has a content
