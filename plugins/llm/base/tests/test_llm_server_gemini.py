# SPDX-License-Identifier: MIT
"""The scripted server, spoken to by Google's own client: as the Gemini API, and as Vertex AI."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials

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

DECLARED = {"name": "add", "description": "Adds", "parameters_json_schema": {"type": "object", "properties": {}}}
TOOLS: Any = {"tools": [{"function_declarations": [DECLARED]}], "automatic_function_calling": {"disable": True}}


def client_of(server: ScriptedServer, **account: Any) -> genai.Client:
    quiet = {"trust_env": False, "verify": False}
    options = types.HttpOptions(base_url=server.base_url("gemini"), timeout=10_000, client_args=quiet, async_client_args=quiet)
    return genai.Client(http_options=options, **account)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def client(server: ScriptedServer) -> Iterator[genai.Client]:
    with client_of(server, vertexai=False, api_key="any") as client:
        yield client


def ask(client: genai.Client, text: Any = "Hi", *, stream: bool = False, **config: Any) -> list[types.GenerateContentResponse]:
    given: Any = {"model": "gemini-x", "contents": text, "config": config}
    return list(client.models.generate_content_stream(**given)) if stream else [client.models.generate_content(**given)]


def test_a_text(server: ScriptedServer, client: genai.Client) -> None:
    server.add(Say("Hello you", usage=Usage(input=9, output=5, cached=4, reasoning=2)), Say("x", finish="length", usage=False))
    [reply] = ask(client, system_instruction="Be brief.", stop_sequences=["END"])
    assert reply.text == "Hello you"
    assert reply.candidates is not None
    assert reply.candidates[0].finish_reason == "STOP"
    used = reply.usage_metadata
    assert used is not None
    assert (used.prompt_token_count, used.candidates_token_count, used.thoughts_token_count) == (9, 3, 2)
    assert (used.cached_content_token_count, used.total_token_count) == (4, 14)
    [reply] = ask(client)
    assert reply.candidates is not None
    assert (reply.candidates[0].finish_reason, reply.usage_metadata) == ("MAX_TOKENS", None)
    request = server.requests[0]
    assert (request.wire, request.operation, request.model, request.stream) == ("gemini", "chat", "gemini-x", False)
    assert (request.prompt, request.question, request.stops) == ("Be brief.\nHi", "Hi", ("END",))
    assert not server.unexpected


def test_a_stream(server: ScriptedServer, client: genai.Client) -> None:
    server.add(Think("hm so", "one two", usage=Usage(input=9, output=3)))
    parts = ask(client, stream=True)
    said = [part.candidates[0].content.parts[0] for part in parts]  # type: ignore[index,union-attr]
    assert [(part.text, bool(part.thought)) for part in said] == [
        ("hm", True),
        (" so", True),
        ("one", False),
        (" two", False),
        ("", False),
    ]
    assert [part.candidates[0].finish_reason for part in parts] == [None] * 4 + ["STOP"]  # type: ignore[index]
    assert parts[-1].usage_metadata is not None
    assert parts[-1].usage_metadata.candidates_token_count == 3
    assert server.requests[0].stream


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls(server: ScriptedServer, client: genai.Client, stream: bool) -> None:
    server.add(CallTools([("add", {"a": 1}), ("add", {})], text="See"), Echo(), CallTools([("add", {})], broken_arguments='{"a'))
    parts = ask(client, stream=stream, **TOOLS)
    said: list[Any] = [part for reply in parts for part in reply.candidates[0].content.parts]  # type: ignore[index,union-attr]
    calls = [part for part in said if part.function_call]
    assert "".join(part.text or "" for part in said) == "See"
    assert [(call.function_call.name, call.function_call.args) for call in calls] == [("add", {"a": 1}), ("add", {})]
    assert [bool(call.thought_signature) for call in calls] == [True, False]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.function_call.id, name=call.function_call.name, response={"output": f"sum {n}"}
            )
        )
        for n, call in enumerate(calls)
    ]
    turns = [types.Content(role=role, parts=parts) for role, parts in (("model", calls), ("user", results))]
    ask(client, [types.Content(role="user", parts=[types.Part(text="Add!")]), *turns], **TOOLS)
    assert (server.requests[1].question, server.requests[1].last) == ("Add!", "sum 0\nsum 1")
    last = ask(client, stream=stream, **TOOLS)[-1]
    assert last.candidates is not None
    assert last.candidates[0].finish_reason == "MALFORMED_FUNCTION_CALL"
    assert not server.unexpected


@pytest.mark.parametrize(
    ("step", "status", "code", "said"),
    [
        (bad_key(), 400, "INVALID_ARGUMENT", "API key not valid"),
        (permission_denied(), 403, "PERMISSION_DENIED", "permission"),
        (rate_limited(2), 429, "RESOURCE_EXHAUSTED", "exhausted"),
        (quota_exhausted(), 429, "RESOURCE_EXHAUSTED", "current quota"),
        (model_not_found(), 404, "NOT_FOUND", "models/gemini-x is not found"),
        (context_too_long(), 400, "INVALID_ARGUMENT", "token count"),
        (no_tool_support(), 400, "INVALID_ARGUMENT", "Function calling is not enabled"),
        (server_error(), 500, "INTERNAL", "internal error"),
        (server_error(504), 504, "DEADLINE_EXCEEDED", "internal error"),
        (overloaded(), 503, "UNAVAILABLE", "overloaded"),
        (Fail(418, code="TEAPOT", message="short"), 418, "TEAPOT", "short"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(
    server: ScriptedServer, client: genai.Client, step: Fail, status: int, code: str, said: str, stream: bool
) -> None:
    server.add(step)
    with pytest.raises(errors.APIError, match=said) as caught:
        ask(client, stream=stream)
    assert (caught.value.code, caught.value.status) == (status, code)
    details = caught.value.details["error"].get("details", [])
    kinds = [detail["@type"].rpartition(".")[2] for detail in details]
    known = {"bad_key": ["ErrorInfo"], "rate_limit": ["RetryInfo"], "quota": ["QuotaFailure", "RetryInfo"]}
    assert kinds == known.get(step.sort, [])
    if step.sort == "rate_limit":
        assert details[0]["retryDelay"] == "2s"


@pytest.mark.parametrize("stream", [False, True])
def test_a_refused_prompt_is_a_reply_without_candidates(server: ScriptedServer, client: genai.Client, stream: bool) -> None:
    server.add(content_refused(), content_refused("BLOCKLIST"))
    for reason in ("PROHIBITED_CONTENT", "BLOCKLIST"):
        [reply] = ask(client, stream=stream)
        assert not reply.candidates
        assert reply.prompt_feedback is not None
        assert reply.prompt_feedback.block_reason == reason


def test_streams_that_fail(server: ScriptedServer, client: genai.Client) -> None:
    for step, kind in (
        (FailMidway(after_chunks=1), errors.ServerError),
        (Malformed(after_chunks=1), errors.UnknownApiResponseError),
        (Drop(after_chunks=1), httpx2.RemoteProtocolError),
    ):
        server.add(step)
        got = []
        with pytest.raises(kind):
            for part in client.models.generate_content_stream(model="gemini-x", contents="Hi"):
                got.append(part.text)
        assert got == ["This"]


def test_counting_and_models(server: ScriptedServer, client: genai.Client) -> None:
    assert client.models.count_tokens(model="gemini-x", contents="12345678").total_tokens == 2
    assert client.models.get(model="gemini-x").name == "models/gemini-x"
    assert [model.name for model in client.models.list()] == ["models/scripted"]
    assert [request.operation for request in server.requests] == ["count_tokens", "models", "models"]


@pytest.mark.parametrize(
    ("account", "path"),
    [
        ({"api_key": "k"}, "/v1beta1/publishers/google/models/gemini-x"),
        (
            {"credentials": Credentials(token="k"), "project": "p", "location": "l"},  # type: ignore[no-untyped-call]
            "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-x",
        ),
    ],
)
def test_as_vertex_ai(account: dict[str, Any], path: str) -> None:
    with ScriptedServer([Say("Hi"), Say("Ho")], key="k") as server, client_of(server, vertexai=True, **account) as client:
        assert ask(client)[0].text == "Hi"
        assert "".join(part.text or "" for part in ask(client, stream=True)) == "Ho"
        assert client.models.get(model="gemini-x").name == "publishers/google/models/gemini-x"
        assert [request.path for request in server.chats] == [f"{path}:generateContent", f"{path}:streamGenerateContent"]
        assert not server.unexpected


def post(server: ScriptedServer, body: Any, model: str = "gemini-x", **headers: str) -> tuple[int, Any]:
    url = f"{server.url}/v1beta/models/{model}:generateContent"
    reply = httpx2.post(url, json=body, headers=headers, trust_env=False)
    return reply.status_code, reply.json()


def test_a_wrong_key_and_a_wrong_token() -> None:
    with ScriptedServer([Say("a")], key="s3") as server:
        contents = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
        status, body = post(server, contents, **{"x-goog-api-key": "s4"})
        assert (status, body["error"]["details"][0]["reason"]) == (400, "API_KEY_INVALID")
        status, body = post(server, contents, authorization="Bearer s4")
        assert (status, body["error"]["status"]) == (401, "UNAUTHENTICATED")
        assert post(server, contents, authorization="Bearer s3")[0] == 200


USER = {"role": "user", "parts": [{"text": "Hi"}]}
CALL = {"role": "model", "parts": [{"functionCall": {"name": "t", "id": "1"}, "thoughtSignature": "c2ln"}]}
RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "t", "id": "1", "response": {"output": "x"}}}]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "it is no object"),
        ({}, "contents is not specified"),
        ({"contents": []}, "contents is not specified"),
        ({"contents": [USER], "messages": []}, 'Unknown name "messages"'),
        ({"contents": [{**USER, "role": "assistant"}]}, "valid role"),
        ({"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
        ({"contents": [USER, CALL]}, "are answered"),
        ({"contents": [USER, CALL, USER]}, "number of function response parts"),
        ({"contents": [USER, RESULT]}, "number of function response parts"),
        ({"contents": [CALL, RESULT]}, "immediately after a user turn"),
        ({"contents": [USER, {**CALL, "parts": [{"functionCall": {"name": "t", "id": "1"}}]}, RESULT]}, "thought_signature"),
        (
            {"contents": [USER, {**CALL, "parts": [{**CALL["parts"][0], "functionCall": {"name": "o"}}]}, RESULT]},
            "no call before",
        ),
        ({"contents": [USER], "tools": [{"functionDeclarations": [{"name": "1a"}]}]}, "Invalid function name '1a'"),
        ({"contents": [USER], "generationConfig": {"stopSequences": list("abcdef")}}, "at most 5"),
        ({"contents": [USER], "generationConfig": {"maxOutputTokens": 0}}, "must be positive"),
    ],
)
def test_what_the_real_server_refuses(body: Any, said: str) -> None:
    with ScriptedServer([Say("never")]) as server:
        status, reply = post(server, body, model="gemini-3-pro")
        assert (status, reply["error"]["status"]) == (400, "INVALID_ARGUMENT")
        assert said in reply["error"]["message"]
        assert len(server.unexpected) == 1


def test_what_the_real_server_takes() -> None:
    with ScriptedServer([Say("a"), Say("b")]) as server:
        unsigned = {**CALL, "parts": [{"functionCall": {"name": "t", "id": "1"}}]}
        assert post(server, {"contents": [USER, CALL, RESULT, USER]}, model="gemini-3-pro")[0] == 200
        assert post(server, {"contents": [USER, unsigned, RESULT]}, model="gemini-2.5-pro")[0] == 200
        assert not server.unexpected


def test_paths_of_others_are_left_to_them(server: ScriptedServer) -> None:
    httpx2.get(f"{server.url}/v1/models", trust_env=False)
    httpx2.get(f"{server.url}/v1/models/gpt-x", trust_env=False)
    httpx2.get(f"{server.url}/v1/models", headers={"x-goog-api-key": "k"}, trust_env=False)
    assert [request.wire for request in server.requests] == ["openai", "openai", "gemini"]
