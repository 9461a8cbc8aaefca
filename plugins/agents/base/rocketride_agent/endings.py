# SPDX-License-Identifier: MIT
"""How a run may end otherwise than by the model's own decision, and what is said of it; the same whatever the framework."""

from __future__ import annotations

__all__ = ["ERROR_STOP", "GUARD_STOP", "MAX_ITERATIONS", "STOPPED", "UNREADABLE", "warning_of"]

STOPPED = "Agent stopped after reaching the maximum number of reasoning steps."
ERROR_STOP, GUARD_STOP, MAX_ITERATIONS, UNREADABLE = "error", "guard", "max_iterations", "unreadable"

WARNINGS = {
    MAX_ITERATIONS: ("max-iterations", "{agent} was asked for its answer after {steps} reasoning steps, see max_iterations"),
    UNREADABLE: (
        "unreadable-call",
        "{agent}: the model asked for a tool twice in a way that cannot be read; the answer is what it wrote beside that",
    ),
}


def warning_of(stop_reason: str, agent: str, steps: int) -> tuple[str, str] | None:
    """Code and message of the warning that an answer with this `stop_reason` has; None where it has none."""
    if stop_reason not in WARNINGS:
        return None
    code, message = WARNINGS[stop_reason]
    return code, message.format(agent=agent, steps=steps)
