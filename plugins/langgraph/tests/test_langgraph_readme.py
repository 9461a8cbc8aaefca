# SPDX-License-Identifier: MIT
"""The README tells the truth: its programs run, its defaults are those of the code, and importing does not need LangGraph."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rocketride_langgraph import ToolExecutor, pipeline_tools

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
FILES = re.findall(r"^<!-- file: (\S+) -->\n```json\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 4


@pytest.mark.parametrize("program", PROGRAMS, ids=["graph", "by hand", "node", "pipeline"])
def test_the_programs_run(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "langgraph.graph" in program:
        pytest.importorskip("langgraph")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES:
        Path(name).write_text(text)
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})


def test_the_table_of_settings_is_the_signature() -> None:
    settings = README.partition("## Settings")[2].partition("\n## ")[0]
    table = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", settings, re.MULTILINE))
    parameters = list(inspect.signature(ToolExecutor).parameters.values())[1:]
    assert table == {p.name: repr(p.default).replace("'", '"') for p in parameters}


def test_the_table_of_a_pipeline_names_every_parameter() -> None:
    rows = re.findall(r"^\| (`.+`) \|", README.partition("## A pipeline as tools")[2], re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert set(named) >= set(inspect.signature(pipeline_tools).parameters) - {"kernel"}


def test_it_runs_tools_without_langgraph() -> None:
    code = """
import sys
sys.modules["langgraph"] = None  # importing it is an ImportError
from langchain_core.messages import AIMessage
from rocketride_langgraph import ToolExecutor
def one() -> int:
    "One."
    return 1
call = {"name": "one", "args": {}, "id": "1"}
print(ToolExecutor([one])({"messages": [AIMessage("", tool_calls=[call, {**call, "id": "2", "name": "two"}])]})["messages"][0].content)
print([name for name in sys.modules if name.startswith("langgraph.")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["1", "[]"]
