# SPDX-License-Identifier: MIT
"""Problems as SARIF 2.1.0, which code hosts show beside the lines of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rocketride_core import __version__
from rocketride_core.errors import Problem
from rocketride_core.locating import places
from rocketride_core.reading import decode

__all__ = ["sarif"]


def sarif(checked: Mapping[Path, Sequence[Problem]], *, strict: bool = False) -> dict[str, Any]:
    """One run over some files.

    Parameters:
        strict: warnings are errors.
    """
    rules = sorted({p.code for problems in checked.values() for p in problems})
    results = [one for file, problems in checked.items() for one in _results(file, problems, rules, strict)]
    driver = {"name": "rocketride-core", "semanticVersion": __version__, "rules": [{"id": code} for code in rules]}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def _results(file: Path, problems: Sequence[Problem], rules: Sequence[str], strict: bool) -> list[dict[str, Any]]:
    try:
        text = decode(file.read_bytes())
    except OSError:
        text = ""
    found = places(text if isinstance(text, str) else "", {p.path for p in problems})
    return [_result(p, _uri(file), found[p.path], rules.index(p.code), strict) for p in problems]


def _result(problem: Problem, uri: str, place: tuple[int, int], rule: int, strict: bool) -> dict[str, Any]:
    print_of = f"{uri}\n{problem.code}\n{problem.component}\n{problem.path}"
    line, column = place
    text = f"{problem.message}\n{problem.hint}" if problem.hint else problem.message
    logical = {"fullyQualifiedName": problem.path} | ({"name": problem.component} if problem.component else {})
    return {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": "error" if strict or problem.severity == "error" else "warning",
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": line, "startColumn": column},
                },
                "logicalLocations": [logical],
            }
        ],
        "partialFingerprints": {"problem/v1": hashlib.sha256(print_of.encode("utf-8", "replace")).hexdigest()[:32]},
    }


def _uri(file: Path) -> str:
    """Relative where it can be: hosts look for files below the folder that is checked out."""
    try:
        return quote(file.resolve().relative_to(Path.cwd().resolve()).as_posix())
    except ValueError:
        return file.resolve().as_uri()
