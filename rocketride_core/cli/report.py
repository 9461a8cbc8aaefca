# SPDX-License-Identifier: MIT
"""Problems for people: aligned lines, and one command that installs what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rocketride_core.errors import Problem
from rocketride_core.registry import PIP

__all__ = ["lines", "missing", "tame"]

WIDEST = 40, 72  # columns of path and message: longer ones push the rest to the right instead of breaking


def lines(problems: Sequence[Problem], file: str = "", *, strict: bool = False) -> list[str]:
    """The report of one file: its name with the count, then two lines a problem (path, message, code; the hint below)."""
    name = file or next((p.file for p in problems if p.file), "pipeline")
    if not problems:
        return [f"{name}: ok"]
    errors = sum(strict or p.severity == "error" for p in problems)
    counts = [_count(errors, "problem")] if errors else ["ok"]
    if errors < len(problems):
        counts.append(_count(len(problems) - errors, "warning"))
    path = min(max(len(p.path) for p in problems), WIDEST[0])
    text = min(max(len(p.message) for p in problems), WIDEST[1])
    out = [f"{name}: {', '.join(counts)}"]
    for p in problems:
        code = p.code if strict or p.severity == "error" else f"{p.code} (warning)"
        out.append(f"  {p.path:{path}}  {p.message:{text}}  {code}")
        out += [f"  {'':{path}}  {line}" for line in p.hint.splitlines()]
    return [tame(line) for line in out]


def tame(line: str) -> str:
    """Without characters that command a terminal, which ids and lanes of a strange file may have."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\u2066-\u2069]", "\ufffd", line)


def missing(problems: Iterable[Problem]) -> list[str]:
    """The distributions that hints say to install, each once, in alphabetical order."""
    found = {p.hint.removeprefix(PIP).partition("\n")[0] for p in problems if p.hint.startswith(PIP)}
    return sorted(word for line in found for word in line.split() if not word.startswith("-"))


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
