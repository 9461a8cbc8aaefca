# SPDX-License-Identifier: MIT
"""What every language model shares, with a vendor that plays a script: retries, limits, JSON replies, usage, native tools."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, ClassVar

import attrs
import pytest

from rocketride_core import (
    ANSWERS,
    LLM,
    ONE,
    QUESTIONS,
    Answer,
    ChatModel,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Message,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    Question,
    RunError,
    RunTimeout,
    Tool,
    ToolCall,
    ToolChatModel,
    on,
)
from rocketride_core.testing import Harness, node_harness, run_node
from rocketride_llm import (
    CloudConfig,
    LLMError,
    LLMNode,
    Reply,
    Request,
    Usage,
    broken_off,
    by_status,
    counted,
    lost,
    read_call,
    retry_after,
)

FAST = {"model": "m-1", "retryDelay": 0.001, "apikey": "key-123456"}
Step = Reply | Exception | str | float | list[str]


@attrs.define
class Script:
    """A vendor: each request takes the next step. A text is a reply, a number a wait in seconds before the next step."""

    steps: list[Step]
    requests: list[Request] = attrs.field(factory=list)
    closed: int = 0
    cancelled: int = 0

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        self.requests.append(request)
        step = self.steps.pop(0)
        try:
            while isinstance(step, float):
                await asyncio.sleep(step)
                step = self.steps.pop(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if isinstance(step, Exception):
            raise step
        pieces = step if isinstance(step, list) else [step if isinstance(step, str) else step.text]
        if on_text is not None:
            for piece in pieces:
                if piece == "BREAK":
                    raise ConnectionResetError("cut off")
                on_text(piece)
                await asyncio.sleep(0)
        return step if isinstance(step, Reply) else Reply(text="".join(pieces), usage=Usage(10, 5, 2))

    def explain(self, error: Exception, /) -> LLMError | None:
        return LLMError("bad-reply", "the script said so") if isinstance(error, LookupError) else None

    async def close(self) -> None:
        self.closed += 1


class Scripted(LLMNode[CloudConfig]):
    spec = NodeSpec("llm_scripted", title="Scripted", categories=["llm"])
    vendor = "Acme"
    script: ClassVar[Script]

    def connect(self) -> Script:
        return self.script


class Asker(Node[None]):
    """Hands its LLM to the test's function."""

    spec = NodeSpec("asker", title="Asker", needs={LLM: ONE})
    work: ClassVar[Callable[[ChatModel, Question], Any]]

    @on(QUESTIONS, emits=[ANSWERS])
    def ask(self, instance: Instance, question: Question) -> None:
        told = type(self).work(instance.one(LLM), question)
        instance.emit(ANSWERS, told if isinstance(told, Answer) else Answer(str(told)))


@contextmanager
def lane(*steps: Step, **config: Any) -> Iterator[tuple[Harness, Script]]:
    Scripted.script = Script(list(steps))
    with node_harness(Scripted, config=FAST | config) as harness:
        yield harness, Scripted.script


@contextmanager
def called(work: Callable[[Any, Question], Any], *steps: Step, **config: Any) -> Iterator[tuple[Any, Script]]:
    """A pipeline whose asker does `work` with the scripted model."""
    Scripted.script, Asker.work = Script(list(steps)), staticmethod(work)  # type: ignore[assignment]
    source = type("Src", (Node,), {"spec": NodeSpec("src", title="Src", emits=[QUESTIONS]), "__module__": __name__})

    class End(Node[None]):
        spec = NodeSpec("end", title="End", responds=True)

        @on(ANSWERS)
        def keep(self, instance: Instance, answer: Answer) -> None:
            instance.respond("answers", ANSWERS(answer))

    pipe = PipeFile(
        [
            Component("s", "src"),
            Component("asker", "asker", input=[LaneLink("questions", "s")]),
            Component("llm", "llm_scripted", FAST | config, control=[ControlLink("llm", "asker")]),
            Component("end", "end", input=[LaneLink("answers", "asker")]),
        ],
        source="s",
    )
    with Kernel(nodes=[source, Asker, Scripted, End]).load(pipe) as pipeline:
        yield pipeline, Scripted.script


