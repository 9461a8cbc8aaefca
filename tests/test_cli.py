# SPDX-License-Identifier: MIT
"""`rocketride-core` as people call it: in this process, and as one of its own where signals, time and exit codes are at stake."""

from __future__ import annotations

import io
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketride_core.cli import main
from rocketride_core.names import Names

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import fake_site

NODES = """
import time
import attrs
from rocketride_core import *
from rocketride_core import TABLE, TAGS, source

class In(Node[None]):
    spec = NodeSpec("cli_in", title="In", categories=["source"], emits=[TEXT, TAGS])

class Ask(Node[None]):
    spec = NodeSpec("cli_ask", title="Ask", categories=["source"], emits=[QUESTIONS])

@attrs.frozen(kw_only=True)
class WorkConfig:
    suffix: str = setting("", title="Suffix", doc="Put behind every text.")
    port: int = setting(1, ge=1, le=65535, unit="none")

class Work(Node[WorkConfig]):
    spec = NodeSpec(
        "cli_work", title="Work", description="Shouts.", profiles=[Profile("plain", {}), Profile("loud", {"suffix": "!"})]
    )

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        if "boom" in text:
            raise ValueError("it went boom")
        if text.startswith("sleep"):
            time.sleep(float(text.split()[1]))
        instance.emit(TEXT, text.upper() + self.config.suffix)

    @on(TAGS, emits=[TEXT])
    def tags(self, instance: Instance, blob: Blob) -> None:
        self.text(instance, f"{blob.mime_type}:{blob.size}")

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        instance.count("input_tokens", 2)
        instance.emit(ANSWERS, Answer(f"You asked: {question.texts[0]}"))

class Out(Node[None]):
    spec = NodeSpec("cli_out", title="Out", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))

    @on(ANSWERS)
    def answer(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))

class Sink(Node[None]):
    spec = NodeSpec("cli_sink", title="Sink", stores=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None: ...

class Tick(Node[None]):
    spec = NodeSpec("cli_tick", title="Tick", categories=["source"])

    @source(emits=[TEXT])
    def tick(self, feed: Feed) -> None:
        feed.ready("ticking")
        number = 0
        while not feed.stopping(0.05):
            number += 1
            feed.submit(Entry(f"tick {number}"), TEXT("boom" if number == 2 else f"tick {number}"))

class Twice(Node[None]):
    spec = NodeSpec("cli_twice", title="Twice", categories=["source"])

    @source(emits=[TEXT])
    def twice(self, feed: Feed) -> None:
        for number in (1, 2):
            feed.submit(Entry(f"n{number}"), TEXT(f"n{number}"))

class Refuses(Node[None]):
    spec = NodeSpec("cli_refuses", title="Refuses")

    @hookimpl
    def begin_global(self) -> None:
        raise ConnectionError("nobody listens at localhost:1")

    @hookimpl
    def check_global(self) -> list[Problem]:
        return [Problem("$", "unreachable", "nobody listens at localhost:1")]

    @on(TEXT, emits=[TEXT])
    @on(TAGS, emits=[TEXT])
    def any(self, instance: Instance, payload: object) -> None: ...
"""
PROVIDERS = {
    "cli_in": "In", "cli_ask": "Ask", "cli_work": "Work", "cli_out": "Out",
    "cli_sink": "Sink", "cli_tick": "Tick", "cli_twice": "Twice", "cli_refuses": "Refuses",
}  # fmt: skip
PLUGIN = """
from rocketride_core import hookimpl

def greet(args, kernel):
    print(f"hello {args.who} from {type(kernel).__name__}")
    return 7

@hookimpl
def add_commands(commands):
    commands.add("greet", greet, help="Say hello.", arguments=lambda parser: parser.add_argument("who"))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    nodes = [(provider, f"cli_site_nodes:{cls}") for provider, cls in PROVIDERS.items()]
    fake_site.add(folder, "rocketride-cli-nodes", nodes=nodes, modules={"cli_site_nodes": NODES})
    fake_site.age(folder)
    return folder


@pytest.fixture
def place(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory; the nodes are installed."""
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    # Known to have these providers, and certain not to be installed.
    known, absent = Names.pip, {"absent_llm": "rocketride-absent-llm", "absent_store": "rocketride-absent-store"}
    monkeypatch.setattr(Names, "pip", lambda self, provider: absent.get(provider) or known(self, provider))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def pipe(*providers: str, name: str = "p.pipe", lane: str = "text", **config: Any) -> str:
    """A line of these providers, written to a file; `config` is the second component's."""
    components: list[dict[str, Any]] = []
    for number, provider in enumerate(providers):
        one: dict[str, Any] = {"id": f"{provider}_{number}", "provider": provider, "config": config if number == 1 else {}}
        if components:
            lanes = (
                ["text", "tags"]
                if number == 1 and lane == "text"
                else ["answers"]
                if lane == "questions" and number > 1
                else [lane]
            )
            one["input"] = [{"lane": each, "from": components[-1]["id"]} for each in lanes]
        components.append(one)
    Path(name).write_text(json.dumps({"components": components}))
    return name


