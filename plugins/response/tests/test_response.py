# SPDX-License-Identifier: MIT
"""Responses by lane for programs, by name for clients."""

from __future__ import annotations

from typing import Any

import pytest

from rocketride_core import (
    ANSWERS,
    AUDIO,
    DOCUMENTS,
    IMAGE,
    QUESTIONS,
    TABLE,
    TEXT,
    VIDEO,
    Answer,
    Blob,
    Component,
    Document,
    Entry,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    Packet,
    PipeFile,
    Question,
)
from rocketride_core.testing import NodeSuite
from rocketride_response import (
    Response,
    ResponseAnswers,
    ResponseAudio,
    ResponseDocuments,
    ResponseImage,
    ResponseQuestions,
    ResponseTable,
    ResponseText,
    ResponseVideo,
)

PICTURE = Blob.of(b"\x89PNG", mime_type="image/png", name="a.png")
SOUND = Blob.of(b"RIFF", mime_type="audio/wav", name="a.wav")
FILM = Blob.of(b"ftyp", mime_type="video/mp4", name="a.mp4")
PACKETS: dict[type[Node[Any]], Packet] = {
    ResponseText: TEXT("hello"),
    ResponseTable: TABLE("|a|b|"),
    ResponseDocuments: DOCUMENTS([Document("one"), Document("two")]),
    ResponseQuestions: QUESTIONS(Question.of("why?")),
    ResponseAnswers: ANSWERS(Answer("because")),
    ResponseImage: IMAGE(PICTURE),
    ResponseAudio: AUDIO(SOUND),
    ResponseVideo: VIDEO(FILM),
}
LANES = (TEXT, TABLE, DOCUMENTS, QUESTIONS, ANSWERS, IMAGE, AUDIO, VIDEO)


class TestResponse(NodeSuite):
    node = Response
    send = {"text": ["a", "b"], "answers": [Answer("x")]}


class TestResponseText(NodeSuite):
    node = ResponseText
    send = {"text": ["a"]}


class TestResponseTable(NodeSuite):
    node = ResponseTable
    send = {"table": ["|a|"]}


class TestResponseDocuments(NodeSuite):
    node = ResponseDocuments
    send = {"documents": [[Document("a")]]}


class TestResponseQuestions(NodeSuite):
    node = ResponseQuestions
    send = {"questions": [Question.of("a")]}


class TestResponseAnswers(NodeSuite):
    node = ResponseAnswers
    send = {"answers": [Answer("a")]}


class TestResponseImage(NodeSuite):
    node = ResponseImage
    send = {"image": [PICTURE]}


class TestResponseAudio(NodeSuite):
    node = ResponseAudio
    send = {"audio": [SOUND]}


class TestResponseVideo(NodeSuite):
    node = ResponseVideo
    send = {"video": [FILM]}


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=LANES)


def run(node: type[Node[Any]], *packets: Packet, **config: Any) -> Any:
    links = [LaneLink(lane, "in") for lane in node.manifest.on]
    file = PipeFile([Component("in", "in"), Component("out", node.spec.provider, config, input=links)])
    with Kernel(nodes=[Source, node]).load(file) as pipeline:
        return pipeline.run(Entry("x"), *packets).checked()


@pytest.mark.parametrize("node", PACKETS, ids=lambda node: node.spec.provider)
def test_a_payload_is_in_the_result_under_its_lane(node: type[Node[Any]]) -> None:
    packet = PACKETS[node]
    result = run(node, packet)
    assert result[packet.lane] == [packet.payload]
    assert result.to_json()["result_types"] == {packet.lane.name: packet.lane.name}
    assert set(node.manifest.on) == {packet.lane.name}
    assert node.spec.provider == f"response_{packet.lane.name}"


@pytest.mark.parametrize("node", PACKETS, ids=lambda node: node.spec.provider)
def test_a_name_is_for_clients(node: type[Node[Any]]) -> None:
    packet = PACKETS[node]
    result = run(node, packet, laneName="reply")
    assert result[packet.lane] == [packet.payload]
    assert result.to_json()["result_types"] == {"reply": packet.lane.name}
    assert "reply" in result.to_json()


def test_text_is_one_string_for_clients_and_pieces_for_programs() -> None:
    result = run(ResponseText, TEXT("a"), TEXT("b"))
    assert result[TEXT] == ["a", "b"]
    assert result.to_json()["text"] == ["a\n\nb\n\n"]


def test_the_older_node_takes_all_lanes() -> None:
    result = run(Response, *PACKETS.values())
    assert [result[packet.lane] for packet in PACKETS.values()] == [[packet.payload] for packet in PACKETS.values()]
    assert result.to_json()["result_types"] == {lane.name: lane.name for lane in LANES}


@pytest.mark.parametrize(
    ("config", "types"),
    [
        ({"lanes": [{"laneId": "answers", "laneName": "reply"}]}, {"text": "text", "reply": "answers"}),
        ({"lanes": ["text"], "format": "json"}, {"text": "text", "answers": "answers"}),
        ({"lanes": []}, {"text": "text", "answers": "answers"}),
        ({"keys": {"text": "page"}}, {"page": "text", "answers": "answers"}),
    ],
)
def test_names_of_the_older_node(config: dict[str, Any], types: dict[str, str]) -> None:
    assert run(Response, TEXT("a"), ANSWERS(Answer("b")), **config).to_json()["result_types"] == types


def test_a_name_is_not_longer_than_32_characters() -> None:
    links = [LaneLink("text", "in")]
    file = PipeFile([Component("in", "in"), Component("out", "response_text", {"laneName": "x" * 33}, input=links)])
    [problem] = Kernel(nodes=[Source, ResponseText]).check(file)
    assert problem.code == "invalid-value"
    assert problem.path == "$.components[1].config.laneName"
