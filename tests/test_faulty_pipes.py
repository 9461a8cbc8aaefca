# SPDX-License-Identifier: MIT
"""Ten faulty files: everything that is wrong with each comes in one go, with path, code, message and hint, three ways."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from rocketride_core import Kernel, PipeError, Problem
from rocketride_core.cli import main
from rocketride_core.pipefile import parse_pipe

FAULTY = Path(__file__).parent / "faulty"

Row = tuple[str, str, str, str, str]  # component, path, code, message, first line of the hint

C = "$.components"
NAMES = "it takes 3 to 512 letters, digits, '.', '_' or '-', beginning and ending with a letter or digit, without '..', and not an IP address"
LINKS = "remove one of these links"
CONFIG = 'write "config": {}'

ERRORS: dict[str, list[Row]] = {
    "unknown-lane": [
        (
            "chunker_1",
            f"{C}[2].input[1].lane",
            "unknown-lane",
            "Component chunker_1 input lane txt not found in service definition",
            "it accepts: text, table",
        ),
    ],
    "unknown-provider": [
        (
            "embedding_1",
            f"{C}[1].provider",
            "unknown-provider",
            "no installed node provides 'embedding_transfomer'",
            "did you mean 'embedding_transformer'?",
        ),
        (
            "store_1",
            f"{C}[2].provider",
            "unknown-provider",
            "no installed node provides 'no_such_store'",
            "",
        ),
        (
            "prompt_1",
            f"{C}[4].input[0].from",
            "dangling-link",
            "Component prompt_1 input references unknown component id: chat_2",
            "did you mean chat_1?",
        ),
        ("prompt_1", f"{C}[4].config.instructions", "invalid-value", "expected a list of str or str, got int 7", ""),
    ],
    "duplicate-id": [
        ("prompt_1", f"{C}[2].id", "duplicate-id", "Duplicate component prompt_1", f"{C}[1] has this id already"),
        ("prompt_1", f"{C}[3].id", "duplicate-id", "Duplicate component prompt_1", f"{C}[1] has this id already"),
    ],
    "dangling-from": [
        (
            "llm_1",
            f"{C}[1].input[0].from",
            "dangling-link",
            "Component llm_1 input references unknown component id: chat_l",
            "did you mean chat_1?",
        ),
        (
            "llm_2",
            f"{C}[2].control[0].from",
            "dangling-link",
            "Component llm_2 control references unknown component id: the_agent",
            "",
        ),
        (
            "answers_1",
            f"{C}[3].input[1].from",
            "dangling-link",
            "Component answers_1 input references unknown component id: somewhere",
            "",
        ),
        ("", "$.source", "unknown-source", "'pipeline.source' references unknown component id: chat", "did you mean chat_1?"),
    ],
    "port-cycle": [
        (
            "prompt_1",
            f"{C}[1].input[1]",
            "port-cycle",
            "Cycle detected in pipeline: prompt_1-[questions]->prompt_2-[questions]->prompt_3-[questions]->prompt_1",
            LINKS,
        ),
        ("shout_1", f"{C}[4].input[0]", "port-cycle", "Cycle detected in pipeline: shout_1-[text]->shout_1", LINKS),
    ],
    "missing-config": [
        ("chat_1", f"{C}[0].config", "missing-config", "Component chat_1 missing 'config' object", CONFIG),
        (
            "embedding_1",
            f"{C}[1].config.model",
            "missing-value",
            "a value for 'model' (Model) is missing",
            'write "model": …',
        ),
        ("store_1", f"{C}[2].config", "missing-config", "Component store_1 missing 'config' object", CONFIG),
        ("out_1", f"{C}[3].config", "missing-config", "Component out_1 missing 'config' object", CONFIG),
    ],
    "wrong-type": [
        (
            "parse_1",
            f"{C}[1].config.tables",
            "invalid-value",
            "must be one of 'auto', 'table', 'both', got 'never'",
            "",
        ),
        ("parse_1", f"{C}[1].config.max_seconds", "invalid-value", "must be at least 0.1 s, got 0.05", ""),
        ("parse_1", f"{C}[1].config.max_memory", "invalid-value", "expected int, got bool true", ""),
        ("chunker_1", f"{C}[2].config.recursive.strlen", "invalid-value", "expected int, got str 'many'", ""),
        ("chunker_1", f"{C}[2].config.recursive.overlap", "invalid-value", "must be at least 0, got -1", ""),
        (
            "embedding_1",
            f"{C}[3].config.profile",
            "unknown-profile",
            "Profile miniAI is not defined in embedding_transformer",
            "did you mean miniAll? it has: miniLM, miniAll, mpnet, custom",
        ),
        ("store_1", f"{C}[4].config.local.port", "invalid-value", "expected int, got str 'local'", ""),
        (
            "store_1",
            f"{C}[4].config.local.collection",
            "invalid-value",
            "the collection's name is not one that Chroma Vector Store takes",
            NAMES,
        ),
        ("store_1", f"{C}[4].config.local.apikey", "invalid-value", "expected str, got a list", ""),
    ],
    "bad-json": [
        ("", "$", "bad-json", "bad JSON at line 6, column 29: a comma or a closing bracket is missing here", ""),
    ],
    "two-sources": [
        (
            "",
            C,
            "ambiguous-source",
            "choose a source: chat_1, webhook_1",
            'write "source": "chat_1" into the file, or choose one when you run it',
        ),
    ],
    "nodes-not-components": [
        ("", "$.version", "unsupported-version", "'pipeline.version' must be a number", "write 1"),
        ("", "$.source", "invalid-source", "'pipeline.source' must be a non-empty string", ""),
        (
            "",
            "$",
            "missing-components",
            "'pipeline.components' must be an array; the file has `nodes` and `edges`",
            "write a list `components`, each with its inputs:",
        ),
    ],
}
# Warnings that a reader must get too; what follows from an error may bring more.
WARNINGS: dict[str, list[Row]] = {
    "unknown-lane": [
        (
            "response_2",
            f"{C}[4].input[0].lane",
            "silent-edge",
            "response_2 does not take 'table' from parse_1",
            "it accepts: text",
        ),
    ],
    "unknown-provider": [
        ("spare_1", f"{C}[5].provider", "unknown-provider", "no installed node provides 'no_such_thing_at_all'", ""),
    ],
    "duplicate-id": [
        (
            "answers_1",
            f"{C}[4].input[0].lane",
            "silent-edge",
            "prompt_1 never emits 'answers', which answers_1 waits for",
            "it emits: questions",
        ),
    ],
}

every_file = pytest.mark.parametrize("name", ERRORS)


def row(problem: Problem) -> Row:
    return problem.component, problem.path, problem.code, problem.message, problem.hint.partition("\n")[0]


def path_of(name: str) -> Path:
    return FAULTY / f"{name}.pipe"


def test_there_are_ten() -> None:
    assert sorted(path.stem for path in FAULTY.iterdir()) == sorted(ERRORS)
    assert len(ERRORS) == 10


@every_file
def test_check_says_everything_at_once(name: str) -> None:
    problems = Kernel().check(path_of(name))
    assert sorted(row(p) for p in problems if p.severity == "error") == sorted(ERRORS[name])
    assert set(WARNINGS.get(name, [])) <= {row(p) for p in problems if p.severity == "warning"}
    assert len({(p.path, p.code) for p in problems}) == len(problems), "a problem is told twice"
    assert {p.file for p in problems} == {str(path_of(name))}


@every_file
def test_load_refuses_it_with_the_same_problems(name: str) -> None:
    kernel = Kernel()
    with pytest.raises(PipeError) as caught, kernel.load(path_of(name)):
        pass
    assert list(caught.value.problems) == list(kernel.check(path_of(name)))
    text = str(caught.value)
    for _, path, code, message, _ in ERRORS[name]:
        assert path in text
        assert code in text
        assert message in text


@every_file
def test_the_command_line_says_the_same(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", str(path_of(name))]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["file"], told["ok"]) == (str(path_of(name)), False)
    expected = [{key: getattr(p, key) for key in told["problems"][0]} for p in Kernel().check(path_of(name))]
    order = [sorted(listed, key=str) for listed in (told["problems"], expected)]
    assert order[0] == order[1]

    assert main(["check", str(path_of(name))]) == 2
    lines = capsys.readouterr().out.splitlines()
    count = len(ERRORS[name])
    assert lines[0].startswith(f"{path_of(name)}: {count} problem{'' if count == 1 else 's'}")
    text = "\n".join(lines)
    for _, path, code, message, hint in ERRORS[name]:
        [_] = [line for line in lines if line.split()[:1] == [path] and message in line and line.endswith(code)]
        assert not hint or hint in text


@every_file
def test_run_refuses_it_before_anything_is_sent(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(path_of(name)), "--question", "Is anyone there?"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    for _, path, code, message, _ in ERRORS[name]:
        assert any(line.split()[:1] == [path] and message in line and line.endswith(code) for line in said.err.splitlines())
    assert "Traceback" not in said.err


def test_all_files_in_one_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(FAULTY)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == [
        line for name in sorted(ERRORS) for line in lines if line.startswith(f"{path_of(name)}: ")
    ]


def test_what_is_missing_ends_the_report_as_one_line_to_copy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocketride_core.registry.installed", lambda *args, **kwargs: [])
    examples = FAULTY.parents[1] / "examples"
    assert main(["check", str(examples / "index.pipe"), str(examples / "ask.pipe")]) == 2
    out = capsys.readouterr().out
    assert out.count("try: pip install rocketride-store-chroma") == 2
    assert out.splitlines()[-1] == (
        "  pip install rocketride-embedding-transformer rocketride-ocr rocketride-parse rocketride-preprocessor-langchain "
        "rocketride-response rocketride-sources rocketride-store-chroma"
    )


def test_strict_refuses_a_warning(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pipe = json.loads(path_of("unknown-lane").read_text())
    del pipe["components"][2]["input"][1]
    path = tmp_path / "warned.pipe"
    path.write_text(json.dumps(pipe))
    assert main(["check", str(path)]) == 0
    assert "silent-edge (warning)" in capsys.readouterr().out
    assert main(["check", "--strict", str(path)]) == 2


def test_choosing_a_source_heals_the_file_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    path = path_of("two-sources")
    for source in ("chat_1", "webhook_1"):
        assert [p for p in Kernel().check(path, source=source) if p.severity == "error"] == []
        assert main(["run", str(path), "--source", source, "--question", f"Is it {source}?"]) == 0
        assert capsys.readouterr().out.strip() == f"Is it {source}?"


def test_the_example_in_the_hint_runs() -> None:
    [problem] = [p for p in Kernel().check(path_of("nodes-not-components")) if p.code == "missing-components"]
    example = problem.hint[problem.hint.index("{") :]
    pipe, problems = parse_pipe(example)
    assert problems == []
    assert Kernel().check(pipe) == []


@pytest.mark.parametrize("name", sorted(set(ERRORS) - {"bad-json", "nodes-not-components", "port-cycle", "duplicate-id"}))
def test_the_order_of_components_changes_only_the_paths(name: str) -> None:
    pipe = json.loads(path_of(name).read_text())
    expected = sorted((p.component, p.code, p.message) for p in Kernel().check(path_of(name)) if p.code != "ambiguous-source")
    dice = random.Random(7)
    for _ in range(5):
        dice.shuffle(pipe["components"])
        found = Kernel().check(parse_pipe(json.dumps(pipe))[0])
        said = {(p.component, p.code, p.message) for p in found if p.code != "ambiguous-source"}
        # What only the text of a file shows is not in a PipeFile.
        assert said == {one for one in expected if one[1] != "missing-config"}


def test_no_secret_is_told() -> None:
    assert "s3cret" in path_of("wrong-type").read_text()
    assert "s3cret" not in str(Kernel().check(path_of("wrong-type")))
