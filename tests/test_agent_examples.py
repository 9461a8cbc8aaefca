# SPDX-License-Identifier: MIT
"""The agents of the examples: one with an HTTP tool, one that researches the demo's documents; both over a real socket, from the shell and from Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import ANSWERS, QUESTIONS, TAGS, Blob, Entry, Kernel, Question
from rocketride_llm.testing import Request, Say, ScriptedServer, load_script

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ASKED = "Which models are there?"


def variables(server: ScriptedServer, **more: str) -> dict[str, str]:
    return {"ROCKETRIDE_LLM_URL": server.base_url("openai"), "ROCKETRIDE_LLM_MODEL": "scripted", **more}


def chat(*words: str, env: dict[str, str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rocketride_core.cli", *words]
    return subprocess.run(
        command, env={**os.environ, **env}, input=stdin, capture_output=True, text=True, timeout=120, check=False
    )


def script(server: ScriptedServer) -> None:
    """The example's script, at the port of this server."""
    for rule in load_script(EXAMPLES / "agent-script.json").rules:
        step: Any = rule.step
        server.script.add_rules(
            [type(rule)(rule.match, Say(step.text.replace("127.0.0.1:8123", server.url[7:])), times=rule.times)]
        )


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        (["--set", "http_1.allowPrivateAddresses=true"], "offers one model, and it plays a script."),
        ([], "I may not read private addresses"),
    ],
)
def test_the_agent_answers_from_the_scripted_server(settings: list[str], answer: str) -> None:
    with ScriptedServer() as server:
        script(server)
        done = chat("run", str(EXAMPLES / "agent.pipe"), "--question", ASKED, *settings, env=variables(server))
        assert done.returncode == 0, done.stderr
        assert answer in done.stdout
        assert not server.unexpected
        assert len(server.chats) == 2


def test_the_agent_has_no_problem_but_its_variables(capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("agent.pipe", "research.pipe"):
        problems = Kernel(env={}).check(EXAMPLES / name)
        assert {(problem.code, problem.component) for problem in problems} == {("unset-variable", "llm_1")}, problems


def test_a_conversation_with_the_agent_streams_its_final_answer_alone(tmp_path: Path) -> None:
    """The second question reaches the model together with the first and its answer; nothing of the reasoning is printed."""
    with ScriptedServer(rules=[("", Say("Thought: I know.\nAnswer: It is fine."))]) as server:
        words = ["chat", str(EXAMPLES / "agent.pipe"), "--stream", "--session", str(tmp_path / "s.json")]
        done = chat(*words, env=variables(server), stdin="How is it?\nAnd now?\n")
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["It", "is", "fine."] * 2
        assert not server.unexpected
        assert "How is it?" in server.chats[1].prompt
        assert "It is fine." in server.chats[1].prompt
        assert all(request.stream for request in server.chats)
    assert json.loads((tmp_path / "s.json").read_text())


@pytest.mark.slow
def test_the_research_agent_answers_from_the_demo_s_documents(tmp_path: Path) -> None:
    """agent_llamaindex over tool_pipe: embedding, Chroma, documents. What the model is given comes out of the real store."""
    store = {"ROCKETRIDE_DEMO_STORE": str(tmp_path / "store")}

    def answer(request: Request) -> Say:
        if request.number == 1:
            return Say('Thought: I look.\nAction: observatory_1.run_pipe\nAction Input: {"data": "Who founded the observatory?"}')
        found = "Edith Marlowe" in request.prompt
        return Say(
            f"Thought: I have it.\nAnswer: {'history.txt names Edith Marlowe.' if found else 'The documents do not tell.'}"
        )

    with Kernel(env=store).load(EXAMPLES / "index.pipe") as pipeline:
        path = EXAMPLES / "documents" / "history.txt"
        pipeline.run(Entry(path.name, path=path.name), TAGS(Blob.of(path))).checked()
    with (
        ScriptedServer(rules=[("", answer)]) as server,
        Kernel(env=variables(server, **store)).load(EXAMPLES / "research.pipe") as pipeline,
    ):
        result = pipeline.run(Entry("q"), QUESTIONS(Question.of("Who founded it?"))).checked()
        assert not server.unexpected
    assert "history.txt names" in result[ANSWERS][0].text
