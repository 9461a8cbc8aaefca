# SPDX-License-Identifier: MIT
"""The lines of `doctor`: one for each thing that a pipeline needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal

import attrs

from rocketride_core.errors import Problem
from rocketride_core.registry import UnknownProvider
from rocketride_core.requirements import Need

from .report import tame

__all__ = ["Check", "lacking", "lines", "pip", "problem", "unknown", "wanted"]

UNWRITTEN = "nobody has written this node yet"
NOTHING = "nothing can be installed: use another node, or write this one"


@attrs.frozen
class Check:
    """One line of the checklist.

    Parameters:
        about: python, core, plugin, node, library, extra, variable, problem or probe.
        name: which one: a provider, a distribution, a variable, a problem's code, a component.
        state: `note` is neither good nor bad.
        message: what is the case.
        fix: what to type, or what else to do; "" where there is nothing to do.
        components: ids of the components it concerns.
        install: requirements that `fix` installs.
    """

    about: str
    name: str
    state: Literal["ok", "warn", "miss", "note"]
    message: str
    fix: str = ""
    components: Sequence[str] = ()
    install: Sequence[str] = ()


def unknown(error: UnknownProvider, hint: str, state: Literal["warn", "miss"], ids: Sequence[str]) -> Check:
    renamed = f"; it is called '{error.current}' today" if error.current else ""
    if error.pip:
        return Check("node", error.provider, state, f"not installed{renamed}", pip([error.pip]), ids, [error.pip])
    if error.unwritten:
        return Check("node", error.provider, state, f"{UNWRITTEN}{renamed}", NOTHING, ids)
    if state == "warn":
        return Check("node", error.provider, state, "no such node is known; it is wired to nothing, and is left out", hint, ids)
    return Check("node", error.provider, state, "no such node is known", hint or NOTHING, ids)


def lacking(need: Need, ids: Sequence[str]) -> Check:
    what = wanted(need)
    if need.state == "unjudged":
        message = f"{need.by} needs {what} under a condition that cannot be judged here"
        return Check("library", need.name, "note", message, "pip install packaging", ids)
    have = f"{need.have} is installed" if need.have else "not installed"
    if need.name == "Python":
        return Check("library", "Python", "miss", f"{have}; {need.by} needs {need.wanted}", f"use Python {need.wanted}", ids)
    return Check("library", need.name, "miss", f"{have}; {need.by} needs {what}", pip([what]), ids, [what])


def problem(about: str, name: str, p: Problem) -> Check:
    message = f"{p.path}: {p.message}" + (f" [{p.code}]" if name != p.code else "")
    fix = p.hint or f"see docs/errors.md#{p.code}"
    return Check(about, name, "miss" if p.severity == "error" else "warn", message, fix, [p.component] if p.component else [])


def wanted(need: Need) -> str:
    return f"{need.name}{need.wanted}"


def pip(words: Iterable[str]) -> str:
    return f"pip install {' '.join(shlex.quote(word) for word in words)}"


def lines(file: str, checks: Sequence[Check], install: Sequence[str]) -> list[str]:
    missing, warnings = (sum(one.state == state for one in checks) for state in ("miss", "warn"))
    verdict = f"would not run here, {missing} missing or wrong" if missing else "would run here"
    out = [f"{file}: {verdict}" + (f", {warnings} warning{'' if warnings == 1 else 's'}" if warnings else "")]
    about, name = (min(max(len(one[n]) for one in ((c.about, c.name) for c in checks)), 32) for n in (0, 1))
    for one in checks:
        users = f"  ({', '.join(one.components)})" if one.components and one.about == "node" else ""
        out.append(f"  {one.state:4}  {one.about:{about}}  {one.name:{name}}  {one.message}{users}".rstrip())
        out += [f"  {'':4}  {'':{about}}  {'':{name}}  {line}" for line in one.fix.splitlines()]
    if len(install) > 1:
        out += ["", "To install what is missing:", f"  {pip(install)}"]
    return [tame(line) for line in out]
