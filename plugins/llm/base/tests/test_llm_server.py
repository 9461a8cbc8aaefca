# SPDX-License-Identifier: MIT
"""The scripted server itself: scripts, rules, keys, many connections at once, and how it ends."""

import gc
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from rocketride_llm.testing import (
    Answer,
    CallTools,
    Drop,
    Echo,
    Fail,
    FailMidway,
    Hang,
    Malformed,
    Piece,
    Reply,
    Request,
    Rule,
    Say,
    Script,
    ScriptedServer,
    Think,
    Usage,
    load_script,
    rate_limited,
    register_wire,
    unregister_wire,
)
from rocketride_llm.testing.wires import wires


def post(
    server: ScriptedServer, text: str = "Hi", *, path: str = "/v1/chat/completions", raw: bytes | None = None, **more: Any
) -> tuple[int, Any]:
    headers = more.pop("headers", {})
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=10)
    try:
        connection.request("POST", path, raw if raw is not None else json.dumps(body), headers)
        reply = connection.getresponse()
        data = reply.read()
        return reply.status, json.loads(data) if "json" in (reply.getheader("content-type") or "") else data.decode()
    finally:
        connection.close()


def said(answer: tuple[int, Any]) -> str:
    assert answer[0] == 200, answer
    return str(answer[1]["choices"][0]["message"]["content"])


# --- scripts and rules ------------------------------------------------------------------------------------------------


def test_the_end_of_the_script_is_an_error_that_says_so() -> None:
    with ScriptedServer([Say("only")]) as server:
        assert said(post(server)) == "only"
        status, body = post(server, "Once more?")
        assert status == 500
        assert "at its end" in body["error"]["message"]
        assert server.unexpected == [body["error"]["message"]]
        assert "request 2 (openai chat, question 'Once more?')" in server.unexpected[0]


def test_the_official_client_does_not_repeat_what_the_script_has_no_step_for() -> None:
    with ScriptedServer() as server, openai.OpenAI(base_url=server.base_url("openai"), api_key="k") as client:
        with pytest.raises(openai.InternalServerError, match="at its end"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
        assert len(server.requests) == 1


def test_rules_come_before_steps_and_by_their_order() -> None:
    rules: list[Any] = [
        Rule("twice", Say("first"), times=1),
        Rule("twice", Say("second")),
        Rule("^whole$", Say("question"), where="question"),
        Rule("result", Say("last"), where="last"),
        ("weather.*Paris", Say("Rain")),
    ]
    with ScriptedServer([Say("step")], rules=rules) as server:
        assert [said(post(server, "twice")) for _ in range(3)] == ["first", "second", "second"]
        assert said(post(server, "the weather\nin Paris")) == "Rain"
        assert said(post(server, "whole")) == "question"
        assert said(post(server, "not the whole")) == "step"
        messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "the result"}]
        assert said(post(server, messages=messages)) == "last"
        assert not server.unexpected


def test_a_step_can_be_a_function_of_the_request() -> None:
    def step(request: Request) -> Say:
        return Say(f"{request.number} {request.model} {request.question}")

    with ScriptedServer([step, lambda _: 1 / 0, lambda _: "no step"], rules=[("rule", step)]) as server:  # type: ignore[list-item, return-value]
        assert said(post(server, "a")) == "1 m a"
        assert said(post(server, "rule")) == "2 m rule"
        assert post(server)[0] == 500
        assert post(server)[0] == 500
        assert "ZeroDivisionError" in server.unexpected[0]
        assert "returns a step" in server.unexpected[1]


