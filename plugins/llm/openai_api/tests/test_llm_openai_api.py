# SPDX-License-Identifier: MIT
"""llm_openai_api: the suite of language models, and the node on its lane and on a slot, by the real client over real sockets."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
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
    PipeError,
    PipeFile,
    Question,
    RunError,
    Tool,
    ToolChatModel,
    on,
)
from rocketride_core.testing import NodeSuite, node_harness, run_node
from rocketride_llm import LLMError
from rocketride_llm.testing import CallTools, Hang, LLMSuite, Malformed, Say, ScriptedServer, Think, Usage, bad_key
from rocketride_llm_openai_api import OpenAIAPI

KEY = "sk-planted-0123456789"
VARIABLES = {
    "OPENAI_API_KEY": "sk-leaked-key",
    "OPENAI_ADMIN_KEY": "sk-leaked-admin",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    "OPENAI_ORG_ID": "org-leaked",
    "OPENAI_PROJECT_ID": "proj-leaked",
    "OPENAI_WEBHOOK_SECRET": "whsec-leaked",
    "OPENAI_CUSTOM_HEADERS": "X-Leaked: header-leaked\nAuthorization: Bearer leaked-authorization",
    "http_proxy": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
}


class TestOpenAIAPI(LLMSuite):
    node = OpenAIAPI
    wire = "openai"
    keyed = False
    environment = {name: value for name, value in VARIABLES.items() if name.startswith("OPENAI")}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def config(server: ScriptedServer, **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "base_url": server.base_url("openai"), "apikey": KEY, "retryDelay": 0.001, "maxAttempts": 1} | more


class Both(Node[None]):
    """Asks its model by the slot what comes on the lane, and sees what the model answered on the lane."""

    spec = NodeSpec("both", title="Both", needs={LLM: ONE})
    work: Any = None

    @on(QUESTIONS, emits=[ANSWERS])
    def ask(self, instance: Instance, question: Question) -> None:
        told = type(self).work(instance.one(LLM), question)
        instance.emit(ANSWERS, told if isinstance(told, Answer) else Answer(str(told)))


class Source(Node[None]):
    spec = NodeSpec("src", title="Src", emits=[QUESTIONS])


class End(Node[None]):
    spec = NodeSpec("end", title="End", responds=True)

    @on(ANSWERS)
    def keep(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))


def pipeline(settings: dict[str, Any], work: Any, *, lane: bool = False, **kernel: Any) -> Any:
    """The model on the slot of `Both`; with `lane` on the source's lane too."""
    Both.work = staticmethod(work)
    links = [LaneLink("answers", "both"), *([LaneLink("answers", "llm")] if lane else [])]
    pipe = PipeFile(
        [
            Component("s", "src"),
            Component("both", "both", input=[LaneLink("questions", "s")]),
            Component(
                "llm",
                "llm_openai_api",
                settings,
                input=[LaneLink("questions", "s")] if lane else [],
                control=[ControlLink("llm", "both")],
            ),
            Component("end", "end", input=links),
        ],
        source="s",
    )
    return Kernel(nodes=[Source, Both, OpenAIAPI, End], **kernel).load(pipe)


def kind(error: RunError | None) -> str:
    assert error is not None
    assert isinstance(error.__cause__, LLMError)
    return error.__cause__.kind


class TestAsNode(NodeSuite):
    node = OpenAIAPI

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with ScriptedServer([Say("Always the same.")], repeat=True) as server:
            type(self).config = config(server)
            yield


def test_on_its_lane_and_on_a_slot_at_once(server: ScriptedServer) -> None:
    server.add(Say("One.", usage=Usage(10, 2, 4)), Say("Two.", usage=Usage(20, 3, 5)))
    told: list[str] = []
    with pipeline(config(server), lambda llm, q: llm.ask(q, on_token=told.append), lane=True) as running:
        result = running.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
    assert sorted(answer.text for answer in result[ANSWERS]) == ["One.", "Two."]
    assert "".join(told) in ("One.", "Two.")
    counted = result.usage["llm"]
    assert (counted["input_tokens"], counted["output_tokens"], counted["cached_tokens"]) == (30, 5, 9)
    assert counted["requests"] == 2
    assert len(server.chats) == 2
    assert not server.unexpected


