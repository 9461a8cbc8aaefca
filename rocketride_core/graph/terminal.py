# SPDX-License-Identifier: MIT
"""A picture as text: what follows each component hangs under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from .picture import Box, Picture, Wire
from .structure import structure_of

__all__ = ["Span", "terminal"]

Span = tuple[str, str]  # a text, and what it is: "", soft, title, error, warning, call, a family as box:llm, a lane as lane:text


@attrs.frozen
class _Todo:
    wire: Wire | None
    box: int
    before: str
    last: bool


def terminal(picture: Picture) -> list[list[Span]]:
    """Lines of spans. Each component has one line with its name; where a wire comes back to it, that is said with ↑."""
    lines: list[list[Span]] = [[(picture.title, "title"), (f"  {picture.summary}", "soft")], []]
    seen: set[int] = set()
    onward = _onward(picture)
    roots = structure_of(picture).outer
    for start in _starts(picture):
        if start in seen:
            continue
        stack = [_Todo(None, start, "", True)]
        while stack:
            todo = stack.pop()
            again = todo.box in seen
            lines.append([*_lead(todo), *_named(picture.boxes[todo.box], again=again, root=todo.box in roots)])
            if again:
                continue
            seen.add(todo.box)
            indent = "" if todo.wire is None else todo.before + ("   " if todo.last else "│  ")
            wires = onward.get(todo.box, [])
            stack += [_Todo(wire, wire.target, indent, n == 0) for n, wire in enumerate(reversed(wires))]
    if not picture.boxes:
        lines.append([("no components yet", "soft")])
    if picture.notes:
        lines.append([])
    wide = len(str(len(picture.notes)))
    for note in picture.notes:
        where = f"  {', '.join(note.places[:6])}{f' and {len(note.places) - 6} more' if len(note.places) > 6 else ''}"
        sign = _sign(note.severity)
        lines.append([(f"{sign}{note.number:<{wide}} ", note.severity), (f"{note.message} [{note.code}]", ""), (where, "soft")])
    return lines


def _starts(picture: Picture) -> list[int]:
    """The chosen start, other sources, and then whatever nothing leads to."""
    reached = {wire.target for wire in picture.wires if wire.source != wire.target}
    return sorted(range(len(picture.boxes)), key=lambda n: (not picture.boxes[n].start, n in reached))


def _onward(picture: Picture) -> dict[int, list[Wire]]:
    """What a component calls, then what it sends to."""
    found: dict[int, list[Wire]] = {}
    for wire in sorted(picture.wires, key=lambda wire: not wire.control):
        found.setdefault(wire.source, []).append(wire)
    return found


def _lead(todo: _Todo) -> Iterator[Span]:
    if todo.wire is None:
        return
    yield todo.before + ("└" if todo.last else "├"), "soft"
    line, arrow, kind = ("╌", "▷", "call") if todo.wire.control else ("─", "▶", f"lane:{todo.wire.name}")
    yield f"{line}{todo.wire.name}{line}{arrow} ", kind
    if todo.wire.notes:
        yield f"{_marks(todo.wire.notes, todo.wire.severity)} ", todo.wire.severity


def _named(box: Box, *, again: bool, root: bool) -> Iterator[Span]:
    if again:
        yield f"{box.id} ↑", "soft"
        return
    if box.start:
        yield "● ", "box:source"
    yield box.id, f"box:{box.family}"
    if box.title != box.id:
        yield f"  {box.title}", ""
    yield f"  {box.provider or 'no provider'}", "soft"
    if box.state == "absent":
        yield " (not installed)", "soft"
    if root:
        yield " (sub-pipeline)", "soft"
    if box.notes:
        yield f"  {_marks(box.notes, box.severity)}", box.severity


def _sign(severity: str) -> str:
    return "✖" if severity == "error" else "▲"


def _marks(notes: Sequence[int], severity: str) -> str:
    return _sign(severity) + ",".join(map(str, notes))
