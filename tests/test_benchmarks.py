# SPDX-License-Identifier: MIT
"""The benchmarks themselves: figures, verdicts, the command line. Speed is not tested here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from benchmarks.judging import CORE, LOOP, REFERENCE, Outcome, Row, best, beyond, measure, over, raw, scaled, speed  # noqa: E402
from benchmarks.measuring import Case, Options, Unmeasured, child, timed  # noqa: E402
from benchmarks.rows import every  # noqa: E402

SAMPLES = {CORE: [100.0, 300.0, 80.0], "_base": [50.0, 100.0, 20.0], LOOP: [28.0, 56.0, 14.0]}


@contextmanager
def _nothing(options: Options) -> Iterator[Mapping[str, Case]]:
    yield {}


def outcome(figure: float | None, *, budget: float | None = 10, stretch: float | None = 5, at_least: bool = False) -> Outcome:
    return Outcome(Row("row", "a row", "ns", _nothing, raw(), budget, stretch, at_least), figure)


def test_ratios_are_taken_round_by_round() -> None:
    assert over("_base")(SAMPLES, CORE) == 3.0  # of 2, 3 and 4; the ratio of the medians would be 2


def test_speeds_are_the_other_way_round() -> None:
    assert speed("_base")(SAMPLES, CORE) == 1 / 3
    assert best("_base")(SAMPLES, CORE) == 20 / 80


def test_times_are_scaled_by_the_loop_of_their_round() -> None:
    assert scaled(10)(SAMPLES, CORE) == 150 / 10  # 100, 150 and 160 ns where the loop takes 28
    assert beyond("_base")(SAMPLES, CORE) == 100
    assert raw(1024)(SAMPLES, CORE) == 100 / 1024
    assert REFERENCE == 28


@pytest.mark.parametrize(
    ("what", "verdict", "failed"),
    [
        (outcome(4), "stretch", False),
        (outcome(5), "stretch", False),
        (outcome(7), "met", False),
        (outcome(11), "MISSED", True),
        (outcome(11, at_least=True, stretch=20), "met", False),
        (outcome(9, at_least=True, stretch=20), "MISSED", True),
        (outcome(9, budget=None, stretch=None), "–", False),
        (outcome(None), "not measured", True),
    ],
)
def test_verdicts(what: Outcome, verdict: str, failed: bool) -> None:
    assert (what.verdict, what.failed) == (verdict, failed)


def test_cases_run_in_turn_and_the_first_one_changes() -> None:
    seen: list[str] = []

    def case(name: str) -> Case:
        def sample() -> float:
            seen.append(name)
            return 1.0

        return sample

    @contextmanager
    def setup(options: Options) -> Iterator[Mapping[str, Case]]:
        yield {CORE: case(CORE), "other": case("other")}

    got = measure(Row("row", "a row", "ns", setup, raw()), Options(rounds=4, quick=True))
    assert seen == [CORE, "other", "other", CORE, CORE, "other", CORE, "other"]
    assert got.figure == 1.0
    assert got.others == {"other": 1.0}
    assert got.loop > 0


def test_what_cannot_be_measured_says_why() -> None:
    @contextmanager
    def setup(options: Options) -> Iterator[Mapping[str, Case]]:
        raise Unmeasured("there is no such thing here")
        yield {}

    got = measure(Row("row", "a row", "ns", setup, raw()), Options(rounds=5, quick=True))
    assert (got.verdict, got.reason) == ("not measured", "there is no such thing here")


def test_a_timed_case_is_in_ns_a_unit() -> None:
    def work(n: int) -> None:
        sum(range(10_000 * n))

    per_time, per_unit = timed(work, Options(quick=True))(), timed(work, Options(quick=True), 10_000)()
    assert 0.1 < per_time / per_unit / 10_000 < 10


def test_a_fresh_process_that_fails_is_not_a_figure() -> None:
    with pytest.raises(Unmeasured, match="ValueError: broken"):
        child("raise ValueError('broken')")


def test_rows_have_names_of_their_own_and_budgets_no_harder_than_their_stretch() -> None:
    rows = every()
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        if row.budget is not None and row.stretch is not None:
            assert (row.stretch >= row.budget) if row.at_least else (row.stretch <= row.budget), row.name


def test_an_unknown_row_is_an_error_that_lists_the_rows() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "hopp"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no row is named hopp" in done.stderr
    assert "kernel_hop" in done.stderr


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    file = tmp_path / "figures" / "out.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--report-only", "--json", str(file), "payload", "open"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "opening a pipeline of 10 light nodes" in done.stdout
    found = json.loads(file.read_text(encoding="utf-8"))
    assert [row["name"] for row in found["rows"]] == ["payload", "open"]
    assert all(row["figure"] > 0 and row["loop_ns"] > 0 for row in found["rows"])
