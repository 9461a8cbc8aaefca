# SPDX-License-Identifier: MIT
"""The circuit breaker, the prices and what is set aside, each alone."""

import threading

import pytest

from rocketride_llm import Meter
from rocketride_llm_router import Price
from rocketride_llm_router.breaker import Breaker
from rocketride_llm_router.spending import Spending, TooDear


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def admitted(breaker: Breaker) -> int:
    ticket = breaker.admit()
    assert ticket is not None
    return ticket


def opened(clock: Clock, failures: int = 2, after: float | None = None) -> Breaker:
    breaker = Breaker(failures, 10.0, clock)
    for n in range(failures):
        assert breaker.fail(admitted(breaker), after) is (n == failures - 1)
    return breaker


def test_it_opens_after_failures_in_a_row_alone() -> None:
    breaker = Breaker(2, 10.0, Clock())
    for _ in range(3):
        assert not breaker.fail(admitted(breaker))
        breaker.succeed(admitted(breaker))
    assert not breaker.fail(admitted(breaker))
    assert breaker.fail(admitted(breaker))
    assert breaker.admit() is None
    assert breaker.rest == 10.0


def test_after_the_cool_down_one_call_tries_it() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 9.9
    assert breaker.admit() is None
    clock.now += 0.1
    trial = admitted(breaker)
    assert breaker.rest == 0
    assert [breaker.admit() for _ in range(3)] == [None] * 3
    breaker.succeed(trial)
    assert len({admitted(breaker) for _ in range(3)}) == 1


def test_a_trial_that_fails_opens_it_again_for_the_whole_time() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 10
    assert breaker.fail(admitted(breaker))
    assert breaker.admit() is None
    assert breaker.rest == 10.0
    clock.now += 10
    breaker.succeed(admitted(breaker))
    assert not breaker.fail(admitted(breaker)), "closed again, it counts from the beginning"


def test_a_trial_that_tells_nothing_leaves_the_next_one_to_try() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 10
    breaker.leave(admitted(breaker))
    breaker.succeed(admitted(breaker))
    assert breaker.admit() is not None


def test_a_server_that_wants_more_time_gets_it() -> None:
    assert opened(Clock(), after=25.0).rest == 25.0
    assert opened(Clock(), after=1.0).rest == 10.0


def test_calls_from_before_it_opened_have_no_say() -> None:
    clock = Clock()
    breaker = Breaker(1, 10.0, clock)
    early, late = admitted(breaker), admitted(breaker)
    assert breaker.fail(early)
    breaker.succeed(late)
    assert breaker.admit() is None
    clock.now += 10
    trial = admitted(breaker)
    assert not breaker.fail(late)
    breaker.leave(late)
    assert breaker.admit() is None, "the trial still runs"
    breaker.succeed(trial)
    assert breaker.admit() is not None


def test_one_of_many_threads_gets_the_trial() -> None:
    clock = Clock()
    breaker = opened(clock)
    clock.now += 10
    gate, tickets = threading.Barrier(8), list[int | None]()

    def ask() -> None:
        gate.wait()
        tickets.append(breaker.admit())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([ticket for ticket in tickets if ticket is not None]) == 1


def test_prices_are_for_a_million_tokens() -> None:
    price = Price(input=3.0, output=15.0, cached=0.3)
    assert price.of(1_000_000, 0) == 3.0
    assert price.of(1_000_000, 100_000, 500_000) == pytest.approx(1.5 + 0.15 + 1.5)
    assert Price(input=2.0, output=0.0).of(1_000_000, 5, 1_000_000) == 2.0
    assert price.measured(Meter(1, 10, 0, 1000)) == pytest.approx(10 * 0.3 / 1e6), "no more is cached than was asked"


def test_what_is_under_way_counts_against_the_ceiling() -> None:
    spending = Spending()
    spending.set_aside(0.6, 1.0)
    with pytest.raises(TooDear, match="0 is spent, 0.6 may be for questions under way, and this one may cost 0.5"):
        spending.set_aside(0.5, 1.0)
    spending.settle(0.6, 0.1)
    spending.set_aside(0.5, 1.0)
    spending.settle(0.5, 0.5)
    assert spending.spent == pytest.approx(0.6)
    with pytest.raises(TooDear, match="0.6 is spent, and this one may cost 0.5"):
        spending.set_aside(0.5, 1.0)
    spending.set_aside(1e9, 0.0)


def test_many_threads_never_set_aside_more_than_the_ceiling() -> None:
    spending, taken = Spending(), list[int]()

    def ask() -> None:
        for _ in range(50):
            try:
                spending.set_aside(1.0, 100.0)
            except TooDear:
                continue
            spending.settle(1.0, 1.0)
            taken.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), spending.spent) == (100, 100.0)
