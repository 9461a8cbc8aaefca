# SPDX-License-Identifier: MIT
"""What distributions require, compared with what is installed. Reads metadata; imports none of it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Literal

import attrs

from .distinfo import CORE, fits

__all__ = ["Need", "Requirements"]

State = Literal["ok", "missing", "version", "unjudged"]

_FORM = r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*([^;@]*)(?:@[^;]*)?(?:;(.*))?"
_EXTRA = r"""extra\s*==\s*['"]([^'"]+)['"]"""


@attrs.frozen
class Need:
    """One requirement of one distribution.

    Parameters:
        by: the distribution that has it.
        name: what it wants; `Python` for the interpreter.
        wanted: the range of versions, "" for any.
        have: the installed version, "" where there is none.
        state: `unjudged` where the requirement cannot be read, or stands under a condition that cannot be evaluated here.
    """

    by: str
    name: str
    wanted: str
    have: str
    state: State


@attrs.frozen
class _Wish:
    name: str
    extras: frozenset[str]
    wanted: str
    marker: str


@attrs.frozen
class _Facts:
    version: str
    python: str
    requires: Sequence[str]
    extras: Sequence[str]


class Requirements:
    """The requirements of installed distributions, and of those among them that build on core (bases of nodes).

    Third-party libraries are compared with the range that is asked for, not searched for requirements of their own: that is
    pip's trade. Ranges and conditions are judged by `packaging` where it is installed, else by our own reading, which leaves
    conditions unjudged.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Facts | None] = {}

    def of(self, distribution: str, extra: str = "") -> list[Need]:
        """All needs, each once: what is demanded always, and what this extra of the distribution demands beside it."""
        out: dict[tuple[str, str], Need] = {}
        waiting: list[tuple[str, frozenset[str]]] = [(distribution, frozenset({extra} if extra else ()))]
        seen: set[tuple[str, frozenset[str]]] = set()
        while waiting:
            name, extras = waiting.pop()
            if (name, extras) in seen:
                continue
            seen.add((name, extras))
            for need, asked in self._needs(name, extras):
                key = _plain(need.name), need.wanted
                out.setdefault(key, need)
                if need.state == "ok" and self._builds_on_core(need.name):
                    waiting.append((need.name, asked))
        return list(out.values())

    def extras(self, distribution: str) -> Sequence[str]:
        """The names of its extras."""
        found = self._find(distribution)
        return found.extras if found is not None else ()

    def _needs(self, name: str, extras: frozenset[str]) -> Iterator[tuple[Need, frozenset[str]]]:
        found = self._find(name)
        if found is None:
            return
        if found.python:
            have = ".".join(map(str, sys.version_info[:3]))
            state: State = "ok" if _inside(found.python, have) else "version"
            yield Need(name, "Python", found.python, have, state), frozenset()
        for text in found.requires:
            wish = _read(text)
            if wish is None:
                yield Need(name, text, "", "", "unjudged"), frozenset()
                continue
            applies = _applies(wish.marker, extras)
            if applies is False:
                continue
            one = self._find(wish.name)
            have = one.version if one is not None else ""
            state = "missing" if not have else "ok" if _inside(wish.wanted, have) else "version"
            yield Need(name, wish.name, wish.wanted, have, "unjudged" if applies is None else state), wish.extras

    def _find(self, name: str) -> _Facts | None:
        key = _plain(name)
        if key not in self._known:
            self._known[key] = _facts(name)
        return self._known[key]

    def _builds_on_core(self, name: str) -> bool:
        found = self._find(name)
        wishes = [_read(text) for text in found.requires] if found is not None else []
        return _plain(name) != CORE and any(wish is not None and _plain(wish.name) == CORE for wish in wishes)


def _facts(name: str) -> _Facts | None:
    try:
        found = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None
    # What a broken removal left behind is a folder without this file.
    if not (found.read_text("METADATA") or found.read_text("PKG-INFO")):
        return None
    said = found.metadata
    version, python = (str((said.get_all(key) or [""])[0]) for key in ("Version", "Requires-Python"))
    return _Facts(version, python, tuple(found.requires or ()), tuple(said.get_all("Provides-Extra") or ()))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(text: str) -> _Wish | None:
    found = re.fullmatch(_FORM, text, re.DOTALL)
    if found is None:
        return None
    name, extras, wanted, marker = (part or "" for part in found.groups())
    split = frozenset(extra.strip() for extra in extras.split(",") if extra.strip())
    return _Wish(name, split, re.sub(r"[\s()]", "", wanted), marker.strip())


def _inside(wanted: str, have: str) -> bool:
    if not wanted:
        return True
    try:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet
        from packaging.version import InvalidVersion
    except ImportError:
        return fits(wanted.replace(" ", ""), have)
    try:
        return SpecifierSet(wanted).contains(have, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return fits(wanted.replace(" ", ""), have)


def _applies(marker: str, extras: frozenset[str]) -> bool | None:
    """Whether a condition holds here; None where nobody can tell."""
    if not marker:
        return True
    alone = re.fullmatch(_EXTRA, marker)
    if alone is not None:
        return _plain(alone[1]) in {_plain(extra) for extra in extras}
    try:
        from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
    except ImportError:
        return None if not re.search(_EXTRA, marker) or extras else False
    try:
        read = Marker(marker)
        return any(read.evaluate({"extra": extra}) for extra in (*extras, ""))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return None
