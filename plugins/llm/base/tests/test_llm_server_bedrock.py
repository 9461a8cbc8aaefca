# SPDX-License-Identifier: MIT
"""The scripted server, spoken to by AWS's own client."""

import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any

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
from rocketride_llm.testing.wires.bedrock import BedrockWire, frame, unframed

session: Any = pytest.importorskip("botocore.session")
config: Any = pytest.importorskip("botocore.config")
errors: Any = pytest.importorskip("botocore.exceptions")
eventstream: Any = pytest.importorskip("botocore.eventstream")

SCHEMA = {"json": {"type": "object", "properties": {}}}
TOOLS: Any = {"toolConfig": {"tools": [{"toolSpec": {"name": "add", "description": "Adds", "inputSchema": SCHEMA}}]}}


@pytest.fixture(scope="module")
def aws() -> Any:
    return session.Session()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def connected(aws: Any, server: ScriptedServer, service: str = "bedrock-runtime", timeout: float = 10) -> Any:
    options = config.Config(
        retries={"total_max_attempts": 1},
        read_timeout=timeout,
        proxies={},
        signature_version="v4",
        ignore_configured_endpoint_urls=True,
    )
    keys = {"aws_access_key_id": "AKIDSCRIPT", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    return aws.create_client(service, endpoint_url=server.base_url("bedrock"), config=options, **keys)


@pytest.fixture
def client(aws: Any, server: ScriptedServer) -> Iterator[Any]:
    made = connected(aws, server)
    yield made
    made.close()


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"text": block} if isinstance(block, str) else block for block in blocks]}


def ask(client: Any, text: str = "Hi", **more: Any) -> Any:
    return client.converse(modelId="amazon.x-v1:0", messages=[said("user", text)], **more)


def streamed(client: Any, got: list[Any], **more: Any) -> list[Any]:
    reply = client.converse_stream(modelId="amazon.x-v1:0", messages=[said("user", "Hi")], **more)
    with closing(reply["stream"]) as stream:
        for event in stream:
            got.append(event)
    return got


def texts(events: list[Any]) -> list[str]:
    found = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    return [delta["text"] for delta in found if "text" in delta]


def test_a_text(server: ScriptedServer, client: Any) -> None:
    server.add(Say("Hello you", usage=Usage(input=9, output=2, cached=4)), Say("More", finish="length"))
    reply = ask(client, system=[{"text": "Be kind"}])
    assert reply["output"]["message"] == said("assistant", "Hello you")
    assert reply["stopReason"] == "end_turn"
    usage = reply["usage"]
    assert (usage["inputTokens"], usage["cacheReadInputTokens"], usage["outputTokens"], usage["totalTokens"]) == (5, 4, 2, 11)
    assert ask(client)["stopReason"] == "max_tokens"
    request = server.requests[0]
    assert (request.wire, request.path) == ("bedrock", "/model/amazon.x-v1%3A0/converse")
    assert (request.model, request.prompt, request.question) == ("amazon.x-v1:0", "Be kind\nHi", "Hi")
    assert not server.unexpected


def test_a_stream(server: ScriptedServer, client: Any) -> None:
    server.add(Say("one two thrée", usage=Usage(input=9, output=3, cached=4)))
    events = streamed(client, [])
    assert texts(events) == ["one", " two", " thrée"]
    assert [next(iter(event)) for event in events] == [
        "messageStart",
        *["contentBlockDelta"] * 3,
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]
    assert events[-2]["messageStop"]["stopReason"] == "end_turn"
    assert events[-1]["metadata"]["usage"]["cacheReadInputTokens"] == 4
    assert server.requests[0].stream


def test_reasoning_text_and_tools(server: ScriptedServer, client: Any) -> None:
    step = CallTools([("add", {"a": 1, "b": "é" * 20}), ("add", {})], text="Let me see", thought="hm so")
    server.add(step, step)
    events = streamed(client, [], **TOOLS)
    deltas = [event["contentBlockDelta"] for event in events if "contentBlockDelta" in event]
    thoughts = [d["delta"]["reasoningContent"].get("text", "") for d in deltas if "reasoningContent" in d["delta"]]
    assert "".join(thoughts) == "hm so"
    assert "".join(texts(events)) == "Let me see"
    inputs = {n: "".join(d["delta"]["toolUse"]["input"] for d in deltas if d["contentBlockIndex"] == n) for n in (2, 3)}
    assert [json.loads(text) for text in inputs.values()] == [{"a": 1, "b": "é" * 20}, {}]
    assert events[-2]["messageStop"]["stopReason"] == "tool_use"
    message = ask(client, **TOOLS)["output"]["message"]
    assert message["content"][0]["reasoningContent"]["reasoningText"]["text"] == "hm so"
    uses = [block["toolUse"] for block in message["content"][2:]]
    assert [use["input"] for use in uses] == [{"a": 1, "b": "é" * 20}, {}]
    assert uses[0]["toolUseId"] != uses[1]["toolUseId"]


