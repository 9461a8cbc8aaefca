# SPDX-License-Identifier: MIT
"""Claude by the official client, over a real socket, from a server that plays a script."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from rocketride_core import (
    ANSWERS,
    LLM,
    ONE,
    QUESTIONS,
    Answer,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Message,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    Tool,
    ToolChatModel,
    on,
)
from rocketride_core.testing import node_harness
from rocketride_llm import LLMError
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
    Step,
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
from rocketride_llm_anthropic import Anthropic

KEY = "sk-ant-secret-0123456789"


def settings(server: ScriptedServer, **more: Any) -> dict[str, Any]:
    custom = {"profile": "custom", "model": "claude-x", "apikey": KEY, "retryDelay": 0.001, "base_url": server.url}
    return custom | more


@contextmanager
def claude(*steps: Step, **config: Any) -> Iterator[tuple[Any, ScriptedServer]]:
    with ScriptedServer(steps, key=KEY) as server, node_harness(Anthropic, config=settings(server, **config)) as harness:
        yield harness, server
        assert not server.unexpected


class Asker(Node[None]):
    """Hands its LLM to the test's function."""

    spec = NodeSpec("asker", title="Asker", needs={LLM: ONE})
    work: ClassVar[Callable[[Any, Question], Any]]

    @on(QUESTIONS, emits=[ANSWERS])
    def ask(self, instance: Instance, question: Question) -> None:
        told = type(self).work(instance.one(LLM), question)
        instance.emit(ANSWERS, told if isinstance(told, Answer) else Answer(str(told)))


class Start(Node[None]):
    spec = NodeSpec("start", title="Start", emits=[QUESTIONS])


class End(Node[None]):
    spec = NodeSpec("end", title="End", responds=True)

    @on(ANSWERS)
    def keep(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))


@contextmanager
def called(
    work: Callable[[Any, Question], Any], *steps: Step, lane: bool = False, **config: Any
) -> Iterator[tuple[Any, ScriptedServer]]:
    """A pipeline whose asker does `work` with Claude; with `lane`, Claude answers on its lane as well."""
    Asker.work = staticmethod(work)  # type: ignore[assignment]
    with ScriptedServer(steps, key=KEY) as server:
        questions = [LaneLink("questions", "s")]
        pipe = PipeFile(
            [
                Component("s", "start"),
                Component("asker", "asker", input=questions),
                Component(
                    "llm",
                    "llm_anthropic",
                    settings(server, **config),
                    input=questions if lane else [],
                    control=[ControlLink("llm", "asker")],
                ),
                Component("end", "end", input=[LaneLink("answers", "asker"), *([LaneLink("answers", "llm")] if lane else [])]),
            ],
            source="s",
        )
        with Kernel(nodes=[Start, Asker, Anthropic, End]).load(pipe) as pipeline:
            yield pipeline, server
        assert not server.unexpected


def ask(harness: Any, text: str = "Why?", *, entry: Entry | None = None, timeout: float | None = None, **question: Any) -> Any:
    return harness.run({"questions": [Question((text,), **question)]}, entry=entry, timeout=timeout, check=False)


def failure(outputs: Any) -> LLMError:
    assert outputs.error is not None
    assert isinstance(outputs.error.__cause__, LLMError), outputs.error
    assert KEY not in str(outputs.error) + str(outputs.error.__cause__)
    return outputs.error.__cause__


# --- the lane and the control -------------------------------------------------------------------------------------------


def test_it_answers_with_tokens_and_usage() -> None:
    with claude(Say("Because it is.", usage=Usage(input=10, output=5, cached=4), per_chunk_delay=0.05)) as (harness, server):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("Because it is.")]
        tokens = [event.data["text"] for event in outputs.events if event.kind == "token"]
        assert ("".join(tokens), len(tokens) > 1) == ("Because it is.", True)
        assert outputs.usage == {"requests": 1, "input_tokens": 10, "output_tokens": 5, "cached_tokens": 4}
        [request] = server.requests
        assert request.path == "/v1/messages"
        assert request.body == {
            "model": "claude-x",
            "max_tokens": 4096,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "### Current Task:\r\nWhy?"}]}],
            "temperature": 0.0,
            "stream": True,
        }


