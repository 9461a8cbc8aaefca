# SPDX-License-Identifier: MIT
"""The scripted server, spoken to by OpenAI's own client."""

import json
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from rocketride_llm.testing import (
    CallTools,
    Drop,
    Echo,
    Fail,
    FailMidway,
    Hang,
    Malformed,
    Rule,
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

TOOLS: Any = [
    {"type": "function", "function": {"name": "add", "description": "Adds", "parameters": {"type": "object", "properties": {}}}}
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def pool() -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="k", max_retries=0, timeout=10) as client:
        yield client


@pytest.fixture
def client(server: ScriptedServer, pool: openai.OpenAI) -> openai.OpenAI:
    return pool.with_options(base_url=server.base_url("openai"))


def ask(client: openai.OpenAI, text: str = "Hi", **more: Any) -> Any:
    return client.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": text}], **more)


def streamed(client: openai.OpenAI, **more: Any) -> list[Any]:
    with ask(client, stream=True, **more) as stream:
        return list(stream)


def texts(chunks: list[Any]) -> list[str]:
    return [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]


def test_a_text(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Say("Hello you", usage=Usage(input=9, output=2, cached=4)), Say("More", finish="length"))
    reply = ask(client)
    assert reply.choices[0].message.content == "Hello you"
    assert reply.choices[0].finish_reason == "stop"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (9, 2, 11)
    assert reply.usage.prompt_tokens_details.cached_tokens == 4
    second = ask(client)
    assert second.choices[0].finish_reason == "length"
    assert second.id != reply.id
    request = server.requests[0]
    assert (request.wire, request.operation, request.path, request.model) == ("openai", "chat", "/v1/chat/completions", "gpt-x")
    assert request.headers["authorization"] == "Bearer k"
    assert request.body["messages"] == [{"role": "user", "content": "Hi"}]
    assert (request.question, request.outcome, server.unexpected, server.remaining) == ("Hi", "answered", [], 0)


def test_a_stream(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Say("one two three", usage=Usage(input=3, output=3)), Say(chunks=["o", "ne t", "wo"]), Say("abcd", chunks=2))
    chunks = streamed(client)
    assert texts(chunks) == ["one", " two", " three"]
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.usage is None for chunk in chunks), "usage only where it is asked for"
    chunks = streamed(client, stream_options={"include_usage": True})
    assert texts(chunks) == ["o", "ne t", "wo"]
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 2, "counted, four characters a token"
    assert texts(streamed(client)) == ["ab", "cd"]


async def test_the_asynchronous_client(server: ScriptedServer) -> None:
    server.add(Say("one two"), Say("three"), rate_limited(None))
    async with openai.AsyncOpenAI(base_url=server.base_url("openai"), api_key="k", max_retries=0) as client:
        messages: Any = [{"role": "user", "content": "Hi"}]
        stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
        assert texts([chunk async for chunk in stream]) == ["one", " two"]
        reply = await client.chat.completions.create(model="m", messages=messages)
        assert reply.choices[0].message.content == "three"
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model="m", messages=messages)


def test_usage_can_be_left_out(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Say("a", usage=False), Say("b", usage=False))
    assert ask(client).usage is None
    assert all(chunk.usage is None for chunk in streamed(client, stream_options={"include_usage": True}))


def test_tool_calls(server: ScriptedServer, client: openai.OpenAI) -> None:
    calls = CallTools([("add", {"a": 1, "b": "é" * 20}), ("add", {})], text="Let me see")
    server.add(calls, calls)
    message = ask(client, tools=TOOLS).choices[0].message
    assert message.content == "Let me see"
    assert [json.loads(call.function.arguments) for call in message.tool_calls] == [{"a": 1, "b": "é" * 20}, {}]
    assert len({call.id for call in message.tool_calls}) == 2
    with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Hi"}], tools=TOOLS) as stream:
        pieces = [e.arguments_delta for e in stream if e.type == "tool_calls.function.arguments.delta"]  # type: ignore[union-attr]
        final: Any = stream.get_final_completion().choices[0]
    assert len(pieces) > 3, "arguments come in pieces"
    assert final.finish_reason == "tool_calls"
    assert [json.loads(call.function.arguments) for call in final.message.tool_calls] == [{"a": 1, "b": "é" * 20}, {}]


