# SPDX-License-Identifier: MIT
"""What is sent to watsonx.ai and to IAM, what is made of their replies, and what their errors mean."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, Kernel, Message, PipeError, Question, RunError, Tool, ToolCall
from rocketride_core.pipefile import parse_pipe
from rocketride_core.testing import node_harness
from rocketride_llm import LLMError
from rocketride_llm.testing import (
    CallTools,
    Fail,
    FailMidway,
    Malformed,
    Rule,
    Say,
    ScriptedServer,
    content_refused,
    server_error,
)
from rocketride_llm.testing.kit import asked_by
from rocketride_llm.testing.wires import Answer as Sent
from rocketride_llm.testing.wires import Piece, event, register_wire, unregister_wire
from rocketride_llm.testing.wires.watsonx import WatsonxWire
from rocketride_llm_ibm_watson import IBMWatson, IBMWatsonConfig

KEY = "ibm-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
PROFILES = {profile.id: profile for profile in IBMWatson.spec.profiles}


def ask(model: Any, question: Question) -> Any:
    return model.ask(question)


def run(*steps: Any, work: Any = ask, rules: Any = (), **config: Any) -> tuple[Any, ScriptedServer]:
    """The result of one question, and the server."""
    with ScriptedServer(steps, rules=rules, key=KEY) as server:
        given = {"model": "ibm/g", "project_id": "p", "apikey": KEY, "base_url": server.url, "maxAttempts": 1, "retryDelay": 0}
        with asked_by(IBMWatson, given | config, work) as pipeline:
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


def load(**config: Any) -> Any:
    with node_harness(IBMWatson, config={"apikey": KEY, "project_id": "p", **config}) as harness:
        return harness.node.config


def error(status: int, code: str, message: Any = "", **more: Any) -> Fail:
    return Fail(status, body={"errors": [{"code": code, "message": message}], "trace": "t", "status_code": status}, **more)


# --- tokens -------------------------------------------------------------------------------------------------------------


def test_one_token_serves_all_questions() -> None:
    result, server = run(Say("a"), Say("b"), work=lambda model, q: f"{model.ask(q).text}{model.ask(q).text}")
    assert result.checked()[ANSWERS] == [Answer("ab")]
    assert [request.operation for request in server.requests] == ["token", "chat", "chat"]
    assert server.requests[0].body == {"grant_type": "urn:ibm:params:oauth:grant-type:apikey", "apikey": KEY}


class Short(WatsonxWire):
    """Its tokens have ended when they come."""

    def other(self, request: Any) -> Sent:
        answer = super().other(request)
        return Sent(200, {**answer.body, "expires_in": 0})


def test_a_token_that_ends_is_asked_for_anew() -> None:
    register_wire(Short())
    try:
        _, server = run(Say("a"), Say("b"), work=lambda model, q: f"{model.ask(q).text}{model.ask(q).text}")
    finally:
        unregister_wire("watsonx")
    assert [request.operation for request in server.requests] == ["token", "chat", "token", "chat"]


def test_a_token_that_is_not_taken_is_asked_for_anew() -> None:
    def work(model: Any, question: Question) -> Any:
        with pytest.raises(LLMError, match="Invalid API key"):
            model.ask(question)
        return model.ask(question)

    result, server = run(Fail(kind="bad_key"), Say("Now."), work=work)
    assert result.checked()[ANSWERS] == [Answer("Now.")]
    assert [request.operation for request in server.requests] == ["token", "chat", "token", "chat"]


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Fail(kind="bad_key"), "authentication"),
        (Fail(400, body={"errorCode": "BXNIM0109E", "errorMessage": "Property missing or empty: apikey"}), "authentication"),
        (Fail(400, body={"errorCode": "X", "errorMessage": "API key is disabled"}), "authentication"),
        (Fail(401, body="no"), "authentication"),
        (Fail(429, body={"errorCode": "X", "errorMessage": "slow down"}), "rate-limit"),
        (server_error(503), "unavailable"),
        (Malformed("[]"), "bad-reply"),
        (Malformed('{"access_token": 5, "expires_in": 3600}'), "bad-reply"),
        (Malformed('{"access_token": "a\\nb", "expires_in": 3600}'), "bad-reply"),
        (Malformed('{"access_token": "t", "expires_in": "soon"}'), "bad-reply"),
        (Malformed("<p>A page</p>", content_type="text/html"), "bad-reply"),
    ],
)
def test_iam_that_gives_no_token(step: Any, kind: str) -> None:
    found = failed(rules=[Rule("", step, operation="token")])
    assert found.kind == kind, found
    assert KEY not in str(found)


def test_iam_is_asked_again_where_that_may_help() -> None:
    steps = iter([server_error(500), Fail(429, headers={"retry-after": "0"}), None])
    with ScriptedServer([Say("ok")], rules=[Rule("", lambda request: next(steps), operation="token")], key=KEY) as server:  # type: ignore[arg-type,return-value]
        config = {"model": "m", "project_id": "p", "apikey": KEY, "base_url": server.url, "maxAttempts": 2, "retryDelay": 0}
        with asked_by(IBMWatson, config, ask) as pipeline:
            result = pipeline.run(Entry("e"), QUESTIONS(Question.of("Why?")))
    assert result.error is not None
    assert isinstance(result.error.__cause__, LLMError)
    assert (result.error.__cause__.kind, result.error.__cause__.attempts) == ("rate-limit", 2)


# --- what is sent -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aloud", [False, True])
def test_the_request(aloud: bool) -> None:
    on_token = (lambda text: None) if aloud else None
    work = lambda model, q: model.ask(q, stop=["A", "B", " ", "C", "D", "F"], on_token=on_token)  # noqa: E731
    result, server = run(Say("Yes F no"), work=work, temperature=0.5, modelOutputTokens=99)
    assert result.checked()[ANSWERS] == [Answer("Yes")]
    [request] = server.chats
    assert request.path == f"/ml/v1/text/chat{'_stream' if aloud else ''}"
    assert request.body == {
        "model_id": "ibm/g",
        "project_id": "p",
        "messages": [{"role": "user", "content": request.question}],
        "max_tokens": 99,
        "temperature": 0.5,
        "stop": ["A", "B", "C", "D"],
    }


@pytest.mark.parametrize("aloud", [True, False])
def test_calls_go_back_with_their_results(aloud: bool) -> None:
    on_token = (lambda text: None) if aloud else None
    offered = [Tool(name, f"Does {name}.", SCHEMA, lambda arguments: None) for name in ("http_1.get", "query")]

    def work(llm: Any) -> Any:
        said = [Message("system", "Be brief."), Message("user", "Fetch both.")]
        asked = llm.converse(said, offered, on_token=on_token)
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(asked.calls)]
        return asked, llm.converse([*said, asked, *results, Message("user", "And?")], offered, on_token=on_token)

    calls = CallTools([("http_1__get", {"url": "ä"}), ("query", {})], text="Looking.", thought="Hm")
    (asked, answered), server = converse(calls, Say("Both."), work=work)
    assert [(call.name, call.arguments) for call in asked.calls] == [("http_1.get", {"url": "ä"}), ("query", {})]
    assert (asked.content, answered.content) == ("Looking.", "Both.")
    first, second = (request.body for request in server.chats)
    assert (first["tools"][0]["function"]["parameters"], first["tool_choice_option"]) == (SCHEMA, "auto")
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert second["messages"][2]["tool_calls"][0]["function"] == {"name": "http_1__get", "arguments": '{"url": "ä"}'}
    assert [message["tool_call_id"] for message in second["messages"][3:5]] == [call.id for call in asked.calls]


def test_conversations_of_any_form_are_made_to_fit() -> None:
    messages = [
        Message("user", "  "),
        Message("user", "Go."),
        Message("assistant", "", (ToolCall("b", "t", broken='{"x'),)),
        Message("tool", "", call_id="b"),
        Message("tool", "A result of nothing.", call_id="lost"),
    ]
    _, server = converse(Say("ok"), work=lambda llm: llm.converse(messages))
    call = {"id": "b", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    assert server.chats[0].body["messages"] == [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "b", "content": ""},
        {"role": "user", "content": "A result of nothing."},
    ]


# --- what comes back ----------------------------------------------------------------------------------------------------


class Whole(WatsonxWire):
    """A gateway that cannot stream."""

    stream_type = "application/json"

    def stream(self, request: Any, reply: Any) -> Iterator[Piece]:
        yield Piece(json.dumps(self.whole(request, reply)).encode(), counted=True)


class Closing(WatsonxWire):
    """Its streams end with an event that says so."""

    def stream(self, request: Any, reply: Any) -> Iterator[Piece]:
        yield from super().stream(request, reply)
        yield Piece(event({}, "close"))


@pytest.mark.parametrize("wire", [Whole(), Closing()])
def test_streams_of_other_forms(wire: WatsonxWire) -> None:
    heard: list[str] = []
    register_wire(wire)
    try:
        result, server = run(Say("All at once."), work=lambda model, q: model.ask(q, on_token=heard.append))
    finally:
        unregister_wire("watsonx")
    assert result.checked()[ANSWERS] == [Answer("All at once.")]
    assert ("".join(heard), server.chats[0].stream) == ("All at once.", True)


CONTEXT = 'Invalid input argument for Model \'x\': {"error":{"message":"This model\'s maximum context length is 131072 tokens"}}'


@pytest.mark.parametrize("aloud", [True, False])
@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (
            Malformed(json.dumps({"errors": [{"code": "invalid_input_argument", "message": CONTEXT}], "status_code": 400})),
            "too-long",
        ),
        (Malformed(json.dumps({"errors": [{"code": "x"}], "status_code": 429})), "rate-limit"),
        (Malformed(json.dumps({"errors": [5]})), "unavailable"),
        (Malformed("Hi", content_type="text/plain"), "bad-reply"),
        (Say("", finish="length"), "bad-reply"),
    ],
)
def test_replies_that_are_no_answer(step: Any, kind: str, aloud: bool) -> None:
    found = failed(step, streamed=aloud)
    assert (found.kind, found.status) == (kind, 0), found


@pytest.mark.parametrize("aloud", [True, False])
@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        (error(401, "authentication_token_not_valid", f"not {KEY}"), "authentication", "Invalid API key"),
        (error(403, "x", "Failed to find the IBMid-1 member in project_id p"), "permission", "IBMid-1 member"),
        (error(403, "token_quota_reached", "no more"), "quota", ""),
        (error(429, "x", "The consumption limit is reached"), "quota", ""),
        (error(429, "x", "Too many requests"), "rate-limit", ""),
        (error(400, "invalid_input_argument", CONTEXT), "too-long", ""),
        (error(400, "invalid_input_argument", "Model 'x' was not found."), "no-such-model", ""),
        (error(404, "x", "The project p is not there"), "no-such-model", "The project p is not there"),
        (error(400, "x", "Tool calling is not supported by this model"), "no-tools", "tool_mode"),
        (error(400, "x", [5]), "invalid-request", ""),
        (content_refused(), "refused", "moderation"),
        (Fail(404, body="<html>Not found</html>"), "invalid-request", "base_url"),
        (Fail(404, body={}), "invalid-request", "base_url"),
        (Fail(502, body="<html>Bad gateway</html>"), "unavailable", ""),
        (Fail(500, body={"errors": "x"}), "unavailable", ""),
    ],
)
def test_errors(step: Fail, kind: str, said: str, aloud: bool) -> None:
    found = failed(step, streamed=aloud)
    assert (found.kind, found.status, said in str(found)) == (kind, step.status or 400, True), found
    assert KEY not in str(found)


def test_an_error_inside_a_stream_says_no_status_of_http() -> None:
    found = failed(FailMidway(), streamed=True)
    assert (found.kind, found.status) == ("unavailable", 0)
    assert "internal error" in str(found)


# --- settings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "address", "iam"),
    [
        ({}, "https://us-south.ml.cloud.ibm.com", "https://iam.cloud.ibm.com"),
        ({"location": "eu-de"}, "https://eu-de.ml.cloud.ibm.com", "https://iam.cloud.ibm.com"),
        ({"base_url": " https://eu-gb.ml.cloud.ibm.com/"}, "https://eu-gb.ml.cloud.ibm.com", "https://iam.cloud.ibm.com"),
        ({"base_url": "https://gate.example/x"}, "https://gate.example/x", "https://gate.example/x"),
        (
            {"base_url": "https://evil-cloud.ibm.com.example"},
            "https://evil-cloud.ibm.com.example",
            "https://evil-cloud.ibm.com.example",
        ),
        ({"base_url": "https://gate.example", "iam_url": "https://iam.example/"}, "https://gate.example", "https://iam.example"),
        ({"base_url": "https://gate.example", "location": ""}, "https://gate.example", "https://gate.example"),
    ],
)
def test_addresses(config: dict[str, str], address: str, iam: str) -> None:
    found: IBMWatsonConfig = load(**config)
    assert (found.address, found.iam) == (address, iam)


@pytest.mark.parametrize(
    ("config", "kind", "said"),
    [
        ({"location": ""}, RunError, "Please select a location."),
        ({"location": "-- Select Location --"}, PipeError, "Please select a location."),
        ({"location": "mars-1"}, PipeError, "Unknown IBM Cloud location: 'mars-1'. Valid locations: au-syd, br-sao"),
        ({"profile": "custom", "custom": {"apikey": KEY}}, PipeError, "IBM Watson model ID is required."),
        ({"project_id": " "}, RunError, "IBM Watson project ID is required."),
        ({"project_id": "${MY_PROJECT}"}, RunError, '"project_id" is a variable that is not filled in'),
        ({"iam_url": "iam.example"}, PipeError, "Invalid iam_url"),
        ({"iam_url": "${IAM}"}, RunError, '"iam_url" is a variable that is not filled in'),
        ({"apikey": ""}, RunError, "There is no API key for IBM Watson"),
    ],
)
def test_what_is_told_at_once(config: dict[str, Any], kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as told:
        load(**config)
    problems = told.value.problems if isinstance(told.value, PipeError) else ()
    assert said in " ".join([str(told.value), *(problem.message for problem in problems)])


def test_a_file_without_a_profile_names_its_model() -> None:
    assert load(model="meta-llama/any-model").model == "meta-llama/any-model"
    assert load().model == "ibm/granite-4-h-small"


def test_the_readme_has_each_profile() -> None:
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    for id, profile in PROFILES.items():
        values = profile.values
        row = (values["model"] or "model", values["modelTotalTokens"], values.get("modelOutputTokens", 4096))
        assert f"| `{id}` | `{row[0]}` | {row[1]} | {row[2]} |" in text


def test_the_pipe_of_the_readme_runs_by_setting_two_variables() -> None:
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    [written] = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    with ScriptedServer([Say("Because.")], key=KEY) as server:
        variables = {"ROCKETRIDE_WATSON_KEY": KEY, "ROCKETRIDE_WATSON_URL": server.base_url("watsonx")}
        with Kernel(env=variables).load(parse_pipe(written)[0]) as pipeline:
            assert pipeline.run(Entry("e"), QUESTIONS(Question.of("Why?"))).checked()[ANSWERS] == [Answer("Because.")]
        assert [request.body["project_id"] for request in server.chats] == ["my-project"]


@pytest.mark.slow
def test_the_connections_are_imported_when_a_pipeline_begins() -> None:
    code = "import sys, rocketride_llm_ibm_watson; print('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
