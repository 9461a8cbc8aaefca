# SPDX-License-Identifier: MIT
"""Ollama's models by the official client, over a real socket, from a server that plays a script."""

from __future__ import annotations

import json
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
    Rule,
    Say,
    ScriptedServer,
    Step,
    Think,
    Usage,
    bad_key,
    context_too_long,
    model_not_found,
    no_tool_support,
    overloaded,
    permission_denied,
    quota_exhausted,
    rate_limited,
    server_error,
)
from rocketride_llm_ollama import Ollama

KEY = "ollama-secret-0123456789"


def settings(server: ScriptedServer, **more: Any) -> dict[str, Any]:
    return {"profile": "custom", "model": "tiny", "apikey": KEY, "retryDelay": 0.001, "serverbase": f"{server.url}/v1"} | more


@contextmanager
def ollama(*steps: Step, **config: Any) -> Iterator[tuple[Any, ScriptedServer]]:
    with ScriptedServer(steps, key=KEY) as server, node_harness(Ollama, config=settings(server, **config)) as harness:
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
    work: Callable[[Any, Question], Any],
    *steps: Step,
    lane: bool = False,
    rules: Any = (),
    **config: Any,
) -> Iterator[tuple[Any, ScriptedServer]]:
    """A pipeline whose asker does `work` with the model; with `lane`, the model answers on its lane as well."""
    Asker.work = staticmethod(work)  # type: ignore[assignment]
    with ScriptedServer(steps, key=KEY, rules=rules) as server:
        questions = [LaneLink("questions", "s")]
        model = Component(
            "llm",
            "llm_ollama",
            settings(server, **config),
            input=questions if lane else [],
            control=[ControlLink("llm", "asker")],
        )
        ends = [LaneLink("answers", "asker"), *([LaneLink("answers", "llm")] if lane else [])]
        pipe = PipeFile(
            [Component("s", "start"), Component("asker", "asker", input=questions), model, Component("end", "end", input=ends)],
            source="s",
        )
        with Kernel(nodes=[Start, Asker, Ollama, End]).load(pipe) as pipeline:
            yield pipeline, server
        assert not server.unexpected


def ask(harness: Any, text: str = "Why?", *, timeout: float | None = None, **question: Any) -> Any:
    return harness.run({"questions": [Question((text,), **question)]}, timeout=timeout, check=False)


def failure(outputs: Any) -> LLMError:
    assert outputs.error is not None
    assert isinstance(outputs.error.__cause__, LLMError), outputs.error
    assert KEY not in str(outputs.error) + str(outputs.error.__cause__)
    return outputs.error.__cause__


def heard(llm: Any, question: Question) -> Any:
    return llm.ask(question, on_token=lambda text: None)


def whole(llm: Any, question: Question) -> Any:
    return llm.ask(question)


# --- the lane and the control -------------------------------------------------------------------------------------------


def test_it_answers_with_tokens_and_usage() -> None:
    with ollama(Say("Because it is.", usage=Usage(input=10, output=5), per_chunk_delay=0.05)) as (harness, server):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("Because it is.")]
        tokens = [event.data["text"] for event in outputs.events if event.kind == "token"]
        assert ("".join(tokens), len(tokens) > 1) == ("Because it is.", True)
        assert outputs.usage == {"requests": 1, "input_tokens": 10, "output_tokens": 5, "cached_tokens": 0}
        [request] = server.requests
        assert request.path == "/api/chat"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert {key: value for key, value in request.body.items() if value} == {
            "model": "tiny",
            "messages": [{"role": "user", "content": "### Current Task:\r\nWhy?"}],
            "stream": True,
            "options": {"num_ctx": 8192, "num_predict": 4096, "temperature": 0.0},
        }


def test_lane_and_control_in_one_pipeline() -> None:
    with called(whole, Say("one"), Say("two"), lane=True) as (pipeline, server):
        result = pipeline.run(Entry("e"), QUESTIONS(Question.of("Hi"))).checked()
        assert sorted(answer.text for answer in result[ANSWERS]) == ["one", "two"]
        assert sorted(request.stream for request in server.requests) == [False, True]
        assert result.usage["llm"]["requests"] == 2


