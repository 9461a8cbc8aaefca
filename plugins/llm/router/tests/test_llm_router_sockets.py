# SPDX-License-Identifier: MIT
"""The router over real clients and real sockets: scripted servers that fail, and the example from the shell."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from rocketride_llm import LLMError
from rocketride_llm.testing import (
    CallTools,
    Drop,
    Echo,
    FailMidway,
    Hang,
    Request,
    Say,
    ScriptedServer,
    Step,
    Usage,
    bad_key,
    content_refused,
    context_too_long,
    overloaded,
    rate_limited,
    server_error,
)

pytest.importorskip("rocketride_llm_openai_api")
pytest.importorskip("rocketride_llm_ollama")

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "router.pipe"
KEY = "sk-planted-0123456789"
SEARCH = Tool("db.search", "Finds things.", {"type": "object", "properties": {"q": {"type": "string"}}}, lambda *_: None)


class Source(Node[None]):
    spec = NodeSpec("sockets_source", title="Source", emits=[QUESTIONS])


class Asker(Node[None]):
    spec = NodeSpec("sockets_asker", title="Asker", needs={LLM: ONE})
    streams = True

    @on(QUESTIONS, emits=[ANSWERS])
    def ask(self, instance: Instance, question: Question) -> None:
        model: Any = instance.one(LLM)
        if question.texts == ("tools",):
            turn = model.converse([Message("user", "Find it")], [SEARCH])
            told = [Message("tool", "found", call_id=call.id) for call in turn.calls]
            last = model.converse([Message("user", "Find it"), turn, *told], [SEARCH])
            instance.emit(ANSWERS, Answer(f"{model.native_tools} {[call.name for call in turn.calls]} {last.content}"))
        else:
            instance.emit(ANSWERS, model.ask(question, on_token=lambda text: instance.event("said", text=text)))


class End(Node[None]):
    spec = NodeSpec("sockets_end", title="End", responds=True)

    @on(ANSWERS)
    def keep(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))


@contextmanager
def routed(first: ScriptedServer, second: ScriptedServer, *, patience: float = 30, **config: Any) -> Iterator[Any]:
    """`llm_1` speaks OpenAI's wire and waits `patience` seconds, `llm_2` Ollama's."""
    fast = {"maxAttempts": 1, "retryDelay": 0.01, "timeout": 30}
    openai = {"base_url": first.base_url("openai"), "model": "large", "apikey": KEY, **fast, "timeout": patience}
    ollama = {"serverbase": second.base_url("ollama"), "model": "small", **fast}
    pipe = PipeFile(
        [
            Component("source", "sockets_source"),
            Component("asker", "sockets_asker", input=[LaneLink("questions", "source")]),
            Component("router", "llm_router", config, control=[ControlLink("llm", "asker")]),
            Component("llm_1", "llm_openai_api", {"profile": "custom", "custom": openai}, control=[ControlLink("llm", "router")]),
            Component("llm_2", "llm_ollama", {"profile": "custom", "custom": ollama}, control=[ControlLink("llm", "router")]),
            Component("end", "sockets_end", input=[LaneLink("answers", "asker")]),
        ],
        source="source",
    )
    with Kernel(nodes=[Source, Asker, End]).load(pipe) as pipeline:
        yield pipeline


def asked(first: Step, *second: Step, question: str = "What is it?", **config: Any) -> tuple[Any, list[str], list[int]]:
    """`(result, tokens, requests of each)` of one question."""
    with ScriptedServer([first]) as one, ScriptedServer(second) as two, routed(one, two, **config) as pipeline:
        with pipeline.start(Entry("e"), QUESTIONS(Question.of(question))) as run:
            tokens = [str(event.data["text"]) for event in run if event.kind == "said"]
        assert not one.unexpected
        assert not two.unexpected
        return run.result(), tokens, [len(one.chats), len(two.chats)]


@pytest.mark.parametrize(
    "step", [rate_limited(30), server_error(500), overloaded(), Hang(), Drop()], ids=["429", "500", "503", "hang", "drop"]
)
def test_the_second_server_answers(step: Any) -> None:
    patience = 0.5 if isinstance(step, Hang) else 30
    result, tokens, requests = asked(step, Say("From the second."), patience=patience)
    assert result.checked()[ANSWERS] == [Answer("From the second.")]
    assert ("".join(tokens), requests) == ("From the second.", [1, 1])
    assert result.usage["router"] == {"requests": 1, "answered_by.llm_2": 1, "failed.llm_1": 1}
    assert result.usage["llm_2"]["requests"] == 1
    (warning,) = [warning for warning in result.warnings if warning.code == "llm-switched"]
    assert warning.message.startswith("llm_2 answered in place of llm_1: ")
    assert KEY not in str(result.to_json())


@pytest.mark.parametrize(
    ("step", "kind"), [(bad_key(), "authentication"), (context_too_long(), "too-long"), (content_refused(), "refused")]
)
def test_what_the_second_one_could_not_help_is_told_at_once(step: Any, kind: str) -> None:
    result, _, requests = asked(step)
    assert isinstance(result.error.__cause__, LLMError)
    assert (result.error.__cause__.kind, result.error.__cause__.component, requests) == (kind, "llm_1", [1, 0])
    assert ": llm_1: " in str(result.error)


def test_a_stream_that_breaks_off_is_not_said_twice() -> None:
    result, tokens, requests = asked(FailMidway(overloaded(), reply=Say("one two three")))
    assert result.error.__cause__.kind == "unavailable"
    assert ("".join(tokens), requests) == ("one two", [1, 0])


def test_tools_in_the_format_of_whoever_answers() -> None:
    with (
        ScriptedServer([CallTools([("db__search", {"q": "x"})]), overloaded()]) as one,
        ScriptedServer([Say("Found.")]) as two,
        routed(one, two) as pipeline,
    ):
        result = pipeline.run(Entry("e"), QUESTIONS(Question.of("tools"))).checked()
        assert not one.unexpected
        assert not two.unexpected
    assert result[ANSWERS] == [Answer("True ['db.search'] Found.")]
    assert [message["role"] for message in two.chats[0].body["messages"]] == ["user", "assistant", "tool"]


def test_the_cost_is_what_the_servers_count() -> None:
    prices = {"llm_1": {"input": 10, "output": 100, "cached": 1}, "llm_2": {"input": 0, "output": 0}}
    with (
        ScriptedServer([Say("ok", usage=Usage(input=1000, output=50, cached=600))]) as one,
        ScriptedServer() as two,
        routed(one, two, prices=prices, maxCost=10) as pipeline,
    ):
        result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
    assert result.usage["router"]["cost"] == pytest.approx((400 * 10 + 600 + 50 * 100) / 1e6)


def test_a_cancel_ends_the_question_and_asks_nobody_else() -> None:
    with ScriptedServer([Hang()]) as one, ScriptedServer() as two, routed(one, two) as pipeline:
        with pipeline.start(Entry("e"), QUESTIONS(Question.of("q"))) as run:
            one.wait_for(1)
            began = time.monotonic()
            run.cancel()
            assert run.result(10).error is not None
        assert one.chats[0].wait() == "client gone"
        assert time.monotonic() - began < 10, "sooner than its time-out"
    assert not two.chats


def test_eight_workers_while_the_first_server_is_down_and_comes_back() -> None:
    down = True

    def sometimes(request: Request) -> Any:
        return overloaded() if down else Echo(prefix="first: ")

    def entries(start: int) -> list[Any]:
        return [(Entry(str(n)), (QUESTIONS(Question.of(f"number {n}")),)) for n in range(start, start + 40)]

    with (
        ScriptedServer(rules=[("", sometimes)]) as one,
        ScriptedServer(rules=[("", Echo(prefix="second: "))]) as two,
        routed(one, two, failures=3, coolDown=0.3) as pipeline,
    ):
        results = [result.checked() for result in pipeline.map(entries(0), workers=8)]
        asked_while_down = len(one.chats)
        down = False
        time.sleep(0.35)
        pipeline.run(Entry("trial"), QUESTIONS(Question.of("number 99"))).checked()
        later = [result.checked() for result in pipeline.map(entries(40), workers=8)]
        assert not one.unexpected
        assert not two.unexpected
    assert all(result[ANSWERS][0].text.startswith("second: ") for result in results)
    assert all(result[ANSWERS][0].text.startswith("first: ") for result in later)
    for result in (*results, *later):
        assert result[ANSWERS][0].text.rstrip().endswith(f"number {result.entry.name}")
    assert 3 <= asked_while_down < 20


def test_the_example_answers_with_its_spare_model() -> None:
    def step(request: Request) -> Any:
        return rate_limited(30) if request.model == "scripted" else Say(f"{request.model} answers.")

    with ScriptedServer(rules=[("", step)]) as server:
        own = {"ROCKETRIDE_LLM_URL": server.base_url("openai"), "ROCKETRIDE_LLM_MODEL": "scripted"}
        command = [sys.executable, "-m", "rocketride_core.cli", "run", str(EXAMPLE), "--question", "Who answers?"]
        done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert "spare answers." in done.stdout
        assert [chat.model for chat in server.chats] == ["scripted", "spare"]
        assert not server.unexpected


def test_the_example_has_no_problem_but_its_variables() -> None:
    problems = Kernel(env={}).check(EXAMPLE)
    assert {(problem.code, problem.component) for problem in problems} == {("unset-variable", n) for n in ("llm_1", "llm_2")}
