# SPDX-License-Identifier: MIT
"""Every provider of language models against the same failures, over a socket; their READMEs; and that none needs another."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Component, ControlLink, Entry, Kernel, LaneLink, PipeFile, Question
from rocketride_core.registry import Registry
from rocketride_llm import LLMError, LLMNode
from rocketride_llm.testing import (
    Hang,
    Malformed,
    Say,
    ScriptedServer,
    Step,
    bad_key,
    content_refused,
    rate_limited,
    server_error,
)
from rocketride_llm.testing.kit import End, Source

REPOSITORY = Path(__file__).resolve().parents[1]
PLUGINS = REPOSITORY / "plugins" / "llm"
KEY = "sk-planted-0123456789"


@attrs.frozen(kw_only=True)
class Row:
    """One provider.

    Attributes:
        wire: what the scripted server speaks to it.
        address: the key of the config that takes the server's address.
        extra: further settings.
        refuses: its API says when a question is refused; otherwise a refusal is an answer like any other.
    """

    wire: str = "openai"
    address: str = "base_url"
    extra: Mapping[str, Any] = {}
    refuses: bool = True


ROWS = {
    "llm_anthropic": Row(wire="anthropic"),
    "llm_bedrock": Row(wire="bedrock"),
    "llm_deepseek": Row(),
    "llm_gemini": Row(wire="gemini"),
    "llm_gmi_cloud": Row(),
    "llm_ibm_watson": Row(wire="watsonx", extra={"project_id": "p"}, refuses=False),
    "llm_mistral": Row(wire="mistral", refuses=False),
    "llm_ollama": Row(wire="ollama", address="serverbase", refuses=False),
    "llm_openai": Row(),
    "llm_openai_api": Row(),
    "llm_perplexity": Row(),
    "llm_qwen": Row(),
    "llm_router": Row(),  # with llm_openai_api behind it
    "llm_vertex": Row(wire="gemini"),
    "llm_xai": Row(),
}


@attrs.frozen(kw_only=True)
class Case:
    """What the server does, and what is to come of it.

    Attributes:
        kind: of the error; of the retries where it ends in an answer.
        requests: how many.
        pause: seconds between the first two requests, at least and at most.
    """

    steps: Sequence[Step]
    kind: str
    requests: int
    answer: str = ""
    pause: tuple[float, float] | None = None
    config: Mapping[str, Any] = {}


CASES = {
    "bad key": Case(steps=[bad_key()], kind="authentication", requests=1),
    # Without the header the wait would be the config's 20 s.
    "rate limit": Case(
        steps=[rate_limited(0.2), Say("At last.")],
        kind="rate-limit",
        requests=2,
        answer="At last.",
        pause=(0.2, 10),
        config={"retryDelay": 20},
    ),
    "500 twice": Case(steps=[server_error(500)] * 2 + [Say("At last.")], kind="unavailable", requests=3, answer="At last."),
    "time-out": Case(steps=[Hang(), Hang()], kind="timeout", requests=2, config={"timeout": 0.2, "maxAttempts": 2}),
    "content refused": Case(steps=[content_refused()], kind="refused", requests=1),
    "malformed stream": Case(steps=[Malformed(after_chunks=2)], kind="bad-reply", requests=1),
}


def pipe_for(provider: str, config: Mapping[str, Any]) -> PipeFile:
    """`source → llm → end`; a router has the model behind it."""
    model = Component("llm", provider, config, input=[LaneLink("questions", "source")])
    behind: list[Component] = []
    if provider == "llm_router":
        model = Component("llm", provider, {}, input=[LaneLink("questions", "source")])
        behind = [Component("behind", "llm_openai_api", config, control=[ControlLink("llm", "llm")])]
    ends = [Component("source", "suite_source"), Component("end", "suite_end", input=[LaneLink("answers", "llm")])]
    return PipeFile([ends[0], model, *behind, ends[1]], source="source")


def asked(provider: str, steps: Sequence[Step], **config: Any) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    """`(result, events, requests)` of one question."""
    row = ROWS[provider]
    with ScriptedServer(steps, key=KEY) as server:
        usual = {"model": "m-1", "apikey": KEY, "retryDelay": 0.01, "timeout": 20, "modelOutputTokens": 100}
        config = usual | {row.address: server.base_url(row.wire)} | dict(row.extra) | config
        kernel = Kernel(nodes=[Source, End])
        with kernel.load(pipe_for(provider, config)) as pipeline:
            with pipeline.start(Entry("e"), QUESTIONS(Question.of("What is it?"))) as run:
                events = list(run)
            result = run.result()
        assert not server.unexpected
        return result, events, server.chats


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("provider", ROWS)
def test_failures_have_their_kind_and_number_of_requests(provider: str, name: str) -> None:
    case = CASES[name]
    if name == "content refused" and not ROWS[provider].refuses:
        case = Case(steps=[Say("I will not.", finish="refusal")], kind="", requests=1, answer="I will not.")
    result, events, chats = asked(provider, case.steps, **case.config)
    assert len(chats) == case.requests
    if case.answer:
        assert result.checked()[ANSWERS] == [Answer(case.answer)]
        assert {event.data["kind"] for event in events if event.kind == "retry"} == ({case.kind} if case.kind else set())
    else:
        error = result.error.__cause__
        assert isinstance(error, LLMError), result.error
        assert error.kind == case.kind
        assert KEY not in str(result.error)
    if case.pause:
        assert case.pause[0] <= chats[1].time - chats[0].time <= case.pause[1]


def test_the_table_has_every_provider() -> None:
    projects = [tomllib.loads(path.read_text())["project"] for path in PLUGINS.glob("*/pyproject.toml")]
    names = {name for one in projects for name in one.get("entry-points", {}).get("rocketride.nodes", {})}
    assert names == set(ROWS)
    assert names <= {listing.provider for listing in Registry().listings()}


# --- READMEs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ROWS)
def test_the_example_of_the_readme_runs_against_the_scripted_server(provider: str, tmp_path: Path) -> None:
    """Two variables, the server's address and the key, are all that is set."""
    text = (PLUGINS / provider.removeprefix("llm_") / "README.md").read_text()
    path = tmp_path / "example.pipe"
    path.write_text(re.findall(r"(?ms)^```json\n(.*?)^```$", text)[0])
    names = set(re.findall(r"\$\{(\w+)", path.read_text()))
    assert len(names) == 2
    wire = "anthropic" if provider == "llm_router" else ROWS[provider].wire
    with ScriptedServer([Say("Scripted.")], key=KEY) as server:
        env = {name: server.base_url(wire) if name.endswith("_URL") else KEY for name in names}
        kernel = Kernel(env=env)
        assert not [problem for problem in kernel.check(path) if problem.code != "deprecated-profile"]
        with kernel.load(path) as pipeline:
            result = pipeline.run(Entry("e"), QUESTIONS(Question.of("What is it?"))).checked()
        assert result[ANSWERS] == [Answer("Scripted.")]
        assert [chat.operation for chat in server.chats] == ["chat"]
        assert not server.unexpected