def test_steps_that_are_none_are_refused_when_they_are_given() -> None:
    with pytest.raises(TypeError, match="not 'hello'"):
        ScriptedServer(["hello"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        ScriptedServer([Say])  # type: ignore[list-item]
    with ScriptedServer() as server, pytest.raises(TypeError):
        server.add(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (Fail, "status or a kind"),
        (lambda: Fail(200), "400 to 599"),
        (lambda: Fail(kind="sad"), "kind"),
        (lambda: Say("a", chunks=["b"]), "another text"),
        (lambda: Say("a", chunks=0), "chunks"),
        (lambda: Say("a", finish="tired"), "finish"),
        (lambda: Say("a", delay=-1), "delay"),
        (lambda: Say("a", usage=3), "usage"),
        (lambda: Usage(input=1, cached=2), "part of the input"),
        (lambda: CallTools([]), "at least one"),
        (lambda: CallTools([("a", 3)]), "arguments"),
        (lambda: Drop(reply=Fail(500)), "reply"),
    ],
)
def test_wrong_steps_are_refused(make: Any, text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=text):
        make()


def test_repeat() -> None:
    with ScriptedServer([Say("a"), Say("b")], repeat=True) as server:
        assert [said(post(server)) for _ in range(5)] == ["a", "b", "a", "b", "a"]


def test_an_echo() -> None:
    with ScriptedServer([Echo(), Echo(prefix="You said: ", chunks=3)]) as server:
        assert said(post(server, "two words")) == "two words"
        assert said(post(server, "x")) == "You said: x"


# --- files ------------------------------------------------------------------------------------------------------------


def write(folder: Path, data: Any) -> Path:
    file = folder / "script.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return file


def test_every_kind_of_step_can_be_read_from_a_file(tmp_path: Path) -> None:
    steps = [
        {"say": "Hé", "usage": {"input": 4, "output": 2, "cached": 1}, "chunks": ["H", "é"], "finish": "length"},
        {"think": "hm", "text": "Yes", "style": "tags"},
        {"call": [{"name": "add", "arguments": {"a": 1}}, {"name": "now"}], "text": "So"},
        {"echo": "> ", "per_chunk_delay": 0.5},
        {"fail": "rate_limit", "headers": {"retry-after": "1"}},
        {"fail": 502, "message": "x"},
        {"hang": 2},
        {"drop": 3, "reply": {"say": "a b c d"}},
        {"malformed": "{", "after_chunks": 1},
        {"fail_midway": {"fail": "overloaded"}, "after_chunks": 1},
    ]
    script = load_script(write(tmp_path, steps))
    assert script.steps == [
        Say(chunks=["H", "é"], usage=Usage(4, 2, 1), finish="length"),
        Think("hm", "Yes", style="tags"),
        CallTools([("add", {"a": 1}), ("now", {})], text="So"),
        Echo("> ", per_chunk_delay=0.5),
        rate_limited(1),
        Fail(502, message="x"),
        Hang(2),
        Drop(after_chunks=3, reply=Say("a b c d")),
        Malformed("{", after_chunks=1),
        FailMidway(Fail(kind="overloaded"), after_chunks=1),
    ]
    rules = [{"match": "a+", "step": {"say": "b"}, "where": "last", "times": 2}]
    script = load_script(write(tmp_path, {"steps": [{"say": "x"}], "rules": rules, "repeat": True}))
    assert script.rules == [Rule("a+", Say("b"), where="last", times=2)]
    assert script.repeat


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("{", "script.json is not JSON"),
        ("3", "a list of steps, or an object"),
        ({"stesp": []}, "the keys steps, rules and repeat"),
        ({"steps": {}}, "are lists"),
        (["hello"], r"script.json: steps\[0\]: a step is an object"),
        ([{"say": "a"}, {"sya": "b"}], r"steps\[1\]: a step has just one of the keys say, .*this one has none"),
        ([{"say": "a", "fail": 500}], "this one has say, fail"),
        ([{"say": "a", "chunk": 3}], "say knows no chunk; it knows chunks, delay"),
        ([{"say": 3}], r"steps\[0\]: 'text' must be"),
        ([{"fail": "sad"}], r"steps\[0\]: 'kind' must be in"),
        ([{"drop": 1, "reply": {"say": 3}}], r"steps\[0\]\.reply: 'text'"),
        ([{"call": [{"arguments": {}}]}], r"steps\[0\]: name"),
        ({"rules": [{"match": "a"}]}, r"rules\[0\]: a rule is an object"),
        ({"rules": [{"match": "(", "step": {"say": "a"}}]}, r"rules\[0\]: .*unterminated"),
        ({"rules": [{"match": "a", "step": {"say": "a"}, "were": "last"}]}, "a rule knows no were"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, data: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        load_script(write(tmp_path, data))


def test_it_serves_a_file_from_the_shell(tmp_path: Path) -> None:
    file = write(tmp_path, {"rules": [{"match": "capital", "step": {"say": "Paris"}}]})
    command = [sys.executable, "-m", "rocketride_llm.testing", "--script", str(file), "--key", "secret"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        try:
            assert process.stdout is not None
            urls = dict(process.stdout.readline().strip().split(": ", 1) for _ in wires())
            assert set(urls) == set(wires())
            with openai.OpenAI(base_url=urls["openai"], api_key="secret", max_retries=0) as client:
                reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "the capital?"}])
                assert reply.choices[0].message.content == "Paris"
                with pytest.raises(openai.AuthenticationError):
                    client.with_options(api_key="wrong").models.list()
                with pytest.raises(openai.InternalServerError):
                    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "what?"}])
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert "secret" not in errors


