# SPDX-License-Identifier: MIT
"""What is only Bedrock's: signatures, settings, conversations, errors, frames."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, Kernel, Message, PipeError, Question, RunError, Tool, ToolCall
from rocketride_llm import LLMError
from rocketride_llm.testing import CallTools, Fail, FailMidway, Malformed, Say, ScriptedServer, Step, Usage
from rocketride_llm.testing.kit import KEY, asked_by
from rocketride_llm.testing.wires import Piece, register_wire, unregister_wire
from rocketride_llm.testing.wires.bedrock import BedrockWire, frame
from rocketride_llm_bedrock import Bedrock, BedrockConfig
from rocketride_llm_bedrock.client import Keys, Sender, Signed

CATALOG = Path(__file__).resolve().parents[5] / "shared" / "reference" / "catalog.json"
SEARCH = Tool("db.search", "Finds things.", {"type": "object", "properties": {"q": {"type": "string"}}}, lambda *_: None)
Work = Callable[[Any, Question], object]
OK = Say("ok")


def plain(model: Any, question: Question) -> Answer:
    answer: Answer = model.ask(question)
    return answer


def streamed(model: Any, question: Question) -> Answer:
    answer: Answer = model.ask(question, on_token=lambda _: None)
    return answer


def asked(*steps: Step, work: Work = plain, key: str | None = KEY, **config: Any) -> tuple[Any, ScriptedServer]:
    """`(result, server)` of one question."""
    with ScriptedServer(steps, key=key) as server:
        given = {"model": "suite-1", "apikey": KEY, "retryDelay": 0.01, "maxAttempts": 1, "timeout": 200} | config
        with asked_by(Bedrock, {"base_url": server.url, **given}, work) as pipeline:
            return pipeline.run(Entry("e"), QUESTIONS(Question.of("What is it?"))), server


def cause(result: Any) -> LLMError:
    assert result.error is not None, "it answered"
    assert isinstance(result.error.__cause__, LLMError), repr(result.error)
    return result.error.__cause__


# --- who asks ---------------------------------------------------------------------------------------------------------


def signature(signed: Signed, secret: str, region: str) -> str:
    """Signature Version 4, reckoned from its description."""
    low = {name.lower(): value for name, value in signed.headers.items()}
    names = low["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    host, slash, path = signed.url.partition("//")[2].partition("/")
    path = "/".join(piece.replace("%", "%25") for piece in f"{slash}{path}".split("/"))
    headers = "".join(f"{name}:{host if name == 'host' else low[name]}\n" for name in names)
    digest = hashlib.sha256(signed.body).hexdigest()
    canonical = f"{signed.method}\n{path}\n\n{headers}\n{';'.join(names)}\n{digest}"
    date = low["x-amz-date"]
    scope = f"{date[:8]}/{region}/bedrock/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


@pytest.mark.parametrize("token", ["", "token-of-a-session"])
def test_requests_are_signed(token: str) -> None:
    sender = Sender(Keys(access="AKID", secret="secret", token=token), "eu-west-1", "https://h.example:8443/gate")
    arguments = {"modelId": "us.x-v1:0", "messages": [{"role": "user", "content": [{"text": "é"}]}]}
    signed = sender.request("converse_stream", arguments)
    sender.close()
    assert (signed.method, signed.url) == ("POST", "https://h.example:8443/gate/model/us.x-v1%3A0/converse-stream")
    told = signed.headers["Authorization"]
    assert f"Signature={signature(signed, 'secret', 'eu-west-1')}" in told
    assert f"Signature={signature(signed, 'other', 'eu-west-1')}" not in told
    assert signed.headers.get("X-Amz-Security-Token", "") == token


def test_two_ways_to_prove_who_asks() -> None:
    signed = {"apikey": "", "accessKey": KEY, "secretKey": "planted-secret", "sessionToken": "planted-token"}
    result, server = asked(Say("ok"), **signed)
    assert result.checked()[ANSWERS] == [Answer("ok")]
    headers = server.chats[0].headers
    assert headers["authorization"].startswith(f"AWS4-HMAC-SHA256 Credential={KEY}/")
    assert headers["x-amz-security-token"] == "planted-token"
    assert "planted-secret" not in str(headers)
    assert asked(Say("ok"))[1].chats[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("name", ["secretKey", "sessionToken", "accessKey"])
def test_own_keys_are_in_no_message(name: str) -> None:
    keys = {"apikey": "", "accessKey": KEY, "secretKey": "planted-secret", "sessionToken": "planted-token"}
    step = Fail(400, message=f"What is {keys[name]} for?")
    said = str(asked(step, **keys)[0].error)
    assert keys[name] not in said
    assert "***" in said


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"accessKey": "AK ID", "secretKey": "s"}, '"accessKey" has spaces or characters that no key has'),
        ({"accessKey": "AKID", "secretKey": "plantéd"}, '"secretKey" has spaces or characters that no key has'),
        ({"accessKey": "AKID", "secretKey": "${MY_KEY}"}, '"secretKey" is a variable that is not filled in'),
        ({}, 'best as "${ROCKETRIDE_…}", or in its place "accessKey" and "secretKey"'),
    ],
)
def test_keys_that_cannot_be_sent_end_the_load(config: dict[str, Any], words: str) -> None:
    with pytest.raises(RunError) as caught:
        asked(apikey="", **config)
    assert words in str(caught.value)
    assert "plant" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"accessKey": "AKID", "secretKey": "0123456789"}, "not clear which to use"),
        ({"apikey": "", "accessKey": "AKID"}, "belong together"),
        ({"apikey": "", "secretKey": "0123456789"}, "belong together"),
        ({"region": "us east"}, "region"),
        ({"crossRegion": "US!"}, "crossRegion"),
    ],
)
def test_settings_that_cannot_be_right_are_problems_of_the_file(config: dict[str, Any], words: str) -> None:
    with pytest.raises(PipeError, match=words):
        asked(**config)


# --- which model, and where -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "region", "cross", "asked_for"),
    [
        ("meta.llama3-3-70b-instruct-v1:0", "us-east-1", "auto", "us.meta.llama3-3-70b-instruct-v1:0"),
        ("anthropic.claude-x", "eu-central-1", "auto", "eu.anthropic.claude-x"),
        ("amazon.nova-2-lite-v1:0", "ap-southeast-2", "auto", "apac.amazon.nova-2-lite-v1:0"),
        ("anthropic.claude-x", "us-gov-west-1", "auto", "us-gov.anthropic.claude-x"),
        ("anthropic.claude-x", "sa-east-1", "auto", "anthropic.claude-x"),
        ("anthropic.claude-x", "sa-east-1", "global", "global.anthropic.claude-x"),
        ("anthropic.claude-x", "us-east-1", "off", "anthropic.claude-x"),
        ("cohere.command-r-v1:0", "us-east-1", "auto", "cohere.command-r-v1:0"),
        ("eu.anthropic.claude-x", "us-east-1", "auto", "eu.anthropic.claude-x"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/x", "us-east-1", "us", "arn:aws:bedrock:us-east-1:1:inference-profile/x"),
    ],
)
def test_models_are_asked_for_by_their_inference_profile(model: str, region: str, cross: str, asked_for: str) -> None:
    result, server = asked(Say("ok"), model=model, region=region, crossRegion=cross)
    assert result.checked()[ANSWERS] == [Answer("ok")]
    assert server.chats[0].model == asked_for


def test_without_base_url_it_is_the_host_of_the_region() -> None:
    assert BedrockConfig(model="m", region="eu-west-3").address == "https://bedrock-runtime.eu-west-3.amazonaws.com"


@pytest.mark.skipif(not CATALOG.exists(), reason="the catalog of profiles is not here")
def test_profiles_are_those_of_the_catalog() -> None:
    (service,) = [s for s in json.loads(CATALOG.read_text())["services"] if s["name"] == "llm_bedrock"]
    there = {name: {k: v for k, v in p.items() if k != "title"} for name, p in service["profiles"].items()}
    assert {profile.id: dict(profile.values) for profile in Bedrock.spec.profiles} == there
    assert Bedrock.spec.profiles[0].id == service["preconfig"]["default"]
    assert {p.id: p.title for p in Bedrock.spec.profiles} == {n: p["title"] for n, p in service["profiles"].items()}


def test_nothing_of_aws_is_imported_before_the_pipeline_begins() -> None:
    import subprocess
    import sys

    text = "import sys, rocketride_llm_bedrock; assert not [m for m in sys.modules if m.startswith(('botocore', 'httpx'))]"
    subprocess.run([sys.executable, "-c", text], check=True)


# --- what is sent -----------------------------------------------------------------------------------------------------


def conversed(*messages: Message, tools: Any = (), steps: Any = (OK,)) -> tuple[Any, ScriptedServer]:
    def work(model: Any, question: Question) -> str:
        turn = model.converse(list(messages), list(tools))
        return f"{turn.content}{[(call.name, dict(call.arguments), call.broken) for call in turn.calls]}"

    return asked(*steps, work=work)


def test_a_conversation_is_put_as_converse_wants_it() -> None:
    call = ToolCall("call|1", "db.search", {"q": "x"})
    result, server = conversed(
        Message("system", "Be brief."),
        Message("assistant", "Hello"),
        Message("user", "a"),
        Message("user", " "),
        Message("user", "b"),
        Message("assistant", "", (call, ToolCall("call|2", "db.search"))),
        Message("user", "meanwhile"),
        Message("tool", "found", call_id="call|1"),
        Message("tool", "", call_id="call|2"),
        tools=[SEARCH],
    )
    assert result.checked()[ANSWERS] == [Answer("ok[]")]
    assert not server.unexpected
    body = server.chats[0].body
    assert body["system"] == [{"text": "Be brief."}]
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert body["messages"][2]["content"] == [{"text": "a"}, {"text": "b"}]
    assert [use["toolUse"]["toolUseId"] for use in body["messages"][3]["content"]] == ["call_1", "call_2"]
    assert body["messages"][4]["content"] == [
        {"toolResult": {"toolUseId": "call_1", "content": [{"text": "found"}]}},
        {"toolResult": {"toolUseId": "call_2", "content": []}},
        {"text": "meanwhile"},
    ]
    (tool,) = body["toolConfig"]["tools"]
    assert tool["toolSpec"]["name"] == "db__search"
    assert tool["toolSpec"]["inputSchema"] == {"json": SEARCH.input_schema}


def test_calls_of_earlier_turns_are_declared_where_no_tool_is_offered() -> None:
    turns = [Message("user", "a"), Message("assistant", "", (ToolCall("1", "db.search"),)), Message("tool", "r", call_id="1")]
    result, server = conversed(*turns)
    result.checked()
    assert not server.unexpected
    assert [tool["toolSpec"]["name"] for tool in server.chats[0].body["toolConfig"]["tools"]] == ["db__search"]


def test_a_conversation_of_the_system_alone_is_the_users() -> None:
    assert conversed(Message("system", "Speak."))[1].chats[0].body["messages"] == [
        {"role": "user", "content": [{"text": "Speak."}]}
    ]


def test_arguments_that_are_no_object_are_broken() -> None:
    result, _ = conversed(
        Message("user", "x"), tools=[SEARCH], steps=[CallTools([("db__search", {})], broken_arguments='{"q": ')]
    )
    assert result.checked()[ANSWERS] == [Answer("[('db.search', {}, '{\"q\": ')]")]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("The model returned the following errors: `temperature` is deprecated for this model.", "temperature"),
        ("This model doesn't support the stopSequences field. Remove stopSequences and try again.", "stopSequences"),
    ],
)
def test_settings_that_a_model_does_not_take_are_left_out_from_then_on(words: str, name: str) -> None:
    def work(model: Any, question: Question) -> str:
        return " ".join(model.ask(question, stop=["STOP"]).text for _ in range(2))

    result, server = asked(Fail(400, message=words), Say("a STOP b", honour_stop=False), Say("c"), work=work)
    assert result.checked()[ANSWERS] == [Answer("a  c")]
    sent = [chat.body["inferenceConfig"] for chat in server.chats]
    assert [name in settings for settings in sent] == [True, False, False]


def test_the_longest_answer_is_what_the_model_says() -> None:
    words = "The maximum tokens you requested exceeds the model limit of 2048. Try again with a value that is lower than 2048."
    result, server = asked(Fail(400, message=words), Say("ok"))
    assert result.checked()[ANSWERS] == [Answer("ok")]
    assert [chat.body["inferenceConfig"]["maxTokens"] for chat in server.chats] == [4096, 2048]
    assert cause(asked(Fail(400, message=words), Fail(400, message=words))[0]).kind == "invalid-request"


def test_a_model_that_calls_no_tools_in_streams_is_asked_for_whole_turns() -> None:
    def work(model: Any, question: Question) -> str:
        tokens: list[str] = []
        for _ in range(2):
            model.converse([Message("user", "x")], [SEARCH], on_token=tokens.append)
        model.ask(question, on_token=tokens.append)
        return "|".join(tokens)

    words = "This model doesn't support tool use in streaming mode."
    result, server = asked(Fail(400, message=words), Say("one two"), Say("three"), Say("a b"), work=work)
    assert result.checked()[ANSWERS][0].text.startswith("one two|three|a")
    assert [chat.stream for chat in server.chats] == [True, False, False, True]
    assert cause(asked(Fail(400, message="This model doesn't support tool use."), work=work)[0]).kind == "no-tools"


def test_long_answers_that_nobody_hears_come_as_streams_too() -> None:
    for timeout, streams in ((200, False), (100, True)):
        result, server = asked(Say("ok"), timeout=timeout)
        assert result.checked()[ANSWERS] == [Answer("ok")]
        assert server.chats[0].stream is streams


def test_all_tokens_of_the_prompt_are_counted() -> None:
    class Writes(BedrockWire):
        def whole(self, request: Any, reply: Any) -> Any:
            whole = super().whole(request, reply)
            whole["usage"]["cacheWriteInputTokens"] = 5
            return whole

    with instead(Writes()):
        usage = asked(Say("ok", usage=Usage(input=11, output=7, cached=3)))[0].usage["llm"]
    assert (usage["input_tokens"], usage["cached_tokens"], usage["output_tokens"]) == (16, 3, 7)


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (
            Fail(403, code="InvalidSignatureException", message="The request signature we calculated does not match"),
            "authentication",
        ),
        (
            Fail(403, code="ExpiredTokenException", message="The security token included in the request is expired"),
            "authentication",
        ),
        (
            Fail(403, code="AccessDeniedException", message="Authentication failed: Please make sure your API Key is valid."),
            "authentication",
        ),
        (
            Fail(403, code="AccessDeniedException", message="You don't have access to the model with the specified model ID."),
            "permission",
        ),
        (Fail(403, code="AccessDeniedException", message="Model access is denied due to INVALID_PAYMENT_INSTRUMENT"), "quota"),
        (Fail(404, code="ResourceNotFoundException", message="Could not resolve the foundation model"), "no-such-model"),
        (Fail(400, message="The provided model identifier is invalid."), "no-such-model"),
        (Fail(400, message="This model version has reached the end of its life."), "no-such-model"),
        (Fail(400, message="The model returned the following errors: prompt is too long: 9 tokens > 8 maximum"), "too-long"),
        (Fail(400, message="Too many input tokens. Max input tokens: 8192, request input token count: 9000"), "too-long"),
        (Fail(400, message="Invocation of model ID x with on-demand throughput isn't supported."), "invalid-request"),
        (Fail(408, code="ModelTimeoutException", message="Model has timed out"), "timeout"),
        (Fail(424, code="ModelErrorException", message="The system encountered an error"), "unavailable"),
        (Fail(429, code="ModelNotReadyException", message="Model is not ready"), "unavailable"),
        (Fail(429, code="ThrottlingException", message="Too many tokens, please wait"), "rate-limit"),
        (Fail(402, code="ServiceQuotaExceededException", message="Over the quota"), "quota"),
        (Fail(404, body={"error": "not found"}, code="UnknownOperationException"), "invalid-request"),
        (Fail(502, body="<html>Bad gateway</html>", code=""), "unavailable"),
    ],
)
def test_errors_by_type_and_words(step: Fail, kind: str) -> None:
    for work in (plain, streamed):
        result, server = asked(step, work=work)
        assert (cause(result).kind, len(server.chats)) == (kind, 1), cause(result)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ThrottlingException", "rate-limit"),
        ("ModelStreamErrorException", "unavailable"),
        ("ServiceUnavailableException", "unavailable"),
        ("ValidationException", "invalid-request"),
    ],
)
def test_exceptions_in_a_stream(code: str, kind: str) -> None:
    step = FailMidway(Fail(500, code=code, message="It broke"), after_chunks=0)
    error = cause(asked(step, work=streamed)[0])
    assert (error.kind, error.status, error.detail) == (kind, 0, "It broke")


def test_a_foreign_address_is_told() -> None:
    with ScriptedServer() as server:
        config = {"base_url": f"{server.url}/elsewhere", "model": "m", "apikey": KEY, "maxAttempts": 1}
        with asked_by(Bedrock, config, plain) as pipeline:
            error = cause(pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))))
    assert error.kind == "invalid-request"
    assert "no Bedrock runtime at this address" in str(error)


def test_a_guardrail_refuses() -> None:
    for work in (plain, streamed):
        error = cause(asked(Say("Blocked by policy.", finish="content_filter"), work=work)[0])
        assert (error.kind, error.detail) == ("refused", "Blocked by policy.")


class instead:
    """Another wire in Bedrock's place."""

    def __init__(self, wire: BedrockWire) -> None:
        self._wire = wire

    def __enter__(self) -> None:
        register_wire(self._wire)

    def __exit__(self, *_: object) -> None:
        unregister_wire("bedrock")