def ask(harness: Harness, text: str = "Why?", **question: Any) -> Any:
    return harness.run({"questions": [Question((text,), **question)]}, check=False)


def failure(outputs: Any) -> LLMError:
    assert outputs.error is not None
    assert isinstance(outputs.error.__cause__, LLMError), outputs.error
    return outputs.error.__cause__


def test_on_its_lane_it_answers_with_tokens_and_usage() -> None:
    with lane(["Be", "cause."]) as (harness, script):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("Because.")]
        assert "".join(str(e.data["text"]) for e in outputs.events if e.kind == "token") == "Because."
        assert outputs.usage == {"requests": 1, "input_tokens": 10, "output_tokens": 5, "cached_tokens": 2}
        request = script.requests[0]
        assert request.messages == [Message("user", "### Current Task:\r\nWhy?")]
        assert (request.temperature, request.tools, request.stop) == (0.0, (), ())
    assert script.closed == 1


def test_usage_that_no_vendor_counted_is_called_an_estimate() -> None:
    with lane(Reply(text="four" * 4)) as (harness, _):
        assert ask(harness).usage == {"requests": 1, "estimated_input_tokens": 6, "estimated_output_tokens": 4}


@pytest.mark.parametrize(
    ("error", "kind", "requests"),
    [
        (by_status(401, "Incorrect API key key-123456"), "authentication", 1),
        (by_status(403), "permission", 1),
        (by_status(404), "no-such-model", 1),
        (by_status(400, "bad"), "invalid-request", 1),
        (by_status(402), "quota", 1),
        (by_status(413), "too-long", 1),
        (LLMError("refused"), "refused", 1),
        (LookupError("x"), "bad-reply", 1),
        (by_status(429), "rate-limit", 3),
        (by_status(500), "unavailable", 3),
        (by_status(529), "unavailable", 3),
        (TimeoutError(), "timeout", 3),
        (ConnectionRefusedError("no"), "connection", 3),
    ],
)
def test_only_what_may_pass_is_asked_again(error: Exception, kind: str, requests: int) -> None:
    with lane(*[error] * 5, maxAttempts=3) as (harness, script):
        told = failure(ask(harness))
        assert (told.kind, len(script.requests), told.attempts, told.component) == (kind, requests, requests, "node")
        assert "key-123456" not in str(told)
        assert "\n" not in str(told)


def test_a_fault_that_passes_is_an_event_and_not_an_error() -> None:
    with lane(by_status(500, "oops"), by_status(503), "Yes.") as (harness, _):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("Yes.")]
        assert [e.data["kind"] for e in outputs.events if e.kind == "retry"] == ["unavailable", "unavailable"]
        assert outputs.usage["retries"] == 2


def test_retry_after_is_honoured() -> None:
    with lane(by_status(429, "", {"Retry-After": "0.2"}), "Yes.") as (harness, _):
        began = time.monotonic()
        assert ask(harness)["answers"] == [Answer("Yes.")]
        assert 0.2 <= time.monotonic() - began < 5


def test_a_wait_longer_than_the_time_left_is_not_begun() -> None:
    with lane(by_status(429, "", {"retry-after": "3600"}), maxTime=5) as (harness, script):
        began = time.monotonic()
        told = failure(ask(harness))
        assert (told.kind, told.retry_after, len(script.requests)) == ("rate-limit", 3600, 1)
        assert time.monotonic() - began < 3


