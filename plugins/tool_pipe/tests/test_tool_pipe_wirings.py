# SPDX-License-Identifier: MIT
"""The example files of sub-pipelines: which run, and which are refused, with which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Entry, Kernel, PipeError, Question
from rocketride_core.pipefile import read_pipe

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
WIRINGS = EXAMPLES / "wirings"

pytestmark = pytest.mark.skipif(not WIRINGS.is_dir(), reason="the examples are not beside this distribution")


def shared(node: str) -> str:
    return (
        f'Control node "Pipeline Tool" (pipe_1) reaches node "Prompt" ({node}) that the main flow owns; '
        "a control node's sub-pipeline must not be shared with the main pipeline or another start"
    )


REFUSED = {
    "second-start-feeds-head": ("shared-with-main", shared("head_1")),
    "second-start-feeds-middle": ("shared-with-main", shared("middle_1")),
    "merge-into-main": ("shared-with-main", shared("main_1")),
    "shared-between-two": (
        "two-owners",
        (
            'Pipeline node "Prompt" (shared_1) is reachable from two control roots ( "Pipeline Tool" (pipe_1) and '
            '"Pipeline Tool" (pipe_2) ) - a node has exactly one lifecycle owner'
        ),
    ),
    "data-fed": ("unknown-lane", "Component pipe_1 input lane questions not found in service definition"),
    "own-tool": ("control-cycle", "control cycle: agent_1"),
    "reversed-control": ("reversed-control", "agent_1 lists what it calls; the list belongs on the called component"),
}
LEGAL = {
    "wirings/two-agents-one-tool.pipe": ["Shall we? of the first", "Shall we? of the second"],
    "wirings/two-tools-one-agent.pipe": ["Shall we?\nShall we?\nShall we?, again"],
    "wirings/one-llm-everywhere.pipe": ["Shall we?", "Shall we? by agent_1 and agent_3", "Shall we? by agent_2"],
    "wirings/nested.pipe": ["Shall we?, deeper"],
    "wirings/two-starts-one-flow.pipe": ["Shall we?"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_wiring_says_why(name: str) -> None:
    path = WIRINGS / f"refused-{name}.pipe"
    assert [(p.code, p.message, p.severity) for p in Kernel(env={}).check(path)] == [(*REFUSED[name], "error")]
    with pytest.raises(RuntimeError) as refused, Kernel(env={}).load(path):
        pass
    assert isinstance(refused.value, PipeError)
    assert REFUSED[name][1] in str(refused.value)


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_wiring_runs(name: str) -> None:
    assert Kernel(env={}).check(EXAMPLES / name) == []
    assert answered(name) == LEGAL[name]


def answered(name: str) -> list[str]:
    with Kernel(env={}).load(EXAMPLES / name) as pipeline:
        return [a.text for a in pipeline.run(Entry("x"), QUESTIONS(Question.of("Shall we?"))).checked()[ANSWERS]]


def test_every_wiring_has_a_test() -> None:
    names = {path.relative_to(EXAMPLES).as_posix() for path in WIRINGS.glob("*.pipe")}
    assert names == {name for name in LEGAL if "/" in name} | {f"wirings/refused-{name}.pipe" for name in REFUSED}


def test_the_diamond_weighs_both_sides_once() -> None:
    assert Kernel(env={}).check(EXAMPLES / "tool-pipe-diamond.pipe") == []
    [answer] = answered("tool-pipe-diamond.pipe")
    for part in ("speaks for it", "speaks against it", "Weigh both sides", "Shall we?"):
        assert answer.count(part) == 1


def test_the_nested_example_answers_level_by_level() -> None:
    assert Kernel(env={}).check(EXAMPLES / "tool-pipe-nested.pipe") == []
    [answer] = answered("tool-pipe-nested.pipe")
    assert answer.startswith("agent_1 learned: agent_2 learned: ")
    for part in ("speaks for it", "speaks against it", "Weigh both sides", "Shall we?, in depth"):
        assert answer.count(part) == 1


def test_the_examples_run_with_any_llm_and_agent() -> None:
    """Beside its script each agent has the instructions that another agent reads, and each tool says what it is for."""
    for name in ("tool-pipe-diamond.pipe", "tool-pipe-nested.pipe"):
        for component in read_pipe(EXAMPLES / name).components:
            if component.provider == "test_agent":
                assert component.config["instructions"]
            if component.provider == "tool_pipe":
                assert component.config["tool_description"]
