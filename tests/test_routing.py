# SPDX-License-Identifier: MIT
"""Which lane a file of a host goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nodes import blob, opened

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
    Entry,
    Lane,
    Node,
    NodeSpec,
    Question,
    RunError,
)

ALL = "r: respond < text start, table start, questions start, answers start, documents start, tags start, image start, audio start, video start"


@pytest.mark.parametrize(
    ("mime", "lane"),
    [
        ("text/plain", TEXT),
        ("text/plain; charset=utf-8", TEXT),
        ("TEXT/HTML", TEXT),
        ("image/png", IMAGE),
        ("audio/wav", AUDIO),
        ("video/mp4", VIDEO),
        ("application/pdf", TAGS),
        ("application/json", TAGS),
        ("", TAGS),
        ("nonsense", TAGS),
        ("lane/table", TABLE),
        ("lane/tags", TAGS),
    ],
)
def test_the_mime_type_decides(mime: str, lane: Lane[Any]) -> None:
    with opened(ALL) as p:
        packet = p.route(blob(b"abc", mime, "a.bin"))
    assert packet.lane == lane
    if lane in (TEXT, TABLE):
        assert packet.payload == "abc"
    else:
        assert packet.payload.read() == b"abc"


def test_a_lane_that_is_not_wired_falls_back_to_tags() -> None:
    with opened("r: respond < tags start") as p:
        assert p.route(blob(b"abc", "text/plain")).lane == TAGS
        assert p.route(blob(b"abc", "image/png")).lane == TAGS


def test_nothing_that_fits_is_an_error_that_names_what_is_wired() -> None:
    with opened("r: respond < text start, audio start") as p, pytest.raises(RunError) as caught:
        p.route(blob(b"abc", "image/png", "a.png"))
    assert str(caught.value) == "start has no lane for a.png (image/png); wired lanes: text, audio"
    assert caught.value.component == "start"


def test_a_source_that_declares_the_lane_but_wires_it_to_nobody() -> None:
    class Chat(Node[None]):
        spec = NodeSpec("chat_only", title="Chat", categories=["source"], emits=[QUESTIONS])

    with opened("start: chat_only", "r: respond < questions start", nodes=[Chat]) as p:
        with pytest.raises(RunError, match="wired lanes: questions"):
            p.route(blob(b"abc", "text/plain"))
        assert p.route(blob(b'{"questions": ["why?"]}', "application/rocketride-question")).lane == QUESTIONS


def test_questions_come_as_json() -> None:
    told = {"questions": [{"text": "why?"}], "role": "judge", "unknown": 1, "history": None}
    with opened(ALL) as p:
        for mime in ("application/rocketride-question", "lane/questions"):
            packet = p.route(blob(json.dumps(told).encode(), mime))
            assert packet.lane == QUESTIONS
            assert packet.payload == Question(("why?",), role="judge")


def test_a_plain_text_on_the_lane_of_questions_is_a_question() -> None:
    with opened(ALL) as p:
        assert p.route(blob(b"why?", "lane/questions")).payload == Question.of("why?")


@pytest.mark.parametrize("content", [b"{not json", b"[1, 2]", b"\xff\xfe"])
def test_a_broken_question_is_an_error_that_names_the_input(content: bytes) -> None:
    with opened(ALL) as p, pytest.raises(RunError, match=r"q\.json"):
        p.route(blob(content, "application/rocketride-question", "q.json"))


def test_answers_and_documents_by_lane_are_json() -> None:
    with opened(ALL) as p:
        packet = p.route(blob(b'{"a": 1}', "lane/answers"))
        assert packet.lane == ANSWERS
        assert packet.payload.content == {"a": 1}
        (document,) = p.route(blob(b'[{"page_content": "t"}]', "lane/documents")).payload
        assert document.text == "t"
        assert p.route(blob(b'{"page_content": "t"}', "lane/documents")).lane == DOCUMENTS


def test_text_is_decoded_as_its_type_says() -> None:
    with opened(ALL) as p:
        assert p.route(blob("grün".encode("cp1252"), "text/plain; charset=cp1252")).payload == "grün"
        assert p.route(blob("grün".encode("cp1252"), 'text/plain; format=flowed; charset="cp1252"')).payload == "grün"
        assert p.route(blob("\ufeffgrün".encode(), "text/plain")).payload == "grün"


@pytest.mark.parametrize("mime", ["text/plain", "text/plain; charset=klingon"])
def test_text_that_cannot_be_decoded_says_what_to_do(mime: str) -> None:
    with opened(ALL) as p, pytest.raises(RunError, match="wire a parse node to a lane 'tags'") as caught:
        p.route(blob("grün".encode("cp1252"), mime, "a.txt"))
    assert "a.txt" in str(caught.value)


def test_a_routed_packet_runs() -> None:
    with opened(ALL) as p:
        result = p.run(Entry("a.txt"), p.route(blob(b"abc", "text/plain", "a.txt"))).checked()
    assert result[TEXT] == ["abc"]
