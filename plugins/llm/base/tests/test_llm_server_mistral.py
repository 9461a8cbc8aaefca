# SPDX-License-Identifier: MIT
"""The scripted server, spoken to by Mistral's own client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mistralai.client import Mistral, errors

from rocketride_llm.testing import (
    CallTools,
    Drop,
    Echo,
    Fail,
    FailMidway,
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

TOOLS: Any = [{"type": "function", "function": {"name": "add", "description": "Adds", "parameters": {"type": "object"}}}]
AGENT = {"user-agent": "mistral-client-python/3.7.0"}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[Mistral]:
    with httpx2.Client(trust_env=False, verify=False) as http:
        yield Mistral(api_key="any", server_url=server.base_url("mistral"), client=http, timeout_ms=10_000)


def ask(client: Mistral, text: Any = "Hi", *, stream: bool = False, **more: Any) -> list[Any]:
    """The choices, and what stands beside them, of a whole reply or of each part of a stream."""
    messages = [{"role": "user", "content": text}] if isinstance(text, str) else text
    given: Any = {"model": "mistral-x", "messages": messages, **more}
    if not stream:
        return [client.chat.complete(**given)]
    with client.chat.stream(**given) as parts:
        return [part.data for part in parts]


def test_a_text(server: ScriptedServer, client: Mistral) -> None:
    server.add(Say("Hello you", usage=Usage(input=9, output=5, cached=4)), Say("x", finish="length"), Say("no", finish="refusal"))
    [reply] = ask(client, stop=["END"], temperature=0.5)
    assert reply.choices[0].message.content == "Hello you"
    used = reply.usage
    assert (used.prompt_tokens, used.completion_tokens, used.total_tokens) == (9, 5, 14)
    assert used.additional_properties["num_cached_tokens"] == 4
    assert [ask(client)[0].choices[0].finish_reason for _ in range(2)] == ["length", "stop"]
    request = server.requests[0]
    assert (request.wire, request.operation, request.model, request.stream) == ("mistral", "chat", "mistral-x", False)
    assert (request.prompt, request.question, request.stops) == ("Hi", "Hi", ("END",))
    assert not server.unexpected


def test_a_stream(server: ScriptedServer, client: Mistral) -> None:
    server.add(Think("hm so", "one two", usage=Usage(input=9, output=3)))
    parts = ask(client, stream=True)
    said = [part.choices[0].delta.content for part in parts]
    assert [piece[0].thinking[0].text for piece in said if isinstance(piece, list)] == ["hm", " so"]
    assert [piece for piece in said if isinstance(piece, str)] == ["", "one", " two", ""]
    assert [part.choices[0].finish_reason for part in parts] == [None] * 5 + ["stop"]
    assert [part.usage.completion_tokens for part in parts if part.usage] == [3]
    assert server.requests[0].stream


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls(server: ScriptedServer, client: Mistral, stream: bool) -> None:
    server.add(CallTools([("add", {"a": 1}), ("add", {})], text="See"), Echo(prefix="You said "))
    parts = [part.choices[0] for part in ask(client, stream=stream, tools=TOOLS)]
    messages = [part.delta if stream else part.message for part in parts]
    assert "".join(message.content for message in messages) == "See"
    [calls] = [message.tool_calls for message in messages if message.tool_calls]
    assert [(call.id, call.index, call.function.name, call.function.arguments) for call in calls] == [
        ("000010000", 0, "add", '{"a": 1}'),
        ("000010001", 1, "add", "{}"),
    ]
    assert parts[-1].finish_reason == "tool_calls"
    results = [{"role": "tool", "tool_call_id": call.id, "content": f"sum {n}"} for n, call in enumerate(calls)]
    [reply] = ask(
        client, [{"role": "user", "content": "Add!"}, {"role": "assistant", "tool_calls": calls}, *results], tools=TOOLS
    )
    assert reply.choices[0].message.content == "You said Add!"
    assert (server.requests[1].question, server.requests[1].last) == ("Add!", "sum 1")
    assert not server.unexpected


@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        (bad_key(), 401, '"detail":"Unauthorized"'),
        (permission_denied(), 403, "do not have access"),
        (rate_limited(2), 429, '"code":"1300"'),
        (quota_exhausted(), 402, "no credit left"),
        (model_not_found(), 400, "Invalid model: mistral-x"),
        (context_too_long(), 400, '"code":"3051"'),
        (content_refused(), 403, "guardrail"),
        (no_tool_support(), 400, "Function calling is not enabled"),
        (server_error(), 500, "Service unavailable"),
        (server_error(504), 504, '"raw_status_code":504'),
        (overloaded(), 503, "Internal server error"),
        (Fail(418, code="teapot", message="short"), 418, '"type":"teapot"'),
        (Fail(422, message="Field required"), 422, '"detail":[{'),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(server: ScriptedServer, client: Mistral, step: Fail, status: int, said: str, stream: bool) -> None:
    server.add(step)
    with pytest.raises(errors.MistralError) as caught:
        ask(client, stream=stream)
    assert caught.value.status_code == status
    assert said in caught.value.body.replace('": ', '":').replace("[ {", "[{")
    assert isinstance(caught.value, errors.HTTPValidationError) == (status == 422)
    assert caught.value.headers.get("retry-after") == ("2" if status == 429 else None)


def test_streams_that_fail(server: ScriptedServer, client: Mistral) -> None:
    kinds: list[tuple[Any, type[Exception]]] = [
        (FailMidway(after_chunks=1), errors.ResponseValidationError),
        (Malformed(after_chunks=1), errors.ResponseValidationError),
        (Drop(after_chunks=1), httpx2.RemoteProtocolError),
    ]
    for step, kind in kinds:
        server.add(step)
        got = []
        with (
            pytest.raises(kind),
            client.chat.stream(model="mistral-x", messages=[{"role": "user", "content": "Hi"}]) as parts,
        ):
            for part in parts:
                got.append(part.data.choices[0].delta.content)
        assert got == ["", "This"]


def test_models(server: ScriptedServer, client: Mistral) -> None:
    assert client.models.retrieve(model_id="mistral-x").id == "mistral-x"
    assert [request.operation for request in server.requests] == ["models"]


def test_a_wrong_key() -> None:
    with ScriptedServer([Say("a")], key="s3") as server:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        for key, status in (("s4", 401), ("s3", 200)):
            assert post(server, body, authorization=f"Bearer {key}")[0] == status


def post(server: ScriptedServer, body: Any, **headers: str) -> tuple[int, Any]:
    url = f"{server.url}/v1/chat/completions"
    reply = httpx2.post(url, json=body, headers={**AGENT, **headers}, trust_env=False, verify=False)
    return reply.status_code, reply.json()


USER = {"role": "user", "content": "Hi"}
SYSTEM = {"role": "system", "content": "Hi"}
SAID = {"role": "assistant", "content": "Hi"}
CALL = {"role": "assistant", "tool_calls": [{"id": "abcdef123", "function": {"name": "t", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "abcdef123", "content": "x"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"model": ""}, "Field required"),
        ({"messages": []}, "at least one message"),
        ({"stream_options": {}}, "Extra inputs are not permitted: stream_options"),
        ({"temperature": 2}, "between 0 and 1.5"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"messages": [{**USER, "role": "developer"}]}, "not 'developer'"),
        ({"messages": [USER, SAID, SYSTEM, USER]}, "Unexpected role 'system' after role 'assistant'"),
        ({"messages": [USER, CALL, RESULT, USER]}, "Unexpected role 'user' after role 'tool'"),
        ({"messages": [USER, RESULT]}, "Unexpected role 'tool' after role 'user'"),
        ({"messages": [USER, CALL, {**RESULT, "tool_call_id": "x"}]}, "Unexpected tool call id x"),
        ({"messages": [USER, CALL, USER]}, "Not the same number of function calls and responses"),
        ({"messages": [USER, {"role": "assistant", "content": ""}, USER]}, "either content or tool_calls"),
        ({"messages": [USER, {**CALL, "tool_calls": [{"id": "call_1"}]}, RESULT]}, "with a length of 9"),
        ({"messages": [USER, SAID]}, "Expected last role User or Tool"),
        ({"tools": [{"function": {"name": "a.b"}}]}, "Function name was a.b"),
    ],
)
def test_what_the_real_server_refuses(body: Any, said: str) -> None:
    with ScriptedServer([Say("never")]) as server:
        status, reply = post(server, {"model": "m", "messages": [USER], **body})
        assert (status, reply["object"]) == (400, "error")
        assert said in reply["message"]
        assert len(server.unexpected) == 1


def test_what_the_real_server_takes() -> None:
    with ScriptedServer(rules=[("Hi", Say("a"))]) as server:
        for messages in ([SYSTEM, USER, USER, CALL, RESULT], [SAID, USER], [USER, CALL, RESULT, SAID, USER]):
            assert post(server, {"model": "m", "messages": messages})[0] == 200
        assert not server.unexpected


def test_paths_of_others_are_left_to_them(server: ScriptedServer) -> None:
    httpx2.get(f"{server.url}/v1/models/gpt-x", trust_env=False, verify=False)
    httpx2.get(f"{server.url}/v1/models/mistral-x", headers=AGENT, trust_env=False, verify=False)
    assert [request.wire for request in server.requests] == ["openai", "mistral"]