def test_lane_and_control_in_one_pipeline() -> None:
    def work(llm: Any, question: Question) -> Any:
        return llm.ask(question)

    with called(work, Say("one"), Say("two"), lane=True) as (pipeline, server):
        result = pipeline.run(Entry("e"), QUESTIONS(Question.of("Hi"))).checked()
        assert sorted(answer.text for answer in result[ANSWERS]) == ["one", "two"]
        assert sorted(request.stream for request in server.requests) == [False, True]
        assert result.usage["llm"]["requests"] == 2


def test_what_nobody_hears_is_asked_for_at_once_unless_it_may_take_long() -> None:
    def work(llm: Any, question: Question) -> Any:
        return llm.ask(question)

    for output, streamed in [(4096, False), (64_000, True)]:
        with called(work, Say("x " * 50), modelOutputTokens=output, modelTotalTokens=200_000) as (pipeline, server):
            result = pipeline.run(Entry("e"), QUESTIONS(Question.of("Hi"))).checked()
            assert result[ANSWERS][0].text == "x " * 50
            assert [request.stream for request in server.requests] == [streamed]


def test_length_and_token_count_are_served() -> None:
    def work(llm: Any, question: Question) -> Any:
        assert isinstance(llm, ToolChatModel)
        return [llm.context_length, llm.output_length, llm.count_tokens("12345678"), llm.native_tools]

    with called(work, modelTotalTokens=9000) as (pipeline, _):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "[9000, 4096, 2, True]"


def test_json_is_asked_for_again_and_fences_come_off() -> None:
    with claude(Say("no"), Say('```json\n{"a": 1}\n```')) as (harness, server):
        assert ask(harness, expect_json=True)["answers"] == [Answer({"a": 1})]
        assert len(server.requests) == 2


def test_thinking_is_no_part_of_the_answer() -> None:
    with claude(Think(thought="let me see", text="Four.")) as (harness, _):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("Four.")]
        assert "".join(event.data["text"] for event in outputs.events if event.kind == "token") == "Four."

    with called(lambda llm, q: llm.ask(q), Think(thought="let me see", text="Four.")) as (pipeline, server):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "Four."
        assert not server.requests[0].stream


def test_stop_words_end_the_answer_and_blank_ones_are_not_sent() -> None:
    def work(llm: Any, question: Question) -> Any:
        return llm.ask(question, stop=["\n\n", "Observation:"])

    with called(work, Say("Thought\nObservation: x"), Say("a\n\nb")) as (pipeline, server):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "Thought\n"
        assert server.requests[0].body["stop_sequences"] == ["Observation:"]
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "a"


def test_an_answer_at_its_limit_is_told() -> None:
    with claude(Say("half", finish="length")) as (harness, _):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("half")]
        assert [warning.code for warning in outputs.warnings] == ["answer-cut"]


@pytest.mark.parametrize("aloud", [True, False])
def test_a_refusal_is_an_error(aloud: bool) -> None:
    def work(llm: Any, question: Question) -> Any:
        return llm.ask(question, on_token=(lambda text: None) if aloud else None)

    with called(work, Say("I will", finish="refusal")) as (pipeline, _):
        assert failure(pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))).kind == "refused"


# --- temperature --------------------------------------------------------------------------------------------------------


def test_a_model_that_takes_no_temperature_is_asked_without_it_from_then_on() -> None:
    refusal = Fail(kind="bad_request", message="`temperature` is deprecated for this model.")
    with claude(refusal, Say("one"), Say("two")) as (harness, server):
        assert ask(harness)["answers"] == [Answer("one")]
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("two")]
        assert ["temperature" in request.body for request in server.requests] == [True, False, False]
        assert outputs.usage["requests"] == 1


def test_another_refusal_is_not_taken_for_that() -> None:
    with claude(Fail(kind="bad_request", message="messages: too odd")) as (harness, server):
        told = failure(ask(harness))
        assert (told.kind, len(server.requests)) == ("invalid-request", 1)
        assert "too odd" in str(told)


def test_the_temperature_is_sent_and_never_above_one() -> None:
    with claude(Say("x"), temperature=0.7) as (harness, server):
        ask(harness)
        assert server.requests[0].body["temperature"] == 0.7
    with pytest.raises(Exception, match="temperature"), claude(temperature=1.5):
        pass


# --- failures -----------------------------------------------------------------------------------------------------------

