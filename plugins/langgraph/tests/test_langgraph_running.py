# SPDX-License-Identifier: MIT
"""Jobs on threads: bounds, limits, jobs that may not overlap, and a stop; many random turns."""

import random
import threading
import time
from collections.abc import Callable

import pytest

from rocketride_core import ToolTimeout
from rocketride_langgraph.running import Job, run_jobs


@pytest.mark.parametrize("hanging", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_random_turns(seed: int, hanging: bool) -> None:
    for turn in range(8):
        one_turn(random.Random(100 * seed + turn), hanging)


def one_turn(choose: random.Random, hanging: bool) -> None:
    lock, most, stopping = threading.Lock(), choose.randrange(1, 5), choose.random() < 0.3
    running, overlaps = list[str](), list[str]()
    peak = 0

    def made(number: int, pause: float, serial: str, fails: bool) -> Callable[[], int]:
        def work() -> int:
            nonlocal peak
            with lock:
                if serial and serial in running:
                    overlaps.append(serial)
                running.append(serial)
                peak = max(peak, len(running))
            time.sleep(pause)
            with lock:
                running.remove(serial)
            if fails:
                raise ValueError(number)
            return number

        return work

    jobs = []
    for number in range(choose.randrange(2, 12)):
        hangs, serial = hanging and choose.random() < 0.2, choose.choice(["", "", "a", "b"])
        work = made(number, 0.04 if hangs else choose.choice([0, 0, 0.001]), serial, choose.random() < 0.2)
        jobs.append(Job(str(number), work, 0.015 if hangs else choose.choice([None, 5]), serial=serial))
    outcomes = run_jobs(jobs, most, lambda error: stopping)
    errors = [outcome.error for outcome in outcomes.values() if outcome.error is not None]
    if not (stopping and errors):
        assert sorted(outcomes) == list(range(len(jobs)))
    for number, outcome in outcomes.items():
        if outcome.error is None:
            assert outcome.value == number
        elif isinstance(outcome.error, ToolTimeout):
            assert outcome.error.tool == str(number)
        else:
            assert outcome.error.args == (number,)
    if not hanging:  # a job that was given up still runs beside its successor
        assert peak <= most
        assert overlaps == []
