# SPDX-License-Identifier: MIT
"""What authors and hosts write; both checkers accept every line."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import attrs

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    EMBEDDING,
    LLM,
    MANY,
    MEMORY,
    ONE,
    OPTIONAL,
    QUESTIONS,
    TABLE,
    TAGS,
    TEXT,
    TOOL,
    Answer,
    Arguments,
    Blob,
    Caller,
    ChatModel,
    Component,
    Document,
    Entry,
    Expansion,
    Feed,
    Instance,
    Json,
    Kernel,
    Lane,
    Node,
    NodeSpec,
    Param,
    Problem,
    Profile,
    Question,
    Result,
    RunError,
    Secret,
    Tool,
    hookimpl,
    on,
    serves,
    setting,
    source,
    tool,
)


@attrs.frozen(kw_only=True)
class Settings:
    size: int = setting(512, ge=1, unit="characters", title="Size")
    key: Secret = setting(Secret())
    names: tuple[str, ...] = setting(())
    must: str = setting()


@attrs.frozen
class Frame:
    number: int


FRAMES = Lane.many_of("acme.frames", Frame)


class Parts(list[str]): ...


@contextmanager
def connection() -> Generator[dict[str, int]]:
    yield {}


class Model:
    context_length = 100
    output_length = 10

    def count_tokens(self, text: str, /) -> int:
        return len(text)

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Any = None) -> Answer:
        return Answer("")


class Right(Node[Settings]):
    spec = NodeSpec(
        "right",
        title="Right",
        needs={LLM: ONE, TOOL: MANY, MEMORY: OPTIONAL, EMBEDDING: OPTIONAL},
        profiles=[Profile("default", {"size": 3})],
    )

    @hookimpl
    def begin_global(self) -> None:
        self.table = self.enter(connection())

    @on(QUESTIONS)
    def question(self, instance: Instance, question: Question) -> None: ...

    @on(TEXT, emits=[DOCUMENTS, FRAMES])
    @on(TABLE, emits=[DOCUMENTS])
    def either(self, instance: Instance, text: str) -> None:
        instance.emit(FRAMES, [Frame(1)])
        instance.emit(DOCUMENTS, [Document("x", {"page": 1})])

    @on(DOCUMENTS, emits=[DOCUMENTS, ANSWERS])
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.state(Parts).append(documents[0].text)
        made = instance.per_worker(connection)
        made["n"] = self.config.size
        instance.emit(DOCUMENTS, [attrs.evolve(document, score=0.5) for document in documents])
        instance.emit(ANSWERS, instance.one(LLM).ask(Question.of("x"), stop=["."]))
        memory = instance.maybe(MEMORY)
        if memory is not None:
            memory.put("key", [1])
        for served in instance.all(EMBEDDING):
            served.service.embed(["a"], query=True)
        instance.event("thinking", message="hm", list=[1, None])
        with instance.on_cancel(lambda: made.clear()):
            instance.spawn(Entry("child"), TEXT("x"))
        instance.respond("reply", TEXT(self.config.key.reveal()))
        result = instance.tools.call("a.tool", {"x": 1}, timeout=3)
        print(result, instance.remaining, instance.metadata.get("a"))
        with instance.nested(timeout=3) as child:
            child.send(TEXT("x"))
            print(child.result()[TEXT][0].upper())

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        if instance.wants(DOCUMENTS):
            instance.emit(DOCUMENTS, [])

    @serves(LLM)
    def model(self, instance: Instance, caller: Caller) -> ChatModel:
        return Model()

    @tool
    def plain(self, instance: Instance, text: str, count: Annotated[int, Param("How many", ge=1)] = 3) -> dict[str, int]:
        return {text: count}

    @tool(name="other", concurrent=True, timeout=3)
    def named(self, instance: Instance) -> None: ...

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        def call(instance: Instance, arguments: Arguments) -> object:
            return arguments

        return [Tool("dynamic", "Does", {"type": "object"}, call)]

    @hookimpl
    def check_global(self) -> Sequence[Problem]:
        return []

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
        return [attrs.evolve(component, id="other")] if context.config(Settings).size else None


class Active(Node[None]):
    spec = NodeSpec("active", title="Active")

    @source(emits=[TAGS, TEXT])
    def feed(self, feed: Feed) -> None:
        feed.ready("up")
        while not feed.stopping(1):
            feed.submit(Entry("x"), feed.route(Blob.of(Path("x"))))


def host(path: Path, env: Mapping[str, str]) -> Json:
    kernel = Kernel(nodes=[Right, Active], env=env, trace="payloads", trace_to=lambda record: None)
    with kernel.load(path, source="chat_1") as pipeline:
        result: Result = pipeline.run(Entry("x"), QUESTIONS(Question.of("why?")), timeout=3)
        texts: Sequence[str] = result[TEXT]
        answer: Answer = result.checked()[ANSWERS][0]
        error: RunError | None = result.error
        for outcome in pipeline.map(((Entry(name), [TEXT(name)]) for name in texts), workers=3, ordered=True):
            print(outcome.error, error)
        with pipeline.start(Entry("x"), TEXT("x")) as run:
            for event in run:
                print(event.kind, event.data)
        return answer.content


async def ahost(path: Path) -> Sequence[Answer]:
    async with Kernel().aload(path) as pipeline, pipeline.astart(Entry("x"), TEXT("x"), timeout=3) as run:
        async for event in run:
            print(event.component)
        result = await run
        await pipeline.arun(Entry("y"))
        return result[ANSWERS]
