# SPDX-License-Identifier: MIT
"""`rocketride-core chat`: over pipes as scripts use it, on a terminal as people do; and the file that keeps a session."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core.cli import main
from rocketride_core.cli.arguments import Usage, parse
from rocketride_core.cli.session import Session

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import fake_site

NODES = """
import time
import attrs
from rocketride_core import *
from rocketride_core import TAGS

class Ask(Node[None]):
    spec = NodeSpec("talk_ask", title="Ask", categories=["source"], emits=[QUESTIONS, TAGS])

class Drop(Node[None]):
    spec = NodeSpec("talk_drop", title="Drop", categories=["source"], emits=[TAGS])

@attrs.frozen(kw_only=True)
class TalkConfig:
    word: str = setting("")

class Talk(Node[TalkConfig]):
    '''Says how much history came along; some words of a question make it do something else.'''
    spec = NodeSpec("talk", title="Talk")

    @on(TAGS, emits=[ANSWERS])
    def tags(self, instance: Instance, blob: Blob) -> None: ...

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        text = question.texts[0]
        say = lambda *words: [instance.event("token", text=word) for word in words]
        if text == "silent":
            return
        if text == "boom":
            raise ValueError(f"it went boom with {self.config.word}")
        if text == "late":
            say("Half")
            raise ValueError("the line is dead")
        if text == "report":
            instance.report(ValueError("the model is away"))
            instance.emit(ANSWERS, Answer("Sorry, I am away."))
            return
        if text == "wait":
            say("Begun ")
            while not instance.cancelled:
                time.sleep(0.01)
            return
        if text == "hang":
            say("Hanging ")
            time.sleep(60)
        if text == "slow":
            say("one ")
            time.sleep(1.5)
            say("two")
            return instance.emit(ANSWERS, Answer("one two"))
        if text == "think":
            instance.event("thinking", message="Let me see.")
            say("It", " is", " so.")
            return instance.emit(ANSWERS, Answer("It is so."))
        if text == "differs":
            say("A draft.")
            return instance.emit(ANSWERS, Answer("The answer."))
        if text == "two":
            instance.emit(ANSWERS, Answer("First."))
            return instance.emit(ANSWERS, Answer({"second": "ü"}))
        if text == "escape":
            return instance.emit(ANSWERS, Answer("a\\x1b]0;owned\\x07b"))
        if text == "warn":
            instance.warn("odd", "this is odd")
        if text == "many":
            text = "x" * 200_000
        instance.emit(ANSWERS, Answer(f"{len(question.history)} before, {text!r} now"))

class Out(Node[None]):
    spec = NodeSpec("talk_out", title="Out", responds=True)

    @on(ANSWERS)
    def answer(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))

    @on(QUESTIONS)
    def question(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))
