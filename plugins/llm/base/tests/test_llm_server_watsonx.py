# SPDX-License-Identifier: MIT
"""The scripted server as watsonx.ai and as IBM Cloud's IAM, over HTTP: IBM's client cannot be installed beside what others need."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from rocketride_llm.testing import (
    CallTools,
    Drop,
    Echo,
    Fail,
    FailMidway,
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

KEY = "key.with-dots.0123"
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
USER = {"role": "user", "content": "Hi"}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(key=KEY) as server:
        yield server


def token_of(server: ScriptedServer, key: str = KEY) -> httpx2.Response:
    form = {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": key}
    return httpx2.post(f"{server.base_url('watsonx')}/identity/token", data=form, trust_env=False, verify=False)


def ask(server: ScriptedServer, *, stream: bool = False, token: str | None = None, **body: Any) -> httpx2.Response:
    token = token_of(server).json()["access_token"] if token is None else token
    given = {"model_id": "ibm/g", "project_id": "p", "messages": [USER], **body}
    url = f"{server.url}/ml/v1/text/chat{'_stream' if stream else ''}?version=2026-10-14"
    return httpx2.post(url, json=given, headers={"authorization": f"Bearer {token}"}, trust_env=False, verify=False)


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for event in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in event.split("\n"))
        found.append((fields["event"], json.loads(fields["data"])))
    return found


def test_a_key_becomes_a_token(server: ScriptedServer) -> None:
    told = token_of(server).json()
    head, life, _ = told["access_token"].split(".", 2)
    assert json.loads(base64.b64decode(head + "==")) == {"alg": "none"}
    assert json.loads(base64.b64decode(life + "=="))["exp"] == told["expiration"]
    assert (told["token_type"], told["expires_in"]) == ("Bearer", 3600)
    refused = token_of(server, "another")
    assert (refused.status_code, refused.json()["errorCode"]) == (400, "BXNIM0415E")
    assert ask(server, token="another").status_code == 401
    assert [request.operation for request in server.requests] == ["token", "token", "chat"]
    assert not server.unexpected
    assert token_of(server, "").status_code == 400


def test_iam_fails_by_a_rule() -> None:
    with ScriptedServer(rules=[Rule("", server_error(503), operation="token")]) as server:
        answer = token_of(server)
        assert (answer.status_code, answer.json()["errorCode"]) == (503, "internal_error")


def test_a_text(server: ScriptedServer) -> None:
    server.add(
        Say("Hello you", usage=Usage(input=9, output=5)), Say("x", finish="length", usage=False), Say("no", finish="refusal")
    )
    body = ask(server, stop=["END"], temperature=0.5).json()
    assert body["choices"] == [{"index": 0, "message": {"role": "assistant", "content": "Hello you"}, "finish_reason": "stop"}]
    assert body["usage"] == {"completion_tokens": 5, "prompt_tokens": 9, "total_tokens": 14}
    body = ask(server).json()
    assert (body["choices"][0]["finish_reason"], "usage" in body) == ("length", False)
    assert ask(server).json()["choices"][0] == {
        **body["choices"][0],
        "message": {"role": "assistant", "content": "no"},
        "finish_reason": "stop",
    }
    request = server.chats[0]
    assert (request.wire, request.model, request.stream, request.key) == ("watsonx", "ibm/g", False, KEY)
    assert (request.prompt, request.question, request.stops) == ("Hi", "Hi", ("END",))
    assert not server.unexpected


def test_a_stream(server: ScriptedServer) -> None:
    server.add(Think("hm so", "one two", usage=Usage(input=9, output=3)))
    found = events(ask(server, stream=True).text)
    assert {name for name, _ in found} == {"message"}
    deltas = [body["choices"][0]["delta"] for _, body in found if body["choices"]]
    assert [delta.get("reasoning_content") for delta in deltas if "reasoning_content" in delta] == ["hm", " so"]
    assert [delta["content"] for delta in deltas if "content" in delta] == ["", "one", " two"]
    assert found[-2][1]["choices"][0]["finish_reason"] == "stop"
    assert found[-1][1]["usage"]["completion_tokens"] == 3
    assert server.chats[0].stream


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls(server: ScriptedServer, stream: bool) -> None:
    server.add(CallTools([("add", {"a": 1}), ("add", {})]), Echo(prefix="You said "))
    answer = ask(server, stream=stream, tools=TOOLS, tool_choice_option="auto")
    if stream:
        choices = [body["choices"][0] for _, body in events(answer.text) if body["choices"]]
        pieces = [call for choice in choices for call in choice["delta"].get("tool_calls", ())]
        calls = [{**call, "function": {**call["function"], "arguments": ""}} for call in pieces if "id" in call]
        for piece in pieces:
            calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
        assert choices[-1]["finish_reason"] == "tool_calls"
    else:
        message = answer.json()["choices"][0]["message"]
        assert "content" not in message
        calls = message["tool_calls"]
    assert [(call["function"]["name"], call["function"]["arguments"]) for call in calls] == [("add", '{"a": 1}'), ("add", "{}")]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": f"sum {n}"} for n, call in enumerate(calls)]
    messages = [USER, {"role": "assistant", "tool_calls": calls}, *results]
    assert ask(server, messages=messages, tools=TOOLS).json()["choices"][0]["message"]["content"] == "You said Hi"
    assert not server.unexpected


@pytest.mark.parametrize(
    ("step", "status", "code", "said"),
    [
        (bad_key(), 401, "authentication_token_not_valid", "invalid token"),
        (permission_denied(), 403, "authorization_rejected", "member"),
        (rate_limited(2), 429, "too_many_requests", "rate limit"),
        (quota_exhausted(), 403, "token_quota_reached", "quota"),
        (model_not_found(), 404, "model_not_supported", "Model 'ibm/g' is not supported"),
        (context_too_long(), 400, "invalid_input_argument", "maximum context length"),
        (content_refused(), 400, "moderation", "blocked"),
        (no_tool_support(), 400, "invalid_input_argument", "Tool calling is not supported"),
        (server_error(), 500, "internal_error", "internal error"),
        (overloaded(), 503, "service_unavailable", "overloaded"),
        (Fail(418, code="teapot", message="short"), 418, "teapot", "short"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(server: ScriptedServer, step: Fail, status: int, code: str, said: str, stream: bool) -> None:
    server.add(step)
    answer = ask(server, stream=stream)
    body = answer.json()
    [error] = body["errors"]
    assert (answer.status_code, body["status_code"], error["code"]) == (status, status, code)
    assert said in error["message"]


def test_streams_that_fail(server: ScriptedServer) -> None:
    server.add(FailMidway(after_chunks=1), Malformed("{", after_chunks=1), Drop(after_chunks=1))
    assert events(ask(server, stream=True).text)[-1][0] == "error"
    assert ask(server, stream=True).text.endswith("event: message\ndata: {\n\n")
    with pytest.raises(httpx2.RemoteProtocolError):
        ask(server, stream=True)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"project_id": ""}, "one of project_id and space_id"),
        ({"space_id": "s"}, "one of project_id and space_id"),
        ({"metadata": {}}, "metadata is not a known field"),
        ({"model_id": ""}, "model"),
        ({"messages": []}, "at least one"),
        ({"stop": list("abcde")}, "at most 4"),
        ({"messages": [{"role": "model", "content": "x"}]}, "role"),
        ({"messages": [USER, {"role": "tool", "tool_call_id": "x", "content": "y"}]}, "preceding message"),
        ({"tools": [{"function": {"name": "a.b"}}]}, "a.b"),
    ],
)
def test_what_the_real_server_refuses(server: ScriptedServer, body: Any, said: str) -> None:
    server.add(Say("never"))
    answer = ask(server, **body)
    assert (answer.status_code, said in answer.json()["errors"][0]["message"]) == (400, True), answer.text
    assert len(server.unexpected) == 1
