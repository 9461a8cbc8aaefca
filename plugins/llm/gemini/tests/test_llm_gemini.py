# SPDX-License-Identifier: MIT
"""What is sent to the Gemini API, what is made of its replies, and what its errors mean."""

from __future__ import annotations

import asyncio
import base64
import gc
import inspect
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, Message, Question, Tool, ToolCall
from rocketride_llm import LLMError
from rocketride_llm.testing import CallTools, Fail, FailMidway, Malformed, Say, ScriptedServer, Think, Usage, content_refused
from rocketride_llm.testing.kit import asked_by
from rocketride_llm_gemini import Gemini

KEY = "AIza-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}


def run(*steps: Any, work: Any = lambda model, question: model.ask(question), **config: Any) -> tuple[Any, ScriptedServer]:
    """The result of one question, and the server."""
    with ScriptedServer(steps, key=KEY) as server:
        given = {"model": "models/gemini-2.5-pro", "apikey": KEY, "base_url": server.url, "maxAttempts": 1, "retryDelay": 0}
        with asked_by(Gemini, given | config, work) as pipeline:
            return pipeline.run(Entry("e"), QUESTIONS(Question.of("Why?"))), server


def converse(*steps: Any, work: Any, **config: Any) -> tuple[Any, ScriptedServer]:
    kept: list[Any] = []
    result, server = run(*steps, work=lambda model, question: kept.append(work(model)) or "ok", **config)
    result.checked()
    assert not server.unexpected
    return kept[0], server


def failed(*steps: Any, streamed: bool = False, **config: Any) -> LLMError:
    result, _ = run(*steps, work=lambda model, q: model.ask(q, on_token=(lambda text: None) if streamed else None), **config)
    assert result.error is not None
    assert isinstance(result.error.__cause__, LLMError), repr(result.error)
    return result.error.__cause__


def tools(*names: str) -> list[Tool]:
    return [Tool(name, f"Does {name}.", SCHEMA, lambda arguments: None) for name in names]


def error(code: int, message: str, status: str = "", *details: Any, **more: Any) -> Fail:
    return Fail(code, body={"error": {"code": code, "message": message, "status": status, "details": list(details)}}, **more)


# --- what is sent -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("aloud", "method"), [(False, "generateContent"), (True, "streamGenerateContent")])
def test_the_request(aloud: bool, method: str) -> None:
    on_token = (lambda text: None) if aloud else None
    work = lambda model, q: model.ask(q, stop=["A", "B", "C", "D", "E", "F", " "], on_token=on_token)  # noqa: E731
    result, server = run(Say("Yes F no"), work=work, temperature=0.5, modelOutputTokens=99)
    assert result.checked()[ANSWERS] == [Answer("Yes")]
    [request] = server.requests
    assert request.path == f"/v1beta/models/gemini-2.5-pro:{method}"
    assert request.headers["x-goog-api-key"] == KEY
    assert "x-server-timeout" not in request.headers
    assert request.body == {
        "contents": [{"role": "user", "parts": [{"text": request.question}]}],
        "generationConfig": {"maxOutputTokens": 99, "temperature": 0.5, "stopSequences": ["A", "B", "C", "D", "E"]},
    }


@pytest.mark.parametrize("end", ["", "/", "/v1beta", "/v1beta/", "/gate/v1"])
def test_a_gateway_with_and_without_a_version(end: str) -> None:
    with ScriptedServer([Say("ok")], key=KEY) as server:
        config = {"model": "gemini-2.5-pro", "apikey": KEY, "base_url": server.url + end, "maxAttempts": 1}
        with asked_by(Gemini, config, lambda model, q: model.ask(q)) as pipeline:
            pipeline.run(Entry("e"), QUESTIONS(Question.of("Why?")))
        version = end.strip("/") or "v1beta"
        assert server.requests[0].path == f"/{version}/models/gemini-2.5-pro:generateContent"


