# SPDX-License-Identifier: MIT
"""A picture as a Mermaid flowchart, for pages that draw those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .families import FAMILIES
from .picture import Box, Note, Picture
from .structure import MAIN, Structure, structure_of
from .style import ROLES, lane_colour

__all__ = ["mermaid"]

# What ends or changes a quoted text; # is what an entity begins with, ; ends statements, % begins comments and directives.
_TEXT = {ord(c): f"#{ord(c)};" for c in '"#;%<>&`\\'}


def mermaid(picture: Picture) -> str:
    """The text of a flowchart. Components are n0, n1, …: ids of the file may be words that Mermaid keeps for itself."""
    return "\n".join(_lines(picture)) + "\n"


def quoted(text: str) -> str:
    """Between quotes, nothing in it means anything."""
    return text.translate(_TEXT)


def _lines(picture: Picture) -> Iterator[str]:
    structure = structure_of(picture)
    yield "flowchart LR"
    yield f"  accTitle: Pipeline {_plain(picture.title)}"
    yield f"  accDescr: {_plain(picture.summary)}"
    yield from _region(picture, structure, MAIN, "  ")
    for wire in picture.wires:
        arrow = "-.->" if wire.control else "-->"
        marks = f" {_marks(wire.notes)}" if wire.notes else ""
        yield f'  n{wire.source} {arrow}|"{quoted(wire.name)}{marks}"| n{wire.target}'
    if picture.notes:
        yield '  subgraph problems["Problems"]'
        for note in picture.notes:
            yield f'    p{note.number}["{_told(note)}"]:::{note.severity}'
        yield "  end"
    yield from _styles(picture)


def _region(picture: Picture, structure: Structure, region: int, indent: str) -> Iterator[str]:
    yield from (indent + _box(box) for box in picture.boxes if structure.region[box.place] == region)
    for root, outer in sorted(structure.outer.items()):
        if outer == region:
            yield f'{indent}subgraph r{root}["sub-pipeline of {quoted(picture.boxes[root].id)}"]'
            yield from _region(picture, structure, root, indent + "  ")
            yield f"{indent}end"


def _box(box: Box) -> str:
    state = {"ready": "", "absent": " (not installed)", "missing": ""}[box.state]
    start = "▶ " if box.start else ""
    lines = [f"{start}{quoted(box.title)}", quoted(box.id), f"{quoted(box.provider)}{state}"]
    if box.notes:
        lines.append(_marks(box.notes))
    shape = ("(", ")") if box.family == "response" or box.start else ("[", "]")
    return f'n{box.place}{shape[0]}"{"<br/>".join(lines)}"{shape[1]}:::{box.family}'


def _marks(notes: Sequence[int]) -> str:
    return "⚠ " + ", ".join(map(str, notes))


def _told(note: Note) -> str:
    places = f"<br/>{quoted(', '.join(note.places))}" if note.places else ""
    return f"{note.number} {note.severity} {note.code}: {quoted(note.message)}{places}"


def _plain(text: str) -> str:
    """For the lines that Mermaid takes to their end without quotes."""
    return "".join(c if c.isalnum() or c in " .,-_" else " " for c in text).strip()


def _styles(picture: Picture) -> Iterator[str]:
    for name in FAMILIES:
        if any(box.family == name for box in picture.boxes):
            bar, fill = ROLES[name][:2]
            yield f"  classDef {name} fill:{fill},stroke:{bar},color:#1f2933"
    for severity, colour in (("error", "#d92d20"), ("warning", "#c27803")):
        marked = [f"n{box.place}" for box in picture.boxes if box.severity == severity and box.state == "ready"]
        if marked or any(note.severity == severity for note in picture.notes):
            yield f"  classDef {severity} stroke:{colour},stroke-width:2px"
        if marked:
            yield f"  class {','.join(marked)} {severity}"
    dashed = [f"n{box.place}" for box in picture.boxes if box.state != "ready"]
    if dashed:
        yield "  classDef absent stroke-dasharray:5 3"
        yield f"  class {','.join(dashed)} absent"
    for name in picture.lanes:
        numbers = [str(n) for n, wire in enumerate(picture.wires) if wire.name == name and not wire.control]
        yield f"  linkStyle {','.join(numbers)} stroke:{lane_colour(name)[0]}"