def test_the_shell_names_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rocketride_llm.testing", "--script", str(write(tmp_path, [{"sya": 1}]))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert re.match(r"error: script\.json: steps\[0\]: ", done.stderr)


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        ("/v1/chat/completions", {"authorization": "Bearer s3"}, {"authorization": "Bearer s4"}),
        (
            "/v1/messages",
            {"x-api-key": "s3", "anthropic-version": "2023-06-01"},
            {"x-api-key": "é", "anthropic-version": "2023-06-01"},
        ),
        ("/api/chat", {"authorization": "Bearer s3"}, {}),
    ],
)
def test_another_key_is_refused_and_takes_no_step(path: str, right: dict[str, str], wrong: dict[str, str]) -> None:
    with ScriptedServer([Say("a")], key="s3") as server:
        assert post(server, path=path, headers=wrong, max_tokens=5, stream=False)[0] == 401
        assert server.remaining == 1
        assert post(server, path=path, headers=right, max_tokens=5, stream=False)[0] == 200
        assert [request.outcome for request in server.requests] == ["failed", "answered"]
        assert not server.unexpected


def test_unknown_paths_and_broken_bodies_are_unexpected() -> None:
    with ScriptedServer([Say("a")]) as server:
        assert post(server, path="/v2/chat")[0] == 404
        assert post(server, raw=b"{oops")[0] == 400
        assert post(server, raw=b"[]")[0] == 400
        assert post(server, raw=b'{"model": "m", "messages": [3]}')[0] == 400
        assert len(server.unexpected) == 4
        assert "POST /v2/chat" in server.unexpected[0]
        assert said(post(server)) == "a"


def test_a_lenient_server_takes_what_vendors_refuse() -> None:
    with ScriptedServer([Say("a")], strict=False) as server:
        assert said(post(server, tool_choice="auto")) == "a"


def test_a_text_for_an_operation_that_has_none_is_the_scripts_mistake() -> None:
    with ScriptedServer(
        rules=[Rule("", Say("a"), operation="embeddings"), Rule("", Drop(after_bytes=9), operation="models")]
    ) as server:
        assert post(server, path="/v1/embeddings", input="x")[0] == 500
        assert "embeddings is answered by failures only" in server.unexpected[0]


def test_a_body_in_chunks_and_one_connection_for_many_requests() -> None:
    with ScriptedServer([Say("a"), rate_limited(), Say("b")]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=10)
        bodies = [json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode() for text in "xyz"]
        statuses = []
        for body in bodies:
            connection.request(
                "POST",
                "/v1/chat/completions",
                iter([body[:9], body[9:]]),
                encode_chunked=True,
                headers={"transfer-encoding": "chunked"},
            )
            socket_then = connection.sock
            reply = connection.getresponse()
            reply.read()
            statuses.append(reply.status)
            assert connection.sock is socket_then
            assert connection.sock is not None, "kept alive"
        connection.close()
        assert statuses == [200, 429, 200]
        assert [request.question for request in server.requests] == ["x", "y", "z"]


def test_waiting_for_requests() -> None:
    with ScriptedServer([Say("a", delay=0.05)]) as server:
        with pytest.raises(TimeoutError, match="0 of 1"):
            server.wait_for(1, timeout=0.01)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(post, server)
            (request,) = server.wait_for(1)
            assert request.wait() == "answered"
            assert said(answer.result()) == "a"


# --- many at once, and the end ----------------------------------------------------------------------------------------


def test_a_hundred_slow_streams_at_once() -> None:
    with ScriptedServer(rules=[("", Echo(per_chunk_delay=0.05))]) as server:
        start = threading.Barrier(100)

        def chat(number: int) -> str:
            start.wait(30)
            status, text = post(server, f"chat {number} of one hundred in all", stream=True)
            assert status == 200
            events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
            assert events.pop() == "[DONE]"
            return "".join(json.loads(event)["choices"][0]["delta"].get("content") or "" for event in events)

        with ThreadPoolExecutor(100) as pool:
            began = time.monotonic()
            replies = list(pool.map(chat, range(100)))
        assert replies == [f"chat {number} of one hundred in all" for number in range(100)]
        assert time.monotonic() - began < 10, "at once, not one after another: that would be 30 s"
        assert server.peak > 50
        assert len(server.chats) == 100
        assert {request.outcome for request in server.requests} == {"answered"}