@pytest.mark.parametrize("provider", ROWS)
def test_the_address_in_the_example_need_not_be_set(provider: str, tmp_path: Path) -> None:
    text = (PLUGINS / provider.removeprefix("llm_") / "README.md").read_text()
    path = tmp_path / "example.pipe"
    path.write_text(re.findall(r"(?ms)^```json\n(.*?)^```$", text)[0])
    env = {name: KEY for name in re.findall(r"\$\{(\w+)", path.read_text()) if name.endswith("_KEY")}
    problems = list(Kernel(env=env).check(path))
    assert not problems


# --- the page about models ----------------------------------------------------------------------------------------------


def page() -> Mapping[str, Sequence[str]]:
    """The rows of the table in docs/models.md, by provider."""
    text = (REPOSITORY / "docs" / "models.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `llm_")]
    return {row[0].strip("`"): row[1:] for row in rows if len(row) == 8}


def test_the_page_has_every_provider_with_its_distribution() -> None:
    listed = {one.provider: one.distribution for one in Registry().listings()}
    assert {provider: row[0].strip("`") for provider, row in page().items()} == {provider: listed[provider] for provider in ROWS}


@pytest.mark.parametrize("provider", ROWS)
def test_what_the_page_says_of_a_provider_is_true(provider: str) -> None:
    _, streams, tools, json_mode, vision, exact, _ = page()[provider]
    cls: Any = Registry().find(provider)
    result, events, chats = asked(provider, [Say("one two three")])
    assert result.checked()[ANSWERS] == [Answer("one two three")]
    pieces = [event for event in events if event.kind == "token"]
    assert (streams, chats[0].stream) == ("yes", True)
    assert "".join(str(event.data["text"]) for event in pieces) == "one two three"
    question = Question(("A list?",), expect_json=True)
    assert json_mode == "by asking"
    with ScriptedServer([Say("[1]")], key=KEY) as server:
        row = ROWS[provider]
        config = {"model": "m-1", "apikey": KEY, row.address: server.base_url(row.wire), "modelOutputTokens": 100, **row.extra}
        with Kernel(nodes=[Source, End]).load(pipe_for(provider, config)) as pipeline:
            assert pipeline.run(Entry("e"), QUESTIONS(question)).checked()[ANSWERS] == [Answer([1])]
        sent = json.dumps(server.chats[0].body)
    assert not re.search("response_?format|response_?schema|response_?mime|json_schema|json_object", sent, re.IGNORECASE)
    assert (vision, set(cls.manifest.on)) == ("no", {"questions"})
    if issubclass(cls, LLMNode):
        assert exact.startswith("yes") is cls.exact_tokens
        own = cls.native_tools is not LLMNode.native_tools
        assert tools.startswith("yes") is not own
    else:
        assert (tools, exact) == ("where all have them", "as the first one")


