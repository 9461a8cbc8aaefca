# SPDX-License-Identifier: MIT
"""What servers say when they cannot or will not, in their own words, and which kind of error each is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocketride_core import Question, RunError
from rocketride_core.testing import node_harness
from rocketride_llm import LLMError
from rocketride_llm.testing import Drop, Fail, FailMidway, Malformed, Request, Say, ScriptedServer
from rocketride_llm_openai_api import OpenAIAPI

KEY = "sk-planted-0123456789"


def caused(error: RunError | None) -> LLMError:
    assert error is not None, "it answered"
    assert isinstance(error.__cause__, LLMError), repr(error.__cause__)
    return error.__cause__


def asked(*steps: Any, streamed: bool = True, runs: int = 1, **config: Any) -> tuple[list[Any], list[Any]]:
    """Outputs and requests. On its lane the node asks for a stream; a question for JSON is asked without."""
    question = Question.of("q") if streamed else Question(("q",), expect_json=True)
    with ScriptedServer(steps) as server:
        settings = {"model": "m-1", "base_url": server.base_url("openai"), "apikey": KEY, "maxAttempts": 1, **config}
        with node_harness(OpenAIAPI, config=settings) as harness:
            outputs = [harness.run({"questions": [question]}, check=False) for _ in range(runs)]
        assert not server.unexpected
        assert not server.remaining
        return outputs, server.chats


def error_of(*steps: Any, **more: Any) -> LLMError:
    return caused(asked(*steps, **more)[0][0].error)


def said(message: str, code: Any = None, type: Any = "invalid_request_error", param: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


WORDS = [
    # OpenAI and Azure
    (401, said("Incorrect API key provided: sk-pl***6789.", "invalid_api_key"), "authentication"),
    (401, said("You have insufficient permissions for this operation. Missing scopes: model.request."), "permission"),
    (403, said("Country, region, or territory not supported", "unsupported_country_region_territory"), "permission"),
    (429, said("You exceeded your current quota, please check your plan.", "insufficient_quota", "insufficient_quota"), "quota"),
    (429, said("Your account is not active.", "billing_not_active"), "quota"),
    (429, said("Rate limit reached for m-1 on tokens per min.", "rate_limit_exceeded", "tokens"), "rate-limit"),
    (429, said("Request too large for m-1 on tokens per min: Limit 30000, Requested 50000.", "rate_limit_exceeded"), "too-long"),
    (404, said("The model `m-1` does not exist or you do not have access to it.", "model_not_found"), "no-such-model"),
    (404, said("The API deployment for this resource does not exist.", "DeploymentNotFound"), "no-such-model"),
    (404, said("This model is only supported in v1/responses and not in v1/chat/completions."), "invalid-request"),
    (400, said("This model's maximum context length is 8192 tokens.", "context_length_exceeded", param="messages"), "too-long"),
    (400, said("Invalid 'messages[0].content': string too long.", "string_above_max_length"), "too-long"),
    (400, said("Your request was rejected by our safety system.", "content_policy_violation"), "refused"),
    (400, said("The prompt triggered the content management policy.", "content_filter", None), "refused"),
    (400, said("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt"), "refused"),
    (400, said("Unsupported parameter: 'tools' is not supported with this model.", "unsupported_parameter", param="tools"), "no-tools"),
    (400, said("Invalid value for 'messages'."), "invalid-request"),
    (409, said("Conflict"), "invalid-request"),
    (500, said("The server had an error while processing your request.", None, "server_error"), "unavailable"),
    (503, said("The engine is currently overloaded, please try again later."), "unavailable"),
    (504, "<html><h1>Gateway Time-out</h1></html>", "timeout"),
    (520, "<html>a proxy's page</html>", "unavailable"),
    # vLLM
    (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400}, "too-long"),
    (400, said("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 400), "too-long"),
    (404, {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}, "no-such-model"),
    (400, said('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 400), "no-tools"),
    (401, {"error": "Unauthorized"}, "authentication"),
    # llama.cpp
    (400, {"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}, "too-long"),
    (500, said("the request exceeds the available context size. try increasing the context size", 500, "server_error"), "too-long"),
    (500, said("tools param requires --jinja flag", 500, "server_error"), "no-tools"),
    (503, said("Loading model", 503, "unavailable_error"), "unavailable"),
    (401, said("Invalid API Key", 401, "authentication_error"), "authentication"),
    # LM Studio, Ollama
    (400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with less."}, "too-long"),
    (404, {"error": "No models loaded. Please load a model in the developer page."}, "no-such-model"),
    (404, said('model "x" not found, try pulling it first', None, "api_error"), "no-such-model"),
    (400, said("registry.ollama.ai/library/x does not support tools", None, "api_error"), "no-tools"),
    # gateways and other vendors
    (402, said("This request requires more credits, or fewer max_tokens.", 402), "quota"),
    (402, said("Insufficient Balance", "invalid_request_error", "unknown_error"), "quota"),
    (404, said("No endpoints found that support tool use.", 404), "no-tools"),
    (404, said("No endpoints found for maker/x.", 404), "no-such-model"),
    (403, said("Input was flagged for violence", 403), "refused"),
    (400, said("Model Not Exist"), "no-such-model"),
    (400, said("Input data may contain inappropriate content.", "data_inspection_failed"), "refused"),
    (413, said("Request too large for model `x`", "rate_limit_exceeded", "tokens"), "too-long"),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096", "error_type": "validation"}, "too-long"),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "Field required", "type": "missing"}]}, "invalid-request"),
    (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}], "authentication"),
    (400, {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}, "authentication"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), WORDS, ids=[f"{status}-{n}" for n, (status, _, _) in enumerate(WORDS)])
def test_words_of_servers(status: int, body: Any, kind: str) -> None:
    error = error_of(Fail(status, body=body))
    assert (error.kind, error.status if not error.sentence else status) == (kind, status), error
    assert "<h" not in str(error)
    assert "sk-pl" not in str(error)


def test_the_server_s_own_words_are_told() -> None:
    error = error_of(Fail(422, body={"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}))
    assert str(error) == "The server did not accept the request: body.messages: Field required (HTTP 422)"
    raw = {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": "seed must be a number"}}}
    assert "Provider returned error: seed must be a number" in str(error_of(Fail(400, body=raw)))


def test_keys_in_messages_are_hidden() -> None:
    error = error_of(Fail(403, body=said(f"The key {KEY} or gsk-another-one-1234 or sk-pl*****89 may not.")))
    assert str(error).endswith("The key *** or *** or *** may not. (HTTP 403)")


def test_an_address_without_the_api_is_said() -> None:
    with ScriptedServer(strict=False) as server:
        settings = {"model": "m", "base_url": server.url, "apikey": KEY}
        with node_harness(OpenAIAPI, config=settings) as harness:
            error = caused(harness.run({"questions": [Question.of("q")]}, check=False).error)
    assert error.kind == "invalid-request"
    said = f"There is no chat completions API at {server.url}; does base_url end as it should, in /v1 for most servers?"
    assert said in str(error)


@pytest.mark.parametrize("header", [{"retry-after": "7"}, {"retry-after-ms": "7000"}])
def test_when_to_come_again_is_read(header: dict[str, str]) -> None:
    assert error_of(Fail(429, headers=header)).retry_after == 7
    assert error_of(Fail(503, headers=header)).retry_after == 7


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (said("Rate limit reached", None, "rate_limit_error"), "rate-limit"),
        (said("Slow down", 429, None), "rate-limit"),
        (said("Upstream is gone", 502, None), "unavailable"),
        (said("This model's maximum context length is 10 tokens", 400, "BadRequestError"), "too-long"),
        (said("Something is off", None, "invalid_request_error"), "invalid-request"),
        (said("Something is off", None, None), "unavailable"),
        ({"error": "Something is off"}, "unavailable"),
    ],
)
def test_an_error_in_a_stream(error: Any, kind: str) -> None:
    told = error_of(FailMidway(Fail(500, body=error)))
    assert (told.kind, told.status) == (kind, 0)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (said("Slow down", 429), "rate-limit"),
        ({"object": "error", "message": "The model `x` does not exist.", "code": 404}, "no-such-model"),
        ({"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "Upstream is gone"}}]}, "unavailable"),
        ({"choices": []}, "bad-reply"),
        ({"choices": None}, "bad-reply"),
        ({"choices": [{"finish_reason": "stop"}]}, "bad-reply"),
        ({"hello": "world"}, "bad-reply"),
        ([1, 2], "bad-reply"),
        ("text", "bad-reply"),
        (None, "bad-reply"),
    ],
)
def test_errors_that_come_with_a_good_status(body: Any, kind: str) -> None:
    text = json.dumps(body)
    assert error_of(Malformed(text=text), streamed=False).kind == kind
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):  # those are chunks without text
        assert error_of(Malformed(text=text, after_chunks=1)).kind == kind


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Malformed(text="{"), "bad-reply"),
        (Malformed(text="not json"), "bad-reply"),
        (Malformed(text="<html>Sign in</html>", content_type="text/html; charset=utf-8"), "bad-reply"),
        (
            Malformed(text='data: {"choices": [{"delta": {"content": "Hal"}}]}\n\n', content_type="text/event-stream"),
            "connection",
        ),
        (Malformed(text="", content_type="text/event-stream"), "connection"),
        (Drop(after_chunks=2), "connection"),
        (Drop(after_bytes=5), "connection"),
        (Drop(reset=True), "connection"),
    ],
)
def test_streams_that_break(step: Any, kind: str) -> None:
    assert error_of(step).kind == kind


def refusing(**words: Any) -> Any:
    """A server that takes none of these parameters, and says so in these words; `{name}` is the parameter."""

    def step(request: Request) -> Any:
        for name, (status, body) in words.items():
            if name in request.body:
                return Fail(status, body=body)
        return Say("Well.")

    return step


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [
        ("max_tokens", 400, said("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "unsupported_parameter", param="max_tokens")),
        ("temperature", 400, said("Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.", "unsupported_value", param="temperature")),
        ("temperature", 400, said("temperature is not supported by this model")),
        ("stream_options", 400, said("Unrecognized request argument supplied: stream_options", None)),
        ("stream_options", 422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}]}),
        ("stream_options", 400, said("Unknown parameter: 'stream_options.include_usage'.", "unknown_parameter", param="stream_options.include_usage")),
        ("max_tokens", 400, said("max_tokens is too large: 4096. This model supports at most 2048 completion tokens.", "invalid_value", param="max_tokens")),
    ],
)  # fmt: skip
def test_a_parameter_that_is_refused_is_left_out_from_then_on(name: str, status: int, body: Any) -> None:
    step = refusing(**{name: (status, body)})
    outputs, chats = asked(step, step, step, runs=2)
    assert [output["answers"][0].text for output in outputs] == ["Well.", "Well."]
    assert [name in chat.body for chat in chats] == [True, False, False]
    assert [output.usage["requests"] for output in outputs] == [1, 1]


def test_max_completion_tokens_takes_the_place_of_max_tokens() -> None:
    gone = said(
        "Unsupported parameter: 'max_tokens' is not supported with this model.", "unsupported_parameter", param="max_tokens"
    )
    step = refusing(max_tokens=(400, gone))
    _, chats = asked(step, step)
    assert chats[1].body["max_completion_tokens"] == chats[0].body["max_tokens"] == 4096


def test_several_refusals_after_one_another() -> None:
    def no(name: str) -> tuple[int, Any]:
        return 400, said(f"Unsupported parameter: '{name}'", "unsupported_parameter", param=name)

    names = ("max_tokens", "max_completion_tokens", "temperature", "stream_options")
    step = refusing(**{name: no(name) for name in names})
    outputs, chats = asked(*[step] * 5)
    assert outputs[0]["answers"][0].text == "Well."
    assert not set(names) & set(chats[-1].body)


def test_a_limit_that_only_this_question_leaves_no_room_for_is_sent_again() -> None:
    words = (
        "'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 20 input tokens"
    )
    outputs, chats = asked(Fail(400, body=said(words, param="max_tokens")), Say("Well."), Say("Well."), runs=2)
    assert outputs[1]["answers"][0].text == "Well."
    assert ["max_tokens" in chat.body for chat in chats] == [True, False, True]


def test_what_must_be_sent_is_not_left_out() -> None:
    words = said(
        "Unsupported value: 'messages[0].role' does not support 'user' with this model.",
        "unsupported_value",
        param="messages[0].role",
    )
    assert error_of(Fail(400, body=words)).kind == "invalid-request"
    assert error_of(Fail(400, body=said("We stop here, this is not supported."))).kind == "invalid-request"
