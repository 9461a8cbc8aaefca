# SPDX-License-Identifier: MIT
"""What is sent to Mistral, what is made of its replies, and what its errors mean."""

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
from rocketride_llm import LLMError, estimate
from rocketride_llm.testing import CallTools, Fail, FailMidway, Malformed, Rule, Say, ScriptedServer, Think, content_refused
from rocketride_llm.testing import model_not_found as no_model
from rocketride_llm.testing.kit import asked_by
from rocketride_llm.testing.wires import Piece, register_wire, unregister_wire
from rocketride_llm.testing.wires.mistral import MistralWire
from rocketride_llm_mistral import Mistral

HERE = Path(__file__).resolve()
CATALOGUE = HERE.parents[4] / ".." / "shared" / "reference" / "catalog.json"
KEY = "mistral-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
PROFILES = {profile.id: profile for profile in Mistral.spec.profiles}


def run(*steps: Any, work: Any = lambda model, question: model.ask(question), **config: Any) -> tuple[Any, ScriptedServer]:
    """The result of one question, and the server."""
    with ScriptedServer(steps, key=KEY) as server:
        given = {"model": "mistral-x", "apikey": KEY, "base_url": server.url, "maxAttempts": 1, "retryDelay": 0}
        with asked_by(Mistral, given | config, work) as pipeline:
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


def ask(config: dict[str, Any]) -> Any:
    with node_harness(Mistral, config=config) as harness:
        return harness.run({"questions": [Question(("Why?",))]}, check=False)


def error(status: int, message: Any, kind: str = "", code: str | None = None, **more: Any) -> Fail:
    return Fail(status, body={"object": "error", "message": message, "type": kind, "param": None, "code": code}, **more)


# --- what is sent -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aloud", [False, True])
def test_the_request(aloud: bool) -> None:
    on_token = (lambda text: None) if aloud else None
    work = lambda model, q: model.ask(q, stop=["A", " ", "F"], on_token=on_token)  # noqa: E731
    result, server = run(Say("Yes F no"), work=work, temperature=0.5, modelOutputTokens=99)
    assert result.checked()[ANSWERS] == [Answer("Yes")]
    [request] = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert request.body == {
        "model": "mistral-x",
        "messages": [{"role": "user", "content": request.question}],
        "max_tokens": 99,
        "temperature": 0.5,
        "stop": ["A", "F"],
        "stream": aloud,
    }


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/gate/v1"])
def test_a_gateway_with_and_without_the_version(end: str) -> None:
    with ScriptedServer(key=KEY) as server:
        config = {"model": "m", "apikey": KEY, "base_url": server.url + end, "maxAttempts": 1}
        with asked_by(Mistral, config, lambda model, q: model.ask(q)) as pipeline:
            pipeline.run(Entry("e"), QUESTIONS(Question.of("Why?")))
        assert server.requests[0].path == ("/gate" if "gate" in end else "") + "/v1/chat/completions"


@pytest.mark.parametrize("aloud", [True, False])
def test_calls_go_back_with_their_results(aloud: bool) -> None:
    on_token = (lambda text: None) if aloud else None
    offered = [Tool(name, f"Does {name}.", SCHEMA, lambda arguments: None) for name in ("http_1.get", "query")]

    def work(llm: Any) -> Any:
        said = [Message("user", "Fetch both."), Message("system", "Be brief."), Message("system", "Be kind.")]
        asked = llm.converse(said, offered, on_token=on_token)
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(asked.calls)]
        return asked, llm.converse([*said, asked, *results, Message("user", "And?")], offered, on_token=on_token)

    calls = CallTools([("http_1__get", {"url": "ä"}), ("query", {})], text="Looking.", thought="Hm")
    (asked, answered), server = converse(calls, Say("Both."), work=work)
    assert [(call.name, call.arguments) for call in asked.calls] == [("http_1.get", {"url": "ä"}), ("query", {})]
    assert (asked.content, answered.content) == ("Looking.", "Both.")
    first, second = (request.body for request in server.requests)
    assert first["messages"] == [
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {"role": "user", "content": "Fetch both."},
    ]
    assert first["tools"][0]["function"]["parameters"] == SCHEMA
    _, _, called, *results, between, more = second["messages"]
    assert [call["function"] for call in called["tool_calls"]] == [
        {"name": "http_1__get", "arguments": '{"url": "ä"}'},
        {"name": "query", "arguments": "{}"},
    ]
    ids = [call.id for call in asked.calls]
    assert [(one["tool_call_id"], one["name"], one["content"]) for one in results] == [
        (ids[0], "http_1__get", "result 0"),
        (ids[1], "query", "result 1"),
    ]
    assert (between["role"], between["content"]) == ("assistant", "(These are the results.)")
    assert (more["role"], more["content"]) == ("user", "And?")


