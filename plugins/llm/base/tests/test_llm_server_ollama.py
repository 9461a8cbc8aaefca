# SPDX-License-Identifier: MIT
"""The scripted server, spoken to by Ollama's own client."""

from collections.abc import Iterator
from typing import Any

import ollama
import openai
import pytest

from rocketride_llm.testing import (
    CallTools,
    Drop,
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

TOOLS: Any = [
    {"type": "function", "function": {"name": "add", "description": "Adds", "parameters": {"type": "object", "properties": {}}}}
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[ollama.Client]:
    with ollama.Client(server.base_url("ollama"), timeout=10, verify=False) as client:
        yield client


def ask(client: ollama.Client, text: str = "Hi", **more: Any) -> Any:
    return client.chat("llama-x", [{"role": "user", "content": text}], **more)


def test_a_text(server: ScriptedServer, client: ollama.Client) -> None:
    server.add(Say("Hello you", usage=Usage(input=9, output=2)), Say("More", finish="length"), Say("x", usage=False))
    reply = ask(client, options={"stop": ["END"]})
    assert reply.message.content == "Hello you"
    assert (reply.done, reply.done_reason, reply.prompt_eval_count, reply.eval_count) == (True, "stop", 9, 2)
    assert ask(client).done_reason == "length"
    assert ask(client).eval_count is None
    request = server.requests[0]
    assert (request.wire, request.path, request.question, request.stops) == ("ollama", "/api/chat", "Hi", ("END",))
    assert not server.unexpected


def test_a_stream(server: ScriptedServer, client: ollama.Client) -> None:
    server.add(Think("hm so", "one two", usage=Usage(input=9, output=3)), Think("hm", "x", style="tags"))
    parts = list(ask(client, stream=True))
    assert [part.message.thinking for part in parts if part.message.thinking] == ["hm", " so"]
    assert [part.message.content for part in parts if part.message.content] == ["one", " two"]
    assert [part.done for part in parts] == [False] * 4 + [True]
    assert parts[-1].eval_count == 3
    assert ask(client).message.content == "<think>\nhm\n</think>\n\nx"


def test_tool_calls(server: ScriptedServer, client: ollama.Client) -> None:
    step = CallTools([("add", {"a": 1}), ("add", {})], text="See")
    server.add(step, step, CallTools([("add", {})], broken_arguments='{"a'))
    whole = ask(client, tools=TOOLS).message
    parts = [part.message for part in ask(client, tools=TOOLS, stream=True)]
    assert whole.content == "".join(part.content for part in parts) == "See"
    for calls in (whole.tool_calls, [call for part in parts for call in part.tool_calls or []]):
        assert [(call.function.name, call.function.arguments) for call in calls] == [("add", {"a": 1}), ("add", {})]
    with pytest.raises(ValueError, match="arguments"):
        ask(client, tools=TOOLS)


async def test_the_asynchronous_client(server: ScriptedServer) -> None:
    server.add(Say("one two"), Say("three"), overloaded())
    async with ollama.AsyncClient(server.base_url("ollama"), verify=False) as client:
        messages = [{"role": "user", "content": "Hi"}]
        stream = await client.chat("m", messages, stream=True)
        assert [part.message.content async for part in stream] == ["one", " two", ""]
        assert (await client.chat("m", messages)).message.content == "three"
        with pytest.raises(ollama.ResponseError, match="busy"):
            await client.chat("m", messages)


@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        (bad_key(), 401, "unauthorized"),
        (permission_denied(), 403, "subscription"),
        (rate_limited(), 429, "too many"),
        (quota_exhausted(), 429, "usage limit"),
        (model_not_found(), 404, "model 'llama-x' not found"),
        (context_too_long(), 400, "exceeds the context length"),
        (content_refused(), 400, "refused"),
        (no_tool_support(), 400, "llama-x does not support tools"),
        (server_error(), 500, "terminated"),
        (server_error(502), 502, "terminated"),
        (overloaded(), 503, "server busy"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(server: ScriptedServer, client: ollama.Client, step: Fail, status: int, said: str, stream: bool) -> None:
    server.add(step)
    with pytest.raises(ollama.ResponseError, match=said) as caught:
        list(ask(client, stream=stream))
    assert caught.value.status_code == status
    assert server.requests[0].outcome == "failed"


@pytest.mark.parametrize(
    "step", [Hang(0.05), Drop(), Drop(reset=True), Drop(after_bytes=20), Drop(after_chunks=0), Malformed("{oops")]
)
def test_what_breaks_a_reply(server: ScriptedServer, client: ollama.Client, step: Any) -> None:
    server.add(step)
    with pytest.raises(Exception) as caught:
        ask(client)
    assert not isinstance(caught.value, ollama.ResponseError)
    assert server.requests[0].wait() == ("failed" if isinstance(step, Malformed) else "dropped")


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Drop(after_chunks=2, reply=Say("a b c")), "a b"),
        (Malformed("{oops", after_chunks=1, reply=Say("a b")), "a"),
        (FailMidway(Fail(500, message="Lost it"), reply=Say("a b c")), "a b"),
        (Hang(0.05, after_chunks=1, reply=Say("a b c")), "a"),
    ],
)
def test_what_breaks_a_stream(server: ScriptedServer, client: ollama.Client, step: Any, text: str) -> None:
    server.add(step)
    got = []
    with pytest.raises(Exception) as caught:
        for part in ask(client, stream=True):
            got.append(part.message.content)
    assert "".join(got) == text
    assert isinstance(caught.value, ollama.ResponseError) == isinstance(step, FailMidway)


def test_the_other_operations(server: ScriptedServer, client: ollama.Client) -> None:
    shown = client.show("llama-x")
    assert shown.capabilities is not None
    assert {"completion", "tools"} <= set(shown.capabilities)
    assert shown.modelinfo is not None
    assert shown.modelinfo["scripted.context_length"] == 8192
    assert [model.model for model in client.list().models] == ["scripted:latest"]
    vectors = client.embed("e", ["a cat", "a cat", "dog"], dimensions=16).embeddings
    assert [len(vector) for vector in vectors] == [16] * 3
    assert vectors[0] == vectors[1] != vectors[2]
    assert [request.operation for request in server.requests] == ["show", "tags", "embeddings"]


def test_other_models_can_be_shown_by_a_rule(server: ScriptedServer, client: ollama.Client) -> None:
    from rocketride_llm.testing import Rule

    server.script.add_rules([Rule("", model_not_found(), operation="show")])
    with pytest.raises(ollama.ResponseError, match="model 'gone' not found"):
        client.show("gone")


def test_the_compatible_interface(server: ScriptedServer) -> None:
    server.add(Say("Hello"))
    with openai.OpenAI(base_url=f"{server.base_url('ollama')}/v1", api_key="ollama", max_retries=0) as client:
        reply = client.chat.completions.create(model="llama-x", messages=[{"role": "user", "content": "Hi"}])
    assert reply.choices[0].message.content == "Hello"


def test_what_the_vendor_refuses(server: ScriptedServer, client: ollama.Client) -> None:
    with pytest.raises(ollama.ResponseError, match="role") as caught:
        client.chat("m", [{"role": "robot", "content": "x"}])
    assert caught.value.status_code == 400
    assert len(server.unexpected) == 1