"""
PROVIDERS = {"talk_ask": "Ask", "talk_drop": "Drop", "talk": "Talk", "talk_out": "Out"}
# A session leader that opens a terminal gets it as its own: Ctrl-C then reaches it as a signal.
LEADER = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    nodes = [(provider, f"talk_site_nodes:{cls}") for provider, cls in PROVIDERS.items()]
    fake_site.add(folder, "rocketride-talk-nodes", nodes=nodes, modules={"talk_site_nodes": NODES})
    fake_site.age(folder)
    return folder


@pytest.fixture(autouse=True)
def place(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with p.pipe in it; the nodes are installed."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(Path(__file__).parents[1])]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("INPUTRC", os.devnull)
    monkeypatch.setenv("ROCKETRIDE_WORD", "sesame-open")
    monkeypatch.delenv("NO_COLOR", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    pipe("p.pipe", ("talk_ask", ""), ("talk", "questions"), ("talk_out", "answers"))
    return tmp_path / "here"


def pipe(name: str, *parts: tuple[str, str]) -> str:
    """A line of (provider, lane it takes), written to a file; ids are the providers with _1."""
    components: list[dict[str, Any]] = []
    for provider, lane in parts:
        one: dict[str, Any] = {"id": f"{provider}_1", "provider": provider, "config": {}}
        if provider == "talk":
            one["config"] = {"word": "${ROCKETRIDE_WORD}"}
        if components:
            one["input"] = [{"lane": lane, "from": components[-1]["id"]}]
        components.append(one)
    Path(name).write_text(json.dumps({"components": components}))
    return name


@attrs.frozen
class Done:
    stdout: str
    stderr: str
    returncode: int


Chat = Callable[..., Done]


@pytest.fixture
def chat(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Chat:
    """The command as a script calls it, with these lines on its standard input; in this process, for speed."""

    def go(*words: str, said: str | bytes = "", name: str = "p.pipe") -> Done:
        raw = said.encode() if isinstance(said, str) else said
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        capfd.readouterr()
        code = main(["chat", name, *words])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Done(out, err, code)

    return go


def echo(before: int, text: str) -> str:
    return f"{before} before, {text!r} now"


def turns(file: str) -> list[tuple[str, str]]:
    return [(item["role"], item["content"]) for item in json.loads(Path(file).read_text())["history"]]


# ---- over pipes


def test_each_line_is_answered_and_knows_what_was_said(chat: Chat) -> None:
    done = chat(said="a\n\n  \nb  \r\nc")
    assert done.stdout == f"{echo(0, 'a')}\n{echo(2, 'b')}\n{echo(4, 'c')}\n"
    assert (done.stderr, done.returncode) == ("", 0)


def test_lines_of_a_pipe_are_questions_as_they_stand(chat: Chat) -> None:
    done = chat("--history", "0", said="/exit\nC:\\\n\ufeffbom\n")
    assert done.stdout == "".join(f"{echo(0, text)}\n" for text in ("/exit", "C:\\", "bom"))


def test_bytes_that_are_no_text_end_nothing(chat: Chat) -> None:
    done = chat(said=b"a\xff\nb\n")
    assert done.stdout == echo(0, "a\N{REPLACEMENT CHARACTER}") + "\n" + echo(2, "b") + "\n"


def test_as_a_program(place: Path) -> None:
    line = [sys.executable, "-m", "rocketride_core.cli", "chat", "p.pipe"]
    done = subprocess.run(line, input="a\nboom\nb\n", capture_output=True, text=True, timeout=60)
    assert done.stdout == f"{echo(0, 'a')}\n{echo(2, 'b')}\n"
    assert done.stderr == "failed: talk_1: it went boom with *** [handler, lane questions]\n"
    assert done.returncode == 1


def test_the_testing_nodes_chat(chat: Chat) -> None:
    llm = {"id": "llm_1", "provider": "test_llm", "config": {"wholePrompt": True}, "input": [{"lane": "questions", "from": "c"}]}
    out = {
        "id": "r",
        "provider": "response_answers",
        "config": {"laneName": "reply"},
        "input": [{"lane": "answers", "from": "llm_1"}],
    }
    Path("t.pipe").write_text(json.dumps({"components": [{"id": "c", "provider": "chat", "config": {}}, llm, out]}))
    done = chat("--json", said="Why?\nSure?\n", name="t.pipe")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["answer"].split() == ["###", "Current", "Task:", "Why?"]
    assert second["answer"].split()[:5] == ["###", "Conversation", "History:", "user:", "Why?"]
    assert second["answer"].endswith("Sure?")
    assert second["result"]["usage"]["llm_1"]["output_tokens"] > 0


def test_an_agent_of_the_testing_nodes_chats(chat: Chat) -> None:
    agent = {"id": "a", "provider": "test_agent", "config": {"script": [{"ask": "Shorten: {input}"}]}}
    agent["input"] = [{"lane": "questions", "from": "c"}]
    llm = {"id": "l", "provider": "test_llm", "config": {}, "control": [{"classType": "llm", "from": "a"}]}
    out = {"id": "r", "provider": "response_answers", "config": {}, "input": [{"lane": "answers", "from": "a"}]}
    Path("t.pipe").write_text(json.dumps({"components": [{"id": "c", "provider": "chat", "config": {}}, agent, llm, out]}))
    assert chat(said="this\n", name="t.pipe").stdout == "Shorten: this\n"


def test_questions_as_arguments_end_it(chat: Chat) -> None:
    done = chat("--question", "a", "--question", " ", "--question", "b", said="not read\n")
    assert done.stdout == f"{echo(0, 'a')}\n{echo(2, 'b')}\n"
    done = chat("--question", "a", "--interactive", said="b\n")
    assert done.stdout == f"{echo(0, 'a')}\n{echo(2, 'b')}\n"


def test_only_the_answer_goes_into_a_pipe_and_thinking_only_when_asked(chat: Chat) -> None:
    done = chat(said="think\ndiffers\ntwo\n")
    assert done.stdout == 'It is so.\nThe answer.\nFirst.\n\n{"second": "ü"}\n'
    assert done.stderr == ""
    done = chat("-v", said="think\n")
    assert done.stdout == "It is so.\n"
    assert done.stderr == "Let me see.\n"


def test_streaming_into_a_pipe_when_asked(chat: Chat) -> None:
    done = chat("--stream", said="think\ndiffers\na\n")
    assert done.stdout == f"It is so.\nA draft.\n\nThe answer.\n{echo(4, 'a')}\n"


def test_words_come_before_the_answer_is_whole() -> None:
    line = [sys.executable, "-m", "rocketride_core.cli", "chat", "p.pipe", "--stream", "--question", "slow"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert os.read(running.stdout.fileno(), 100) == b"one "
        assert running.poll() is None
        assert running.stdout.read() == b"two\n"


def test_a_failed_turn_is_said_and_forgotten_and_the_chat_goes_on(chat: Chat) -> None:
    done = chat("--session", "s.json", said="a\nboom\nsilent\nlate\nb\n")
    assert done.stdout == f"{echo(0, 'a')}\n{echo(2, 'b')}\n"
    assert done.stderr.splitlines() == [
        "failed: talk_1: it went boom with *** [handler, lane questions]",
        "failed: no answer came from p.pipe",
        "failed: talk_1: the line is dead [handler, lane questions]",
    ]
    assert done.returncode == 1
    assert [text for role, text in turns("s.json") if role == "user"] == ["a", "b"]


def test_what_comes_beside_an_error_is_no_answer(chat: Chat) -> None:
    done = chat(said="report\n")
    assert done.stdout == ""
    assert "failed: talk_1: the model is away" in done.stderr
    assert "Sorry, I am away." in done.stderr
    assert done.returncode == 1


def test_warnings_and_notes_stay_off_standard_output(chat: Chat) -> None:
    done = chat(said="warn\n")
    assert done.stdout == f"{echo(0, 'warn')}\n"
    assert done.stderr == "warning: talk_1: this is odd [odd]\n"
    assert done.returncode == 0


def test_a_time_limit_is_for_each_answer(chat: Chat) -> None:
    done = chat("--timeout", "0.3", said="wait\na\n")
    assert done.stdout == f"{echo(0, 'a')}\n"
    assert "took more than 0.3 s" in done.stderr
    assert done.returncode == 1


def test_json_has_one_object_a_turn(chat: Chat) -> None:
    done = chat("--json", said="two\nboom\nb\n")
    two, boom, b = map(json.loads, done.stdout.splitlines())
    assert (two["question"], two["answer"], two["error"]) == ("two", 'First.\n\n{"second": "ü"}', None)
    assert two["result"]["answers"] == ["First.", {"second": "ü"}]
    assert (boom["answer"], boom["error"]) == (None, "talk_1: it went boom with *** [handler, lane questions]")
    assert boom["result"]["error"]["component"] == "talk_1"
    assert b["answer"] == echo(2, "b")
    assert done.returncode == 1


def test_history_is_limited(chat: Chat) -> None:
    done = chat("--history", "1", "--session", "s.json", said="a\nb\nc\n")
    assert done.stdout == f"{echo(0, 'a')}\n{echo(2, 'b')}\n{echo(2, 'c')}\n"
    assert len(turns("s.json")) == 6
    assert parse("chat", ["chat", "p"]).history == 50


def test_settings_sources_and_traces_as_for_run(chat: Chat, capfd: pytest.CaptureFixture[str]) -> None:
    done = chat("--set", "talk_1.word=plain", "--trace", "calls", "--trace-to", "t.jsonl", said="boom\n")
    assert "it went boom with plain" in done.stderr
    assert all(json.loads(line) for line in Path("t.jsonl").read_text().splitlines())
    Path("v.env").write_text("ROCKETRIDE_WORD=other-word\n")
    assert "boom with ***" in chat("--env", "v.env", said="boom\n").stderr
    assert main(["chat", "p.pipe", "--trace-to", "x"]) == 2
    assert main(["chat", "p.pipe", "--history", "-1"]) == 2
    assert main(["chat", "p.pipe", "--source", "nobody"]) == 2
    assert main(["chat", "none.pipe"]) == 2


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([("talk_drop", ""), ("talk", "tags"), ("talk_out", "answers")],
         "talk_drop_1 (talk_drop) takes no questions, it takes tags; a chat needs a source of questions, such as chat"),
        ([("talk_ask", ""), ("talk", "tags"), ("talk_out", "answers")], "talk_ask_1 (talk_ask) takes no questions, it takes tags;"),
        ([("talk_ask", "")], "it takes nothing, for nothing is wired to it"),
        ([("talk_ask", ""), ("talk_out", "questions")],
         "it responds only on questions; wire a response_answers, or see what comes with: rocketride-core run p.pipe --question TEXT"),
        ([("talk_ask", ""), ("talk", "questions")], "p.pipe gives no answers: it responds on no lane;"),
    ],
)  # fmt: skip
def test_pipelines_that_cannot_chat(parts: list[tuple[str, str]], told: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", pipe("p.pipe", *parts), "--question", "a"]) == 2
    assert told in capfd.readouterr().err


def test_another_source_is_named(chat: Chat) -> None:
    pipe("p.pipe", ("talk_drop", ""), ("talk", "tags"), ("talk_out", "answers"))
    whole = json.loads(Path("p.pipe").read_text())
    whole["components"].append({"id": "ask_2", "provider": "talk_ask", "config": {}})
    whole["components"][1]["input"].append({"lane": "questions", "from": "ask_2"})
    whole["source"] = "talk_drop_1"
    Path("p.pipe").write_text(json.dumps(whole))
    done = chat(said="a\n")
    assert "start from another: --source ask_2" in done.stderr
    assert done.returncode == 2
    assert chat("--source", "ask_2", said="a\n").stdout == f"{echo(0, 'a')}\n"
    whole["components"].append({"id": "ask_3", "provider": "talk_ask", "config": {}})
    Path("p.pipe").write_text(json.dumps(whole | {"source": "ask_3"}))
    err = chat(said="a\n").stderr
    assert (
        "ask_3 (talk_ask) takes no questions, it takes nothing, for nothing is wired to it; start from another: --source ask_2"
        in err
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_a_script(name: str) -> None:
    line = [sys.executable, "-m", "rocketride_core.cli", "chat", "p.pipe", "--stream", "--session", "s.json"]
    for said, begun in ("a\nwait\nb\n", "Begun "), ("a\n", "now"):
        before = len(turns("s.json")) if Path("s.json").exists() else 0
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            running.stdin.write(said.encode())
            running.stdin.flush()
            seen = b""
            while begun.encode() not in seen:
                piece = os.read(running.stdout.fileno(), 1000)
                assert piece, running.stderr
                seen += piece
            running.send_signal(getattr(signal, name))
            err = running.stderr.read() if running.stderr else b""
            assert running.wait(30) == 130
        assert b"Traceback" not in err
        assert len(turns("s.json")) == before + 2


def test_a_reader_that_leaves_is_no_error_of_ours() -> None:
    line = [sys.executable, "-m", "rocketride_core.cli", "chat", "p.pipe", "--history", "0"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(b"many\n" * 20)
        running.stdin.close()
        running.stdout.read(10)
        running.stdout.close()
        err = running.stderr.read()
        assert running.wait(30) == 1
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


# ---- the session


def test_a_session_goes_on(chat: Chat, place: Path) -> None:
    assert chat("--session", "s.json", said="a\n").stdout == f"{echo(0, 'a')}\n"
    assert stat.S_IMODE(Path("s.json").stat().st_mode) == 0o600
    assert chat("--session", "s.json", said="b\n").stdout == f"{echo(2, 'b')}\n"
    assert turns("s.json") == [("user", "a"), ("assistant", echo(0, "a")), ("user", "b"), ("assistant", echo(2, "b"))]
    assert sorted(p.name for p in place.iterdir()) == ["p.pipe", "s.json"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "line 1 column 2"),
        ("[1]", 'no object with a list "history"'),
        ('{"history": 3}', 'no object with a list "history"'),
        ('{"version": 9, "history": []}', "its version is 9, and this program knows version 1"),
        ('{"history": [{"role": "user"}]}', 'history[0] is no object with the texts "role" and "content"'),
        ('{"history": [{"role": "tool", "content": "x"}]}', "history[0].role is 'tool', not user or assistant"),
        (b"\xff\xfe", "can't decode byte"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_broken_session_is_told_and_left_alone(content: str | bytes, why: str, capfd: pytest.CaptureFixture[str]) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    Path("s.json").write_bytes(raw)
    assert main(["chat", "p.pipe", "--session", "s.json", "--question", "a"]) == 2
    err = capfd.readouterr().err
    assert "--session s.json: this is no session of a chat: " in err
    assert why in err
    assert Path("s.json").read_bytes() == raw


def test_places_where_no_session_can_be(place: Path) -> None:
    (place / "folder").mkdir()
    for file, why in ("folder", "this is no file"), (os.devnull, "this is no file"), ("no/where.json", "make the folder"):
        with pytest.raises(Usage, match=why):
            Session(file)


def test_an_empty_file_is_a_new_session_and_other_keys_stay() -> None:
    Path("s.json").touch()
    assert Session("s.json").history == []
    Path("s.json").write_text('\ufeff{"title": "Mine", "history": []}')
    session = Session("s.json")
    assert session.add("a\udc80", "ü") == ""
    assert json.loads(Path("s.json").read_text())["title"] == "Mine"
    assert "ü" in Path("s.json").read_text()
    assert Session("s.json").history == [("user", "a\udc80"), ("assistant", "ü")]


def test_a_link_to_a_session_stays_a_link(place: Path) -> None:
    (place / "deep").mkdir()
    Path("s.json").symlink_to("deep/real.json")
    Session("s.json").add("a", "b")
    assert Path("s.json").is_symlink()
    assert turns("deep/real.json") == [("user", "a"), ("assistant", "b")]


def test_two_chats_on_one_file_lose_nothing() -> None:
    one, two, three = Session("s.json"), Session("s.json"), Session("s.json")
    assert one.add("a", "A") == ""
    told = two.add("b", "B")
    assert re.fullmatch(r"\S+s\.json was changed by another program and is left as it is; .* goes on in \S+s-2\.json", told)
    assert "s-3.json" in three.add("c", "C")
    assert (one.add("d", "D"), two.add("e", "E")) == ("", "")
    assert [text for _, text in turns("s.json")] == ["a", "A", "d", "D"]
    assert [text for _, text in turns("s-2.json")] == ["b", "B", "e", "E"]
    assert [text for _, text in turns("s-3.json")] == ["c", "C"]
    Path("s.json").unlink()
    assert one.clear() == ""
    assert turns("s.json") == []


def test_many_chats_at_once_on_one_file_lose_nothing(place: Path) -> None:
    line = [sys.executable, "-c", (
        "import sys; from rocketride_core.cli.session import Session\n"
        "session = Session('s.json'); print('up', flush=True); sys.stdin.readline()\n"
        "for n in range(20): session.add(f'{sys.argv[1]} {n}', 'x')")]  # fmt: skip
    running = [subprocess.Popen([*line, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for n in range(4)]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "up\n"
    for one in running:
        one.communicate("go\n", timeout=60)
        assert one.returncode == 0
    kept = {tuple(text for role, text in turns(str(file)) if role == "user") for file in place.glob("s*.json")}
    assert kept == {tuple(f"{who} {n}" for n in range(20)) for who in range(4)}


def test_a_write_that_fails_leaves_the_old_file_whole(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session("s.json")
    session.add("a", "A")
    before = Path("s.json").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            session.add("b", "B")
    assert Path("s.json").read_bytes() == before
    assert not list(place.glob(".s.json*"))
    session.add("c", "C")
    assert [text for _, text in turns("s.json")] == ["a", "A", "b", "B", "c", "C"]


def test_a_session_that_cannot_be_kept_is_said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert main(["chat", "p.pipe", "--session", "s.json", "--question", "a"]) == 1
    out, err = capfd.readouterr()
    assert out == f"{echo(0, 'a')}\n"
    assert "the session is not saved: " in err
    assert "No space left on device" in err


def test_recent_turns_begin_with_a_question() -> None:
    session = Session()
    session.history = [("assistant", "Hello"), ("user", "a"), ("assistant", "A"), ("user", "b"), ("assistant", "B")]
    assert session.recent(0) == ()
    assert session.recent(1) == (("user", "b"), ("assistant", "B"))
    assert session.recent(9) == tuple(session.history[1:])


# ---- on a terminal


class Terminal:
    """A chat on a terminal of its own; what it shows is kept."""

    def __init__(self, *words: str, term: str = "dumb", **streams: Any) -> None:
        import pty

        self.handle, theirs = pty.openpty()
        line = [sys.executable, "-c", LEADER, "-m", "rocketride_core.cli", "chat", "p.pipe", *words]
        given = {"stdin": theirs, "stdout": theirs, "stderr": theirs} | streams
        self.process = subprocess.Popen(line, env=os.environ | {"TERM": term}, start_new_session=True, **given)
        os.close(theirs)
        self.seen = ""
        self._from = 0

    def until(self, text: str, seconds: float = 30) -> str:
        """What it showed since the last call, up to this text."""
        end = time.monotonic() + seconds
        while (found := self.seen.find(text, self._from)) < 0:
            ready = select.select([self.handle], [], [], max(0, end - time.monotonic()))[0]
            assert ready, f"no {text!r} in {self.seen[self._from :]!r}"
            try:
                piece = os.read(self.handle, 65536)
            except OSError:  # how Linux says that the other end is closed
                piece = b""
            assert piece, f"it ended without {text!r}: {self.seen[self._from :]!r}"
            self.seen += piece.decode().replace("\r\n", "\n")
        begin, self._from = self._from, found + len(text)
        return self.seen[begin : self._from]

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def ask(self, text: str) -> str:
        """Type a line at the prompt; what is shown until the next prompt, without the line's echo."""
        self.type(f"{text}\n")
        self.until("\n")
        return self.until("\n> ").removesuffix("> ")

    def interrupt(self, told: str) -> str:
        """Ctrl-C at a prompt. One that comes just before the prompt waits for input is seen with the next one only."""
        for _ in range(3):
            time.sleep(0.1)
            self.type("\x03")
            with contextlib.suppress(AssertionError):
                return self.until(told, 5)
        return self.until(told, 5)

    def end(self) -> int:
        try:
            while piece := os.read(self.handle, 65536):
                self.seen += piece.decode()
        except OSError:
            pass
        code = self.process.wait(30)
        assert "Traceback" not in self.seen
        return code


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    pytest.importorskip("pty", reason="terminals are made by POSIX")
    made: list[Terminal] = []

    def go(*words: str, **more: Any) -> Terminal:
        made.append(Terminal(*words, **more))
        return made[-1]

    yield go
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait(30)
        os.close(one.handle)


