# SPDX-License-Identifier: MIT
"""Replies of servers that keep to the format more or less, read without a server; requests as they are written."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from rocketride_core import Message, ToolCall
from rocketride_llm import LLMError, Offer, Reply, Request, Usage
from rocketride_llm_openai_api.reading import Gathering, whole
from rocketride_llm_openai_api.sending import body, reasons


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def calls(*pieces: dict[str, Any]) -> dict[str, Any]:
    return delta(tool_calls=list(pieces))


def gathered(*chunks: Any) -> Reply:
    gathering = Gathering()
    texts = [gathering.feed(chunk) for chunk in chunks]
    reply = gathering.reply()
    assert reply.finish == "refused" or "".join(texts) == reply.text
    return reply


def message(finish: Any = "stop", usage: Any = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", **fields}, "finish_reason": finish}], "usage": usage}


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "refused"),
        ("eos", "stop"),
        (None, "stop"),
    ],
)
def test_finish_reasons(finish: Any, expected: str) -> None:
    assert whole(message(finish, content="a")).finish == expected
    if finish:
        assert gathered(delta(content="a"), delta(finish)).finish == expected


def test_a_stream_without_its_end_is_a_lost_connection() -> None:
    with pytest.raises(LLMError, match="was lost before its answer was complete") as caught:
        gathered(delta(content="Hal"))
    assert caught.value.kind == "connection"


def test_calls_win_over_a_wrong_finish_reason() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    assert whole(message("stop", tool_calls=[call])) == Reply(calls=(ToolCall("c", "t"),), finish="tools")
    assert whole(message("length", tool_calls=[call])).finish == "length"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}, Usage(7, 3, 5)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": None}, Usage(7, 3, 0)),
        ({"prompt_tokens": 7, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}, Usage(7, 3, 4)),
        ({"prompt_tokens": 7}, Usage(7, 0, 0)),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_usage(usage: Any, expected: Usage | None) -> None:
    assert whole(message(usage=usage, content="a")).usage == expected
    last = {"choices": [], "usage": usage}
    assert gathered(delta(content="a"), delta("stop"), last).usage == expected


def test_usage_in_every_chunk_counts_once() -> None:
    chunks = [delta(content="a") | {"usage": {"prompt_tokens": 5, "completion_tokens": n}} for n in (1, 2, 3)]
    assert gathered(*chunks, delta("stop") | {"usage": None}).usage == Usage(5, 3)


def test_content_in_parts_without_the_thoughts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Yes."}]
    assert whole(message(content=parts)).text == "Yes."
    assert gathered(delta(content=parts), delta("stop")).text == "Yes."


def test_chunks_without_choices_are_passed_over() -> None:
    azure = {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    assert gathered(azure, delta(role="assistant", content=None), delta(content="a"), delta("stop")).text == "a"


CALL_STREAMS = {
    "as OpenAI": [
        calls({"index": 0, "id": "a", "function": {"name": "t", "arguments": ""}}),
        calls({"index": 0, "function": {"arguments": '{"x"'}}),
        calls({"index": 0, "function": {"arguments": ": 1}"}}),
        calls({"index": 1, "id": "b", "function": {"name": "u", "arguments": ""}}),
        calls({"index": 1, "function": {"arguments": '{"y": 2}'}}),
    ],
    "mixed": [
        calls({"index": 0, "id": "a", "function": {"name": "t"}}, {"index": 1, "id": "b", "function": {"name": "u"}}),
        calls({"index": 1, "function": {"arguments": '{"y"'}}, {"index": 0, "function": {"arguments": '{"x": 1}'}}),
        calls({"index": 1, "function": {"arguments": ": 2}"}}),
    ],
    "id and name in every piece": [
        calls({"index": 0, "id": "a", "function": {"name": "t", "arguments": '{"x"'}}),
        calls({"index": 0, "id": "a", "function": {"name": "t", "arguments": ": 1}"}}),
        calls({"index": 1, "id": "b", "function": {"name": "u", "arguments": '{"y": 2}'}}),
    ],
    "index 0 for all": [
        calls({"index": 0, "id": "a", "function": {"name": "t", "arguments": '{"x": 1}'}}),
        calls({"index": 0, "id": "b", "function": {"name": "u", "arguments": '{"y"'}}),
        calls({"index": 0, "function": {"arguments": ": 2}"}}),
    ],
    "no index": [
        calls({"id": "a", "function": {"name": "t", "arguments": '{"x"'}}),
        calls({"function": {"arguments": ": 1}"}}),
        calls({"id": "b", "function": {"name": "u", "arguments": '{"y": 2}'}}),
    ],
    "objects": [
        calls(
            {"index": 0, "id": "a", "function": {"name": "t", "arguments": {"x": 1}}},
            {"index": 1, "id": "b", "function": {"name": "u", "arguments": {"y": 2}}},
        )
    ],
}


@pytest.mark.parametrize("way", CALL_STREAMS)
def test_calls_in_pieces(way: str) -> None:
    reply = gathered(*CALL_STREAMS[way], delta("tool_calls"))
    assert list(reply.calls) == [ToolCall("a", "t", {"x": 1}), ToolCall("b", "u", {"y": 2})]
    assert reply.finish == "tools"


def test_calls_without_ids_get_some() -> None:
    call = {"function": {"name": "t", "arguments": "{}"}}
    first, second = (whole(message(tool_calls=[call, call])).calls for _ in range(2))
    assert len({one.id for one in [*first, *second]}) == 4


@pytest.mark.parametrize(
    ("written", "broken"), [("", ""), ("  ", ""), ("{}", ""), ("[]", "[]"), ("null", "null"), ('{"a', '{"a')]
)
def test_arguments_that_are_no_object(written: str, broken: str) -> None:
    call = {"id": "c", "function": {"name": "t", "arguments": written}}
    assert whole(message(tool_calls=[call])).calls == (ToolCall("c", "t", {}, broken),)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        *[(name, True) for name in ("o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.2", "gpt-5.4-pro", "openai/gpt-5-mini", "gpt-6")],
        *[(name, False) for name in ("gpt-5-chat-latest", "gpt-5.1-chat-latest", "gpt-4o", "gpt-4.1", "gpt-3.5-turbo", "ft:gpt-4o:x")],
        *[(name, False) for name in ("olmo", "o-model", "my-gpt-5x-copy", "llama3", "gpt-oss-20b", "openai/gpt-oss-20b")],
    ],
)  # fmt: skip
def test_which_models_reason(model: str, expected: bool) -> None:
    assert reasons(model) is expected
    request = Request(messages=[Message("user", "q")], stop=["a"], max_tokens=9)
    sent = set(body(model, request, (), stream=False))
    assert sent == {"model", "messages"} | ({"max_completion_tokens"} if expected else {"max_tokens", "temperature", "stop"})


def test_a_request_in_full() -> None:
    schema: Any = MappingProxyType({"type": "object", "properties": MappingProxyType({"x": {"enum": (1, 2)}})})
    request = Request(
        messages=[
            Message("system", "s"),
            Message("user", "u"),
            Message("assistant", "", [ToolCall("c", "t", MappingProxyType({"x": (1, 2)})), ToolCall("d", "t", broken="{")]),
            Message("tool", "r", call_id="c"),
        ],
        tools=[Offer("t", "Does.", schema)],
        stop=["1", "2", "3", "4", "5"],
        max_tokens=9,
        temperature=None,
    )
    assert body("m", request, (), stream=True) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"x": [1, 2]}'}},
                    {"id": "d", "type": "function", "function": {"name": "t", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ],
        "max_tokens": 9,
        "stop": ["1", "2", "3", "4"],
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "t",
                    "description": "Does.",
                    "parameters": {"type": "object", "properties": {"x": {"enum": [1, 2]}}},
                },
            }
        ],
        "stream": True,
    }