FAULTS: list[tuple[Step, str, int]] = [
    (bad_key(), "authentication", 1),
    (permission_denied(), "permission", 1),
    (quota_exhausted(), "quota", 1),
    (Fail(402, code="billing_error", message="pay"), "quota", 1),
    (Fail(400, message="You have reached your specified API usage limits."), "quota", 1),
    (
        Fail(
            429,
            body={
                "type": "error",
                "error": {"type": "rate_limit_error", "message": "m", "details": {"error_code": "enforced_spend_limit_reached"}},
            },
        ),
        "quota",
        1,
    ),
    (model_not_found(), "no-such-model", 1),
    (Fail(404, body="<html>nothing</html>"), "invalid-request", 1),
    (Fail(413, code="request_too_large", message="Request exceeds the maximum size"), "too-long", 1),
    (context_too_long(), "too-long", 1),
    (Fail(400, message="input length and `max_tokens` exceed context limit: 1 + 2 > 2"), "too-long", 1),
    (content_refused(), "refused", 1),
    (no_tool_support(), "no-tools", 1),
    (Fail(400, kind="bad_request"), "invalid-request", 1),
    (rate_limited(None), "rate-limit", 2),
    (overloaded(), "unavailable", 2),
    (server_error(500), "unavailable", 2),
    (Fail(502, body="<html>Bad gateway</html>"), "unavailable", 2),
    (Fail(504, code="timeout_error", message="slow"), "timeout", 2),
    (FailMidway(overloaded(), after_chunks=0), "unavailable", 2),
    (FailMidway(rate_limited(None), after_chunks=0), "rate-limit", 2),
    (FailMidway(overloaded(), after_chunks=2), "unavailable", 1),
    (Drop(), "connection", 2),
    (Drop(after_chunks=2), "connection", 1),
    (Malformed(), "bad-reply", 1),
    (Malformed("[]"), "bad-reply", 1),
    (Malformed("<html>Sign in</html>", content_type="text/html"), "bad-reply", 1),
    (Hang(), "timeout", 2),
]


@pytest.mark.parametrize(("step", "kind", "requests"), FAULTS)
def test_each_fault_has_its_kind_and_only_what_may_pass_is_asked_again(step: Step, kind: str, requests: int) -> None:
    with claude(step, step, maxAttempts=2, timeout=0.3 if isinstance(step, Hang) else 10) as (harness, server):
        told = failure(ask(harness))
        assert (told.kind, len(server.requests), told.attempts) == (kind, requests, requests)
        assert (told.vendor, told.model, told.component) == ("Anthropic", "claude-x", "node")
        assert "<html" not in str(told)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (overloaded(), "unavailable"),
        (Drop(after_chunks=1), "connection"),
        (Malformed(), "bad-reply"),
        (Malformed("[]"), "bad-reply"),
        (Malformed("{}"), "bad-reply"),
        (Malformed("<html>Sign in</html>", content_type="text/html"), "bad-reply"),
    ],
)
def test_faults_of_a_plain_answer(step: Step, kind: str) -> None:
    with called(lambda llm, q: llm.ask(q), step, maxAttempts=1) as (pipeline, _):
        assert failure(pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))).kind == kind


def test_the_server_says_when_to_come_again() -> None:
    with claude(rate_limited(0.3), Say("Now.")) as (harness, server):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("Now.")]
        first, second = server.requests
        assert second.time - first.time >= 0.3
        assert [event.data["seconds"] for event in outputs.events if event.kind == "retry"] == [0.3]


def test_nobody_is_there() -> None:
    with ScriptedServer() as server:
        config = settings(server, maxAttempts=2)
    with node_harness(Anthropic, config=config) as harness:
        told = failure(ask(harness))
        assert (told.kind, told.attempts) == ("connection", 2)


def test_an_answer_that_breaks_off_in_good_order_is_none() -> None:
    with claude(Malformed('{"type": "ping"}', after_chunks=2)) as (harness, _):
        told = failure(ask(harness))
        assert told.kind == "connection"
        assert "was lost before its answer was complete" in str(told)


def test_a_cancel_in_the_middle_closes_the_connection() -> None:
    with claude(Say("word " * 400, per_chunk_delay=0.05)) as (harness, server):
        began = time.monotonic()
        outputs = ask(harness, timeout=0.5)
        assert outputs.error is not None
        assert time.monotonic() - began < 5
        assert server.requests[0].wait() == "client gone"


# --- tools --------------------------------------------------------------------------------------------------------------

SCHEMA: Any = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}


def tools(*names: str) -> list[Tool]:
    return [Tool(name, f"Does {name}.", SCHEMA, lambda instance, arguments: None) for name in names]