def test_tokens_come_as_they_are_said(server: ScriptedServer) -> None:
    server.add(Say(chunks=["Be", "cause", "."], per_chunk_delay=0.1))
    at: list[tuple[float, str]] = []
    began = time.monotonic()
    with pipeline(
        config(server), lambda llm, q: llm.ask(q, on_token=lambda t: at.append((time.monotonic() - began, t)))
    ) as running:
        running.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
    assert "".join(text for _, text in at) == "Because."
    assert at[-1][0] - at[0][0] > 0.12
    assert server.chats[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("streamed", [False, True])
def test_tools_in_both_modes(server: ScriptedServer, streamed: bool) -> None:
    server.add(CallTools([("db_1__search", {"q": "ü", "n": 1}), ("db_1__list", "")], text="Let me see."), Say("37"))
    tools = [
        Tool("db_1.search", "Finds.", {"type": "object", "properties": {"q": {"type": "string"}}}, lambda *_: None),
        Tool("db_1.list", "Lists.", {}, lambda *_: None),
    ]
    take: Any = (lambda _: None) if streamed else None

    def work(llm: ToolChatModel, question: Question) -> str:
        turn = llm.converse([Message("system", "Be brief."), Message("user", "find")], tools, on_token=take)
        results = [Message("tool", "37", call_id=call.id) for call in turn.calls]
        last = llm.converse([Message("user", "find"), turn, *results], tools, on_token=take)
        return f"{turn.content} {[(call.name, dict(call.arguments), call.broken) for call in turn.calls]} {last.content}"

    with pipeline(config(server), work) as running:
        result = running.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
    said = "Let me see. [('db_1.search', {'q': 'ü', 'n': 1}, ''), ('db_1.list', {}, '')] 37"
    assert result[ANSWERS] == [Answer(said)]
    first, second = server.chats
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["db_1__search", "db_1__list"]
    assert first.body["tools"][1]["function"]["parameters"] == {"type": "object", "properties": {}}
    assert second.body["messages"][1]["content"] == "Let me see."
    assert second.body["messages"][1]["tool_calls"][0]["function"] == {"name": "db_1__search", "arguments": '{"q": "ü", "n": 1}'}
    assert not server.unexpected


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("written", ['{"q": ', "[1, 2]", '"text"', "no json"])
def test_broken_arguments_are_told_and_can_be_talked_about(server: ScriptedServer, written: str, streamed: bool) -> None:
    server.add(CallTools([("t", {})], broken_arguments=written), Say("Sorry."))
    tools = [Tool("t", "Does.", {"type": "object"}, lambda *_: None)]
    take: Any = (lambda _: None) if streamed else None

    def work(llm: ToolChatModel, question: Question) -> str:
        turn = llm.converse([Message("user", "go")], tools, on_token=take)
        assert (turn.calls[0].broken, dict(turn.calls[0].arguments)) == (written, {})
        return llm.converse([Message("user", "go"), turn, Message("tool", "no", call_id=turn.calls[0].id)], tools).content

    with pipeline(config(server), work) as running:
        assert running.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()[ANSWERS] == [Answer("Sorry.")]
    assert server.chats[1].body["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_refusal_is_no_answer(server: ScriptedServer, streamed: bool) -> None:
    server.add(Say("I must not.", finish="refusal"), Say("Half of", finish="content_filter"))
    told: list[str] = []
    take: Any = told.append if streamed else None
    with pipeline(config(server), lambda llm, q: llm.ask(q, on_token=take)) as running:
        results = [running.run(Entry("e"), QUESTIONS(Question.of("q"))) for _ in range(2)]
    assert [kind(result.error) for result in results] == ["refused", "refused"]
    assert "I must not." in str(results[0].error)
    assert "I must not." not in "".join(told)
    assert results[0].usage["llm"]["output_tokens"] > 0


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("streamed", [False, True])
def test_reasoning_is_not_the_answer(server: ScriptedServer, key: Any, streamed: bool) -> None:
    server.add(Think("Hm, let me think.", "Yes.", key=key))
    told: list[str] = []
    with pipeline(config(server), lambda llm, q: llm.ask(q, on_token=told.append if streamed else None)) as running:
        assert running.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()[ANSWERS] == [Answer("Yes.")]
    assert "".join(told) == ("Yes." if streamed else "")


def test_a_cut_answer_is_a_warning(server: ScriptedServer) -> None:
    server.add(Say("Once upon a", finish="length"))
    outputs = run_node(OpenAIAPI, config=config(server, modelOutputTokens=2000), send={"questions": [Question.of("q")]})
    assert [problem.code for problem in outputs.warnings] == ["answer-cut"]
    assert server.chats[0].body["max_tokens"] == 2000


def test_a_cancel_in_mid_stream_closes_the_connection(server: ScriptedServer) -> None:
    server.add(Hang(after_chunks=2), Say("Next."))
    heard = threading.Event()
    with pipeline(config(server), lambda llm, q: llm.ask(q, on_token=lambda _: heard.set())) as running:
        with running.start(Entry("e"), QUESTIONS(Question.of("q"))) as run:
            assert heard.wait(5)
            run.cancel()
            assert run.result(5).error is not None
        assert server.chats[0].wait(5) == "client gone"
        assert running.run(Entry("next"), QUESTIONS(Question.of("q"))).checked()[ANSWERS] == [Answer("Next.")]


def test_nothing_of_the_environment_is_sent(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    server.add(Say("a"), Say("b"))
    run_node(OpenAIAPI, config=config(server), send={"questions": [Question.of("q")]})
    run_node(OpenAIAPI, config=config(server, apikey=""), send={"questions": [Question.of("q")]})
    with_key, without = (dict(request.headers) for request in server.requests)
    assert with_key["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in without
    for headers in (with_key, without):
        assert "leaked" not in str(headers)
        assert not [name for name in headers if name.startswith("openai-")]


def test_the_proxy_of_the_config_is_gone_through(server: ScriptedServer) -> None:
    outputs = run_node(
        OpenAIAPI,
        config=config(server, base_url="http://nowhere.invalid/v1", proxy=server.url),
        send={"questions": [Question.of("q")]},
        check=False,
    )
    assert outputs.error is not None
    assert server.requests[0].path.startswith("http://nowhere.invalid/v1/chat/completions")


@pytest.mark.parametrize("key", ["base_url", "baseURL", "baseUrl", "serverbase"])
@pytest.mark.parametrize("tail", ["", "/", "/chat/completions"])
def test_addresses_as_people_write_them(server: ScriptedServer, key: str, tail: str) -> None:
    server.add(Say("ok"))
    settings = {"model": "m", "apikey": KEY, key: server.base_url("openai") + tail}
    assert run_node(OpenAIAPI, config=settings, send={"questions": [Question.of("q")]})["answers"] == [Answer("ok")]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": "", "apikey": ""}, 'There is no API key for the server; write "apikey" in the config of node'),
        ({"base_url": "http://h/v1", "apikey": "sk-planted 0123456789"}, "has spaces or characters that no key has"),
        ({"base_url": "http://h/v1", "apikey": "${OPENAI_API_KEY}"}, "is a variable that is not filled in"),
        ({"base_url": "http://h/v1", "apikey": "sk-plantéd-0123456789"}, "has spaces or characters that no key has"),
    ],
)
def test_what_cannot_work_is_said_when_the_pipeline_begins(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RunError) as caught, node_harness(OpenAIAPI, config={"model": "m", **settings}):
        pass
    assert said in str(caught.value)
    assert "planted" not in str(caught.value)
    assert "plantéd" not in str(caught.value)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "http://", "http://[::1/v1", "http://h:99999/v1", "ftp://h/v1"])
