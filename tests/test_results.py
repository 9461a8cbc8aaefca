# SPDX-License-Identifier: MIT
"""Results: by lane, and the JSON that clients get."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from nodes import document, entry, opened, raising, run

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
    Document,
    Entry,
    Instance,
    Lane,
    Packet,
    Question,
    RunError,
)
from rocketride_core.payloads import vector

R = "r: respond < text start, table start, questions start, answers start, documents start, image start, audio start, video start"


def of(*packets: Packet, sent: Entry | None = None, **config: Any) -> dict[str, Any]:
    with opened(R, **config) as p:
        result = p.run(sent or Entry("a.txt", "id-1", "docs/a.txt"), *packets).checked().to_json()
    json.dumps(result)
    return result


# ---- by lane


def test_results_are_found_by_lane_whatever_the_name_says() -> None:
    with opened(R, r={"laneName": "reply"}) as p:
        result = run(p, TEXT("a"), ANSWERS(Answer("b")), TEXT("c")).checked()
    assert result[TEXT] == ["a", "c"]
    assert result[ANSWERS] == [Answer("b")]
    assert result[TABLE] == []
    assert [lane.name for lane in result.lanes] == ["text", "answers"]
    assert result[Lane.of("text", str)] == ["a", "c"]


def test_a_result_is_asked_by_lane_alone() -> None:
    with opened(R) as p:
        result = p.run(entry(), TEXT("x"))
    assert TEXT in result
    assert ANSWERS not in result
    assert "text" not in result
    with pytest.raises(TypeError, match="a result is asked by lane"):
        result["text"]  # type: ignore[index]
    with pytest.raises(TypeError, match="a result is asked by lane"):
        list(result)  # type: ignore[call-overload]


def test_several_responders_in_file_order_then_time() -> None:
    with opened("a: mark < text start", "r1: respond < text a", "r0: respond < text start") as p:
        assert run(p, TEXT("x"), TEXT("y")).checked()[TEXT] == ["x>a", "y>a", "x", "y"]


def test_a_failed_entry_keeps_its_partial_response() -> None:
    with opened("a: do < text start", "r: respond < text a") as p:
        result = run(p, TEXT("x"), TEXT("y"), a={"close": raising(ValueError("v"))})
    assert result[TEXT] == ["x", "y"]
    assert result.to_json()["text"] == ["x\n\ny\n\n"]
    with pytest.raises(RunError):
        result.checked()


def test_its_repr_says_what_came_of_it() -> None:
    with opened("a: do < text start", "r: respond < text a") as p:
        assert repr(run(p, TEXT("x"))) == "<Result of 'e', ok, 1 responses>"
        assert "failed: a: " in repr(run(p, TEXT("x"), a={"text": raising(ValueError("v"))}))


# ---- JSON of every lane


def test_texts_are_one_string_with_a_blank_line_after_every_piece() -> None:
    assert of(TEXT("a"), TEXT("b"))["text"] == ["a\n\nb\n\n"]


def test_tables_are_strings() -> None:
    assert of(TABLE("|a|"), TABLE("|b|"))["table"] == ["|a|", "|b|"]


def test_documents_are_one_list_of_docs() -> None:
    full = Document("t", {"chunkId": 0}, vector([0.5, -1.0]), "m", 0.25)
    assert of(DOCUMENTS([full]), DOCUMENTS(document("u")))["documents"] == [
        {
            "type": "Document",
            "page_content": "t",
            "embedding": [0.5, -1.0],
            "embedding_model": "m",
            "score": 0.25,
            "metadata": {"chunkId": 0},
        },
        {"type": "Document", "page_content": "u"},
    ]


def test_questions_are_whole() -> None:
    (question,) = of(QUESTIONS(Question(("q",), role="judge", embeddings=(vector([1.0]),), embedding_model="m")))["questions"]
    assert question["questions"] == [{"text": "q", "embedding_model": "m", "embedding": [1.0]}]
    assert (question["role"], question["type"], question["expectJson"]) == ("judge", "question", False)


def test_answers_are_texts_or_json() -> None:
    assert of(ANSWERS(Answer("a")), ANSWERS(Answer({"b": [1]})), ANSWERS(Answer(None)))["answers"] == ["a", {"b": [1]}, None]


def test_images_are_base64_with_their_type() -> None:
    picture = Blob.of(b"\x89PNG", mime_type="image/png", name="a.png")
    assert of(IMAGE(picture))["image"] == [{"mime_type": "image/png", "image": base64.b64encode(b"\x89PNG").decode()}]


@pytest.mark.parametrize("lane", [AUDIO, VIDEO], ids=lambda lane: lane.name)
def test_recordings_are_described_not_sent(lane: Lane[Blob]) -> None:
    recording = Blob.of(b"RIFF", mime_type="audio/wav", name="a.wav")
    assert of(lane(recording))[lane.name] == [{"name": "a.wav", "mimeType": "audio/wav", "size": 4}]


def test_the_fields_of_the_entry() -> None:
    told = of(TEXT("x"))
    assert (told["name"], told["path"], told["objectId"]) == ("a.txt", "docs", "id-1")
    assert told["result_types"] == {"text": "text"}
    assert not {"metadata", "error", "warnings", "usage", "children"} & set(told)


def test_without_a_response_only_the_entry_is_told() -> None:
    assert of() == {"name": "a.txt", "path": "docs", "objectId": "id-1"}
    assert of(sent=Entry("a.txt", "id-1", "a.txt"))["path"] == ""


def test_a_lane_name_is_the_key_and_result_types_says_its_lane() -> None:
    told = of(TEXT("a"), r={"laneName": "reply"})
    assert told["reply"] == ["a\n\n"]
    assert told["result_types"] == {"reply": "text"}


def test_two_responders_of_one_name_give_one_text() -> None:
    lines = "a: mark < text start", "r0: respond < text start", "r1: respond < text a"
    with opened(*lines, r0={"laneName": "reply"}, r1={"laneName": "reply"}) as p:
        told = run(p, TEXT("x"), TEXT("y")).checked().to_json()
    assert told["reply"] == ["x\n\ny\n\nx>a\n\ny>a\n\n"]


def test_lanes_may_share_a_name() -> None:
    told = of(TEXT("a"), DOCUMENTS(document("d")), TEXT("b"), TABLE("|t|"), r={"laneName": "all"})
    assert sorted(told["all"], key=str) == sorted([{"type": "Document", "page_content": "d"}, "|t|", "a\n\nb\n\n"], key=str)
    assert set(told["result_types"]) == {"all"}


def test_a_lane_of_a_third_party_in_json() -> None:
    frames = Lane.of("acme.frames", int, to_json=lambda n: {"frame": n})

    def respond(instance: Instance, text: str) -> None:
        instance.respond("frames", frames(7))

    with opened("a: do < text start", "r: respond < text a") as p:
        told = run(p, TEXT("x"), a={"text": respond}).checked().to_json()
    assert told["frames"] == [{"frame": 7}]
    assert told["result_types"] == {"frames": "acme.frames"}


def test_metadata_of_host_and_nodes() -> None:
    sent = Entry("a.txt", metadata={"pages": 2})

    class Keep:
        text = "x"

    with opened("a: do < text start", "r: respond < text a") as p:
        plain = p.run(sent, TEXT("x")).checked()
        assert plain.metadata == {"pages": 2}
        assert plain.to_json()["metadata"] == {"pages": 2}

        def add(instance: Instance, text: str) -> None:
            instance.metadata["author"] = "me"
            assert instance.metadata == {"author": "me", **instance.entry.metadata}

        added = p.run(entry("b", a={"text": add}), TEXT("x")).checked()
        assert added.metadata["author"] == "me"
    assert sent.metadata == {"pages": 2}


def test_an_error_in_json() -> None:
    with opened("a: do < text start", "r: respond < text a") as p:
        told = run(p, TEXT("x"), a={"text": raising(ValueError("v"))}).to_json()["error"]
    assert told.pop("message").endswith("v")
    assert told == {"code": "", "component": "a", "phase": "handler", "lane": "text"}


def test_warnings_and_usage_in_json() -> None:
    def tell(instance: Instance, text: str) -> None:
        instance.warn("odd", "is odd")
        instance.count("tokens", 3)

    with opened("a: do < text start", "r: respond < text a") as p:
        told = run(p, TEXT("x"), a={"text": tell}).checked().to_json()
    assert told["warnings"] == [{"component": "a", "code": "odd", "message": "is odd"}]
    assert told["usage"] == {"a": {"tokens": 3}}


def test_an_object_id_is_of_the_path_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = Entry("readme.md", path="a/readme.md"), Entry("readme.md", path="b/readme.md")
    assert one.object_id != two.object_id
    assert one.object_id == Entry("other", path="a/readme.md").object_id
    assert one.object_id == Entry("x", path=str(tmp_path / "a" / "readme.md")).object_id
    assert Entry("q").object_id == Entry("q").object_id
    assert Entry().object_id != Entry().object_id
    nameless = Entry()
    assert nameless.object_id == nameless.object_id
