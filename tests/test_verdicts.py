# SPDX-License-Identifier: MIT
"""Real files, where they lie beside the clone, against verdicts made by reading each of them.

`verdicts.json` has the files and what is wrong with each: code and component, `~` before a warning. It supposes that every
node of this repository is installed, and that all variables are set. What stands in brackets is no longer expected when a node
of that name is there: `(ocr)` the provider, `(parse.image)` one that emits on that lane.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocketride_core import Kernel, Problem
from rocketride_core.errors import PluginError
from rocketride_core.pipefile import inspect_pipe
from rocketride_core.registry import Registry, UnknownProvider

PIPES = Path(__file__).resolve().parents[2] / "shared" / "pipes"
VERDICTS: Mapping[str, list[str]] = json.loads((Path(__file__).parent / "verdicts.json").read_text())
JSON_PATH = re.compile(r"\$(\.[\w-]+|\[\d+\]|\[\"(?:[^\"\\]|\\.)*\"\])*")
# What keeps a file from loading that is the file's own fault, or that only an installation can cure.
FORGIVEN = {"unknown-provider", "ambiguous-source", "unset-variable"} | {  # wirings that are really wrong:
    *("unknown-lane", "no-embedding", "reversed-control", "shared-with-main", "two-owners", "no-source", "unknown-source"),
}

pytestmark = pytest.mark.skipif(not PIPES.is_dir(), reason="../shared/pipes is not here")


def everything() -> dict[str, str]:
    """Every variable of the files, each with a value such as its name asks for."""
    texts = (path.read_text("utf-8") for path in PIPES.rglob("*") if path.is_file())
    names = {name for text in texts for name in re.findall(r"\$\{(ROCKETRIDE_\w+)", text)}
    return {name: "6333" if name.endswith("PORT") else "https://host.example/v1" if "URL" in name else "v-4711" for name in names}


def there(what: str) -> bool:
    provider, _, lane = what.partition(".")
    try:
        cls = Registry().find(provider)
    except (UnknownProvider, PluginError):
        return False
    return not lane or lane in {out.name for out in cls.manifest.outs}


@pytest.fixture(scope="module")
def expected() -> dict[str, set[str]]:
    known = {what: there(what) for lines in VERDICTS.values() for line in lines for what in re.findall(r"\((.+)\)", line)}
    return {
        name: {line.partition(" (")[0] for line in lines if not any(known[w] for w in re.findall(r"\((.+)\)", line))}
        for name, lines in VERDICTS.items()
    }


def line(problem: Problem) -> str:
    return f"{'~' if problem.severity == 'warning' else ''}{problem.code} {problem.component}".strip()


def check(kernel: Kernel, path: Path) -> list[Problem]:
    problems = list(kernel.check(path))
    for problem in problems:
        assert JSON_PATH.fullmatch(problem.path), problem
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", problem.code), problem
        assert problem.message, problem
        assert "Traceback" not in problem.message + problem.hint, problem
        assert problem.file == str(path)
    return problems


def test_every_file_has_its_verdict(expected: Mapping[str, set[str]]) -> None:
    kernel = Kernel(env=everything())
    found = {str(path.relative_to(PIPES)): path for path in sorted(PIPES.rglob("*")) if path.is_file()}
    assert set(found) == set(VERDICTS)
    wrong, bad, whole = [], [], 0
    for name, path in found.items():
        problems = check(kernel, path)
        said = {line(problem) for problem in problems}
        errors = sorted(one for one in said if not one.startswith("~"))
        print(f"{name}: {'; '.join(errors) if errors else 'loads'}{f' ({len(said) - len(errors)} warnings)' if said else ''}")
        if said != expected[name]:
            wrong.append((name, {"only said": sorted(said - expected[name]), "only expected": sorted(expected[name] - said)}))
        if inspect_pipe(path)[0].components or '"components": []' in path.read_text("utf-8"):
            whole += 1
            bad += [name] if any(p.severity == "error" and p.code not in FORGIVEN for p in problems) else []
    assert not wrong, "\n".join(f"{name}: {difference}" for name, difference in wrong)
    print(f"{whole - len(bad)} of {whole} files with components load but for what is not installed or really wrong")
    assert len(bad) <= whole * 0.05, bad


def test_without_variables_the_same_and_the_unset_ones() -> None:
    with_all, with_none = Kernel(env=everything()), Kernel(env={})
    counted: Counter[str] = Counter()
    for path in sorted(PIPES.rglob("*")):
        if path.is_file():
            before, after = check(with_all, path), check(with_none, path)
            more = {line(p).lstrip("~") for p in after} - {line(p).lstrip("~") for p in before}
            uses = {c.id for c in inspect_pipe(path)[0].components if "${ROCKETRIDE_" in json.dumps(c.raw["config"])}
            assert more <= {f"unset-variable {id}" for id in uses}, path
            counted.update(p.severity for p in after if p.code == "unset-variable")
    assert counted["error"] > 500
