# SPDX-License-Identifier: MIT
"""What is to be shown of a file, whatever shows it: boxes, wires, numbered notes of problems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import attrs

from rocketride_core.errors import PluginError, Problem
from rocketride_core.pipefile import Component, PipeFile

from .families import family, readable
from .measure import clean

if TYPE_CHECKING:
    from rocketride_core.node import Node
    from rocketride_core.registry import Registry

__all__ = ["Box", "Note", "Picture", "Wire", "picture_of"]

Severity = Literal["", "warning", "error"]
_PLACE = re.compile(r"(?P<component>^.*?\.components\[\d+\])(?P<link>\.(?:input|control)\[\d+\])?")


@attrs.frozen
class Note:
    """A problem, told once for all components that have it.

    Parameters:
        number: from 1 on; errors first.
        message: with the hint.
        places: ids of the components, each once.
    """

    number: int
    severity: Severity
    code: str
    message: str
    places: Sequence[str]


@attrs.frozen
class Box:
    """A component.

    Parameters:
        place: its number in `Picture.boxes`.
        family: one of `FAMILIES`.
        state: ready; absent: its node is not installed or broken; missing: the file has no such component, a link names it.
        start: the pipeline starts here.
        notes: numbers of its problems.
    """

    place: int
    id: str
    title: str
    provider: str
    family: str
    state: Literal["ready", "absent", "missing"] = "ready"
    start: bool = False
    notes: Sequence[int] = ()
    severity: Severity = ""


@attrs.frozen
class Wire:
    """A lane from `source` to `target`, or a control: `source` calls `target`."""

    source: int
    target: int
    name: str
    control: bool = False
    notes: Sequence[int] = ()
    severity: Severity = ""


@attrs.frozen
class Picture:
    """Everything that is shown; texts are clean and of one line."""

    title: str
    boxes: Sequence[Box]
    wires: Sequence[Wire]
    notes: Sequence[Note]

    @cached_property
    def lanes(self) -> list[str]:
        """Names of lanes, in order of appearance."""
        return list(dict.fromkeys(wire.name for wire in self.wires if not wire.control))

    @cached_property
    def controls(self) -> list[str]:
        """Names of controls, in order of appearance."""
        return list(dict.fromkeys(wire.name for wire in self.wires if wire.control))

    @property
    def summary(self) -> str:
        """Counts, as people say them."""
        lanes = sum(not wire.control for wire in self.wires)
        errors = sum(note.severity == "error" for note in self.notes)
        counts = [(len(self.boxes), "component"), (lanes, "lane link"), (len(self.wires) - lanes, "control link")]
        told = [(errors, "error"), (len(self.notes) - errors, "warning")]
        shown = counts + [pair for pair in told if pair[0]]
        return ", ".join(f"{number} {word}{'' if number == 1 else 's'}" for number, word in shown)


def picture_of(pipe: PipeFile, problems: Sequence[Problem], registry: Registry, source: str = "") -> Picture:
    """What a file shows.

    Parameters:
        pipe: as read, variables not filled in: their values are in no picture.
        problems: those of `Kernel.check`.
        registry: where titles and kinds of nodes come from; a node that it does not have is drawn all the same.
        source: the component that starts it, instead of the file's choice.
    """
    made = _Maker(pipe, problems)
    start = source or pipe.source
    ids: dict[str, int] = {}
    for place, component in enumerate(pipe.components):
        ids.setdefault(component.id, place)
    named = {link.source for c in pipe.components for link in c.input} | {
        link.caller for c in pipe.components for link in c.control
    }
    missing = sorted(named - set(ids))
    ids |= {id: len(pipe.components) + n for n, id in enumerate(missing)}
    wires = made.wires(ids)
    boxes = []
    for place, component in enumerate(pipe.components):
        cls, state = _node(registry, component.provider)
        first = ids[component.id] == place
        told = [*made.at.get(component.at, []), *(made.of.get(component.id, []) if first else [])]
        boxes.append(
            Box(
                place,
                clean(component.id),
                _title(component, cls),
                clean(component.provider),
                _family(component, cls, registry, place, wires),
                state,
                first and bool(start) and component.id == start,
                *made.marks(told),
            )
        )
    for id in missing:
        shown = clean(id)
        boxes.append(Box(ids[id], shown, shown or "?", "no such component", "other", "missing"))
    title = clean(pipe.file.replace("\\", "/").rpartition("/")[2]) or "pipeline"
    return Picture(title, boxes, wires, made.notes)


def _node(registry: Registry, provider: str) -> tuple[type[Node[Any]] | None, Literal["ready", "absent"]]:
    try:
        return registry.find(provider), "ready"
    except (LookupError, PluginError):
        return None, "absent"


def _title(component: Component, cls: type[Node[Any]] | None) -> str:
    return clean(component.name) or (clean(cls.spec.title) if cls else "") or readable(component.provider) or "?"


def _family(component: Component, cls: type[Node[Any]] | None, registry: Registry, place: int, wires: Iterable[Wire]) -> str:
    mine = [wire for wire in wires if place in (wire.source, wire.target)]
    return family(
        cls,
        component.provider,
        registry.pip(component.provider),
        declared_source=component.config.get("mode") == "Source",
        controls={wire.name for wire in mine if wire.control and wire.target == place},
        ins=any(wire.target == place and not wire.control for wire in mine),
        outs=any(wire.source == place and not wire.control for wire in mine),
    )


class _Maker:
    """Numbers the problems, and knows which stand where: `at` a JSON path, or `of` a component that has no path in the file."""

    def __init__(self, pipe: PipeFile, problems: Sequence[Problem]) -> None:
        self.pipe = pipe
        self.notes: list[Note] = []
        self.at: dict[str, list[int]] = {}
        self.of: dict[str, list[int]] = {}
        paths = {c.at: c.id for c in pipe.components}
        told: dict[tuple[bool, str, str], list[tuple[str, str]]] = {}
        for problem in sorted(problems, key=lambda p: p.severity != "error"):
            found = _PLACE.match(problem.path)
            place = found["component"] if found else ""
            message = clean(f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}")
            key = problem.severity != "error", problem.code, message
            at = place + (found["link"] or "") if found and place in paths else ""
            told.setdefault(key, []).append((at, problem.component or paths.get(place, "")))
        for (mild, code, message), places in told.items():
            number = len(self.notes) + 1
            ids = list(dict.fromkeys(clean(id) for _, id in places if id))
            self.notes.append(Note(number, "warning" if mild else "error", code, message, ids))
            for at, id in places:
                mine = self.at.setdefault(at, []) if at else self.of.setdefault(id, [])
                if number not in mine:
                    mine.append(number)

    def marks(self, numbers: Iterable[int]) -> tuple[tuple[int, ...], Severity]:
        mine = tuple(sorted(set(numbers)))
        return mine, max((self.notes[n - 1].severity for n in mine), key=("", "warning", "error").index, default="")

    def wires(self, ids: Mapping[str, int]) -> list[Wire]:
        """Each once, however often the file says it."""
        found: dict[tuple[int, int, str, bool], list[int]] = {}
        for place, component in enumerate(self.pipe.components):
            links = [(ids[link.source], place, link.lane, False, link.at) for link in component.input]
            links += [(ids[link.caller], place, link.control, True, link.at) for link in component.control]
            for source, target, name, control, at in links:
                found.setdefault((source, target, clean(name), control), []).extend(self.at.get(at, []))
        return [Wire(*key, *self.marks(numbers)) for key, numbers in found.items()]
