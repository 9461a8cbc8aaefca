# SPDX-License-Identifier: MIT
"""`rocketride-core graph` as people call it, and over real files where they lie beside the clone."""

from __future__ import annotations

import json
import time
import webbrowser
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from graph_kit import component

from rocketride_core import Kernel
from rocketride_core.cli import main
from rocketride_core.graph import mermaid, picture_of, svg, terminal
from rocketride_core.pipefile import inspect_pipe

PIPES = sorted(path for path in (Path(__file__).resolve().parents[2] / "shared" / "pipes").rglob("*") if path.is_file())


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    components = [component("in_1", "acme_webhook"), component("out_1", "acme_response", ("text", "in_1"))]
    (tmp_path / "a.pipe").write_text(json.dumps({"components": components}))
    return "a.pipe"


def test_text_is_what_it_prints(pipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", pipe]) == 0
    out, err = capsys.readouterr()
    assert "in_1" in out
    assert "└─text─▶ out_1" in out
    assert "\x1b" not in out
    assert err == ""


def test_a_terminal_gets_colours(pipe: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["graph", pipe]) == 0
    assert "\x1b[" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("p.svg", "<svg "),
        ("p.mmd", "flowchart LR"),
        ("p.md", "```mermaid\nflowchart LR"),
        ("p.txt", "a.pipe  2 components"),
        ("P.SVG", "<svg "),
    ],
)
def test_the_ending_says_the_format(pipe: str, name: str, begins: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", pipe, "-o", name]) == 0
    assert Path(name).read_text("utf-8").startswith(begins)
    assert capsys.readouterr().out == ""


def test_the_format_can_be_said(pipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", pipe, "--format", "svg"]) == 0
    out = capsys.readouterr().out
    assert ET.fromstring(out).tag.endswith("svg")
    assert main(["graph", pipe, "-o", "picture", "--format", "svg"]) == 0
    assert Path("picture").read_text("utf-8") == out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "a.png"], "give it one of the endings .svg"),
        (["--open", "--format", "text"], "--open shows an svg, not text"),
        (["-o", "nowhere/a.svg"], "No such file"),
        (["--set", "nobody.x=1"], "no component has the id nobody"),
    ],
)
def test_wrong_words_are_one_sentence(pipe: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", pipe, *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_what_is_no_pipeline_is_told_and_not_drawn(pipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.pipe").write_text("hello: world")
    assert main(["graph", "b.pipe", "-o", "b.svg"]) == 2
    assert "not-a-pipeline" in capsys.readouterr().err
    assert not Path("b.svg").exists()


def test_open_shows_the_file(pipe: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []

    def shown(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", shown)
    assert main(["graph", pipe, "--open", "-o", "a.svg"]) == 0
    assert opened == [Path("a.svg").resolve().as_uri()]
    assert main(["graph", pipe, "--open"]) == 0
    made = Path(capsys.readouterr().err.splitlines()[-1])
    assert made.read_text("utf-8") == Path("a.svg").read_text("utf-8")
    assert opened[1] == made.as_uri()
    made.unlink()
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    assert main(["graph", pipe, "--open", "-o", "a.svg"]) == 1
    assert "no browser was found; the picture is in a.svg" in capsys.readouterr().err


def test_a_chosen_source_is_the_start(pipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", pipe, "--source", "in_1"]) == 0
    assert "● in_1" in capsys.readouterr().out


def test_values_of_variables_are_not_in_it(pipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    components = [component("a", "chat", config={"x": "${ROCKETRIDE_X}", "name": "n"}), component("b", "nobody", ("text", "a"))]
    Path("v.pipe").write_text(json.dumps({"components": components}))
    Path("v.env").write_text("ROCKETRIDE_X=hidden-value-4711\n")
    for kind in ("text", "svg", "mermaid"):
        assert main(["graph", "v.pipe", "--env", "v.env", "--format", kind]) == 0
        assert "4711" not in "".join(capsys.readouterr())


@pytest.mark.skipif(not PIPES, reason="../shared/pipes is not here")
def test_every_real_file_is_drawn() -> None:
    kernel = Kernel(env={})
    drawn, slow = 0, []
    for path in PIPES:
        pipe, problems = inspect_pipe(path)
        problems += [p for p in kernel.check(pipe) if p not in problems]
        began = time.process_time()
        picture = picture_of(pipe, problems, kernel.registry)
        root = ET.fromstring(svg(picture))
        assert mermaid(picture).startswith("flowchart")
        assert terminal(picture)
        spent = time.process_time() - began
        if spent > 1:
            slow.append((path, spent))
        drawn += bool(picture.boxes)
        told = [(title.text or "").partition("\n")[0] for title in root.iter("{http://www.w3.org/2000/svg}title")]
        for box in picture.boxes:
            assert any(line.startswith(f"{box.title} · {box.id} · ") for line in told), (path, box)
        assert len({note.number for note in picture.notes}) == len(picture.notes)
    assert not slow
    assert drawn > len(PIPES) * 0.9