def test_conversations_of_any_form_are_made_to_fit() -> None:
    messages = [
        Message("assistant", "Hello."),
        Message("user", "  "),
        Message("assistant", "", (ToolCall("call_of_another", "t", {"a": 1}), ToolCall("b", "t", broken='{"x'))),
        Message("tool", "", call_id="call_of_another"),
        Message("tool", "2", call_id="b"),
        Message("tool", "A result of nothing.", call_id="lost"),
    ]
    _, server = converse(Say("ok"), work=lambda llm: llm.converse(messages))
    sent = server.requests[0].body["messages"]
    assert [turn["role"] for turn in sent] == ["assistant", "assistant", "tool", "tool", "assistant", "user"]
    ids = [call["id"] for call in sent[1]["tool_calls"]]
    assert [turn["tool_call_id"] for turn in sent[2:4]] == ids
    assert all(re.fullmatch("[a-z0-9]{9}", id) for id in ids)
    assert sent[1]["tool_calls"][1]["function"]["arguments"] == "{}"
    assert sent[-1]["content"] == "A result of nothing."
    _, server = converse(Say("ok"), work=lambda llm: llm.converse([Message("system", "Say ok.")]))
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "Say ok."}]


# --- what comes back ----------------------------------------------------------------------------------------------------


class Whole(MistralWire):
    """A server that cannot stream."""

    stream_type = "application/json"

    def stream(self, request: Any, reply: Any) -> Iterator[Piece]:
        yield Piece(json.dumps(self.whole(request, reply)).encode(), counted=True)


def test_a_server_that_cannot_stream() -> None:
    heard: list[str] = []
    register_wire(Whole())
    try:
        result, server = run(Say("All at once."), work=lambda model, q: model.ask(q, on_token=heard.append))
    finally:
        unregister_wire("mistral")
    assert result.checked()[ANSWERS] == [Answer("All at once.")]
    assert (heard, server.requests[0].stream) == (["All at once."], True)


@pytest.mark.parametrize("aloud", [True, False])
@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        (Malformed('{"choices": [{"finish_reason": "error", "message": {}, "delta": {}}]}'), "unavailable", ""),
        (
            Malformed('{"object": "error", "message": "Rate limit exceeded", "type": "rate_limited", "code": "1300"}'),
            "rate-limit",
            "",
        ),
        (Malformed("Hi", content_type="text/plain"), "bad-reply", "base_url"),
        (Say("", finish="length"), "bad-reply", "modelOutputTokens"),
    ],
)
def test_replies_that_are_no_answer(step: Any, kind: str, said: str, aloud: bool) -> None:
    found = failed(step, streamed=aloud)
    assert (found.kind, found.status, said in str(found)) == (kind, 0, True), found


def test_thoughts_alone_are_no_answer() -> None:
    result, _ = run(Think("Hm", ""))
    assert result.checked()[ANSWERS] == [Answer("")]


DETAIL = [{"type": "missing", "loc": ["body", "messages"], "msg": "Field required"}, 5]


@pytest.mark.parametrize("aloud", [True, False])
@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        (Fail(401, body={"detail": "Unauthorized"}), "authentication", "Invalid API key"),
        (Fail(403, body={"message": "no"}), "permission", ""),
        (content_refused(), "refused", "guardrail"),
        (
            error(429, "Service tier capacity exceeded for this model.", "service_tier_capacity_exceeded", "3505"),
            "rate-limit",
            "",
        ),
        (Fail(429, body={"message": "Requests rate limit exceeded"}), "rate-limit", ""),
        (Fail(429, body={"message": "You have reached your monthly limit"}), "quota", ""),
        (Fail(404, body={"message": "no Route matched with those values"}), "invalid-request", "base_url"),
        (Fail(404, body="<html>Not found</html>"), "invalid-request", "base_url"),
        (error(404, "Model not found: x"), "no-such-model", "Model not found: x"),
        (error(400, "Function calling is not enabled for this model"), "no-tools", "tool_mode"),
        (Fail(422, body={"detail": DETAIL}), "invalid-request", "body.messages: Field required"),
        (error(422, {"detail": DETAIL}), "invalid-request", "body.messages: Field required"),
        (Fail(502, body="<html>Bad gateway</html>"), "unavailable", ""),
        (Fail(500, body=[5]), "unavailable", ""),
        (error(500, [1]), "unavailable", ""),
        (error(504, "slow"), "timeout", ""),
    ],
)
def test_errors(step: Fail, kind: str, said: str, aloud: bool) -> None:
    found = failed(step, streamed=aloud)
    status = step.status or 403
    assert (found.kind, found.status, said in str(found)) == (kind, status, True), found
    assert KEY not in str(found)