@pytest.mark.parametrize("aloud", [True, False])
@pytest.mark.parametrize("model", ["models/gemini-2.5-pro", "gemini-3-flash-preview"])
def test_calls_go_back_with_their_names_ids_and_signatures(aloud: bool, model: str) -> None:
    on_token = (lambda text: None) if aloud else None
    offered = tools("http_1.get", "2.query")

    def work(llm: Any) -> Any:
        said = [Message("system", "Be brief."), Message("user", "Fetch both.")]
        asked = llm.converse(said, offered, on_token=on_token)
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(asked.calls)]
        return asked, llm.converse([*said, asked, *results, Message("user", "And?")], offered, on_token=on_token)

    calls = CallTools([("http_1__get", {"url": "http://a"}), ("_2__query", {})], text="Looking.", thought="Hm")
    (asked, answered), server = converse(calls, Say("Both."), work=work, model=model)
    assert [(call.name, call.arguments) for call in asked.calls] == [("http_1.get", {"url": "http://a"}), ("2.query", {})]
    assert (asked.content, answered.content) == ("Looking.", "Both.")
    first, second = (request.body for request in server.requests)
    assert first["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    declared = first["tools"][0]["functionDeclarations"]
    assert declared[0] == {"name": "http_1__get", "description": "Does http_1.get.", "parameters_json_schema": SCHEMA}
    assert declared[1]["name"] == "_2__query"
    user, called, results, more = second["contents"]
    assert [turn["role"] for turn in (user, called, results, more)] == ["user", "model", "user", "user"]
    signed = base64.b64encode(b"signed by a script").decode()
    ids = [call.id for call in asked.calls]
    assert called["parts"] == [
        {"text": "Looking."},
        {"functionCall": {"id": ids[0], "name": "http_1__get", "args": {"url": "http://a"}}, "thoughtSignature": signed},
        {"functionCall": {"id": ids[1], "name": "_2__query", "args": {}}},
    ]
    assert [part["functionResponse"] for part in results["parts"]] == [
        {"id": ids[0], "name": "http_1__get", "response": {"output": "result 0"}},
        {"id": ids[1], "name": "_2__query", "response": {"output": "result 1"}},
    ]
    assert more["parts"] == [{"text": "And?"}]


def test_calls_of_other_models_have_googles_word_for_it() -> None:
    said = [
        Message("user", "Go."),
        Message("assistant", "", (ToolCall("a", "t", {}), ToolCall("b", "t", broken='{"x'))),
        Message("tool", "1", call_id="a"),
        Message("tool", "2", call_id="b"),
    ]
    _, server = converse(Say("ok"), work=lambda llm: llm.converse(said, tools("t")), model="gemini-3.1-pro-preview")
    first, second = server.requests[0].body["contents"][1]["parts"]
    assert base64.b64decode(first["thoughtSignature"]) == b"skip_thought_signature_validator"
    assert "thoughtSignature" not in second
    assert second["functionCall"]["args"] == {}
    _, server = converse(Say("ok"), work=lambda llm: llm.converse(said, tools("t")), model="gemini-2.5-pro")
    assert "thoughtSignature" not in json.dumps(server.requests[0].body)


def test_conversations_of_any_form_are_made_to_fit() -> None:
    messages = [
        Message("assistant", "Hello."),
        Message("user", "One."),
        Message("user", "  "),
        Message("user", "Two."),
        Message("system", "Be kind."),
        Message("system", "Be brief."),
        Message("tool", "A result of nothing.", call_id="lost"),
    ]
    _, server = converse(Say("ok"), work=lambda llm: llm.converse(messages))
    body = server.requests[0].body
    assert body["systemInstruction"]["parts"] == [{"text": "Be kind.\n\nBe brief."}]
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert [part["text"] for part in body["contents"][2]["parts"]] == ["One.", "Two.", "A result of nothing."]
    _, server = converse(Say("x"), work=lambda llm: llm.converse([Message("system", "Only this.")]))
    assert server.requests[0].body["contents"] == [{"role": "user", "parts": [{"text": "Only this."}]}]


# --- what comes back ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aloud", [True, False])
def test_thoughts_are_counted_and_not_said(aloud: bool) -> None:
    step = Think("Let me see.", "Four.", usage=Usage(input=20, output=9, cached=15, reasoning=6))
    result, _ = run(step, work=lambda model, q: model.ask(q, on_token=(lambda text: None) if aloud else None))
    assert result.checked()[ANSWERS] == [Answer("Four.")]
    used = result.usage["llm"]
    assert (used["input_tokens"], used["output_tokens"], used["cached_tokens"]) == (20, 9, 15)


@pytest.mark.parametrize("aloud", [True, False])
@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        (Say("No", finish="content_filter"), "refused", "SAFETY"),
        (content_refused("BLOCKLIST"), "refused", "BLOCKLIST"),
        (CallTools([("t", {})], broken_arguments='{"url": '), "bad-reply", "MALFORMED_FUNCTION_CALL"),
        (Malformed(json.dumps({"candidates": [{"finishReason": "OTHER"}]})), "bad-reply", "OTHER"),
        (Malformed(json.dumps({"candidates": [{"content": {"parts": [{"functionCall": {}}]}}]})), "bad-reply", "base_url"),
        (Malformed("Hi", content_type="text/plain"), "bad-reply", "base_url"),
        (Say("", finish="length"), "bad-reply", "modelOutputTokens"),
    ],
)
def test_replies_that_are_no_answer(step: Any, kind: str, said: str, aloud: bool) -> None:
    error = failed(step, streamed=aloud)
    assert (error.kind, said in str(error)) == (kind, True), error


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"])
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_events_come_whole_and_their_counts_are_numbers(end: str, size: int) -> None:
    from rocketride_llm_gemini.events import tidied

    odd = {"promptTokenCount": "7", "candidatesTokenCount": [1], "trafficType": 3, "promptTokensDetails": 5}
    events = [
        'data: {"a": "ü"}',
        f"data: {json.dumps({'usageMetadata': odd})}",
        'data: {"usageMetadata": 5}',
        'data: "usageMetadata',
    ]
    data = "".join(event + end for event in events).encode()

    async def pieces(data: bytes) -> AsyncGenerator[bytes, None]:
        for at in range(0, len(data), size):
            await asyncio.sleep(0)
            yield data[at : at + size]

    found = [json.loads(event[6:]) async for event in tidied(pieces(data.removesuffix((events[3] + end).encode())))]
    assert found == [{"a": "ü"}, {"usageMetadata": {"promptTokenCount": 7}}, {"usageMetadata": None}]
    assert [event async for event in tidied(pieces(data))][3] == f"{events[3]}\n\n".encode()
    with pytest.raises(LLMError) as told:
        [event async for event in tidied(pieces(data[: -len(end)]))]
    assert told.value.lost