def shout(**config: Any) -> str:
    return pipe("cli_in", "cli_work", "cli_out", **config)


def files(**texts: str) -> None:
    for name, text in texts.items():
        file = Path("in", f"{name}.txt")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "rocketride_core.cli", *words]


@pytest.fixture
def start(site: Path, place: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(Path(__file__).parents[1])]), "PYTHONUNBUFFERED": "1"}

    def go(*words: str, **more: Any) -> subprocess.Popen[str]:
        given: dict[str, Any] = {"stdout": subprocess.PIPE, **more}
        one = subprocess.Popen(command(*words), env=env, stderr=subprocess.PIPE, text=True, **given)
        running.append(one)
        return one

    go.env = env  # type: ignore[attr-defined]
    yield go
    for one in running:
        if one.poll() is None:
            one.kill()
        one.communicate()


# ---- run


def test_files_of_a_folder_each_with_its_result(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(b="two", a="one")
    assert main(["run", shout(), "in", "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert out == "== in/a.txt\nONE\n\n== in/b.txt\nTWO\n\n"
    assert "2 objects, 0 failed in" in err


def test_one_file_prints_only_its_response(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one")
    assert main(["run", shout(), "in/a.txt"]) == 0
    assert capsys.readouterr() == ("ONE\n", "")


def test_a_type_without_a_lane_of_its_own_goes_to_tags(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.pdf").write_bytes(b"12345")
    assert main(["run", shout(), "x.pdf"]) == 0
    assert capsys.readouterr().out == "APPLICATION/PDF:5\n"


def test_without_a_response_there_is_a_line_for_each(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one", b="two")
    assert main(["run", pipe("cli_in", "cli_work", "cli_sink"), "in", "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[:2] == ["ok      in/a.txt", "ok      in/b.txt"]


def test_a_failing_object_is_reported_and_the_rest_goes_on(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one", b="boom", c="three")
    assert main(["run", shout(), "in", "--workers", "1"]) == 1
    out, err = capsys.readouterr()
    assert "ONE" in out
    assert "THREE" in out
    assert "failed  in/b.txt: cli_work_1: it went boom [handler, lane text]" in err
    assert "3 objects, 1 failed in" in err
    assert "Traceback" not in err


def test_json_lines(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one", b="boom")
    assert main(["run", shout(), "in", "--json"]) == 1
    out, _ = capsys.readouterr()
    lines = {line["name"]: line for line in map(json.loads, out.splitlines())}
    assert lines["a.txt"]["text"] == ["ONE\n\n"]
    assert lines["a.txt"]["path"] == "in"
    assert lines["a.txt"]["metadata"]["size"] == 3
    assert lines["b.txt"]["error"]["component"] == "cli_work_1"


def test_questions(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asking = pipe("cli_ask", "cli_work", "cli_out", lane="questions")
    assert main(["run", asking, "--question", "Why?"]) == 0
    assert capsys.readouterr().out == "You asked: Why?\n"
    assert main(["run", asking, "--question", "A?", "--question", "B?", "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert out == "== Question 1\nYou asked: A?\n\n== Question 2\nYou asked: B?\n\n"
    assert "used: input_tokens 4" in err


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"piped"))
    assert main(["run", shout(), "-"]) == 0
    assert capsys.readouterr().out == "PIPED\n"
    monkeypatch.setattr(sys, "stdin", Stdin(b"Why?\n"))
    assert main(["run", pipe("cli_ask", "cli_work", "cli_out", lane="questions"), "-"]) == 0
    assert capsys.readouterr().out == "You asked: Why?\n"


def test_a_file_that_no_lane_takes_fails_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.pdf").write_bytes(b"12345")
    assert main(["run", pipe("cli_ask", "cli_work", "cli_out", lane="questions"), "x.pdf", "--question", "Why?"]) == 1
    out, err = capsys.readouterr()
    assert "You asked: Why?" in out
    assert "failed  x.pdf: cli_ask_0 has no lane for x.pdf (application/pdf); wired lanes: questions" in err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user who may not read everything")
def test_a_file_that_may_not_be_read_fails_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one", b="two")
    Path("in/a.txt").chmod(0)
    assert main(["run", shout(), "in"]) == 1
    out, err = capsys.readouterr()
    assert "TWO" in out
    assert "failed  in/a.txt: " in err


def test_settings_for_this_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one")
    assert main(["run", shout(), "in", "--set", "cli_work_1.suffix=?"]) == 0
    assert capsys.readouterr().out == "ONE?\n"
    assert main(["run", shout(profile="loud"), "in"]) == 0
    assert capsys.readouterr().out == "ONE!\n"
    assert main(["run", shout(profile="loud", loud={"suffix": "#"}), "in", "--set", "cli_work_1.suffix=2"]) == 0
    assert capsys.readouterr().out == "ONE2\n"
    assert main(["run", shout(), "in", "--set", "cli_work_1.port=0"]) == 2
    assert "must be at least 1" in capsys.readouterr().err
    assert main(["run", shout(), "in", "--set", "nobody.x=0"]) == 2
    assert "no component has the id nobody" in capsys.readouterr().err


def test_variables_of_a_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one")
    Path("my.env").write_text("ROCKETRIDE_SUFFIX=+\n")
    varied = shout(suffix="${ROCKETRIDE_SUFFIX}")
    assert main(["run", varied, "in", "--env", "my.env"]) == 0
    assert capsys.readouterr().out == "ONE+\n"
    assert main(["run", varied, "in"]) == 2
    assert "unset-variable" in capsys.readouterr().err
    assert main(["run", varied, "in", "--env", "no.env"]) == 2
    assert "--env no.env: No such file" in capsys.readouterr().err


def test_a_source_among_several(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one")
    shout()
    data = json.loads(Path("p.pipe").read_text())
    data["components"] += [
        {"id": "other", "provider": "cli_in", "config": {}},
        {"id": "out2", "provider": "cli_out", "config": {}, "input": [{"lane": "text", "from": "other"}]},
    ]
    Path("p.pipe").write_text(json.dumps(data))
    assert main(["run", "p.pipe", "in"]) == 2
    assert "ambiguous-source" in capsys.readouterr().err
    assert main(["run", "p.pipe", "in", "--source", "other"]) == 0
    assert capsys.readouterr().out == "one\n"


def test_a_broken_file_shows_its_report(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one")
    assert main(["run", pipe("cli_in", "cli_wrok", "cli_out"), "in"]) == 2
    err = capsys.readouterr().err
    assert "p.pipe: " in err
    assert "no installed node provides 'cli_wrok'" in err
    assert "did you mean 'cli_work'?" in err
    Path("bad.pipe").write_text('{"components": [\n  {"id": }]}')
    assert main(["run", "bad.pipe", "in"]) == 2
    assert "line 2, column" in capsys.readouterr().err
    assert main(["run", "nope.pipe", "in"]) == 2
    assert "unreadable-file" in capsys.readouterr().err


def test_a_node_that_cannot_begin(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one")
    assert main(["run", pipe("cli_in", "cli_refuses", "cli_out"), "in"]) == 1
    err = capsys.readouterr().err
    assert "nobody listens at localhost:1" in err
    assert "[begin]" in err
    assert "Traceback" not in err


def test_nothing_to_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", shout()]) == 2
    err = capsys.readouterr().err
    assert "name files, folders or - for standard input" in err
    assert main(["run", shout(), "nowhere.txt"]) == 2
    assert "there is no file or folder nowhere.txt" in capsys.readouterr().err


def test_an_empty_folder_is_no_error(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["run", shout(), "empty"]) == 0
    assert "0 objects, 0 failed" in capsys.readouterr().err


def test_a_source_that_fetches_by_itself(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", serving("cli_twice")]) == 0
    out, err = capsys.readouterr()
    assert sorted(line for line in out.splitlines() if line.startswith("N")) == ["N1", "N2"]
    assert "2 objects, 0 failed in" in err


def serving(provider: str) -> str:
    components = [
        {"id": "source", "provider": provider, "config": {}},
        {"id": "work", "provider": "cli_work", "config": {}, "input": [{"lane": "text", "from": "source"}]},
        {"id": "out", "provider": "cli_out", "config": {}, "input": [{"lane": "text", "from": "work"}]},
    ]
    Path("serve.pipe").write_text(json.dumps({"components": components}))
    return "serve.pipe"


def test_a_time_limit_for_each_object(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="sleep 0.5", b="quick")
    assert main(["run", shout(), "in", "--timeout", "0.1"]) == 1
    out, err = capsys.readouterr()
    assert "QUICK" in out
    assert "in/a.txt" in err
    assert "more than 0.1 s" in err


def test_traces(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files(a="one")
    assert main(["run", shout(), "in", "--trace", "calls", "--trace-to", "t.jsonl"]) == 0
    records = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert [record["kind"] for record in records] == ["entry", "handler", "handler"]
    assert records[1]["component"] == "cli_work_1"
    capsys.readouterr()
    assert main(["run", shout(), "in", "--trace", "payloads"]) == 0
    out, err = capsys.readouterr()
    assert out == "ONE\n"
    assert [json.loads(line) for line in err.splitlines()]
    assert main(["run", shout(), "in", "--trace-to", "t.jsonl"]) == 2
    assert "--trace-to FILE needs --trace" in capsys.readouterr().err
    assert main(["run", shout(), "in", "--trace", "calls", "--trace-to", "no/where"]) == 2
    assert "--trace-to no/where: No such file" in capsys.readouterr().err


# ---- check


def test_check_a_good_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", shout()]) == 0
    assert capsys.readouterr().out == "p.pipe: ok\n"


def test_check_says_everything_and_what_to_install(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = pipe("cli_in", "absent_store", "absent_llm", "nonsense_zzz", name="broken.pipe")
    assert main(["check", broken, shout()]) == 2
    out = capsys.readouterr().out
    assert out.startswith("broken.pipe: ")
    assert "$.components[1].provider" in out
    assert "$.components[3].provider" in out
    assert "p.pipe: ok" in out
    assert out.endswith("\n  pip install rocketride-absent-llm rocketride-absent-store\n")


def test_check_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = pipe("cli_in", "absent_store", name="broken.pipe")
    assert main(["check", broken, shout(), "--json"]) == 2
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["file"], first["ok"], first["install"]) == ("broken.pipe", False, ["rocketride-absent-store"])
    problem = next(p for p in first["problems"] if p["code"] == "unknown-provider")
    assert set(problem) == {"path", "code", "message", "hint", "component", "severity"}
    assert second == {"file": "p.pipe", "ok": True, "problems": [], "install": []}


def test_check_strict_makes_warnings_errors(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warned = pipe("cli_in", "cli_work")
    assert main(["check", warned]) == 0
    assert "(warning)" in capsys.readouterr().out
    assert main(["check", warned, "--strict"]) == 2
    assert "(warning)" not in capsys.readouterr().out


def test_check_probes_only_when_asked(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refusing = pipe("cli_in", "cli_refuses", "cli_out")
    main(["check", refusing])
    assert "unreachable" not in capsys.readouterr().out
    assert main(["check", refusing, "--probe"]) == 2
    assert "nobody listens at localhost:1" in capsys.readouterr().out


def test_check_takes_folders_settings_and_a_source(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pipes/deep").mkdir(parents=True)
    pipe("cli_in", "cli_work", "cli_out", name="pipes/deep/a.pipe")
    pipe("cli_in", "cli_work", "cli_out", name="pipes/b.pipe")
    assert main(["check", "pipes"]) == 0
    assert capsys.readouterr().out == f"{Path('pipes/b.pipe')}: ok\n{Path('pipes/deep/a.pipe')}: ok\n"
    assert main(["check", "pipes", "--set", "cli_work_1.port=70000"]) == 2
    assert "must be at most 65535" in capsys.readouterr().out
    assert main(["check", "pipes", "--source", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().out
    Path("none").mkdir()
    assert main(["check", "none"]) == 2
    assert "there is no .pipe file in none" in capsys.readouterr().err


# ---- nodes, schema, help


def test_nodes_list_imports_none(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cli_site_nodes", raising=False)
    assert main(["nodes", "list"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert {line.split()[0]: line.split()[1:] for line in shown if line.startswith("cli_")} == {
        provider: ["rocketride-cli-nodes", "1.0"] for provider in PROVIDERS
    }
    assert "cli_site_nodes" not in sys.modules
    assert main(["nodes", "--json"]) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [one] = [line for line in listed if line["provider"] == "cli_work"]
    assert one == {
        "kind": "node",
        "provider": "cli_work",
        "target": "cli_site_nodes:Work",
        "distribution": "rocketride-cli-nodes",
        "version": "1.0",
        "problem": "",
    }


def test_nodes_show(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nodes", "show", "cli_work"]) == 0
    out = capsys.readouterr().out
    for line in (
        "cli_work: Work",
        "  Shouts.",
        "  from: rocketride-cli-nodes 1.0",
        "    text -> text",
        "    questions -> answers",
        "    plain (default)",
        '    suffix  (str; default "")  Put behind every text.',
        "    port  (int in none; default 1; at least 1; at most 65535)",
    ):
        assert line in out.splitlines()
    assert main(["nodes", "show", "cli_tick"]) == 0
    assert "  source: active, emits text" in capsys.readouterr().out
    assert main(["nodes", "show", "cli_work", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["lanes"] == {"text": ["text"], "tags": ["text"], "questions": ["answers"]}
    assert facts["schema"]["properties"]["port"]["maximum"] == 65535


def test_nodes_show_of_what_is_not_there(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nodes", "show", "absent_store"]) == 2
    assert "no installed node provides 'absent_store'; try: pip install rocketride-absent-store" in capsys.readouterr().err
    assert main(["nodes", "show"]) == 2
    assert main(["nodes", "list", "cli_work"]) == 2


def test_the_schema_has_the_installed_nodes(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "cli_work" in json.dumps(schema)
    assert main(["schema", "--output", "s.json"]) == 0
    assert json.loads(Path("s.json").read_text()) == schema
    assert main(["schema", "--output", "no/where/s.json"]) == 2


def test_version_and_help(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import rocketride_core

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rocketride-core {rocketride_core.__version__}\n"
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"    {word} " in out for word in ("run", "check", "nodes", "schema"))
    assert main(["run", "--help"]) == 0
    assert "--question TEXT" in capsys.readouterr().out
    assert main([]) == 2
    assert main(["--nonsense"]) == 2


def test_rescan_reads_what_is_installed_anew(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nodes"]) == 0
    [file] = [file for file in (place.parent / "cache" / "rocketride-core").iterdir() if "cli_work" in file.read_text()]
    file.write_text(file.read_text().replace("cli_work", "cli_lost"))
    capsys.readouterr()
    main(["nodes"])
    assert "cli_lost" in capsys.readouterr().out
    main(["nodes", "--rescan"])
    assert "cli_lost" not in capsys.readouterr().out


def test_commands_of_plugins(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    fake_site.add(
        place.parent / "more", "rocketride-greet", plugins=[("greeter", "cli_greeter")], modules={"cli_greeter": PLUGIN}
    )
    monkeypatch.syspath_prepend(str(place.parent / "more"))
    assert main(["--help"]) == 0
    assert "Installed plugins: greeter" in capsys.readouterr().out
    assert "cli_greeter" not in sys.modules
    assert main(["help"]) == 0
    assert "  greet  Say hello." in capsys.readouterr().out
    assert main(["greet", "you"]) == 7
    assert capsys.readouterr().out == "hello you from Kernel\n"
    assert main(["gret", "you"]) == 2
    assert "there is no command 'gret'; did you mean greet?" in capsys.readouterr().err
    sys.modules.pop("cli_greeter")


def test_a_broken_host_plugin_stops_runs_with_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_site.add(
        place.parent / "more", "rocketride-guard", plugins=[("guard", "cli_guard")], modules={"cli_guard": "raise OSError('x')"}
    )
    monkeypatch.syspath_prepend(str(place.parent / "more"))
    files(a="one")
    assert main(["run", shout(), "in"]) == 2
    assert "rocketride-guard 1.0 cannot be imported: cli_guard raised OSError: x" in capsys.readouterr().err
    assert main(["nodes"]) == 0


def test_a_traceback_only_when_asked(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketride_core.cli import nodes

    def fail(args: object) -> int:
        raise ZeroDivisionError("ours, with sesame-open")

    monkeypatch.setattr(nodes, "execute", fail)
    assert main(["nodes"]) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: ours" in err
    assert "Traceback" not in err
    monkeypatch.setenv("ROCKETRIDE_WORD", "sesame-open")
    assert main(["nodes", "--debug"]) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "in fail" in err
    assert err.count("ours, with ***") == 3  # the line of code, the exception, and the sentence
    assert "sesame" not in err


# ---- as a process


def rest(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it still says after lines were read; `communicate` would lose what is buffered already."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    process.wait(60)
    return out, err


def test_exit_codes_of_the_process(start: Callable[..., subprocess.Popen[str]]) -> None:
    files(a="one", b="boom")
    program = shout()
    assert start("run", program, "in/a.txt").wait(60) == 0
    failing = start("run", program, "in")
    assert failing.wait(60) == 1
    assert start("run", program).wait(60) == 2
    assert start("nodes").wait(60) == 0


def test_ctrl_c_finishes_what_is_begun(start: Callable[..., subprocess.Popen[str]]) -> None:
    files(**{f"f{n:02}": "sleep 0.4" for n in range(40)})
    running = start("run", shout(), "in", "--workers", "2", "--json")
    assert running.stdout is not None
    first = running.stdout.readline()
    running.send_signal(signal.SIGINT)
    out, err = rest(running)
    done = [json.loads(line) for line in [first, *out.splitlines()]]
    assert running.returncode == 1
    assert all("error" not in one for one in done)
    assert 2 <= len(done) < 20
    assert "Ctrl-C again stops at once" in err
    assert f"stopped: {len(done)} objects, 0 failed, {40 - len(done)} not done in" in err
    assert "Traceback" not in err


def test_the_second_ctrl_c_stops_at_once(start: Callable[..., subprocess.Popen[str]]) -> None:
    files(quick="quick", slow="sleep 30")
    running = start("run", shout(), "in", "--workers", "1", "--json")
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(signal.SIGINT)
    assert running.stderr is not None
    assert "stopping" in running.stderr.readline()
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    _, err = rest(running)
    assert running.returncode == 130
    assert time.monotonic() - began < 10
    assert "stopped: 1 object, 0 failed, 1 not done in" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_serving_source_ends_by_signal(start: Callable[..., subprocess.Popen[str]], name: str) -> None:
    running = start("run", serving("cli_tick"))
    assert running.stdout is not None
    seen = ""
    while "TICK 3" not in seen:
        line = running.stdout.readline()
        assert line, running.communicate()[1]
        seen += line
    running.send_signal(getattr(signal, name))
    _, err = rest(running)
    assert running.returncode == 1
    assert "failed  tick 2: work: it went boom [handler, lane text]" in err
    assert "1 failed in" in err
    assert "Traceback" not in err


def test_a_terminal_gets_a_bar_and_the_results_stay_apart(start: Callable[..., subprocess.Popen[str]]) -> None:
    pty = pytest.importorskip("pty", reason="terminals are made by POSIX")
    files(a="one", b="boom", c="three")
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command("run", shout(), "in"),
        env=start.env,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,  # type: ignore[attr-defined]
    )
    os.close(theirs)
    assert running.stdout is not None
    out, shown = running.stdout.read(), b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    assert running.wait(60) == 1
    running.stdout.close()
    assert "== in/a.txt\nONE\n" in out
    assert "\x1b" not in out
    assert b"3/3" in shown
    assert b"1 failed" in shown
    assert b"failed  in/b.txt" in shown
    assert b"ok      " not in shown


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is of Linux")
def test_a_full_disk_is_no_error_of_ours(start: Callable[..., subprocess.Popen[str]]) -> None:
    with Path("/dev/full").open("w") as full:
        running = start("nodes", stdout=full)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 1
    assert said.splitlines() == [
        "rocketride-core: nothing more can be written: No space left on device; make room, or write somewhere else"
    ]


def test_a_reader_that_leaves_is_no_error_of_ours(start: Callable[..., subprocess.Popen[str]]) -> None:
    files(**{f"f{n:03}": "x" * 5000 for n in range(100)})
    running = start("run", shout(), "in")
    assert running.stdout is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr is not None
    err = running.stderr.read()
    running.wait(60)
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


@pytest.mark.slow
@pytest.mark.parametrize("words", [("--help",), ("nodes", "list"), ("--version",)])
def test_light_commands_are_quick_with_many_plugins(tmp_path: Path, words: tuple[str, ...]) -> None:
    site = fake_site.fill(tmp_path / "site", 100, 50)
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(site), str(Path(__file__).parents[1])]),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    resource = pytest.importorskip("resource", reason="CPU time of children is asked of POSIX")
    # A busy machine takes more CPU time for the same work: the limit grows with what plain imports take, 70 ms when it is idle.
    yardstick = [sys.executable, "-c", "import attrs, cattrs, pluggy, json"]
    taken: dict[str, list[float]] = {"ours": [], "plain": []}
    for _ in range(6):
        for name, line in (("plain", yardstick), ("ours", command(*words))):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(line, env=env, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    ours, plain = (statistics.median(times[1:]) for times in (taken["ours"], taken["plain"]))
    assert ours < 0.3 * max(1, plain / 0.07)


@pytest.mark.parametrize("words", [("--help",), ("nodes",), ("--version",)])
def test_light_commands_import_nothing_heavy(start: Callable[..., subprocess.Popen[str]], words: tuple[str, ...]) -> None:
    code = (
        "import sys; from rocketride_core.cli import main; main(sys.argv[1:])\n"
        "heavy = {'rich', 'asyncio', 'numpy', 'importlib.metadata', 'cattrs', 'rocketride_core.kernel', 'cli_site_nodes'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1])])}
    done = subprocess.run([sys.executable, "-c", code, *words], env=env, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
