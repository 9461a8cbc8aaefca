# SPDX-License-Identifier: MIT
"""What can go wrong, grouped by what the reader should do.

RocketRideError
├── PluginError          the installation is wrong: install, remove or repair a distribution
│   ├── DuplicateProvider
│   ├── PluginLoad
│   └── InvalidNode
├── PipeError            the `.pipe` file is wrong: see `.problems` (also a RuntimeError)
├── RunError             it failed while running (also a RuntimeError)
│   ├── Cancelled
│   └── RunTimeout
└── ToolError            a tool call failed; an agent may react
    ├── UnknownTool
    ├── ToolInput        (also a ValueError)
    ├── ToolFailure
    ├── ToolTimeout
    └── ToolDenied

`EntryStopped` is control flow: it unwinds the handlers of an entry that has failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs

__all__ = [
    "Cancelled",
    "DuplicateProvider",
    "EntryStopped",
    "InvalidNode",
    "PipeError",
    "PluginError",
    "PluginLoad",
    "Problem",
    "RocketRideError",
    "RunError",
    "RunTimeout",
    "ToolDenied",
    "ToolError",
    "ToolFailure",
    "ToolInput",
    "ToolTimeout",
    "UnknownTool",
]


@attrs.frozen
class Problem:
    """One diagnosis of a `.pipe` file or of a configured node.

    Parameters:
        path: JSON path of the offending value, `$.components[2].input[0].lane`.
        code: stable identifier, `unknown-lane`; docs/errors.md has a section for each.
        message: one sentence for people.
        hint: what to do about it.
        component: id of the component, where one is concerned.
        severity: errors refuse the file, warnings do not (unless `--strict`).
        file: name of the file.
    """

    path: str
    code: str
    message: str
    hint: str = ""
    component: str = ""
    severity: Literal["error", "warning"] = "error"
    file: str = ""

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.path}: {self.message} [{self.code}]{hint}"


def said(error: BaseException) -> str:
    """What an exception says to somebody who has not written the code that raised it."""
    try:
        plain = str(error)
    except Exception:  # noqa: BLE001 - whatever its __str__ does, the exception itself is what is told
        plain = ""
    # The text of Python's own ones alone ('x', "'NoneType' object …") says little.
    speechless = (LookupError, TypeError, AttributeError, NameError, AssertionError, ArithmeticError)
    own = type(error).__module__ == "builtins"
    if (own and isinstance(error, speechless)) or not isinstance(error, Exception) or not plain:
        return f"{type(error).__name__}: {plain}" if plain else type(error).__name__
    return plain


class RocketRideError(Exception):
    """Root of all errors of this project."""


class PluginError(RocketRideError):
    """An installed distribution is wrong.

    Parameters:
        distribution: name of the distribution at fault, "" where none is known.
    """

    def __init__(self, message: str, *, distribution: str = "") -> None:
        super().__init__(message)
        self.distribution = distribution


class DuplicateProvider(PluginError):
    """Two distributions claim one provider."""


class PluginLoad(PluginError):
    """A plugin cannot be imported, lacks its class, or was built for another core."""


class InvalidNode(PluginError):
    """A node class breaks a rule of the node API; raised when the class is made."""


class PipeError(RocketRideError, RuntimeError):
    """A `.pipe` file is refused. `problems` holds everything that is wrong with it, warnings included."""

    def __init__(self, message: str = "", *, problems: Sequence[Problem] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message or _report(self.problems))


def _report(problems: Sequence[Problem]) -> str:
    errors = [p for p in problems if p.severity == "error"] or list(problems)
    file = next((p.file for p in errors if p.file), "pipeline")
    head = f"{file}: {len(errors)} problem{'' if len(errors) == 1 else 's'}"
    return "\n".join([head, *(f"  {p}" for p in errors)])


class RunError(RocketRideError, RuntimeError):
    """Something failed while running; the original exception, if there is one, is `__cause__`.

    Parameters:
        code: stable identifier where the kernel itself refused something (docs/errors.md), else "".
        component: the node whose handler or hook let the error out.
        phase: begin, open, handler, flush, close, tool or send.
        lane: lane of the payload that was being handled.
        entry: name of the entry.
    """

    def __init__(
        self, message: str, *, code: str = "", component: str = "", phase: str = "", lane: str = "", entry: str = ""
    ) -> None:
        super().__init__(message)
        self.code, self.component, self.phase, self.lane, self.entry = code, component, phase, lane, entry


class Cancelled(RunError):
    """The entry was cancelled by its host."""


class RunTimeout(RunError):
    """The entry's time limit is over."""


class EntryStopped(BaseException):
    """Unwinds the handlers of an entry that has failed, was cancelled or timed out. Let it pass."""


class ToolError(RocketRideError):
    """A tool call failed. `tool` is the full name, `<component id>.<tool>`."""

    def __init__(self, message: str, *, tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool


class UnknownTool(ToolError):
    """No connected node offers a tool of that name."""


class ToolInput(ToolError, ValueError):
    """The arguments do not fit the tool's schema; `path` is the JSON path inside the arguments."""

    def __init__(self, message: str, *, tool: str = "", path: str = "") -> None:
        super().__init__(message, tool=tool)
        self.path = path


class ToolFailure(ToolError):
    """The tool raised; `component` is the innermost node at fault, the original is `__cause__`."""

    def __init__(self, message: str, *, tool: str = "", component: str = "") -> None:
        super().__init__(message, tool=tool)
        self.component = component


class ToolTimeout(ToolError):
    """The tool did not answer in time; `elapsed` in seconds, `component` is the innermost node that was running."""

    def __init__(self, message: str, *, tool: str = "", component: str = "", elapsed: float = 0) -> None:
        super().__init__(message, tool=tool)
        self.component, self.elapsed = component, elapsed


class ToolDenied(ToolError):
    """A host plugin refused the call; the message is the reason an agent reads."""
