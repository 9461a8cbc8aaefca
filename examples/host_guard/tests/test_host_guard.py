# SPDX-License-Identifier: MIT
import logging
from collections.abc import Generator
from typing import Any

import pytest

from rocketride_core import (
    ANSWERS,
    MANY,
    TEXT,
    TOOL,
    Answer,
    Arguments,
    Entry,
    Instance,
    Json,
    Kernel,
    Node,
    NodeSpec,
    ToolDenied,
    ToolError,
    hookimpl,
    on,
    tool,
)
from rocketride_core.pipefile import Component, ControlLink, LaneLink, PipeFile
from rocketride_host_guard import LOGGER, VARIABLE, Absent, Guard, from_environment

CALLED: list[str] = []


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLED.clear()
    monkeypatch.delenv(VARIABLE, raising=False)


class Source(Node[None]):
    spec = NodeSpec("guard_source", title="Source", categories=["source"], emits=[TEXT])


class Files(Node[None]):
    spec = NodeSpec("guard_files", title="Files")

    @tool
    def read(self, instance: Instance, path: str) -> str:
        """Reads a file."""
        CALLED.append(f"{self.id}.read")
        return f"content of {path}"

    @tool(timeout=20)
    def delete(self, instance: Instance, path: str) -> None:
        """Deletes a file."""
        CALLED.append(f"{self.id}.delete")


class Asker(Node[None]):
    """Calls the tools that the text names, and tells what came of each."""

    spec = NodeSpec("guard_asker", title="Asker", needs={TOOL: MANY}, responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        found = instance.tools.call_all([(name, {"path": "secret.txt"}) for name in text.split()])
        told = [f"{type(one).__name__}: {one}" if isinstance(one, ToolError) else one for one in found]
        instance.respond("found", ANSWERS(Answer(told)))


class Within(Node[None]):
    """A tool that runs a sub-pipeline."""

    spec = NodeSpec("guard_within", title="Within", emits=[TEXT])

    @tool
    def run(self, instance: Instance, text: str = "files_1.delete", path: str = "") -> Json:
        """Runs it."""
        with instance.nested() as child:
            child.send(TEXT(text))
            return list(child.result().checked()[ANSWERS][0].content)  # type: ignore[arg-type]


PIPE = PipeFile(
    [
        Component("source_1", "guard_source"),
        Component("asker_1", "guard_asker", input=[LaneLink("text", "source_1")]),
        Component("files_1", "guard_files", control=[ControlLink("tool", "asker_1"), ControlLink("tool", "asker_2")]),
        Component("files_2", "guard_files", control=[ControlLink("tool", "asker_1")]),
        Component("within_1", "guard_within", control=[ControlLink("tool", "asker_1")]),
        Component("asker_2", "guard_asker", input=[LaneLink("text", "within_1")]),
    ],
    source="source_1",
)


def ask(text: str, *plugins: object) -> Any:
    with Kernel(nodes=[Source, Files, Asker, Within], plugins=plugins).load(PIPE) as pipeline:
        (answer,) = pipeline.run(Entry("ticket-7"), TEXT(text)).checked()[ANSWERS]
        return answer.content


def test_tools_on_the_list_are_called_and_others_are_not() -> None:
    found = ask("files_1.read files_1.delete files_2.read", Guard(["files_1.read"]))
    assert found == [
        "content of secret.txt",
        "ToolDenied: files_1.delete is not allowed on this host; allowed tools: files_1.read",
        "ToolDenied: files_2.read is not allowed on this host; allowed tools: files_1.read",
    ]
    assert CALLED == ["files_1.read"]


@pytest.mark.parametrize(
    ("allow", "called"),
    [
        (["*"], ["files_1.read", "files_1.delete", "files_2.read"]),
        (["*.read"], ["files_1.read", "files_2.read"]),
        (["files_?.delete"], ["files_1.delete"]),
        (["files_[13].*", "files_2.r*"], ["files_1.read", "files_1.delete", "files_2.read"]),
        ([" files_1.read "], ["files_1.read"]),
        (["FILES_1.read", "files_1", "read"], []),
        ([], []),
    ],
)
def test_patterns(allow: list[str], called: list[str]) -> None:
    ask("files_1.read files_1.delete files_2.read", Guard(allow))
    assert sorted(CALLED) == sorted(called)


def test_an_empty_list_says_so() -> None:
    assert ask("files_1.read", Guard([])) == ["ToolDenied: files_1.read is not allowed on this host; allowed tools: none"]


def test_a_tool_that_is_allowed_lets_nothing_else_in_through_its_sub_pipeline() -> None:
    (found,) = ask("within_1.run", Guard(["within_1.run"]))
    assert found == ["ToolDenied: files_1.delete is not allowed on this host; allowed tools: within_1.run"]
    assert CALLED == []
    ask("within_1.run", Guard(["within_1.run", "files_1.delete"]))
    assert CALLED == ["files_1.delete"]


def test_denials_are_logged_without_the_values_of_arguments(caplog: pytest.LogCaptureFixture) -> None:
    ask("files_1.read files_1.delete", Guard(["*.read"]))
    (line,) = [record.message for record in caplog.records if record.name == LOGGER.name]
    assert line == "denied files_1.delete(path) for ticket-7"
    assert caplog.records[-1].levelno == logging.WARNING


def test_other_host_plugins_do_not_see_what_is_denied() -> None:
    seen: list[str] = []

    class Audit:
        @hookimpl(wrapper=True)
        def invoke_tool(self, name: str, arguments: Arguments) -> Generator[None, Json, Json]:
            seen.append(name)
            return (yield)

    for plugins in ([Audit(), Guard(["files_1.*"])], [Guard(["files_1.*"]), Audit()]):
        seen.clear()
        ask("files_1.read files_2.read", *plugins)
        assert seen == ["files_1.read"]


def test_the_environment_says_it_for_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs the distribution to be installed, as in every checkout of this repository."""
    assert ask("files_1.delete") == [None]
    monkeypatch.setenv(VARIABLE, "*.read,within_1.run")
    assert "not allowed" in ask("files_1.delete")[0]
    assert ask("files_1.read") == ["content of secret.txt"]
    monkeypatch.setenv(VARIABLE, "")
    assert "not allowed" in ask("files_1.read")[0]


@pytest.mark.parametrize(
    ("told", "allow"), [({}, None), ({VARIABLE: ""}, ()), ({VARIABLE: " , "}, ()), ({VARIABLE: "a.b, c.*,"}, ("a.b", "c.*"))]
)
def test_reading_the_environment(told: dict[str, str], allow: tuple[str, ...] | None) -> None:
    found = from_environment(told)
    assert (found.allow if isinstance(found, Guard) else None) == allow
    assert isinstance(found, Absent) == (allow is None)


@pytest.mark.parametrize(("allow", "message"), [("search_1.*", r"write Guard\(\['search_1"), (["a.b", " "], "empty pattern")])
def test_a_wrong_list_is_refused(allow: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Guard(allow)


def test_a_denial_is_a_tool_error_with_the_tools_name() -> None:
    denied = ToolDenied("no", tool="a.b")
    assert isinstance(denied, ToolError)
    assert not Guard(["a.*"]).allows("b.a")
