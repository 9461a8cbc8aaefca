# SPDX-License-Identifier: MIT
"""The table for people and the JSON for comparing runs."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import peers
from .judging import REFERENCE, Outcome
from .measuring import Options

__all__ = ["as_json", "machine", "markdown", "show", "write"]


def machine() -> dict[str, object]:
    """What kind of machine this is; nothing that names it."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0] if models else cpu
    return {
        "cpu": cpu or platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("row", "figure", "unit", "budget", "stretch", "verdict", "beside it"):
        table.add_column(heading, justify="right" if heading in ("figure", "budget", "stretch") else "left")
    colours = {"MISSED": "bold red", "not measured": "yellow", "stretch": "green"}
    for outcome in outcomes:
        row, verdict = outcome.row, outcome.verdict
        bound = "≥ " if row.at_least else "≤ "
        beside = ", ".join(f"{name} {_number(value)}" for name, value in sorted(outcome.others.items(), key=lambda item: item[1]))
        table.add_row(
            row.what,
            _number(outcome.figure),
            row.unit,
            bound + _number(row.budget) if row.budget is not None else "–",
            _number(row.stretch),
            f"[{colours[verdict]}]{verdict}[/]" if verdict in colours else verdict,
            outcome.reason or beside,
        )
    console.print(table)


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The table of docs/benchmarks.md."""
    lines = ["| row | figure | unit | budget | stretch | beside it |", "|---|--:|---|--:|--:|---|"]
    for outcome in outcomes:
        row = outcome.row
        beside = ", ".join(f"{name} {_number(value)}" for name, value in sorted(outcome.others.items(), key=lambda item: item[1]))
        missed = " (missed)" if outcome.verdict == "MISSED" else ""
        cells = (
            row.what,
            _number(outcome.figure) + missed,
            row.unit,
            _number(row.budget),
            _number(row.stretch),
            outcome.reason or beside,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def as_json(outcomes: Sequence[Outcome], options: Options) -> dict[str, Any]:
    rows: list[Mapping[str, Any]] = [
        {
            "name": outcome.row.name,
            "what": outcome.row.what,
            "unit": outcome.row.unit,
            "figure": outcome.figure,
            "quartiles": list(outcome.quartiles),
            "budget": outcome.row.budget,
            "stretch": outcome.row.stretch,
            "at_least": outcome.row.at_least,
            "verdict": outcome.verdict,
            "others": dict(outcome.others),
            "loop_ns": outcome.loop,
            "reason": outcome.reason,
        }
        for outcome in outcomes
    ]
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "peers": peers.versions(),
        "rounds": options.rounds,
        "quick": options.quick,
        "reference_loop_ns": REFERENCE,
        "rows": rows,
    }


def write(file: Path, outcomes: Sequence[Outcome], options: Options) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(as_json(outcomes, options), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