def test_an_address_that_is_none_is_a_problem_of_the_file(url: str) -> None:
    with pytest.raises(PipeError) as caught:
        run_node(OpenAIAPI, config={"model": "m", "apikey": KEY, "base_url": url})
    assert "Invalid base_url: it begins with http:// or https:// and names a host" in caught.value.problems[0].message


def test_a_key_with_the_line_break_of_its_file(server: ScriptedServer) -> None:
    server.add(Say("ok"))
    run_node(OpenAIAPI, config=config(server, apikey=f"{KEY}\n"), send={"questions": [Question.of("q")]})
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_model_must_be_named() -> None:
    with pytest.raises(PipeError) as caught:
        run_node(OpenAIAPI, config={"profile": "custom", "custom": {"base_url": "http://h/v1"}})
    assert "Model name was provided but is empty." in str([problem.message for problem in caught.value.problems])


def test_a_wrong_key_is_in_no_message_nor_trace(server: ScriptedServer) -> None:
    server.add(bad_key())
    records: list[Any] = []
    kernel: dict[str, Any] = {"trace": "payloads", "trace_to": records.append}
    with pipeline(config(server), lambda llm, q: llm.ask(q), **kernel) as running:
        result = running.run(Entry("e"), QUESTIONS(Question.of("q")))
    assert kind(result.error) == "authentication"
    assert KEY not in f"{result.error} {result.to_json()} {records}"


def test_twenty_at_once_are_really_at_once(server: ScriptedServer) -> None:
    server.script.add_rules([("number (\\d+)", lambda request: Say(request.question[-9:], delay=0.4))])
    with pipeline(config(server), lambda llm, q: llm.ask(q, on_token=lambda _: None)) as running:
        entries = [(Entry(str(n)), (QUESTIONS(Question.of(f"number {n:02}")),)) for n in range(20)]
        found = {result.entry.name: result.checked()[ANSWERS][0].text for result in running.map(entries, workers=20)}
    assert found == {str(n): f"number {n:02}" for n in range(20)}
    assert server.peak >= 10


def test_a_server_that_cannot_stream(server: ScriptedServer) -> None:
    body = '{"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}]}'
    server.add(Malformed(text=body, content_type="application/JSON; charset=utf-8"))
    told: list[str] = []
    with pipeline(config(server), lambda llm, q: llm.ask(q, on_token=told.append)) as running:
        result = running.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
    assert (result[ANSWERS], told) == ([Answer("Whole.")], ["Whole."])
    assert result.usage["llm"]["estimated_output_tokens"] == 2


def test_the_client_library_is_imported_when_a_pipeline_begins() -> None:
    program = "import rocketride_llm_openai_api, sys; print([m for m in sys.modules if m.split('.')[0] in ('openai', 'httpx2')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