@pytest.mark.parametrize("work", [heard, whole])
def test_usage_that_is_missing_is_estimated_and_called_so(work: Any) -> None:
    with called(work, Say("four" * 4, usage=False)) as (pipeline, _):
        usage = pipeline.run(Entry("e"), QUESTIONS(Question.of("?"))).usage["llm"]
        assert usage == {"requests": 1, "estimated_input_tokens": 5, "estimated_output_tokens": 4}


@pytest.mark.parametrize("work", [heard, whole])
@pytest.mark.parametrize("style", ["field", "tags"])
def test_thinking_is_no_part_of_the_answer(work: Any, style: Any) -> None:
    with called(work, Think(thought="let me see", text="Four.", style=style)) as (pipeline, _):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "Four."


def test_stop_words_end_the_answer() -> None:
    def work(llm: Any, question: Question) -> Any:
        return llm.ask(question, stop=["\n\n", "Observation:"])

    with called(work, Say("Thought\nObservation: x")) as (pipeline, server):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "Thought\n"
        assert server.requests[0].body["options"]["stop"] == ["\n\n", "Observation:"]


def test_an_answer_at_its_limit_is_told() -> None:
    with ollama(Say("half", finish="length")) as (harness, _):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("half")]
        assert [warning.code for warning in outputs.warnings] == ["answer-cut"]


def test_json_is_asked_for_again() -> None:
    with ollama(Say("no"), Say('{"a": 1}')) as (harness, server):
        assert ask(harness, expect_json=True)["answers"] == [Answer({"a": 1})]
        assert len(server.requests) == 2


# --- the size of the context --------------------------------------------------------------------------------------------


def test_the_context_grows_with_the_prompt_and_stays_so_large() -> None:
    with ollama(*[Say("x")] * 4, modelTotalTokens=20_000, modelOutputTokens=1000) as (harness, server):
        for words in (10, 4_000, 10, 14_000):
            ask(harness, "one " * words)
        sizes = [request.body["options"]["num_ctx"] for request in server.requests]
        assert sizes == [4096, 8192, 8192, 20_000]


def test_a_prompt_that_does_not_fit_is_refused_and_never_cut() -> None:
    with ollama(modelTotalTokens=1000) as (harness, server):
        told = failure(ask(harness, "one " * 1200))
        assert told.kind == "too-long"
        assert "modelTotalTokens is 1000" in str(told)
        assert not server.requests


# --- failures -----------------------------------------------------------------------------------------------------------

FAULTS: list[tuple[Step, str, int]] = [
    (bad_key(), "authentication", 1),
    (permission_denied(), "permission", 1),
    (quota_exhausted(), "quota", 1),
    (model_not_found(), "no-such-model", 1),
    (Fail(404, body="404 page not found"), "invalid-request", 1),
    (context_too_long(), "too-long", 1),
    (no_tool_support(), "no-tools", 1),
    (Fail(kind="bad_request"), "invalid-request", 1),
    (Fail(500, message="model requires more system memory (9 GiB) than is available (3 GiB)"), "invalid-request", 1),
    (rate_limited(None), "rate-limit", 2),
    (overloaded(), "unavailable", 2),
    (server_error(500), "unavailable", 2),
    (Fail(502, body="<html>Bad gateway</html>"), "unavailable", 2),
    (FailMidway(server_error(500), after_chunks=0), "unavailable", 2),
    (FailMidway(server_error(500), after_chunks=2), "unavailable", 1),
    (Drop(), "connection", 2),
    (Drop(after_chunks=2), "connection", 1),
    (Drop(after_chunks=2, reset=True), "connection", 1),
    (Malformed(), "bad-reply", 1),
    (Malformed("[]"), "bad-reply", 1),
    (Malformed("<html>Sign in</html>", content_type="text/html"), "bad-reply", 1),
    (Hang(), "timeout", 2),
]


