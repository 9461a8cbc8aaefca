# SPDX-License-Identifier: MIT
"""What a distribution's metadata files say, as far as we need it: entry points of ours, and the core it was built for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

__all__ = ["CORE", "GROUPS", "NODES", "PLUGINS", "entry_points", "facts", "fits"]

GROUPS = NODES, PLUGINS = "rocketride.nodes", "rocketride.plugins"
CORE = "rocketride-core"

Facts = tuple[str, str, str, list[tuple[str, str]], list[tuple[str, str]]]


def entry_points(text: str) -> dict[str, list[tuple[str, str]]]:
    """The entry points of our two groups in an `entry_points.txt`, as `(name, target)`; extras behind a target are dropped."""
    groups: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
    current: list[tuple[str, str]] | None = None
    for line in map(str.strip, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            current = groups.get(line.strip("[]").strip())
        elif current is not None and "=" in line:
            name, _, target = line.partition("=")
            current.append((name.strip(), target.partition("[")[0].replace(" ", "")))
    return groups


def facts(points: str, metadata: Callable[[], str], directory: str) -> Facts | None:
    """Name, version, range of core, nodes and plugins of a distribution; None where it has nothing for us.

    Parameters:
        points: text of its `entry_points.txt`.
        metadata: gives the text of `METADATA`; called only where it is needed.
        directory: name of the metadata directory, for a file without a Name.
    """
    if "rocketride." not in points:
        return None
    groups = entry_points(points)
    if not any(groups.values()):
        return None
    name, version, core = directory.partition("-")[0], "", ""
    for line in metadata().splitlines():
        if not line:
            break
        key, _, value = line.partition(":")
        if key == "Name":
            name = value.strip()
        elif key == "Version":
            version = value.strip()
        elif key == "Requires-Dist":
            core = core or _core_range(value)
    return name, version, core, groups[NODES], groups[PLUGINS]


def _core_range(requirement: str) -> str:
    requirement, _, marker = requirement.partition(";")
    text = requirement.strip().replace("_", "-")
    # What is demanded only under a condition says nothing of this installation.
    if marker.strip() or not text.lower().startswith(CORE):
        return ""
    text = text[len(CORE) :].strip()
    if text.startswith("["):
        text = text.partition("]")[2].strip()
    return text.strip("()").replace(" ", "") if text[:1] in ("(", "<", ">", "=", "~", "!") else ""


@functools.cache
def fits(core: str, version: str) -> bool:
    """Is this version of core inside the range? PEP 440's operators, but `===`; what cannot be read is taken to fit.

    Parameters:
        core: `>=0.1,<0.2`, "" for any.
        version: of the core at hand, `0.1.0`.
    """
    try:
        have = _key(version)
        return all(_holds(clause, have) for clause in core.split(",") if clause)
    except ValueError:
        return True


Key = tuple[tuple[int, ...], tuple[int, int], int]


def _holds(clause: str, have: Key) -> bool:
    operator = clause[:2] if clause[:2] in ("==", "!=", "<=", ">=", "~=") else clause[:1]
    wanted = clause[len(operator) :]
    if operator in ("==", "!=") and wanted.endswith(".*"):
        parts = tuple(int(part) for part in wanted[:-2].split("."))
        return (_padded(have[0], len(parts)) == parts) is (operator == "==")
    want = _key(wanted)
    if operator == "~=":
        parts = tuple(int(part) for part in _release(wanted))[:-1]
        return have >= want and _padded(have[0], len(parts)) == parts
    # `<0.2` means the series below: the pre-releases of 0.2 itself are outside.
    below = have < want and (have[0] != want[0] or want[1] < FINAL)
    table = {"==": have == want, "!=": have != want, "<=": have <= want, ">=": have >= want, "<": below, ">": have > want}
    if operator not in table:
        raise ValueError(clause)
    return table[operator]


FINAL = (4, 0)
STAGES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3, "post": 5, "rev": 5, "r": 5}


def _padded(release: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (*release, *([0] * length))[:length]


def _release(version: str) -> list[str]:
    return list(dict(_split(version))[""].split("."))


def _split(version: str) -> Iterator[tuple[str, str]]:
    # "1.2rc1.dev3" gives ("", "1.2"), ("rc", "1"), ("dev", "3").
    word, number = "", ""
    for letter in f"{version.strip().lower().lstrip('v').partition('+')[0]} ":
        if letter.isdigit() or (letter == "." and not word):
            number += letter
        elif letter.isalpha():
            if number or not word:
                yield word, number.strip(".")
                word, number = "", ""
            word += letter
        elif letter not in " .-_":
            raise ValueError(version)
    yield word, number.strip(".")


def _key(version: str) -> Key:
    """Sorts like PEP 440 as far as releases, one stage and .dev go; an epoch or a nameless part is a ValueError."""
    release: tuple[int, ...] = ()
    stage, dev = FINAL, 1 << 30
    for word, number in _split(version):
        if not word:
            release = tuple(int(part) for part in number.split("."))
        elif word == "dev":
            dev = int(number or 0)
            stage = (0, 0) if stage == FINAL else stage
        elif word in STAGES:
            stage = (STAGES[word], int(number or 0))
        else:
            raise ValueError(version)
    while len(release) > 1 and not release[-1]:
        release = release[:-1]
    return release, stage, dev