def test_a_conversation_on_a_terminal(terminal: Callable[..., Terminal]) -> None:
    talk = terminal("--session", "s.json")
    assert "p.pipe: /help shows what you can do here, Ctrl-D leaves\n" in talk.until("\n> ")
    assert talk.ask("a") == f"{echo(0, 'a')}\n\n"
    assert talk.ask("think") == "Let me see.\nIt is so.\n\n"
    assert talk.ask("differs") == "A draft.\n\nThe answer.\n\n"
    assert talk.ask("boom") == "failed: talk_1: it went boom with *** [handler, lane questions]\n\n"
    assert talk.ask("late") == "Half\nfailed: talk_1: the line is dead [handler, lane questions]\n\n"
    assert talk.ask("escape") == "a\N{REPLACEMENT CHARACTER}]0;owned\N{REPLACEMENT CHARACTER}b\n\n"
    talk.type("\n")
    talk.until("> ")
    assert talk.ask(" /exit") == f"{echo(8, '/exit')}\n\n"
    talk.type("\x04")
    assert talk.end() == 0
    assert [text for role, text in turns("s.json") if role == "user"] == ["a", "think", "differs", "escape", "/exit"]


def test_commands(terminal: Callable[..., Terminal]) -> None:
    talk = terminal("--session", "s.json")
    talk.until("\n> ")
    assert "/paste     many lines at once" in talk.ask("/help")
    talk.ask("a")
    assert talk.ask("/history") == f"> a\n{echo(0, 'a')}\n\n"
    assert talk.ask("/clear") == "forgotten\n"
    assert turns("s.json") == []
    assert talk.ask("b") == f"{echo(0, 'b')}\n\n"
    assert talk.ask("/clear all") == (
        "there is no command /clear all; /help shows those there are, a space before it makes it a question\n"
    )
    assert talk.ask("/etc/hosts?") == f"{echo(2, '/etc/hosts?')}\n\n"
    talk.type("/quit\n")
    assert talk.end() == 0


