# SPDX-License-Identifier: MIT
"""What a meter hears."""

import threading

import pytest

from rocketride_llm import metered
from rocketride_llm.metering import measured


def test_all_open_meters_hear_of_each_request() -> None:
    measured(1, 1)
    with metered() as outer:
        measured(10, 2, 4)
        with metered() as inner:
            measured(5, 1, estimated=True)
        measured(1, 0)
    measured(1, 1)
    assert (outer.requests, outer.input, outer.output, outer.cached, outer.estimated) == (3, 16, 3, 4, True)
    assert (inner.requests, inner.input, inner.output, inner.cached, inner.estimated) == (1, 5, 1, 0, True)


def test_a_meter_hears_of_what_came_before_an_error_and_of_no_other_thread() -> None:
    other = threading.Thread(target=measured, args=(100, 100))
    with pytest.raises(ValueError, match="broke"), metered() as meter:
        other.start()
        other.join()
        measured(2, 1)
        raise ValueError("broke")
    assert (meter.requests, meter.input) == (1, 2)
    measured(1, 1)
    assert meter.requests == 1