def test_retry_after_is_a_number_a_date_or_nothing() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 27 < (retry_after({"Retry-After": date}) or 0) <= 30
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"retry-after-ms": "x", "retry-after": "2"}) == 2
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "-5"}) == 0
    assert retry_after({"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}) is None
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 -99999999999999"}) is None
    assert retry_after({}) is None


def test_the_time_of_a_question_is_bounded() -> None:
    with lane(30.0, "late", maxTime=0.1) as (harness, script):
        told = failure(ask(harness))
        assert told.kind == "timeout"
        assert script.cancelled == 1


def test_the_time_of_a_question_for_json_is_bounded_over_all_its_tries() -> None:
    with lane(0.3, "one", 0.3, "two", 0.3, "three", maxTime=0.5) as (harness, script):
        assert failure(ask(harness, expect_json=True)).kind == "timeout"
        assert len(script.requests) == 2


def test_an_entry_that_is_over_its_time_stops_the_request() -> None:
    with lane(30.0, "late") as (harness, script):
        outputs = harness.run({"questions": [Question.of("q")]}, timeout=0.2, check=False)
        assert isinstance(outputs.error, RunTimeout)
        deadline = time.monotonic() + 5
        while not script.cancelled and time.monotonic() < deadline:
            time.sleep(0.01)
        assert script.cancelled == 1


def test_an_answer_that_has_begun_is_not_said_twice() -> None:
    with lane(["Be", "BREAK"], "Because.") as (harness, script):
        outputs = ask(harness)
        assert failure(outputs).kind == "connection"
        assert len(script.requests) == 1


def test_a_take_that_fails_ends_the_request() -> None:
    def work(llm: ChatModel, question: Question) -> Answer:
        def refuse(token: str) -> None:
            raise KeyError(token)

        return llm.ask(question, on_token=refuse)

    with called(work, ["a", "b"]) as (pipeline, _):
        result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q")))
        assert isinstance(result.error.__cause__, KeyError)


@pytest.mark.parametrize(
    ("replies", "content", "requests"),
    [
        (['{"a": 1}'], {"a": 1}, 1),
        (["<think>{</think>```json\n[1]\n```"], [1], 1),
        (["no idea", '{"a": ', '{"a": 2}'], {"a": 2}, 3),
    ],
)
def test_json_is_asked_for_until_it_is_json(replies: list[Any], content: Any, requests: int) -> None:
    with lane(*replies) as (harness, script):
        outputs = ask(harness, expect_json=True)
        assert outputs["answers"] == [Answer(content)]
        assert len(script.requests) == requests
        assert outputs.usage["requests"] == requests
        assert [e.data["text"] for e in outputs.events if e.kind == "token"] == [Answer(content).text]
        for again in script.requests[1:]:
            assert "CRITICAL" in again.messages[0].content


def test_three_answers_without_json_are_an_error() -> None:
    with lane("one", "two", "x" * 300) as (harness, script):
        told = failure(ask(harness, expect_json=True))
        assert told.kind == "no-json"
        assert len(script.requests) == 3
        assert f"{'x' * 200}…" in str(told)


def test_a_cut_answer_is_a_warning_and_one_without_a_text_an_error() -> None:
    with lane(Reply(text="half an ans", finish="length"), Reply(text="<think>still", finish="length")) as (harness, _):
        outputs = ask(harness)
        assert outputs["answers"] == [Answer("half an ans")]
        assert [w.code for w in outputs.warnings] == ["answer-cut"]
        assert "raise modelOutputTokens" in str(failure(ask(harness)))


def test_a_refusal_is_an_error_of_its_own_kind() -> None:
    with lane(Reply(text="I cannot help with that.", finish="refused")) as (harness, _):
        told = failure(ask(harness))
        assert told.kind == "refused"
        assert "I cannot help with that." in str(told)


@pytest.mark.parametrize(
    ("text", "said"),
    [("  \n", "Prompt is empty or contains only whitespace."), ("\x00\x01", "Prompt is empty after sanitization.")],
)
def test_an_empty_question_is_not_sent(text: str, said: str) -> None:
    with lane() as (harness, script):
        outputs = harness.run({"questions": [Question(role=text)]}, check=False)
        assert said in str(outputs.error)
        assert not script.requests


def test_the_answer_gets_the_room_that_the_question_leaves() -> None:
    with lane("a", "b", "c", modelTotalTokens=100, modelOutputTokens=1000) as (harness, script):
        ask(harness, "word " * 40)  # 50 tokens and the headline's 5
        ask(harness, "word " * 400)
        assert [r.max_tokens for r in script.requests] == [45, 100]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model": ""}, "Model name was provided but is empty."),
        ({"model": "../etc"}, "Invalid model name"),
        ({"temperature": 3}, "at most 2"),
        ({"modelOutputTokens": 0}, "at least 1"),
    ],
)
def test_bad_settings_are_problems_of_the_file(config: dict[str, Any], said: str) -> None:
    with pytest.raises(PipeError) as caught:
        run_node(Scripted, config=FAST | config)
    assert any(said in problem.message for problem in caught.value.problems), caught.value.problems


