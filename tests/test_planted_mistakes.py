# SPDX-License-Identifier: MIT
"""Both type checkers find every mistake planted in tests/typing, and nothing else.

A line that must be refused ends in `# E1 what is wrong`. A file without such a line must pass whole.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
FILES = sorted((REPOSITORY / "tests" / "typing").glob("*.py"))


def planted(path: Path) -> set[int]:
    return {number for number, line in enumerate(path.read_text().splitlines(), 1) if re.search(r"# E\d+\b", line)}


def mypy(path: Path) -> dict[int, str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty", "--hide-error-context", str(path)]
    printed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert printed.returncode in (0, 1), printed.stdout + printed.stderr
    found = re.findall(rf"{re.escape(path.name)}:(\d+): error: (.*)", printed.stdout)
    assert len(found) == printed.stdout.count(": error: "), f"mypy found errors elsewhere:\n{printed.stdout}"
    return {int(line): message for line, message in found}


def pyright(path: Path) -> dict[int, str]:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(path)]
    printed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert printed.returncode in (0, 1), printed.stdout + printed.stderr
    report = json.loads(printed.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    return {
        diagnostic["range"]["start"]["line"] + 1: diagnostic["message"]
        for diagnostic in report["generalDiagnostics"]
        if diagnostic["severity"] == "error"
    }


@pytest.mark.slow
@pytest.mark.parametrize("checker", [mypy, pyright])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_checker_finds_exactly_what_is_planted(path: Path, checker: Callable[[Path], dict[int, str]]) -> None:
    found = checker(path)
    missed = sorted(planted(path) - set(found))
    assert not missed, f"{checker.__name__} accepts these lines of {path.name}: {missed}"
    extra = {line: message for line, message in found.items() if line not in planted(path)}
    assert not extra, f"{checker.__name__} refuses lines of {path.name} that are right: {extra}"