def test_broken_arguments(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(CallTools([("add", {})], broken_arguments='{"a": '), CallTools([("add", '{"b')]))
    assert ask(client, tools=TOOLS).choices[0].message.tool_calls[0].function.arguments == '{"a": '
    assert ask(client, tools=TOOLS).choices[0].message.tool_calls[0].function.arguments == '{"b'


def test_reasoning(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Think("hm so", "Yes"), Think("hm so", "Yes", key="reasoning"), Think("hm", "Yes", style="tags"))
    assert ask(client).choices[0].message.reasoning_content == "hm so"
    deltas = [chunk.choices[0].delta for chunk in streamed(client) if chunk.choices]
    assert [piece for delta in deltas if (piece := getattr(delta, "reasoning", None))] == ["hm", " so"]
    assert ask(client).choices[0].message.content == "<think>\nhm\n</think>\n\nYes"


def test_refusals_within_a_reply(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Say("I will not", finish="refusal"), Say("I w", finish="content_filter"), Say("I will not", finish="refusal"))
    choice = ask(client).choices[0]
    assert (choice.message.refusal, choice.message.content) == ("I will not", None)
    assert ask(client).choices[0].finish_reason == "content_filter"
    assert "".join(chunk.choices[0].delta.refusal or "" for chunk in streamed(client)) == "I will not"


def test_stop_words_are_honoured(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Say("Action: x\nObservation: lies"), Say("a STOP b", honour_stop=False), Say("one two END three"))
    assert ask(client, stop=["Nope", "\nObservation"]).choices[0].message.content == "Action: x"
    assert ask(client, stop="STOP").choices[0].message.content == "a STOP b"
    assert "".join(texts(streamed(client, stop="END"))) == "one two "


@pytest.mark.parametrize(
    ("step", "error", "status", "code"),
    [
        (bad_key(), openai.AuthenticationError, 401, "invalid_api_key"),
        (permission_denied(), openai.PermissionDeniedError, 403, "missing_scope"),
        (rate_limited(), openai.RateLimitError, 429, "rate_limit_exceeded"),
        (quota_exhausted(), openai.RateLimitError, 429, "insufficient_quota"),
        (model_not_found(), openai.NotFoundError, 404, "model_not_found"),
        (context_too_long(), openai.BadRequestError, 400, "context_length_exceeded"),
        (content_refused(), openai.BadRequestError, 400, "content_policy_violation"),
        (content_refused("content_filter"), openai.BadRequestError, 400, "content_filter"),
        (no_tool_support(), openai.BadRequestError, 400, "unsupported_parameter"),
        (server_error(), openai.InternalServerError, 500, None),
        (server_error(502), openai.InternalServerError, 502, None),
        (overloaded(), openai.InternalServerError, 503, None),
        (Fail(418, message="A teapot", code="pot"), openai.APIStatusError, 418, "pot"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(
    server: ScriptedServer,
    client: openai.OpenAI,
    step: Fail,
    error: type[openai.APIStatusError],
    status: int,
    code: str,
    stream: bool,
) -> None:
    server.add(step)
    with pytest.raises(error) as caught:
        ask(client, stream=stream)
    assert (caught.value.status_code, caught.value.code) == (status, code)
    assert caught.value.response.headers["content-type"] == "application/json"
    assert server.requests[0].outcome == "failed"
    assert not server.unexpected


def test_the_message_of_a_failure(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(
        model_not_found(), Fail(500, message="Own words"), Fail(502, body="<h1>Bad Gateway</h1>"), Fail(400, body={"detail": "x"})
    )
    with pytest.raises(openai.NotFoundError, match="`gpt-x` does not exist"):
        ask(client)
    with pytest.raises(openai.InternalServerError, match="Own words"):
        ask(client)
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client)
    assert caught.value.response.text == "<h1>Bad Gateway</h1>"
    with pytest.raises(openai.BadRequestError) as bad:
        ask(client)
    assert bad.value.body == {"detail": "x"}


@pytest.mark.parametrize("form", ["seconds", "ms", "date"])
def test_the_client_comes_again_when_it_is_told_to(server: ScriptedServer, form: Any) -> None:
    server.add(rate_limited(1 if form == "date" else 0.6, form), Say("Now"))
    with openai.OpenAI(base_url=server.base_url("openai"), api_key="k", max_retries=1) as client:
        assert ask(client).choices[0].message.content == "Now"
    first, second = server.requests
    waited = second.time - first.time
    assert waited >= 0.6, "without the header the client would wait for half a second at most"


def test_a_hang_ends_with_the_clients_patience(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Hang())
    with pytest.raises(openai.APITimeoutError):
        ask(client.with_options(timeout=0.1))
    assert server.requests[0].wait() == "client gone"


def test_a_hang_of_some_seconds_and_one_in_a_stream(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Hang(0.05), Hang(after_chunks=2, reply=Say("one two three")))
    with pytest.raises(openai.APIConnectionError):
        ask(client)
    assert server.requests[0].wait() == "dropped"
    got = []
    with pytest.raises(openai.APITimeoutError), ask(client.with_options(timeout=0.2), stream=True) as stream:
        for chunk in stream:
            got.append(chunk.choices[0].delta.content or "")
    assert "".join(got) == "one two"


@pytest.mark.parametrize("step", [Drop(), Drop(reset=True), Drop(after_bytes=20), Drop(after_chunks=1)])
def test_a_dropped_reply(server: ScriptedServer, client: openai.OpenAI, step: Drop) -> None:
    server.add(step, Say("Again"))
    with pytest.raises(openai.APIConnectionError):
        ask(client)
    assert server.requests[0].wait() == "dropped"
    assert ask(client).choices[0].message.content == "Again", "the next one is served on a new connection"


@pytest.mark.parametrize(
    ("step", "text"), [(Drop(after_chunks=2, reply=Say("a b c")), "a b"), (Drop(after_bytes=400), ""), (Drop(after_chunks=0), "")]
)
def test_a_stream_dropped_in_its_middle(server: ScriptedServer, client: openai.OpenAI, step: Drop, text: str) -> None:
    server.add(step)
    got: list[Any] = []
    with pytest.raises(openai.APIConnectionError), ask(client, stream=True) as stream:
        for chunk in stream:
            got.append(chunk)
    assert "".join(texts(got)).startswith(text)
    assert text or len(got) <= 2
    assert server.requests[0].wait() == "dropped"


def test_malformed_replies(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(
        Malformed('{"id": '),
        Malformed("<h1>Hi</h1>", content_type="text/html"),
        Malformed("{oops", after_chunks=1, reply=Say("a b")),
    )
    with pytest.raises((openai.APIResponseValidationError, ValueError)):
        ask(client)
    assert ask(client) == "<h1>Hi</h1>", "the client hands a page of text on as it is"
    got: list[Any] = []
    with pytest.raises((openai.APIError, ValueError)), ask(client, stream=True) as stream:
        for chunk in stream:
            got.append(chunk)
    assert texts(got) == ["a"]


def test_an_error_inside_a_stream(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(FailMidway(Fail(kind="server_error", message="Lost it"), reply=Say("a b c")), FailMidway(overloaded()))
    got: list[Any] = []
    with pytest.raises(openai.APIError, match="Lost it"), ask(client, stream=True) as stream:
        for chunk in stream:
            got.append(chunk)
    assert texts(got) == ["a", " b"]
    with pytest.raises(openai.InternalServerError):
        ask(client)


def test_delays(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(Say("a b c", delay=0.1, per_chunk_delay=0.1))
    began = time.monotonic()
    times = []
    with ask(client, stream=True) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.content:
                times.append(time.monotonic() - began)
    assert times[0] >= 0.1
    assert times[-1] >= 0.3
    assert times[-1] - times[0] >= 0.1, "piece by piece"


def test_embeddings(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.script.add_rules([Rule("forbidden", content_refused(), operation="embeddings")])
    as_bytes = client.embeddings.create(model="e", input=["a cat sat", "a cat", "dog"], dimensions=64)
    as_floats = client.embeddings.create(model="e", input="a cat sat", dimensions=64, encoding_format="float")
    first, second, third = (item.embedding for item in as_bytes.data)
    assert first == pytest.approx(as_floats.data[0].embedding, abs=1e-6)
    assert sum(x * x for x in first) == pytest.approx(1, abs=1e-5)
    near, far = (sum(x * y for x, y in zip(first, other, strict=True)) for other in (second, third))
    assert near > far + 0.3, "texts with common words are similar"
    assert len(client.embeddings.create(model="e", input="x").data[0].embedding) == 1536
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="e", input="forbidden words")
    assert not server.unexpected
    with pytest.raises(openai.BadRequestError, match="empty"):
        client.embeddings.create(model="e", input="")


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["scripted"]
    assert client.models.retrieve("gpt-x").id == "gpt-x"


@pytest.mark.parametrize(
    ("messages", "more", "said"),
    [
        ([{"role": "user", "content": "x"}], {"tools": [{"type": "function", "function": {"name": "a.b"}}]}, "tools.0.name"),
        ([{"role": "robot", "content": "x"}], {}, "messages.0.role"),
        ([{"role": "tool", "content": "x", "tool_call_id": "1"}], {}, "must be a response to a preceding"),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}],
                }
            ],
            {},
            "followed by tool",
        ),
        ([], {}, "at least one"),
        ([{"role": "user", "content": "x"}], {"tool_choice": "auto"}, "tool_choice"),
    ],
)
def test_what_the_vendor_refuses(server: ScriptedServer, client: openai.OpenAI, messages: Any, more: Any, said: str) -> None:
    server.add(Say("never"))
    with pytest.raises(openai.BadRequestError, match=said):
        client.chat.completions.create(model="m", messages=messages, **more)
    assert said in server.unexpected[0]
    assert server.remaining == 1, "a refused request takes no step"


def test_a_conversation_with_tools_is_accepted(server: ScriptedServer, client: openai.OpenAI) -> None:
    server.add(CallTools([("add", {"a": 1}), ("add", {"a": 2})]), Echo("Last: "))
    messages: list[Any] = [{"role": "system", "content": "Be"}, {"role": "user", "content": [{"type": "text", "text": "Sum"}]}]
    reply = client.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message
    messages.append(reply.model_dump(exclude_none=True))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": f"got {call.id}"} for call in reply.tool_calls or []]
    assert client.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message.content == "Last: Sum"
    assert server.unexpected == []
    assert server.requests[1].last.startswith("got call_")
    assert server.requests[0].prompt == "Be\nSum"