def test_many_lines(terminal: Callable[..., Terminal]) -> None:
    talk = terminal()
    talk.until("\n> ")
    talk.type("one\\\n")
    talk.until("... ")
    assert talk.ask("two") == f"{echo(0, chr(10).join(['one', 'two']))}\n\n"
    for end in "/end\n", "\x04":
        talk.type("/clear\n")
        talk.until("forgotten\n> ")
        talk.type("/paste\n")
        talk.until("... ")
        talk.type("  def f():\n")
        talk.until("... ")
        talk.type("/exit\n")
        talk.until("... ")
        talk.type(end)
        assert echo(0, "  def f():\n/exit") in talk.until("\n> ")
    talk.type("half\\\n")
    talk.until("... ")
    talk.interrupt("Ctrl-C again leaves, and so does Ctrl-D\n> ")
    talk.type("/exit\n")
    assert talk.end() == 0


def test_pasted_lines_are_one_question(terminal: Callable[..., Terminal]) -> None:
    readline = pytest.importorskip("readline", reason="there is no line editing here")
    if "libedit" in (readline.__doc__ or ""):
        pytest.skip("libedit does not know pasting")
    talk = terminal(term="xterm")
    talk.until("> ")
    talk.type("\x1b[200~one\ntwo\x1b[201~\n")
    talk.until(echo(0, "one\ntwo"))
    talk.until("> ")
    talk.interrupt("leaves, and")
    talk.until("> ")
    talk.type("\x04")
    assert talk.end() == 0
    modes = re.findall(r"\x1b\[\?2004([hl])", talk.seen)
    assert modes[-1] == "l", "the terminal is left as it was"