def test_broken_arguments(server: ScriptedServer, client: Any) -> None:
    server.add(*[CallTools([("add", {})], broken_arguments='{"a": ')] * 2)
    parts = [event["contentBlockDelta"]["delta"] for event in streamed(client, [], **TOOLS) if "contentBlockDelta" in event]
    assert "".join(part["toolUse"]["input"] for part in parts) == '{"a": '
    assert ask(client, **TOOLS)["output"]["message"]["content"][0]["toolUse"]["input"] == '{"a": '


def test_the_ends_of_a_reply(server: ScriptedServer, client: Any) -> None:
    server.add(Say("No", finish="refusal"), Say("No", finish="content_filter"), Say("a\nObservation: b"), Echo())
    assert ask(client)["stopReason"] == "content_filtered"
    assert streamed(client, [])[-2]["messageStop"]["stopReason"] == "guardrail_intervened"
    reply = ask(client, inferenceConfig={"stopSequences": ["\nObservation"]})
    assert (reply["output"]["message"]["content"], reply["stopReason"]) == ([{"text": "a"}], "stop_sequence")
    assert ask(client, "again")["output"]["message"]["content"] == [{"text": "again"}]


@pytest.mark.parametrize(
    ("step", "status", "kind", "words"),
    [
        (bad_key(), 403, "UnrecognizedClientException", "security token"),
        (permission_denied(), 403, "AccessDeniedException", "not authorized"),
        (rate_limited(), 429, "ThrottlingException", "Too many requests"),
        (quota_exhausted(), 429, "ThrottlingException", "tokens per day"),
        (model_not_found(), 400, "ValidationException", "model identifier is invalid"),
        (context_too_long(), 400, "ValidationException", "too long"),
        (content_refused(), 400, "ValidationException", "content filtering policy"),
        (no_tool_support(), 400, "ValidationException", "tool use"),
        (server_error(), 500, "InternalServerException", "unexpected error"),
        (overloaded(), 503, "ServiceUnavailableException", "unable to process"),
        (Fail(424, message="Lost it", code="ModelErrorException"), 424, "ModelErrorException", "Lost it"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_failures(server: ScriptedServer, client: Any, step: Fail, status: int, kind: str, words: str, stream: bool) -> None:
    server.add(step)
    with pytest.raises(errors.ClientError) as caught:
        streamed(client, []) if stream else ask(client)
    response = caught.value.response
    assert (response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]) == (status, kind)
    assert words in response["Error"]["Message"]
    assert isinstance(caught.value, getattr(client.exceptions, kind, errors.ClientError))
    assert server.requests[0].outcome == "failed"


def test_the_key_is_the_access_key_or_a_bearer_token(aws: Any) -> None:
    with ScriptedServer([Say("ok")], key="AKIDSCRIPT") as server:
        made = connected(aws, server)
        assert ask(made)["stopReason"] == "end_turn"
        made.close()
    wire = BedrockWire()
    assert wire.key({"authorization": "Bearer abc"}) == "abc"
    assert wire.key({"authorization": "AWS4-HMAC-SHA256 Credential=AK/20260101/r/bedrock/aws4_request, Signature=0"}) == "AK"
    assert wire.key({}) is None


def test_what_breaks_a_reply(aws: Any, server: ScriptedServer) -> None:
    client = connected(aws, server, timeout=0.1)
    server.add(Hang(), Drop(), Drop(after_bytes=30), Malformed('{"output": '))
    with pytest.raises(errors.ReadTimeoutError):
        ask(client)
    with pytest.raises(errors.ConnectionClosedError):
        ask(client)
    for _ in range(2):  # AWS's client takes what is no JSON for a reply without content
        assert "output" not in ask(client)
    client.close()
    assert [request.wait() for request in server.requests] == ["client gone", "dropped", "dropped", "failed"]


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (FailMidway(overloaded(), reply=Say("a b c")), "serviceUnavailableException"),
        (FailMidway(rate_limited(), reply=Say("a b c")), "throttlingException"),
        (FailMidway(Fail(500, code="ModelStreamErrorException"), reply=Say("a b c")), "modelStreamErrorException"),
        (FailMidway(bad_key(), reply=Say("a b c")), "validationException"),
    ],
)
def test_an_error_in_a_stream(server: ScriptedServer, client: Any, step: Any, kind: str) -> None:
    server.add(step)
    got: list[Any] = []
    with pytest.raises(errors.EventStreamError) as caught:
        streamed(client, got)
    assert caught.value.response["Error"]["Code"] == kind
    assert texts(got) == ["a", " b"]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (Drop(after_chunks=2, reply=Say("a b c")), ["a", " b"]),
        (Hang(0.05, after_chunks=1, reply=Say("a b c")), ["a"]),
    ],
)
def test_what_breaks_a_stream(server: ScriptedServer, client: Any, step: Any, text: list[str]) -> None:
    server.add(step)
    got: list[Any] = []
    with pytest.raises(Exception):  # noqa: B017 - urllib3's and the client's own
        streamed(client, got)
    assert texts(got) == text


