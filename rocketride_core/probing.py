# SPDX-License-Identifier: MIT
"""Probes: what the nodes of a plan find out about the world outside, before they begin."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any

from .errors import Problem

if TYPE_CHECKING:
    from .bound import Bound

__all__ = ["probe"]

SECONDS = 15.0  # for all of them together; a node's own limit is shorter


def probe(bound: Bound, seconds: float = SECONDS) -> list[tuple[int, Problem]]:
    """`check_global` of every node, all at once; one that raises, or takes too long, is a Problem of code `probe-failed`.

    `prepare_global` comes before, node by node, and is not part of the time.
    """
    told, ready = list[tuple[int, Problem]](), list[tuple[int, Callable[[], Any]]]()
    for index in bound.compiled.begin_order:
        bound.lend_loop(index)
        check, prepare = (bound.relays[index].hook(name) for name in ("check_global", "prepare_global"))
        if check is None:
            continue
        try:
            if prepare is not None:
                prepare()
            ready.append((index, check))
        except Exception as error:  # noqa: BLE001 - as in a probe
            told.append((index, _failed(bound, index, str(error) or type(error).__name__)))
            bound.leave(index, None)
    asked: list[tuple[int, list[Problem], Thread]] = []
    for index, check in ready:
        found: list[Problem] = []
        thread = Thread(target=_ask, args=(bound, index, check, found), name="rocketride-probe", daemon=True)
        thread.start()
        asked.append((index, found, thread))
    end = time.monotonic() + seconds
    for index, found, thread in asked:
        thread.join(max(0.0, end - time.monotonic()))
        late = [_failed(bound, index, f"no answer within {seconds:g} s")] if thread.is_alive() else []
        told += [(index, problem) for problem in [*found, *late]]
    bound.close_loop()
    return told


def _ask(bound: Bound, index: int, check: Callable[[], Any], found: list[Problem]) -> None:
    try:
        found.extend(_flat(check() or ()))
    except Exception as error:  # noqa: BLE001 - a probe that fails is a finding
        found.append(_failed(bound, index, str(error) or type(error).__name__))
    bound.leave(index, None)


def _failed(bound: Bound, index: int, why: str) -> Problem:
    id = bound.nodes[index].id
    return Problem("", "probe-failed", f"{id}: {why}", component=id)


def _flat(told: Any) -> list[Problem]:
    """pluggy gives a list of what each implementation said, a node alone just its own."""
    out: list[Problem] = []
    for item in told:
        if isinstance(item, Problem):
            out.append(item)
        elif item is not None:
            out.extend(_flat(item))
    return out