@pytest.mark.parametrize(("step", "kind", "requests"), FAULTS)
def test_each_fault_has_its_kind_and_only_what_may_pass_is_asked_again(step: Step, kind: str, requests: int) -> None:
    with ollama(step, step, maxAttempts=2, timeout=0.3 if isinstance(step, Hang) else 10) as (harness, server):
        told = failure(ask(harness))
        assert (told.kind, len(server.requests), told.attempts) == (kind, requests, requests)
        assert (told.vendor, told.model, told.component) == ("Ollama", "tiny", "node")
        assert "<html" not in str(told)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (overloaded(), "unavailable"),
        (model_not_found(), "no-such-model"),
        (Drop(after_chunks=1), "connection"),
        (Malformed(), "bad-reply"),
        (Malformed("[]"), "bad-reply"),
        (Malformed("{}"), "bad-reply"),
        (Malformed("<html>Sign in</html>", content_type="text/html"), "bad-reply"),
        (CallTools([("t", {})], broken_arguments='{"a'), "bad-reply"),
    ],
)
def test_faults_of_a_plain_answer(step: Step, kind: str) -> None:
    with called(whole, step, maxAttempts=1) as (pipeline, _):
        assert failure(pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))).kind == kind


def test_a_model_that_is_not_there_is_told_with_what_to_do() -> None:
    with ollama(model_not_found()) as (harness, _):
        assert "`ollama pull tiny`" in str(failure(ask(harness)))


@pytest.mark.parametrize("work", [heard, whole])
def test_the_server_says_when_to_come_again(work: Any) -> None:
    with called(work, rate_limited(0.3), Say("Now.")) as (pipeline, server):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?"))).checked()[ANSWERS][0].text == "Now."
        first, second = server.requests
        assert second.time - first.time >= 0.3


@pytest.mark.parametrize("work", [heard, whole])
def test_nobody_is_there(work: Any) -> None:
    with ScriptedServer() as server:
        address = server.url
    with called(work, serverbase=address, maxAttempts=2) as (pipeline, _):
        told = failure(pipeline.run(Entry("e"), QUESTIONS(Question.of("?"))))
        assert (told.kind, told.attempts) == ("connection", 2)
        assert address in str(told)


def test_an_answer_that_breaks_off_in_good_order_is_none() -> None:
    with ollama(Malformed('{"message": {"role": "assistant", "content": ""}}', after_chunks=2)) as (harness, _):
        told = failure(ask(harness))
        assert told.kind == "connection"
        assert "was lost before its answer was complete" in str(told)


def test_a_cancel_in_the_middle_closes_the_connection() -> None:
    with ollama(Say("word " * 400, per_chunk_delay=0.05)) as (harness, server):
        began = time.monotonic()
        outputs = ask(harness, timeout=0.5)
        assert outputs.error is not None
        assert time.monotonic() - began < 5
        assert server.requests[0].wait() == "client gone"


# --- tools --------------------------------------------------------------------------------------------------------------

SCHEMA: Any = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}


def tools(*names: str, schema: Any = SCHEMA) -> list[Tool]:
    return [Tool(name, f"Does {name}.", schema, lambda instance, arguments: None) for name in names]


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
        said = [*said, asked, *results]
        again = llm.converse(said, offered, on_token=on_token)
        return asked, again, llm.converse([*said, again, Message("tool", "r", call_id=again.calls[0].id)], offered)

    calls = CallTools([("http_1__http_request", {"url": "http://a"}), ("db_1__query", {})], text="Looking.")
    more = CallTools([("db_1__query", {"url": "b"})])
    (asked, again, answered), server = converse(calls, more, Say("All are there."), work=work)
    assert [(call.name, call.arguments) for call in asked.calls] == [
        ("http_1.http_request", {"url": "http://a"}),
        ("db_1.query", {}),
    ]
    assert len({call.id for call in [*asked.calls, *again.calls]}) == 3
    assert (asked.content, answered.content, answered.calls) == ("Looking.", "All are there.", ())
    first, second, _ = (request.body for request in server.requests)
    function = {"name": "http_1__http_request", "description": "Does http_1.http_request.", "parameters": SCHEMA}
    assert first["tools"][0] == {"type": "function", "function": function}
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert second["messages"][2]["tool_calls"][0]["function"] == {
        "name": "http_1__http_request",
        "arguments": {"url": "http://a"},
    }
    assert second["messages"][4] == {"role": "tool", "content": "result 1", "tool_name": "db_1__query"}


