# SPDX-License-Identifier: MIT
"""The scripted server, spoken to by Anthropic's own client."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from rocketride_llm.testing import (
    CallTools,
    Drop,
    Echo,
    Fail,
    FailMidway,
    Hang,
    Malformed,
    Say,
    ScriptedServer,
    Think,
    Usage,
    bad_key,
    content_refused,
    context_too_long,
    model_not_found,
    no_tool_support,
    overloaded,
    permission_denied,
    quota_exhausted,
    rate_limited,
    server_error,
)

TOOLS: Any = [{"name": "add", "description": "Adds", "input_schema": {"type": "object", "properties": {}}}]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def pool() -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="k", max_retries=0, timeout=10) as client:
        yield client


@pytest.fixture
def client(server: ScriptedServer, pool: anthropic.Anthropic) -> anthropic.Anthropic:
    return pool.with_options(base_url=server.base_url("anthropic"))


def ask(client: anthropic.Anthropic, text: str = "Hi", **more: Any) -> Any:
    return client.messages.create(model="claude-x", max_tokens=100, messages=[{"role": "user", "content": text}], **more)


def streamed(client: anthropic.Anthropic, got: list[Any], **more: Any) -> list[Any]:
    with ask(client, stream=True, **more) as stream:
        for event in stream:
            got.append(event)
    return got


def texts(events: list[Any]) -> list[str]:
    return [event.delta.text for event in events if event.type == "content_block_delta" and event.delta.type == "text_delta"]


def test_a_text(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    server.add(Say("Hello you", usage=Usage(input=9, output=2, cached=4)), Say("More", finish="length"))
    reply = ask(client, system="Be kind")
    assert [block.text for block in reply.content] == ["Hello you"]
    assert reply.stop_reason == "end_turn"
    assert (reply.usage.input_tokens, reply.usage.cache_read_input_tokens, reply.usage.output_tokens) == (5, 4, 2)
    assert ask(client).stop_reason == "max_tokens"
    request = server.requests[0]
    assert (request.wire, request.path, request.prompt, request.question) == ("anthropic", "/v1/messages", "Be kind\nHi", "Hi")
    assert request.headers["authorization"] == "Bearer k"
    assert not server.unexpected


def test_a_stream(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    server.add(Say("one two three", usage=Usage(input=9, output=3, cached=4)))
    events = streamed(client, [])
    assert texts(events) == ["one", " two", " three"]
    assert [event.type for event in events] == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0].message.usage.cache_read_input_tokens == 4
    assert events[-2].usage.output_tokens == 3
    assert events[-2].delta.stop_reason == "end_turn"


def test_thinking_text_and_tools_in_a_stream(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    step = CallTools([("add", {"a": 1, "b": "é" * 20}), ("add", {})], text="Let me see", thought="hm so")
    server.add(step, step)
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}], tools=TOOLS) as stream:
        pieces = [event.partial_json for event in stream if event.type == "input_json"]
        final = stream.get_final_message()
    for message in (final, ask(client, tools=TOOLS)):
        assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
        thinking, text, first, second = message.content
        assert (thinking.thinking, text.text, first.name) == ("hm so", "Let me see", "add")
        assert thinking.signature
        assert (first.input, second.input) == ({"a": 1, "b": "é" * 20}, {})
        assert first.id != second.id
        assert message.stop_reason == "tool_use"
    assert len(pieces) > 3


async def test_the_asynchronous_client(server: ScriptedServer) -> None:
    server.add(Say("one two"), Think("hm", "three"), overloaded())
    async with anthropic.AsyncAnthropic(base_url=server.base_url("anthropic"), api_key="k", max_retries=0) as client:
        ours: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        async with client.messages.stream(**ours) as stream:
            assert [text async for text in stream.text_stream] == ["one", " two"]
        reply = await client.messages.create(**ours)
        assert [block.type for block in reply.content] == ["thinking", "text"]
        with pytest.raises(anthropic.InternalServerError):
            await client.messages.create(**ours)


def test_broken_arguments(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    server.add(*[CallTools([("add", {})], broken_arguments='{"a": ')] * 2)
    parts = [
        e.delta.partial_json for e in streamed(client, [], tools=TOOLS) if getattr(getattr(e, "delta", None), "partial_json", "")
    ]
    assert "".join(parts) == '{"a": '
    assert ask(client, tools=TOOLS).content[0].input == '{"a": ', "a text where an object is due"


def test_the_ends_of_a_reply(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    server.add(
        Say("No", finish="refusal"), Say("No", finish="content_filter"), Say("a\nObservation: b"), Think("t", "x", style="tags")
    )
    assert ask(client).stop_reason == "refusal"
    assert streamed(client, [])[-2].delta.stop_reason == "refusal"
    reply = ask(client, stop_sequences=["\nObservation"])
    assert (reply.content[0].text, reply.stop_reason, reply.stop_sequence) == ("a", "stop_sequence", "\nObservation")
    assert ask(client).content[0].text == "<think>\nt\n</think>\n\nx"


@pytest.mark.parametrize(
    ("step", "error", "status", "kind", "said"),
    [
        (bad_key(), anthropic.AuthenticationError, 401, "authentication_error", "invalid x-api-key"),
        (permission_denied(), anthropic.PermissionDeniedError, 403, "permission_error", "permission"),
        (rate_limited(), anthropic.RateLimitError, 429, "rate_limit_error", "rate limit"),
        (quota_exhausted(), anthropic.BadRequestError, 400, "invalid_request_error", "credit balance is too low"),
        (model_not_found(), anthropic.NotFoundError, 404, "not_found_error", "model: claude-x"),
        (context_too_long(), anthropic.BadRequestError, 400, "invalid_request_error", "prompt is too long"),
        (content_refused(), anthropic.BadRequestError, 400, "invalid_request_error", "content filtering policy"),
        (no_tool_support(), anthropic.BadRequestError, 400, "invalid_request_error", "tool use"),
        (server_error(), anthropic.InternalServerError, 500, "api_error", "Internal server error"),
        (server_error(503), anthropic.InternalServerError, 503, "api_error", "Internal server error"),
        (overloaded(), anthropic.InternalServerError, 529, "overloaded_error", "Overloaded"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(
    server: ScriptedServer, client: anthropic.Anthropic, step: Fail, error: Any, status: int, kind: str, said: str, stream: bool
) -> None:
    server.add(step)
    with pytest.raises(error) as caught:
        ask(client, stream=stream)
    assert caught.value.status_code == status
    assert caught.value.body["type"] == "error"
    assert caught.value.body["error"]["type"] == kind
    assert said in caught.value.body["error"]["message"]
    assert caught.value.request_id == caught.value.body["request_id"]
    assert server.requests[0].outcome == "failed"


def test_what_breaks_a_reply(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    server.add(Hang(), Drop(), Drop(after_bytes=30), Malformed('{"id": '))
    with pytest.raises(anthropic.APITimeoutError):
        ask(client.with_options(timeout=0.1))
    for _ in range(2):
        with pytest.raises(anthropic.APIConnectionError):
            ask(client)
    with pytest.raises((anthropic.APIError, ValueError)):
        ask(client)
    assert [request.wait() for request in server.requests] == ["client gone", "dropped", "dropped", "failed"]


@pytest.mark.parametrize(
    ("step", "error", "text"),
    [
        (Drop(after_chunks=2, reply=Say("a b c")), Exception, ["a", " b"]),
        (Malformed("{oops", after_chunks=1, reply=Say("a b")), Exception, ["a"]),
        (FailMidway(overloaded(), reply=Say("a b c")), anthropic.APIStatusError, ["a", " b"]),
        (FailMidway(Fail(500, message="Lost it"), after_chunks=0), anthropic.APIStatusError, []),
        (Hang(0.05, after_chunks=1, reply=Say("a b c")), Exception, ["a"]),
    ],
)
def test_what_breaks_a_stream(
    server: ScriptedServer, client: anthropic.Anthropic, step: Any, error: Any, text: list[str]
) -> None:
    server.add(step)
    got: list[Any] = []
    with pytest.raises(error):
        streamed(client, got)
    assert texts(got) == text
    assert got[0].type == "message_start"


def test_tokens_and_models(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    count = client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x" * 40}])
    assert count.input_tokens == 10
    assert [model.id for model in client.models.list()] == ["scripted"]
    assert client.models.retrieve("claude-x").id == "claude-x"
    assert [request.operation for request in server.requests] == ["count_tokens", "models", "models"]


USE: Any = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "add", "input": {}}]}


@pytest.mark.parametrize(
    ("messages", "more", "said"),
    [
        ([{"role": "system", "content": "x"}], {}, "messages.0.role"),
        ([{"role": "user", "content": "x"}], {"max_tokens": 0}, "max_tokens"),
        ([{"role": "user", "content": "x"}], {"tools": [{"name": "a.b", "input_schema": {}}]}, "tools.0.name"),
        ([{"role": "user", "content": "x"}, USE, {"role": "user", "content": "no result"}], {}, "without `tool_result`"),
        ([{"role": "user", "content": "x"}, USE], {}, "without `tool_result`"),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}],
            {},
            "unexpected `tool_use_id`",
        ),
        ([{"role": "user", "content": [{"type": "text", "text": ""}]}], {}, "non-empty"),
        ([{"role": "user", "content": ""}, {"role": "user", "content": "x"}], {}, "non-empty content"),
    ],
)
def test_what_the_vendor_refuses(
    server: ScriptedServer, client: anthropic.Anthropic, messages: Any, more: Any, said: str
) -> None:
    server.add(Say("never"))
    with pytest.raises(anthropic.BadRequestError, match=said):
        client.messages.create(**{"model": "m", "max_tokens": 9, "messages": messages, **more})
    assert said in server.unexpected[0]
    assert server.remaining == 1


def test_a_conversation_with_tools_is_accepted(server: ScriptedServer, client: anthropic.Anthropic) -> None:
    server.add(CallTools([("add", {"a": 1})]), Echo())
    messages: list[Any] = [{"role": "user", "content": "Sum"}]
    reply = client.messages.create(model="m", max_tokens=9, messages=messages, tools=TOOLS)
    messages.append({"role": "assistant", "content": reply.content})
    result = {"type": "tool_result", "tool_use_id": reply.content[0].id, "content": [{"type": "text", "text": "It is 1"}]}
    messages.append({"role": "user", "content": [result]})
    client.messages.create(model="m", max_tokens=9, messages=messages, tools=TOOLS)
    assert server.unexpected == []
    assert server.requests[1].last == "It is 1"