def converse(*steps: Step, work: Callable[[Any], Any], **config: Any) -> tuple[Any, ScriptedServer]:
    kept: list[Any] = []

    def keep(llm: Any, question: Question) -> str:
        kept.append(work(llm))
        return "done"

    with called(keep, *steps, **config) as (pipeline, server):
        pipeline.run(Entry("e"), QUESTIONS(Question.of("?"))).checked()
        return kept[0], server


@pytest.mark.parametrize("aloud", [True, False])
def test_a_round_trip_of_two_calls_with_dotted_names(aloud: bool) -> None:
    on_token = (lambda text: None) if aloud else None
    offered = tools("http_1.http_request", "db_1.query")

    def work(llm: Any) -> Any:
        said = [Message("system", "Be brief."), Message("user", "Fetch both.")]
        asked = llm.converse(said, offered, on_token=on_token)
        results = [Message("tool", f"result {n}", call_id=call.id) for n, call in enumerate(asked.calls)]
        results[1] = Message("tool", "", call_id=asked.calls[1].id)
        return asked, llm.converse([*said, asked, *results, Message("user", "And?")], offered, on_token=on_token)

    calls = CallTools([("http_1__http_request", {"url": "http://a"}), ("db_1__query", {})], text="Looking.")
    (asked, answered), server = converse(calls, Say("Both are there."), work=work)
    assert [(call.name, call.arguments, call.broken) for call in asked.calls] == [
        ("http_1.http_request", {"url": "http://a"}, ""),
        ("db_1.query", {}, ""),
    ]
    assert (asked.content, answered.content, answered.calls) == ("Looking.", "Both are there.", ())
    first, second = (request.body for request in server.requests)
    assert first["system"] == "Be brief."
    assert first["tools"][0] == {
        "name": "http_1__http_request",
        "description": "Does http_1.http_request.",
        "input_schema": SCHEMA,
    }
    user, assistant, results = second["messages"]
    assert (user["role"], assistant["role"], results["role"]) == ("user", "assistant", "user")
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use", "tool_use"]
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": asked.calls[0].id, "content": "result 0"},
        {"type": "tool_result", "tool_use_id": asked.calls[1].id},
        {"type": "text", "text": "And?"},
    ]


def test_arguments_that_are_no_json_are_kept_as_written() -> None:
    step = CallTools([("t", {})], broken_arguments='{"url": "http')
    for on_token in (None, lambda text: None):
        [call], _ = converse(
            step, work=lambda llm, heard=on_token: llm.converse([Message("user", "?")], tools("t"), on_token=heard).calls
        )
        assert (call.arguments, call.broken) == ({}, '{"url": "http')


def test_conversations_of_any_form_are_made_to_fit() -> None:
    messages = [
        Message("assistant", "Hello."),
        Message("user", "One."),
        Message("user", "  "),
        Message("user", "Two."),
        Message("system", "Be kind."),
        Message("system", "Be brief."),
        Message("assistant", "Well "),
    ]
    answer, server = converse(Say("then."), work=lambda llm: llm.converse(messages))
    body = server.requests[0].body
    assert answer.content == "then."
    assert body["system"] == "Be kind.\n\nBe brief."
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user", "assistant"]
    assert [block["text"] for block in body["messages"][2]["content"]] == ["One.", "Two."]
    assert body["messages"][-1]["content"] == [{"type": "text", "text": "Well"}]
    _, server = converse(Say("x"), work=lambda llm: llm.converse([Message("system", "Only this.")]))
    assert server.requests[0].body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Only this."}]}]


# --- many at once -------------------------------------------------------------------------------------------------------


def test_twenty_at_once_are_not_mixed_up() -> None:
    def work(llm: Any, question: Question) -> Any:
        return llm.ask(question, on_token=lambda text: None)

    with called(work, *[Echo(delay=0.2)] * 20) as (pipeline, server), ThreadPoolExecutor(20) as pool:
        gate = threading.Barrier(20)

        def one(n: int) -> str:
            gate.wait()
            return str(pipeline.run(Entry(f"e{n}"), QUESTIONS(Question.of(f"number {n}!"))).checked()[ANSWERS][0].text)

        answers = list(pool.map(one, range(20)))
        assert all(answer.endswith(f"number {n}!") for n, answer in enumerate(answers))
        assert server.peak > 10