def test_an_error_inside_a_stream_says_no_status_of_http() -> None:
    found = failed(FailMidway(), streamed=True)
    assert (found.kind, found.status) == ("unavailable", 0)
    assert "Service unavailable" in str(found)


# --- settings -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not CATALOGUE.is_file(), reason="../shared/reference is not here")
def test_the_profiles_are_those_of_the_catalogue() -> None:
    services = json.loads(CATALOGUE.read_text())["services"]
    [service] = [one for one in services if one["name"] == "llm_mistral"]
    assert set(PROFILES) == set(service["profiles"])
    assert Mistral.spec.profiles[0].id == service["preconfig"]["default"]
    assert (Mistral.spec.title, list(Mistral.spec.tile)) == (service["title"], service["tile"])
    for id, values in service["profiles"].items():
        assert (PROFILES[id].title, {"title": PROFILES[id].title, **PROFILES[id].values}) == (values["title"], values)


@pytest.mark.parametrize("profile", ["mistral-large", "ministral-8b-latest", "custom"])
def test_a_profile_asks_its_model(profile: str) -> None:
    values = PROFILES[profile].values
    with ScriptedServer([Say("Yes.")], key=KEY) as server:
        block = {"apikey": KEY, "base_url": server.url, **({} if values["model"] else {"model": "my-model"})}
        assert ask({"profile": profile, profile: block})["answers"] == [Answer("Yes.")]
        [request] = server.requests
        assert request.model == (values["model"] or "my-model")
        room = int(str(values["modelTotalTokens"])) - estimate(request.question)
        assert request.body["max_tokens"] == min(int(str(values.get("modelOutputTokens", 4096))), room)


def test_what_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    with pytest.raises(RunError, match="There is no API key for Mistral AI"):
        ask({})
    with pytest.raises(PipeError, match="Profile mistral-huge is not defined in llm_mistral"):
        ask({"profile": "mistral-huge", "apikey": KEY})
    with pytest.raises(PipeError, match="temperature"):
        ask({"temperature": 1.6, "apikey": KEY})


@pytest.mark.parametrize(("key", "whose"), [("sk-0123456789", "an OpenAI"), ("AIza0123456789", "a Google AI/Gemini")])
def test_keys_of_others_are_refused_for_mistrals_own_server(key: str, whose: str) -> None:
    said = f"Invalid API key format. You seem to be using {whose} API key. Please provide a Mistral AI API key."
    for address in ({}, {"base_url": "https://api.eu.mistral.ai/v1"}):
        with pytest.raises(RunError) as told:
            ask({"apikey": key, **address})
        assert said in str(told.value)
        assert key not in str(told.value)


def test_a_server_that_has_no_such_model_fails_the_probe() -> None:
    rules = [Rule("", no_model(), operation="models")]
    for given, found in (([], []), (rules, ["probe-failed"])):
        with (
            ScriptedServer(rules=given, key=KEY) as server,
            node_harness(Mistral, config={"apikey": KEY, "base_url": server.url}) as harness,
        ):
            assert [problem.code for problem in harness.node.check_global()] == found
            assert [request.path for request in server.requests] == ["/v1/models/mistral-large-2512"]


def test_the_pipe_of_the_readme_runs_by_setting_two_variables() -> None:
    [written] = re.findall(r"^```json\n(.*?)^```", (HERE.parents[1] / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    with ScriptedServer([Say("Because.")], key=KEY) as server:
        variables = {"ROCKETRIDE_MISTRAL_KEY": KEY, "ROCKETRIDE_MISTRAL_URL": server.base_url("mistral")}
        with Kernel(env=variables).load(parse_pipe(written)[0]) as pipeline:
            assert pipeline.run(Entry("e"), QUESTIONS(Question.of("Why?"))).checked()[ANSWERS] == [Answer("Because.")]
        assert [request.model for request in server.requests] == ["mistral-small-2506"]


@pytest.mark.slow
def test_the_client_is_imported_when_a_pipeline_begins() -> None:
    code = (
        "import sys, rocketride_llm_mistral; print([m for m in ('mistralai.client', 'httpx2', 'pydantic') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
