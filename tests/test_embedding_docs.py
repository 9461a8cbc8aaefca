# SPDX-License-Identifier: MIT
"""The host programs that docs/embedding.md shows, run as they stand: with threads, a web server, a folder."""

import gc
import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, Instance, Kernel, Node, NodeSpec, Question, on
from rocketride_core.pipefile import Component, LaneLink, PipeFile

pytestmark = pytest.mark.slow  # of `make quick`: it starts processes, or loads the model

EXAMPLES = Path(__file__).parents[1] / "examples"
ECHO = EXAMPLES / "echo.pipe"

sys.path.append(str(EXAMPLES))
import folder_watch  # noqa: E402
import host_async  # noqa: E402
import host_sync  # noqa: E402


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def test_they_are_short() -> None:
    """The books say twenty lines; the rest of a file is imports and its command line."""
    node = (EXAMPLES / "folder_watch.py").read_text().partition("[start:node]")[2].partition("# --8<-- [end:node]")[0]
    for name, text in {"host_sync": (EXAMPLES / "host_sync.py").read_text(), "folder_watch": node}.items():
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", '"""'))]
        assert len(lines) <= 20, f"{name} has {len(lines)} lines"


# ---- the synchronous host


def test_the_synchronous_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert host_sync.main(str(ECHO), "What is new?", "Why?") == 0
    assert capsys.readouterr().out == "What is new?\nWhy?\n"


def test_the_synchronous_host_says_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "script.pipe"
    pipe.write_text(ECHO.read_text().replace('"profile": "echo"', '"profile": "script", "answers": []'))
    assert host_sync.main(str(pipe), "Why?") == 1
    assert "llm_1" in capsys.readouterr().out


def test_the_synchronous_host_says_what_is_wrong_with_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "wrong.pipe"
    pipe.write_text(ECHO.read_text().replace('"questions", "from": "chat_1"', '"answers", "from": "chat_1"'))
    assert host_sync.main(str(pipe), "Why?") == 2
    assert "[unknown-lane]" in capsys.readouterr().err


# ---- the asynchronous host


class Slow(Node[None]):
    """Says that it has begun, then waits until it is cancelled."""

    spec = NodeSpec("slow", title="Slow")
    begun = threading.Event()
    cancelled = threading.Event()

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        instance.event("thinking", message="about it")
        self.begun.set()
        with instance.on_cancel(self.cancelled.set):
            self.cancelled.wait(60)
        instance.emit(ANSWERS, Answer("nobody reads this"))


SLOW = PipeFile(
    [
        Component("chat_1", "chat"),
        Component("slow_1", "slow", input=[LaneLink("questions", "chat_1")]),
        Component("response_1", "response_answers", input=[LaneLink("answers", "slow_1")]),
    ]
)


@contextmanager
def served(app: Any) -> Iterator[int]:
    """A real server in this process; gives its port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started or not thread.is_alive())
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def ask(port: int, question: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    body = json.dumps({"question": question})
    connection.request("POST", "/ask", body, {"Content-Type": "application/json", "Connection": "close"})
    return connection.getresponse()


def test_the_asynchronous_host_streams_events_and_the_result() -> None:
    with served(host_async.app) as port, ask(port, "Any news") as response:
        lines = [json.loads(line) for line in response]
    assert [line["text"] for line in lines if line.get("event") == "token"] == ["Any", " news"]
    assert lines[-1]["result"]["answers"] == ["Any news"]
    assert "error" not in lines[-1]["result"]


def test_a_client_that_leaves_cancels_its_entry() -> None:
    Slow.begun.clear()
    Slow.cancelled.clear()
    with served(host_async.make_app(Kernel(nodes=[Slow]), SLOW)) as port:
        response = ask(port, "Why?")
        assert json.loads(response.readline()) == {"event": "thinking", "message": "about it"}
        assert Slow.begun.is_set()
        assert not Slow.cancelled.is_set()
        response.close()
        assert Slow.cancelled.wait(30), "the entry went on after its client had left"


# ---- the folder watcher


def test_the_folder_watcher_as_a_program(tmp_path: Path) -> None:
    (tmp_path / "early.txt").write_text("here before")
    command = [sys.executable, str(EXAMPLES / "folder_watch.py"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == f"watching {tmp_path}\n"
            assert program.stdout.readline() == "early.txt: here before\n"
            (tmp_path / "late.txt").write_text("came later")
            assert program.stdout.readline() == "late.txt: came later\n"
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=60)
        finally:
            program.kill()  # leaving the block waits for it
    assert (program.returncode, out, err) == (0, "", "")


def test_the_folder_watcher_stops_when_it_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.md").write_text("# One")
    kernel = Kernel(nodes=[folder_watch.FolderWatcher], plugins=[folder_watch.Printer()])
    with kernel.load(folder_watch.pipe(str(tmp_path))) as pipeline:
        server = threading.Thread(target=pipeline.serve)
        server.start()
        until(lambda: "one.md" in capsys.readouterr().out)
        pipeline.stop()
        server.join(30)
        assert not server.is_alive()


# ---- what every host may rely on


def of(version: str) -> type[Node[Any]]:
    class Mine(Node[None]):
        spec = NodeSpec("slow", title="Mine")

        @on(QUESTIONS, emits=[ANSWERS])
        def question(self, instance: Instance, question: Question) -> None:
            instance.emit(ANSWERS, Answer(f"{version}: {question.texts[0]}"))

    return Mine


def test_two_kernels_in_one_process_share_nothing() -> None:
    question = QUESTIONS(Question.of("who"))
    with Kernel(nodes=[of("one")]).load(SLOW) as first, Kernel(nodes=[of("two")]).load(SLOW) as second:
        answers = [pipeline.run(Entry("e"), question)[ANSWERS][0].text for pipeline in (first, second, first)]
    assert answers == ["one: who", "two: who", "one: who"]


def test_a_kernel_leaves_nothing_behind() -> None:
    before = set(threading.enumerate())
    kernel = Kernel(nodes=[of("one")])
    with kernel.load(SLOW) as pipeline:
        work = ((Entry(str(n)), [QUESTIONS(Question.of("who"))]) for n in range(20))
        assert [result.error for result in pipeline.map(work, workers=2)] == [None] * 20
    gone = weakref.ref(kernel), weakref.ref(pipeline)
    del kernel, pipeline
    gc.collect()
    assert [alive() for alive in gone] == [None, None]
    until(lambda: set(threading.enumerate()) <= before)