def test_called_and_on_a_lane_at_once() -> None:
    with lane("lane") as (harness, _):
        assert ask(harness)["answers"] == [Answer("lane")]
    with called(lambda llm, q: llm.ask(q, stop=["!"]), "called! and more") as (pipeline, script):
        result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
        assert result[ANSWERS] == [Answer("called")]
        assert script.requests[0].stop == ("!",)
        assert result.usage["llm"]["requests"] == 1


def test_what_a_caller_can_ask_about() -> None:
    def work(llm: ToolChatModel, question: Question) -> str:
        assert isinstance(llm, ToolChatModel)
        return f"{llm.context_length} {llm.output_length} {llm.count_tokens('four' * 3)} {llm.native_tools}"

    with called(work, modelTotalTokens=2000) as (pipeline, _):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()[ANSWERS] == [Answer("2000 2000 3 True")]


def test_native_tools_go_under_names_that_vendors_take() -> None:
    search = Tool("db_1.search", "Finds.", {"type": "object"}, lambda *_: None)

    def work(llm: ToolChatModel, question: Question) -> str:
        turn = llm.converse([Message("user", "find")], [search])
        messages = [Message("user", "find"), turn, Message("tool", "37", call_id=turn.calls[0].id)]
        told: list[str] = []
        last = llm.converse(messages, [search], on_token=told.append)
        return f"{turn.calls[0].name} {last.content} {''.join(told)}"

    first = Reply(calls=[ToolCall("c1", "db_1__search", {"q": 1})], finish="tools")
    with called(work, first, "It is 37.") as (pipeline, script):
        result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
        assert result[ANSWERS] == [Answer("db_1.search It is 37. It is 37.")]
        assert [tool.name for tool in script.requests[0].tools] == ["db_1__search"]
        assert script.requests[1].messages[1].calls == (ToolCall("c1", "db_1__search", {"q": 1}),)


@pytest.mark.parametrize("schema", [True, False, None, [], "object"])
def test_a_schema_that_is_no_object_is_offered_as_one(schema: Any) -> None:
    tool = Tool("anything", "Takes it.", schema, lambda *_: None)
    with called(lambda llm, q: llm.converse([Message("user", "go")], [tool]).content, "Done.") as (pipeline, script):
        assert pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()[ANSWERS] == [Answer("Done.")]
        assert [offer.input_schema for offer in script.requests[0].tools] == [{"type": "object"}]


@pytest.mark.parametrize("name", ["", " "])
def test_a_tool_without_a_name_is_refused(name: str) -> None:
    tool = Tool(name, "Nothing.", {"type": "object"}, lambda *_: None)
    with called(lambda llm, q: llm.converse([Message("user", "go")], [tool]), "Never.") as (pipeline, script):
        error = pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).error.__cause__
        assert (error.kind, script.requests) == ("invalid-request", [])
        assert str(error) == "A tool without a name cannot be offered to a model"


def test_a_call_without_a_name_goes_back_under_one_that_vendors_take() -> None:
    turn = Message("assistant", "", (ToolCall("c1", "", {}),))
    messages = [Message("user", "go"), turn, Message("tool", "there is no such tool", call_id="c1")]
    with called(lambda llm, q: llm.converse(messages).content, "Done.") as (pipeline, script):
        pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
        assert script.requests[0].messages[1].calls[0].name == "_"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ConnectionRefusedError("refused"),
            "Failed to connect to Acme at http://h:1/v1; is it running, and is its address right?: refused",
        ),
        (ConnectionResetError("reset"), "The connection to Acme at http://h:1/v1 was lost before its answer was complete: reset"),
        (BrokenPipeError(), "The connection to Acme at http://h:1/v1 was lost before its answer was complete"),
        (lost(), "The connection to Acme at http://h:1/v1 was lost before its answer was complete"),
    ],
)
def test_never_connected_and_lost_are_told_apart(error: Exception, said: str) -> None:
    with lane(error, maxAttempts=1, base_url="http://user:planted@h:1/v1/?key=planted") as (harness, _):
        told = failure(ask(harness))
    assert (told.kind, str(told)) == ("connection", said)