class Changed(BedrockWire):
    """Streams whose frame with a word in it is changed."""

    def __init__(self, word: bytes, change: Callable[[bytes], bytes]) -> None:
        self._word, self._change = word, change

    def stream(self, request: Any, reply: Any) -> Iterator[Piece]:
        for piece in super().stream(request, reply):
            yield Piece(self._change(piece.data), piece.counted) if self._word in piece.data else piece


def flipped(at: int) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        made = bytearray(data)
        made[at] ^= 1
        return bytes(made)

    return change


@pytest.mark.parametrize(
    "at", [0, 5, 9, 30, -6, -1], ids=["length", "header length", "prelude checksum", "header", "payload", "checksum"]
)
def test_a_damaged_frame_is_a_bad_reply(at: int) -> None:
    with instead(Changed(b"two", flipped(at))):
        error = cause(asked(Say("one two"), work=streamed)[0])
    assert error.kind in ("bad-reply", "connection") if at == 0 else error.kind == "bad-reply"


@pytest.mark.parametrize("size", [1, 7, 100])
def test_frames_may_come_in_any_pieces(size: int) -> None:
    class Cut(BedrockWire):
        def stream(self, request: Any, reply: Any) -> Iterator[Piece]:
            data = b"".join(piece.data for piece in super().stream(request, reply))
            for at in range(0, len(data), size):
                yield Piece(data[at : at + size])

    with instead(Cut()):
        assert asked(Say("öne two"), work=streamed)[0].checked()[ANSWERS] == [Answer("öne two")]