def test_thinking_is_dim_where_the_terminal_can(terminal: Callable[..., Terminal], monkeypatch: pytest.MonkeyPatch) -> None:
    talk = terminal("--question", "think", term="xterm")
    assert talk.end() == 0
    assert "\x1b[2mLet me see.\x1b[0m" in talk.seen
    monkeypatch.setenv("NO_COLOR", "1")
    talk = terminal("--question", "think", term="xterm")
    talk.end()
    assert "\x1b[2m" not in talk.seen
    assert "Let me see." in talk.seen


def test_the_arrow_keys_reach_the_questions_of_the_session(terminal: Callable[..., Terminal]) -> None:
    pytest.importorskip("readline", reason="there is no line editing here")
    Session("s.json").add("what was it", "this")
    talk = terminal("--session", "s.json", term="xterm")
    assert "s.json: 1 question so far" in talk.until("> ")
    talk.type("\x1b[A\n")
    talk.until(echo(2, "what was it"))
    talk.until("> ")
    talk.type("/exit\n")
    assert talk.end() == 0


def test_ctrl_c_cancels_the_answer_only(terminal: Callable[..., Terminal]) -> None:
    talk = terminal("--session", "s.json")
    talk.until("\n> ")
    talk.type("wait\n")
    talk.until("Begun ")
    talk.type("\x03")
    assert "\ncancelled\n" in talk.until("\n> ")
    assert talk.ask("a") == f"{echo(0, 'a')}\n\n"
    talk.type("/exit\n")
    assert talk.end() == 0
    assert [text for _, text in turns("s.json")] == ["a", echo(0, "a")]


