# SPDX-License-Identifier: MIT
"""The passive sources: what they emit, and a run through each."""

from __future__ import annotations

from typing import Any

import pytest

from rocketride_core import (
    QUESTIONS,
    TAGS,
    TEXT,
    Blob,
    Component,
    Entry,
    Instance,
    Kernel,
    Lane,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    on,
)
from rocketride_core.testing import NodeSuite
from rocketride_sources import Chat, Dropper, Webhook


class TestChat(NodeSuite):
    node = Chat


FILE = Blob.of(b"%PDF", mime_type="application/pdf", name="a.pdf")


class TestWebhook(NodeSuite):
    node = Webhook
    send = {"tags": [FILE], "text": ["a"], "audio": [FILE], "video": [FILE], "image": [FILE], "questions": [Question.of("q")]}


class TestDropper(NodeSuite):
    node = Dropper
    send = {"tags": [FILE]}


class Sink(Node[None]):
    """Responds what comes, so that a result shows it."""

    spec = NodeSpec("sink", title="Sink", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))

    @on(TAGS)
    def tags(self, instance: Instance, blob: Blob) -> None:
        instance.respond("tags", TAGS(blob))

    @on(QUESTIONS)
    def questions(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))


def pipe(source: type[Node[Any]], *lanes: Lane[Any], **config: Any) -> PipeFile:
    links = [LaneLink(lane.name, "in") for lane in lanes]
    return PipeFile([Component("in", source.spec.provider, config), Component("out", "sink", input=links)])


def lanes_of(source: type[Node[Any]]) -> set[str]:
    return {lane.name for lane in source.spec.emits}


def test_lanes() -> None:
    assert lanes_of(Chat) == {"questions"}
    assert lanes_of(Webhook) == {"tags", "text", "audio", "video", "image", "questions"}
    assert lanes_of(Dropper) == {"tags"}


@pytest.mark.parametrize("source", [Chat, Webhook])
def test_a_question_goes_through(source: type[Node[Any]]) -> None:
    question = Question.of("why?")
    with Kernel(nodes=[source, Sink]).load(pipe(source, QUESTIONS)) as pipeline:
        assert pipeline.run(Entry("q"), QUESTIONS(question)).checked()[QUESTIONS] == [question]


@pytest.mark.parametrize("source", [Dropper, Webhook])
def test_a_file_goes_through(source: type[Node[Any]]) -> None:
    with Kernel(nodes=[source, Sink]).load(pipe(source, TAGS)) as pipeline:
        assert pipeline.run(Entry("a.pdf"), TAGS(FILE)).checked()[TAGS] == [FILE]


def test_the_mime_type_decides_among_wired_lanes() -> None:
    text = Blob.of("grüße".encode(), mime_type="text/plain")
    with Kernel(nodes=[Webhook, Sink]).load(pipe(Webhook, TEXT, TAGS)) as pipeline:
        assert pipeline.run(Entry("t"), pipeline.route(text)).checked()[TEXT] == ["grüße"]
        assert pipeline.run(Entry("z"), pipeline.route(Blob.of(b"PK", mime_type="application/zip"))).checked()[TAGS]
    with Kernel(nodes=[Webhook, Sink]).load(pipe(Webhook, TAGS)) as pipeline:
        assert pipeline.run(Entry("t"), pipeline.route(text)).checked()[TAGS] == [text]


def test_what_editors_write_is_accepted() -> None:
    file = pipe(
        Webhook, TEXT, hideForm=True, mode="Source", type="webhook", parameters={"endpoint": "/pipe", "port": 5565}, sync=False
    )
    assert not Kernel(nodes=[Webhook, Sink]).check(file)


def test_a_lane_that_a_source_does_not_have_is_an_error() -> None:
    with Kernel(nodes=[Chat, Sink]).load(pipe(Chat, QUESTIONS)) as pipeline:
        result = pipeline.run(Entry("x"), TEXT("no"))
        assert result.error is not None
        assert result.error.phase == "send"
