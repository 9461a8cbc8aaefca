# SPDX-License-Identifier: MIT
"""What a `.pipe` says, every structural problem of it at once, and writing it back."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core.errors import PipeError, Problem
from rocketride_core.pipefile import (
    Component,
    ControlLink,
    LaneLink,
    PipeFile,
    dump_pipe,
    inspect_pipe,
    link_problems,
    parse_pipe,
    read_pipe,
)

CHAT: dict[str, Any] = {"id": "chat_1", "provider": "chat", "config": {"mode": "Source"}}
OUT: dict[str, Any] = {
    "id": "out",
    "provider": "response_questions",
    "name": "Out",
    "config": {},
    "input": [{"lane": "questions", "from": "chat_1", "branch": 2}, {"lane": "questions", "from": "chat_1"}],
    "ui": {"position": {"x": 1}},
}
TOOL: dict[str, Any] = {"id": "t", "provider": "tool", "config": {}, "control": [{"classType": "tool", "from": "out"}]}
GOOD: dict[str, Any] = {"viewport": {"zoom": 1}, "components": [CHAT, OUT, TOOL], "source": "chat_1", "version": 1, "x": None}


def found(data: Any) -> list[tuple[str, str]]:
    return [(p.path, p.code) for p in parse_pipe(data)[1]]


def test_a_good_file() -> None:
    pipe, problems = parse_pipe(json.dumps(GOOD), "good.pipe")
    assert problems == []
    assert pipe == PipeFile(
        (
            Component("chat_1", "chat", {"mode": "Source"}),
            Component("out", "response_questions", {}, (LaneLink("questions", "chat_1"),) * 2, name="Out"),
            Component("t", "tool", {}, control=(ControlLink("tool", "out"),)),
        ),
        "chat_1",
    )
    assert (pipe.file, pipe.components[1].at) == ("good.pipe", "$.components[1]")
    assert pipe.components[1].input[1].at == "$.components[1].input[1]"
    assert pipe.components[2].control[0].at == "$.components[2].control[0]"
    assert pipe.components[1].raw["ui"] == {"position": {"x": 1}}


@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_wrapped_files_are_the_same_and_paths_say_where(depth: int) -> None:
    data: dict[str, Any] = {"components": [CHAT, {**OUT, "input": [{"lane": "questions", "from": "chat_2"}]}]}
    bare = parse_pipe(data)[0]
    for n in range(depth):
        data = {"id": n, "pipeline": data}
    pipe, problems = parse_pipe(data)
    assert pipe == bare
    root = "$" + ".pipeline" * depth
    assert pipe.components[0].at == f"{root}.components[0]"
    assert [(p.path, p.code) for p in problems] == [(f"{root}.components[1].input[0].from", "dangling-link")]


@pytest.mark.parametrize("extra", [{}, {"source": None}, {"source": ""}, {"version": None}, {"version": 1.0}, {"project_id": 7}])
def test_what_files_leave_out_or_carry_along(extra: dict[str, Any]) -> None:
    pipe, problems = parse_pipe({"components": [{**CHAT, "input": [], "control": None, "name": None}], **extra})
    assert problems == []
    assert (pipe.source, pipe.components[0].name, pipe.components[0].input) == ("", "", ())


def test_an_empty_pipeline_loads() -> None:
    assert parse_pipe('{"components": [], "source": "chat_1"}')[1] == []


def test_all_problems_in_one_go_and_what_is_good_is_kept() -> None:
    pipe, problems = parse_pipe(
        {
            "version": 9,
            "source": "chat_7",
            "components": [
                CHAT,
                "text",
                {"provider": "x", "config": {}},
                {"id": "a", "config": None},
                {**CHAT, "input": {}},
                {"id": "b", "provider": "p", "config": [], "input": [1, {"lane": "", "from": 3}, {"lane": "t", "from": "chat1"}]},
                {"id": "c", "provider": "p", "config": {}, "control": [{"classType": "llm", "from": "nobody"}, {}]},
            ],
        },
        "bad.pipe",
    )
    assert [(p.path, p.code, p.message) for p in problems] == [
        ("$.version", "unsupported-version", "'pipeline.version' is unsupported"),
        ("$.components[1]", "invalid-component", "Component must be an object"),
        ("$.components[2].id", "invalid-component", "Component 'id' must be a non-empty string"),
        ("$.components[3].provider", "invalid-component", "Component a 'provider' must be a non-empty string"),
        ("$.components[3].config", "missing-config", "Component a missing 'config' object"),
        ("$.components[4].input", "invalid-link", "Component chat_1 input must be an array"),
        ("$.components[5].config", "missing-config", "Component b missing 'config' object"),
        ("$.components[5].input[0]", "invalid-link", "Component b input entries must be objects"),
        ("$.components[5].input[1].lane", "invalid-link", "Component b input 'lane' must be a non-empty string"),
        ("$.components[5].input[1].from", "invalid-link", "Component b input 'from' must be a non-empty string"),
        ("$.components[6].control[1].classType", "invalid-link", "Component c control 'classType' must be a non-empty string"),
        ("$.components[6].control[1].from", "invalid-link", "Component c control 'from' must be a non-empty string"),
        ("$.components[4].id", "duplicate-id", "Duplicate component chat_1"),
        ("$.components[5].input[2].from", "dangling-link", "Component b input references unknown component id: chat1"),
        ("$.components[6].control[0].from", "dangling-link", "Component c control references unknown component id: nobody"),
        ("$.source", "unknown-source", "'pipeline.source' references unknown component id: chat_7"),
    ]
    assert {p.file for p in problems} == {"bad.pipe"}
    hints = {p.code: p.hint for p in problems}
    assert hints["duplicate-id"] == "$.components[0] has this id already"
    assert hints["unknown-source"] == "did you mean chat_1?"
    assert [p.hint for p in problems if p.code == "dangling-link"] == ["did you mean chat_1?", ""]
    assert [c.id for c in pipe.components] == ["chat_1", "components[2]", "a", "chat_1", "b", "c"]
    assert pipe.components[4].input == (LaneLink("t", "chat1"),)


@pytest.mark.parametrize(
    ("data", "path", "code", "message"),
    [
        ("[]", "$", "not-a-pipeline", "Pipeline config must be an object"),
        ("null", "$", "not-a-pipeline", "Pipeline config must be an object"),
        ("3", "$", "not-a-pipeline", "Pipeline config must be an object"),
        ("pipeline X:\n  step", "$", "not-a-pipeline", "a JSON object with `components`"),
        ("", "$", "bad-json", "the file is empty"),
        ("{}", "$", "not-a-pipeline", "it has no `components`"),
        ('{"version": 1}', "$", "missing-components", "must be an array"),
        ('{"components": {}}', "$.components", "missing-components", "must be an array"),
        ('{"nodes": [], "edges": []}', "$", "missing-components", "`nodes` and `edges`"),
        ('{"nodes": [{}]}', "$", "missing-components", "`nodes`"),
        ('{"components": [], "nodes": [{"id": 1}]}', "$", "missing-components", "`nodes`"),
        ('{"pipeline": {"nodes": []}}', "$.pipeline", "missing-components", "`nodes`"),
        ('{"a": {"components": []}, "b": {"components": []}}', "$", "not-a-pipeline", "but several: a, b"),
        ('{"components": [], "version": "1.0.0"}', "$.version", "unsupported-version", "must be a number"),
        ('{"components": [], "version": true}', "$.version", "unsupported-version", "must be a number"),
        ('{"components": [], "source": 3}', "$.source", "invalid-source", "must be a non-empty string"),
    ],
)
def test_files_that_are_something_else(data: str, path: str, code: str, message: str) -> None:
    pipe, problems = parse_pipe(data)
    assert [(p.path, p.code) for p in problems] == [(path, code)]
    assert message in problems[0].message
    assert pipe.components == ()


def test_nodes_instead_of_components_shows_a_pipeline_that_loads() -> None:
    for other in ('{"nodes": []}', "pipeline X:\n  step", '{"a": 1}', "[]"):
        hint = parse_pipe(other)[1][0].hint
        example = hint[hint.index("{") :]
        assert len(example.splitlines()) == 3
        assert parse_pipe(example)[1] == []


def test_reading_from_disk(tmp_path: Path) -> None:
    file = tmp_path / "ä.pipe"
    file.write_bytes(json.dumps(GOOD).encode("utf-16"))
    assert read_pipe(file) == read_pipe(str(file)) == parse_pipe(GOOD)[0]
    for bad in (tmp_path / "none.pipe", tmp_path, Path("a\0b")):
        pipe, problems = inspect_pipe(bad)
        assert [(p.path, p.code, p.file) for p in problems] == [("$", "unreadable-file", str(bad))]
        assert pipe.components == ()
        with pytest.raises(PipeError, match="cannot be read"):
            read_pipe(bad)


def test_read_pipe_raises_all_problems_and_passes_over_warnings(tmp_path: Path) -> None:
    file = tmp_path / "x.pipe"
    file.write_text('{"components": [], "components": [1, 2]}')
    with pytest.raises(PipeError, match="2 problems") as caught:
        read_pipe(file)
    assert [p.code for p in caught.value.problems] == ["duplicate-key", "invalid-component", "invalid-component"]
    file.write_text('{"version": 1, "version": 1, "components": []}')
    assert read_pipe(file).components == ()


@pytest.mark.parametrize("wrap", [0, 2])
def test_a_round_trip_keeps_everything(wrap: int) -> None:
    data: dict[str, Any] = GOOD
    for n in range(wrap):
        data = {"id": n, "pipeline": data, "after": n}
    pipe = parse_pipe(json.dumps(data))[0]
    assert dump_pipe(pipe) == json.dumps(data, indent=2) + "\n"


def test_writing_a_changed_file_changes_only_that() -> None:
    pipe = parse_pipe({"pipeline": GOOD, "id": 3})[0]
    moved = attrs.evolve(pipe.components[1], config={"laneName": "é"}, input=pipe.components[1].input[:1])
    changed = attrs.evolve(pipe, components=[moved, pipe.components[0]], source="")
    written = json.loads(dump_pipe(changed))
    expected_out = {**OUT, "config": {"laneName": "é"}, "input": [{"lane": "questions", "from": "chat_1", "branch": 2}]}
    assert written == {"pipeline": {**GOOD, "source": "", "components": [expected_out, CHAT]}, "id": 3}
    assert list(written["pipeline"]) == list(GOOD)
    assert "é" in dump_pipe(changed)
    assert parse_pipe(written)[0] == changed


def test_a_pipeline_made_in_code_is_placed_checked_and_written_bare() -> None:
    pipe = PipeFile([Component("a", "chat"), Component("b", "out", input=[LaneLink("questions", "c")])], "z")
    assert [c.at for c in pipe.components] == ["$.components[0]", "$.components[1]"]
    assert [(p.path, p.code) for p in link_problems(pipe)] == [
        ("$.components[1].input[0].from", "dangling-link"),
        ("$.source", "unknown-source"),
    ]
    written = json.loads(dump_pipe(pipe))
    assert list(written) == ["version", "source", "components"]
    assert parse_pipe(written)[0] == pipe
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_pipe(PipeFile([Component("a", "chat", {"x": float("nan")})]))


def test_a_component_that_has_a_place_keeps_it() -> None:
    assert PipeFile([Component("a", "chat", at="$.components[7]")]).components[0].at == "$.components[7]"


def test_no_config_in_the_repr() -> None:
    pipe = parse_pipe({"components": [{**CHAT, "config": {"apikey": "sk-1234"}}]})[0]
    assert "sk-1234" not in repr(pipe)


def test_a_problem_reads_well() -> None:
    problem = parse_pipe({"components": [{**CHAT, "input": [{"lane": "a", "from": "chat_2"}]}]})[1][0]
    assert str(problem) == (
        "$.components[0].input[0].from: Component chat_1 input references unknown component id: chat_2 [dangling-link] "
        "(did you mean chat_1?)"
    )
    assert isinstance(problem, Problem)