# --- what errors mean ---------------------------------------------------------------------------------------------------


REASON = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.3s"}
MINUTE = {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}


@pytest.mark.parametrize("aloud", [True, False])
@pytest.mark.parametrize(
    ("step", "kind", "retry"),
    [
        (error(400, "API key expired. Please renew the API key.", "INVALID_ARGUMENT", REASON), "authentication", None),
        (error(400, "API key not valid. Please pass a valid API key."), "authentication", None),
        (error(401, f"the key {KEY} is bad", "UNAUTHENTICATED"), "authentication", None),
        (error(403, "Your API key was reported as leaked.", "PERMISSION_DENIED"), "authentication", None),
        (error(403, "no", "PERMISSION_DENIED", {"reason": "SERVICE_DISABLED"}), "permission", None),
        (error(403, "no", "PERMISSION_DENIED", {"reason": "BILLING_DISABLED"}), "quota", None),
        (error(400, "User location is not supported for the API use.", "FAILED_PRECONDITION"), "permission", None),
        (error(429, "Quota exceeded", "RESOURCE_EXHAUSTED", MINUTE, RETRY), "rate-limit", 0.3),
        (error(429, "Quota exceeded", "RESOURCE_EXHAUSTED", RETRY, headers={"retry-after": "2"}), "rate-limit", 2),
        (error(429, "Quota exceeded for metric: requests, limit: 0", "RESOURCE_EXHAUSTED", RETRY), "quota", 0.3),
        (error(429, "Your prepayment credits are depleted.", "RESOURCE_EXHAUSTED"), "quota", None),
        (error(400, "Request payload size exceeds the limit", "INVALID_ARGUMENT"), "too-long", None),
        (error(400, "Unknown name", "INVALID_ARGUMENT"), "invalid-request", None),
        (error(503, "overloaded", "UNAVAILABLE"), "unavailable", None),
        (error(504, "Deadline expired", "DEADLINE_EXCEEDED"), "timeout", None),
        (Fail(404, body="<html>Not found</html>"), "invalid-request", None),
        (Fail(502, body="<html>Bad gateway</html>"), "unavailable", None),
        (Fail(500, body={"error": 5}), "unavailable", None),
        (Fail(500, body={"error": {"message": [1], "details": 3}}), "unavailable", None),
        (Fail(429, body=[{"error": {"message": "x", "details": [RETRY, 5]}}]), "rate-limit", 0.3),
    ],
)
def test_errors(step: Fail, kind: str, retry: float | None, aloud: bool) -> None:
    error = failed(step, streamed=aloud)
    assert (error.kind, error.status, error.retry_after) == (kind, step.status, retry), error
    assert KEY not in str(error)


def test_an_error_inside_a_stream_says_no_status_of_http() -> None:
    error = failed(FailMidway(), streamed=True)
    assert (error.kind, error.status) == ("unavailable", 0)
    assert "An internal error has occurred" in str(error)


def test_an_error_inside_a_stream_leaves_nothing_half_read() -> None:
    """What is left to the garbage collector, it may end in any order, and asyncio complains."""
    left: list[str] = []

    def work(model: Any, question: Question) -> str:
        with pytest.raises(LLMError):
            model.ask(question, on_token=lambda text: None)
        streams = [one for one in gc.get_objects() if inspect.isasyncgen(one) and one.ag_frame is not None]
        left.extend(one.__name__ for one in streams if one.__name__ in ("tidied", "blocks", "aiter_bytes"))
        return "ok"

    result, _ = run(FailMidway(reply=Say("one two three four five")), work=work)
    result.checked()
    assert not left


def test_retry_info_is_waited_for() -> None:
    result, server = run(error(429, "Slow down", "RESOURCE_EXHAUSTED", RETRY), Say("ok"), maxAttempts=2)
    assert result.checked()[ANSWERS] == [Answer("ok")]
    assert server.requests[1].time - server.requests[0].time >= 0.3
