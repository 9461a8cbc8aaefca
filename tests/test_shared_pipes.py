# SPDX-License-Identifier: MIT
"""Real files, where they lie beside the clone: none crashes anything, and what is wrong with one is said well."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rocketride_core.pipefile import dump_pipe, inspect_pipe, parse_pipe
from rocketride_core.profiles import resolve
from rocketride_core.spec import NodeSpec, Profile
from rocketride_core.variables import Variables

SHARED = Path(__file__).resolve().parents[2] / "shared"
PIPES = sorted(path for path in (SHARED / "pipes").rglob("*") if path.is_file())
CATALOG = SHARED / "reference" / "catalog.json"
PATH = re.compile(r"\$(\.[\w-]+|\[\d+\]|\[\"(?:[^\"\\]|\\.)*\"\])*")

pytestmark = pytest.mark.skipif(not PIPES, reason="../shared/pipes is not here")


def test_every_file_is_read_and_every_problem_has_path_and_code() -> None:
    codes: Counter[str] = Counter()
    for path in PIPES:
        pipe, problems = inspect_pipe(path)
        for problem in problems:
            assert PATH.fullmatch(problem.path), (path, problem)
            assert re.fullmatch(r"[a-z]+(-[a-z]+)+", problem.code), (path, problem)
            assert problem.message
            assert problem.file == str(path)
            codes[problem.code] += 1
        assert pipe.components or problems or json.loads(path.read_bytes()).get("components") == []
    assert set(codes) <= {"missing-components", "not-a-pipeline", "unknown-source", "unsupported-version"}
    assert sum(codes.values()) < len(PIPES) / 10


def test_every_good_file_survives_a_round_trip() -> None:
    for path in PIPES:
        pipe, problems = inspect_pipe(path)
        if not problems:
            written = dump_pipe(pipe)
            again, problems = parse_pipe(written, pipe.file)
            assert (again, problems) == (pipe, []), path
            assert json.dumps(again.raw) == json.dumps(pipe.raw), path


def test_paths_of_components_lead_to_them() -> None:
    for path in PIPES:
        pipe, _ = inspect_pipe(path)
        for component in pipe.components:
            found: Any = pipe.raw
            for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", component.at):
                found = found[name] if name else found[int(index)]
            assert found is component.raw


def specs() -> dict[str, tuple[NodeSpec, set[str]]]:
    """The nodes of the format's own catalogue: their profiles, and the keys that those set."""
    found: dict[str, tuple[NodeSpec, set[str]]] = {}
    for service in json.loads(CATALOG.read_text())["services"]:
        values: dict[str, dict[str, Any]] = service.get("profiles") or {}
        default = (service.get("preconfig") or {}).get("default")
        order = sorted(values, key=lambda name: name != default)
        profiles = [Profile(id, values[id], deprecated="old" if values[id].get("deprecated") else "") for id in order]
        keys = {key for preset in values.values() for key in preset} | {"apikey"}
        found[service["name"]] = (NodeSpec(service["name"], title=service["title"], profiles=profiles), keys)
    return found


@pytest.mark.skipif(not CATALOG.is_file(), reason="../shared/reference is not here")
def test_every_config_resolves_without_noise() -> None:
    known = specs()
    variables = Variables({}, process={})
    codes: Counter[str] = Counter()
    resolved = 0
    for path in PIPES:
        for component in inspect_pipe(path)[0].components:
            if component.provider in known:
                spec, keys = known[component.provider]
                config, unset = variables.substitute(component.config, f"{component.at}.config")
                found = resolve(spec, config, f"{component.at}.config", keys=keys)
                codes.update(problem.code for problem in found.problems)
                resolved += 1
                assert "profile" not in found.values
                assert not set(found.values) & {profile.id for profile in spec.profiles}
                assert set(found.values) <= set(found.paths)
                assert all(one.path.startswith(f"{component.at}.config") for one in unset)
    assert set(codes) <= {"unknown-profile", "deprecated-profile", "misnamed-block"}
    assert codes["misnamed-block"] >= 5
    assert codes["unknown-profile"] <= resolved / 100