def test_the_peak_of_a_client_that_asks_one_after_another_is_one() -> None:
    with ScriptedServer(rules=[("", Echo())]) as server:
        for _ in range(50):
            post(server)
        assert server.peak == 1


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
def test_it_ends_at_once_and_leaves_nothing() -> None:
    gc.collect()
    threads, files = threading.active_count(), open_files()
    server = ScriptedServer(
        rules=[("hang", Hang()), ("stream", Hang(after_chunks=1)), ("slow", Say("a", delay=60)), ("", Say("a"))]
    ).start()
    idle = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]))
    idle.request("GET", "/v1/models")
    idle.getresponse().read()
    silent = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(post, server, text, stream=text == "stream") for text in ["hang", "stream", "slow"] * 2]
        server.wait_for(7)
        began = time.monotonic()
        server.close()
        took = time.monotonic() - began
        for one in asked:
            with pytest.raises((OSError, http.client.HTTPException)):
                one.result(timeout=5)
    assert took < 1
    assert {request.wait() for request in server.chats} == {"server closed"}
    idle.close()
    silent.close()
    server.close()
    assert threading.active_count() == threads
    assert open_files() == files
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))
    assert not server.unexpected


def test_a_client_that_goes_is_noticed_between_pieces() -> None:
    with ScriptedServer([Say("a b c d", per_chunk_delay=30)]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=10)
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        reply = connection.getresponse()
        reply.read(20)
        reply.close()
        connection.close()
        assert server.requests[0].wait() == "client gone"


def test_its_life() -> None:
    server = ScriptedServer()
    with pytest.raises(RuntimeError, match="not started"):
        _ = server.url
    server.close()
    with server:
        with pytest.raises(KeyError, match="no wire 'telepathy'"):
            server.base_url("telepathy")
        with pytest.raises(RuntimeError, match="before"):
            server.start()
        with pytest.raises(OSError, match="in use"):
            ScriptedServer(port=int(server.url.rpartition(":")[2])).start()


def test_a_script_object_is_taken_with_more_rules() -> None:
    script = Script([Say("step")])
    with ScriptedServer(script, rules=[("r", Say("rule"))]) as server:
        assert [said(post(server, text)) for text in ("x", "r")] == ["step", "rule"]
        assert server.script is script


def test_importing_it_is_cheap() -> None:
    code = (
        "import sys; import rocketride_llm; before = set(sys.modules); import rocketride_llm.testing;"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    outside = set(done.stdout.split()) - set(sys.stdlib_module_names) - {"attr", "attrs", "rocketride_llm"}
    assert not outside


# --- one more wire ----------------------------------------------------------------------------------------------------


class Shout:
    """A vendor of our own: plain text both ways."""

    name = "shout"
    base_path = "/shout"
    stream_type = "text/plain"

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        return "chat" if path == "/shout" else None

    def key(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("x-shout")

    def read(self, request: Request) -> None:
        request.prompt = request.question = request.last = request.body["say"]

    def complaint(self, request: Request) -> str | None:
        return None

    def whole(self, request: Request, reply: Reply) -> Any:
        return {"loud": reply.text.upper()}

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        yield from (Piece(piece.encode(), counted=True) for piece in reply.pieces)

    def failure(self, request: Request, fail: Fail) -> Answer:
        return Answer(fail.status or 500, {"sad": fail.kind})

    def broken(self, text: str) -> bytes:
        return text.encode()

    def midway(self, request: Request, fail: Fail) -> bytes:
        return b"sad"

    def other(self, request: Request) -> Answer:
        return Answer(404, {})


@pytest.fixture
def shout() -> Iterator[None]:
    register_wire(Shout())
    yield
    unregister_wire("shout")


def test_a_further_wire(shout: None) -> None:
    with ScriptedServer([Echo(), Fail(418)]) as server:
        assert server.base_url("shout") == f"{server.url}/shout"
        assert post(server, path="/shout", say="hi") == (200, {"loud": "HI"})
        assert post(server, path="/shout", say="hi") == (418, {"sad": None})
        assert server.requests[0].wire == "shout"