# --- one without the others ---------------------------------------------------------------------------------------------

WITHOUT = """
import contextlib, importlib, io, site, sys
site.addsitedir(sys.argv[1])
from rocketride_core.cli import main
from rocketride_core.registry import Registry
out = io.StringIO()
with contextlib.redirect_stdout(out):
    code = main(["nodes", "list"])
assert code == 0, out.getvalue()
assert "!" not in out.getvalue(), out.getvalue()
registry = Registry()
for name in sys.argv[2:]:
    registry.find(name)
print(*sorted(line.split()[0] for line in out.getvalue().splitlines() if line.startswith("llm_")))
"""


def needing(distribution: str) -> set[str]:
    """Providers whose distribution depends on that one."""
    found = set()
    for path in PLUGINS.glob("*/pyproject.toml"):
        project = tomllib.loads(path.read_text())["project"]
        if any(re.split("[<>=~! ]", need)[0] == distribution for need in project["dependencies"]):
            found |= set(project.get("entry-points", {}).get("rocketride.nodes", {}))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("gone", ROWS)
def test_removing_one_breaks_no_other(gone: str, tmp_path: Path) -> None:
    """A folder of packages that has all but one distribution; what depends on that one by its metadata goes with it."""
    away = {gone} | needing(f"rocketride-{gone.replace('_', '-')}")
    packages = next(Path(folder) for folder in sys.path if folder.endswith("site-packages"))
    (tmp_path / "packages").mkdir()
    for entry in packages.iterdir():
        if not any(re.match(rf"(_editable_impl_)?rocketride_{one}(-.*dist-info|\.pth|$)", entry.name) for one in away):
            (tmp_path / "packages" / entry.name).symlink_to(entry)
    left = sorted(set(ROWS) - away)
    done = subprocess.run(
        [sys.executable, "-S", "-c", WITHOUT, str(tmp_path / "packages"), *left],
        cwd=tmp_path,
        env={"PATH": os.environ.get("PATH", ""), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == left
