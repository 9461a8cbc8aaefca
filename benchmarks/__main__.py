# SPDX-License-Identifier: MIT
"""`python -m benchmarks`: measure, print the table, write the JSON. Exit code 1 where a budget is missed or a row not measured."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from .judging import measure
from .measuring import ROOT, Options
from .reporting import machine, markdown, show, write
from .rows import every


def main(arguments: Sequence[str] | None = None) -> int:
    rows = every()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Our speed beside plain Python and beside peers.")
    parser.add_argument("row", nargs="*", help="only these rows: " + ", ".join(row.name for row in rows))
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "benchmarks.json", help="where the figures go")
    parser.add_argument("--markdown", type=Path, help="the table as docs/benchmarks.md has it goes here too")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds, 9 by default")
    parser.add_argument("--quick", action="store_true", help="short samples in 5 rounds: for a look, not for a verdict")
    parser.add_argument("--report-only", action="store_true", help="exit with 0 whatever the verdicts are")
    chosen = parser.parse_args(arguments)
    unknown = sorted({*chosen.row} - {row.name for row in rows})
    if unknown:
        parser.error(f"no row is named {', '.join(unknown)}; there are: {', '.join(row.name for row in rows)}")
    if chosen.rounds < 1:
        parser.error("--rounds must be at least 1; a verdict needs 5")
    options = Options(5 if chosen.quick else chosen.rounds, chosen.quick)
    console, progress = Console(width=None if sys.stdout.isatty() else 200), Console(stderr=True)
    here = machine()
    progress.print(f"{here['cpu']}, {here['cores']} cores, load {here['load']}; Python {here['python']}; {options.rounds} rounds")
    outcomes = []
    for row in rows:
        if not chosen.row or row.name in chosen.row:
            progress.print(f"  {row.what}", highlight=False)
            outcomes.append(measure(row, options))
    show(outcomes, console)
    write(chosen.json, outcomes, options)
    if chosen.markdown is not None:
        chosen.markdown.write_text(markdown(outcomes), encoding="utf-8")
    failed = [outcome for outcome in outcomes if outcome.failed]
    if failed:
        console.print(f"{len(failed)} of {len(outcomes)} rows missed their budget or could not be measured")
    return 1 if failed and not chosen.report_only else 0


if __name__ == "__main__":
    sys.exit(main())