def test_an_event_that_is_no_json(server: ScriptedServer, client: Any) -> None:
    server.add(Malformed("{oops", after_chunks=1, reply=Say("a b")))
    first, second, last = streamed(client, [])
    assert texts([first, second]) == ["a"]
    assert "delta" not in last["contentBlockDelta"]


def test_tokens_and_models(aws: Any, server: ScriptedServer, client: Any) -> None:
    count = client.count_tokens(modelId="m", input={"converse": {"messages": [said("user", "x" * 40)]}})
    assert count["inputTokens"] == 10
    control = connected(aws, server, "bedrock")
    assert [model["modelId"] for model in control.list_foundation_models()["modelSummaries"]] == ["scripted"]
    control.close()
    assert [request.operation for request in server.requests] == ["count_tokens", "models"]
    assert not server.unexpected


USE = {"toolUse": {"toolUseId": "t1", "name": "add", "input": {}}}
RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "It is 1"}]}}


@pytest.mark.parametrize(
    ("messages", "more", "words"),
    [
        ([], {}, "must start with a user message"),
        ([said("assistant", "x")], {}, "must start with a user message"),
        ([said("user", "x"), said("user", "y")], {}, "must alternate"),
        ([said("user", " ")], {}, "is blank"),
        ([said("user")], {}, "is empty"),
        ([said("user", "x")], {"system": [{"text": " "}]}, "system.0 is blank"),
        ([said("user", "x"), said("assistant", USE), said("user", "no result")], TOOLS, "Expected toolResult"),
        ([said("user", "x"), said("assistant", USE)], TOOLS, "Expected toolResult"),
        ([said("user", RESULT)], TOOLS, "Expected toolResult"),
        ([said("user", "x"), said("assistant", USE), said("user", RESULT)], {}, "toolConfig field must be defined"),
    ],
)
def test_what_the_vendor_refuses(server: ScriptedServer, client: Any, messages: Any, more: Any, words: str) -> None:
    server.add(Say("never"))
    with pytest.raises(client.exceptions.ValidationException, match=words):
        client.converse(modelId="m", messages=messages, **more)
    assert words in server.unexpected[0]
    assert server.remaining == 1


def test_a_conversation_with_tools_is_accepted(server: ScriptedServer, client: Any) -> None:
    server.add(CallTools([("add", {"a": 1})]), Echo())
    messages = [said("user", "Sum")]
    turn = client.converse(modelId="m", messages=messages, **TOOLS)["output"]["message"]
    result = {"toolUseId": turn["content"][0]["toolUse"]["toolUseId"], "content": [{"text": "It is 1"}]}
    client.converse(modelId="m", messages=[*messages, turn, said("user", {"toolResult": result})], **TOOLS)
    assert server.unexpected == []
    assert server.requests[1].last == "It is 1"


def test_frames_have_checksums_of_prelude_and_message() -> None:
    made = frame({":event-type": "ä", ":message-type": "event"}, b'{"a": 1}')
    total, headers = struct.unpack_from(">II", made)
    assert total == len(made)
    assert struct.unpack_from(">I", made, 8)[0] == zlib.crc32(made[:8])
    assert struct.unpack(">I", made[-4:])[0] == zlib.crc32(made[:-4])
    assert made[12 + headers : -4] == b'{"a": 1}'
    assert unframed(made) == ({":event-type": "ä", ":message-type": "event"}, b'{"a": 1}')
    for at in (4, 9, 20, len(made) - 1):
        buffer = eventstream.EventStreamBuffer()
        buffer.add_data(made[:at] + bytes([made[at] ^ 1]) + made[at + 1 :])
        with pytest.raises(eventstream.ParserError):
            next(buffer)


def test_reasoning_stands_before_the_text(server: ScriptedServer, client: Any) -> None:
    server.add(Think("hm", "three"))
    assert [next(iter(block)) for block in ask(client)["output"]["message"]["content"]] == ["reasoningContent", "text"]