def test_what_the_client_would_drop_of_a_schema_stands_in_the_description() -> None:
    schema = {
        "type": "object",
        "properties": {
            "where": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "deep": {"type": "object", "properties": {"x": {"type": "number"}}},
            "any": True,
        },
    }
    _, server = converse(Say("x"), work=lambda llm: llm.converse([Message("user", "?")], tools("t", schema=schema)))
    function = server.requests[0].body["tools"][0]["function"]
    assert '"anyOf":[{"type":"string"},{"type":"integer"}]' in function["description"]
    assert '"x":{"type":"number"}' in function["description"]
    assert set(function["parameters"]["properties"]) == {"where", "deep", "any"}


def native(llm: Any, question: Question) -> Any:
    return Answer(str(llm.native_tools))


@pytest.mark.parametrize("reads", [1, 3])
def test_whether_it_calls_tools_is_asked_once(reads: int) -> None:
    def work(llm: Any, question: Question) -> Any:
        return [llm.native_tools for _ in range(reads)]

    with called(work) as (pipeline, server):
        assert not server.requests
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == str([True] * reads)
        assert [(request.operation, request.body["model"]) for request in server.requests] == [("show", "tiny")]


@pytest.mark.parametrize(
    ("shown", "can"),
    [
        ({"capabilities": ["completion"]}, False),
        ({"capabilities": ["completion", "tools"]}, True),
        ({"template": "{{ .Prompt }}"}, False),
        ({"template": "{{ if .Tools }}{{ end }}"}, True),
    ],
)
def test_a_model_without_tools_says_so(shown: dict[str, Any], can: bool) -> None:
    body = {"model_info": {}, **shown}
    rule = Rule("", Malformed(json.dumps(body)), operation="show")
    with called(native, rules=[rule]) as (pipeline, _):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == str(can)


def test_a_server_that_is_down_does_not_end_the_load_and_is_asked_again() -> None:
    with ScriptedServer() as gone:
        address = gone.url
    with called(native, serverbase=address) as (pipeline, _):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "True"
    rules = [Rule("", server_error(), operation="show", times=1)]
    with called(native, rules=rules) as (pipeline, server):
        for _ in range(2):
            assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?")))[ANSWERS][0].text == "True"
        assert [request.outcome for request in server.requests] == ["failed", "answered"]


def test_a_model_that_refuses_tools_is_remembered() -> None:
    def work(llm: Any, question: Question) -> Any:
        with pytest.raises(LLMError) as told:
            llm.converse([Message("user", "?")], tools("t"))
        return [told.value.kind, llm.native_tools]

    with called(work, no_tool_support()) as (pipeline, server):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("?"))).checked()[ANSWERS][0].text == "['no-tools', False]"
        assert len(server.requests) == 1


# --- many at once -------------------------------------------------------------------------------------------------------


def test_twenty_at_once_are_not_mixed_up() -> None:
    with called(heard, *[Echo(delay=0.2)] * 20) as (pipeline, server), ThreadPoolExecutor(20) as pool:
        gate = threading.Barrier(20)

        def one(n: int) -> str:
            gate.wait()
            return str(pipeline.run(Entry(f"e{n}"), QUESTIONS(Question.of(f"number {n}!"))).checked()[ANSWERS][0].text)

        answers = list(pool.map(one, range(20)))
        assert all(answer.endswith(f"number {n}!") for n, answer in enumerate(answers))
        assert server.peak > 10