def test_passwords_of_addresses_are_in_no_message() -> None:
    echo = "407 for u:pl%40nted-1 or pl@nted-1 and planted-2"
    config = {"proxy": "http://u:pl%40nted-1@proxy.example:3128", "base_url": "http://u:planted-2@h:1"}
    with lane(LLMError("unavailable", echo), maxAttempts=1, **config) as (harness, _):
        told = failure(ask(harness))
    assert str(told).endswith("407 for u:*** or *** and ***")


@pytest.mark.parametrize(
    ("data", "broken"),
    [
        (b"", True),
        (b" \n", True),
        (b"{", True),
        (b'{"a": "the te', True),
        (b'{"a": tru', True),
        (b'{"a": "\\u00', True),
        ('{"a": "ü'.encode()[:-1], True),
        (b'{"a": [1, 2', True),
        (b'{"a": 1}', False),
        (b"<html><body>no JSON at all</body></html>", False),
        (b'{"a": <html><body>no JSON</body></html>', False),
        (b"5", False),
        (b"[" * 100_000, False),
    ],
)
def test_what_is_broken_off_is_told_from_garbage(data: bytes, broken: bool) -> None:
    assert broken_off(data) is broken


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((0, 0), (7, 7), (7.0, 7), ("12", 12), (" 12 ", 12)),
        *((None, None), (True, None), (-1, None), (2.5, None), ("x", None), ("1e3", None), ("²", None), ("", None), ([], None)),
        *(({}, None), (float("nan"), None), (float("inf"), None), (10**20, None), ("9" * 5000, None)),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_counts_as_servers_write_them(value: Any, number: int | None) -> None:
    assert counted(value) == number


@pytest.mark.parametrize("written", ["[1]", "5", "{", "nothing", "[" * 100_000])
def test_arguments_of_a_call_that_are_no_object_are_broken(written: str) -> None:
    assert read_call("c", "t", written) == ToolCall("c", "t", broken=written)


def test_arguments_of_a_call() -> None:
    assert read_call("c", "t", '{"a": "ü"}') == ToolCall("c", "t", {"a": "ü"})
    assert read_call("c", "t", " ") == ToolCall("c", "t")


def test_a_host_s_cancel_reaches_the_vendor() -> None:
    with called(lambda llm, q: llm.ask(q, on_token=lambda _: None), 30.0, "late") as (pipeline, script):
        with pipeline.start(Entry("e"), QUESTIONS(Question.of("q"))) as run:
            deadline = time.monotonic() + 5
            while not script.requests and time.monotonic() < deadline:
                time.sleep(0.005)
            run.cancel()
            began = time.monotonic()
            error = run.result(10).error
        assert isinstance(error, RunError)
        assert time.monotonic() - began < 3
        while not script.cancelled and time.monotonic() < deadline:
            time.sleep(0.005)
        assert script.cancelled == 1


def test_twenty_threads_at_once_get_their_own_answers() -> None:
    class Echo(Script):
        async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
            text = request.messages[0].content.rpartition("\n")[2]
            for letter in text:
                await asyncio.sleep(0.001)
                if on_text is not None:
                    on_text(letter)
            return Reply(text=text, usage=Usage(1, 1))

    Scripted.script = Echo([])
    with node_harness(Scripted, config=FAST) as harness:
        answers: dict[int, Any] = {}

        def one(n: int) -> None:
            outputs = ask(harness, f"question {n}")
            answers[n] = (outputs["answers"], "".join(str(e.data["text"]) for e in outputs.events))

        threads = [threading.Thread(target=one, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {n: ([Answer(f"question {n}")], f"question {n}") for n in range(20)}


def test_a_probe_asks_one_word_and_says_what_is_wrong() -> None:
    Scripted.script = Script(["Hello"])
    kernel = Kernel(nodes=[Scripted])
    pipe = PipeFile([Component("llm_1", "llm_scripted", FAST)], source="")

    def probed() -> list[Any]:
        return [p for p in kernel.check(pipe, probe=True, source="llm_1") if p.code == "probe-failed"]

    assert probed() == []
    assert len(Scripted.script.requests) == 1
    Scripted.script = Script([by_status(401)])
    found = probed()
    assert "Invalid API key: Acme refused it" in found[0].message
    assert found[0].component == "llm_1"