@pytest.mark.parametrize("reason", ["malformed_model_output", "malformed_tool_use"])
def test_what_the_model_could_not_write_is_a_bad_reply(reason: str) -> None:
    def change(data: bytes) -> bytes:
        return BedrockWire.rewritten(data, lambda text: text.replace("end_turn", reason))

    with instead(Changed(b"end_turn", change)):
        assert reason in str(cause(asked(Say("x"), work=streamed)[0]))


def test_events_to_come_are_left_out_and_errors_of_the_frame_told() -> None:
    unknown = frame({":message-type": "event", ":event-type": "somethingNew"}, b'{"a": 1}')
    broken = frame({":message-type": "error", ":error-code": "InternalFailure", ":error-message": "It broke"}, b"")
    with instead(Changed(b"two", lambda data: unknown + data)):
        assert asked(Say("one two"), work=streamed)[0].checked()[ANSWERS] == [Answer("one two")]
    with instead(Changed(b"two", lambda data: broken + data)):
        error = cause(asked(Say("one two"), work=streamed)[0])
    assert (error.kind, error.detail) == ("unavailable", "It broke")


def test_a_page_in_place_of_a_stream_is_a_bad_reply() -> None:
    error = cause(asked(Malformed("<p>Sign in</p>", content_type="text/html"), work=streamed)[0])
    assert (error.kind, "see 'base_url'" in str(error)) == ("bad-reply", True)


def test_a_variable_that_is_not_set_is_told_by_its_name() -> None:
    from rocketride_core import Component, PipeFile

    for key in ("region", "crossRegion"):
        pipe = PipeFile([Component("llm", "llm_bedrock", {"model": "m", key: "${ROCKETRIDE_NOT_SET}"})])
        problems = Kernel(nodes=[Bedrock], env={}).check(pipe, source="llm")
        assert any("ROCKETRIDE_NOT_SET" in problem.message for problem in problems)
        assert not [problem for problem in problems if problem.code == "invalid-value"]