def test_a_second_ctrl_c_does_not_wait_for_a_node_that_hangs(terminal: Callable[..., Terminal]) -> None:
    talk = terminal()
    talk.until("\n> ")
    talk.type("hang\n")
    talk.until("Hanging ")
    talk.type("\x03")
    talk.until("Ctrl-C again leaves it alone\n")
    talk.type("\x03")
    assert "cancelled\n" in talk.until("> ")
    assert talk.ask("a") == f"{echo(0, 'a')}\n\n"
    began = time.monotonic()
    talk.type("/exit\n")
    assert talk.end() == 0
    assert time.monotonic() - began < 15


def test_ctrl_c_at_the_prompt(terminal: Callable[..., Terminal]) -> None:
    talk = terminal()
    talk.until("\n> ")
    talk.type("never ask")
    talk.until("never ask")
    talk.interrupt("Ctrl-C again leaves, and so does Ctrl-D\n> ")
    assert talk.ask("a") == f"{echo(0, 'a')}\n\n"
    talk.interrupt("leaves, and so does Ctrl-D\n> ")
    talk.interrupt("\n")
    assert talk.end() == 130


def test_sigterm_leaves_the_terminal_as_it_was(terminal: Callable[..., Terminal]) -> None:
    import termios

    talk = terminal(term="xterm")
    talk.until("> ")
    for _ in range(3):  # as in `interrupt`
        time.sleep(0.1)
        talk.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            talk.process.wait(10)
            break
    assert talk.process.returncode == 130
    assert termios.tcgetattr(talk.handle)[3] & termios.ECHO


def test_answers_into_a_file_while_the_terminal_prompts(terminal: Callable[..., Terminal], place: Path) -> None:
    with (place / "out.txt").open("w") as file:
        talk = terminal(stdout=file)
        talk.until("> ")
        talk.type("think\n")
        talk.until("Let me see.\n")
        talk.until("> ")
        talk.type("\x04")
        assert talk.end() == 0
    assert (place / "out.txt").read_text() == "It is so.\n"


def test_no_terminal_features_are_loaded_for_scripts() -> None:
    code = (
        "import sys; from rocketride_core.cli import main; main(['chat', 'p.pipe', '--question', 'a'])\n"
        "print(sorted({'readline', 'rich', 'asyncio', 'numpy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
