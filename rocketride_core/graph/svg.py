# SPDX-License-Identifier: MIT
"""A picture as SVG: one file, no scripts, no fonts, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .families import FAMILIES
from .geometry import Route, Spot
from .layout import Layout, layout_of
from .measure import fitted, width
from .notes import Column, legend, listed
from .picture import Box, Picture, Severity
from .sizes import LABEL, PAD, SMALL, TITLE
from .style import sheet

__all__ = ["svg"]

MARGIN, HEADER = 28.0, 58.0
BADGE = 8.0
NARROWEST = 560.0


def svg(picture: Picture) -> str:
    """The whole document. Equal pictures give equal bytes."""
    return _Drawing(picture, layout_of(picture)).document()


def number(value: float) -> str:
    """Short, and the same everywhere."""
    return f"{round(value, 1):g}"


def text(x: float, y: float, classes: str, words: str) -> str:
    return f'<text x="{number(x)}" y="{number(y)}" class="{classes}">{escape(words)}</text>'


class _Drawing:
    def __init__(self, picture: Picture, layout: Layout) -> None:
        self.picture, self.layout = picture, layout
        self.classes = {name: f"l{n}" for n, name in enumerate(picture.lanes)}
        self.families = [name for name in FAMILIES if any(box.family == name for box in picture.boxes)]
        left = MARGIN + (14 if any(box.start for box in picture.boxes) else 0)
        self.w = max(layout.w + left + MARGIN, NARROWEST)
        self.dx, self.dy = left, HEADER + MARGIN / 2

    def document(self) -> str:
        y = self.dy + self.layout.h + (36 if self.layout.h else 0)
        below: list[str] = []
        columns = Column(MARGIN, y, self.w - 2 * MARGIN)
        below += legend(self.picture, self.families, self.classes, columns)
        below += listed(self.picture.notes, columns)
        h = columns.y + MARGIN / 2
        body = [*self.header(), *self.frames(), *self.wires(), *map(self.box, self.picture.boxes), *self.names(), *below]
        size = f'width="{number(self.w)}" height="{number(h)}" viewBox="0 0 {number(self.w)} {number(h)}"'
        title = escape(f"Pipeline {self.picture.title}")
        words = escape(self.description())
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t d">',
                f'<title id="t">{title}</title>',
                f'<desc id="d">{words}</desc>',
                f"<style>\n{sheet(self.families, self.picture.lanes)}\n</style>",
                f'<rect class="bg" width="{number(self.w)}" height="{number(h)}"/>',
                *body,
                "</svg>\n",
            ]
        )

    def description(self) -> str:
        boxes = self.picture.boxes
        told = [
            f"{boxes[w.source].id} {'calls' if w.control else 'sends'} {w.name} {'of' if w.control else 'to'} {boxes[w.target].id}"
            for w in self.picture.wires
        ]
        return f"{self.picture.summary}. {'; '.join(told)}"

    def header(self) -> Iterable[str]:
        room = self.w - 2 * MARGIN
        yield text(MARGIN, 32, "head", fitted(self.picture.title, room, 16, bold=True))
        yield text(MARGIN, 50, "small soft", self.picture.summary)
        if not self.picture.boxes:
            yield text(MARGIN, self.dy + 10, "small soft", "This pipeline has no components yet.")

    def frames(self) -> Iterable[str]:
        for frame in self.layout.frames:
            spot = frame.spot.moved(self.dx, self.dy)
            name = f"sub-pipeline of {self.picture.boxes[frame.root].id}"
            x = frame.title + self.dx
            yield f'<g class="region"><title>{escape(name)}</title>{_rect(spot, "frame", 10)}'
            yield text(x, spot.y + 17, "small soft", fitted(name, spot.right - x - 8, SMALL)) + "</g>"

    def colour(self, wire: int) -> str:
        shown = self.picture.wires[wire]
        return "call" if shown.control else self.classes[shown.name]

    def wires(self) -> Iterable[str]:
        for route in sorted(self.layout.routes, key=lambda r: (not self.picture.wires[r.wire].control, r.wire)):
            wire = self.picture.wires[route.wire]
            route = route.moved(self.dx, self.dy)
            ends = f"{self.picture.boxes[wire.source].id} → {self.picture.boxes[wire.target].id}"
            said = self.said(f"{wire.name}: {ends}", wire.notes)
            path = " ".join(letter + " ".join(f"{number(x)},{number(y)}" for x, y in points) for letter, points in route.steps)
            kind = "wire calls" if wire.control else "wire"
            yield (
                f'<g class="{self.colour(route.wire)}"><title>{escape(said)}</title>'
                f'<path class="{kind}{" " + wire.severity if wire.severity else ""}" d="{path}"/>{_tip(route, wire.severity)}</g>'
            )

    def names(self) -> Iterable[str]:
        """Over everything, so that no wire runs through them."""
        for route in sorted(self.layout.routes, key=lambda r: r.wire):
            wire = self.picture.wires[route.wire]
            route = route.moved(self.dx, self.dy)
            if route.label is not None:
                shown = fitted(wire.name, 150, LABEL)
                yield f'<g class="{self.colour(route.wire)}">{text(*route.label, "label name", shown)}</g>'
            if wire.notes:
                yield _badge(*route.badge, wire.notes, wire.severity, middle=True)

    def said(self, first: str, notes: Sequence[int]) -> str:
        told = [self.picture.notes[n - 1] for n in notes]
        return "\n".join([first, *(f"{note.severity} {note.number}: {note.message} [{note.code}]" for note in told)])

    def box(self, box: Box) -> str:
        spot = self.layout.spots[box.place].moved(self.dx, self.dy)
        state = {"ready": "", "absent": "not installed", "missing": "not in the file"}[box.state]
        said = self.said(f"{box.title} · {box.id} · {box.provider}{f' · {state}' if state else ''}", box.notes)
        room = spot.w - 2 * PAD + 2
        severity = "" if box.state == "absent" and box.severity == "error" else box.severity
        classes = " ".join(filter(None, [box.family, "box", box.state if box.state != "ready" else "", severity]))
        x, y = spot.x + PAD, spot.middle - 30
        parts = [
            f"<g><title>{escape(said)}</title>",
            _rect(spot, classes, 7),
            f'<rect class="b-{box.family}" x="{number(spot.x + 4)}" y="{number(spot.y + 6)}" width="4" height="{number(spot.h - 12)}" rx="2"/>',
            text(x, y + 20, "title", fitted(box.title, room, TITLE, bold=True)),
            text(x, y + 36, "small", fitted(box.id, room, SMALL)),
            text(x, y + 51, "small soft", fitted(box.provider or "no provider", room, SMALL)),
        ]
        if box.start:
            a, b = number(spot.x - 16), number(spot.x - 5)
            parts.append(
                f'<path class="start" d="M{a},{number(spot.middle - 7)} L{b},{number(spot.middle)} L{a},{number(spot.middle + 7)} Z"/>'
            )
        if box.notes:
            parts.append(_badge(spot.right + 3, spot.y - 2, box.notes, box.severity))
        return "".join(parts) + "</g>"


def _rect(spot: Spot, classes: str, radius: float) -> str:
    place = " ".join(
        f'{name}="{number(value)}"'
        for name, value in zip(("x", "y", "width", "height"), (spot.x, spot.y, spot.w, spot.h), strict=True)
    )
    return f'<rect class="{classes}" {place} rx="{number(radius)}"/>'


def _tip(route: Route, severity: Severity) -> str:
    x, y = route.end
    dx, dy = {"right": (-1, 0), "left": (1, 0), "down": (0, -1), "up": (0, 1)}[route.arrow]
    base = x + 8 * dx, y + 8 * dy
    corners = [(x, y), (base[0] + 4 * dy, base[1] + 4 * dx), (base[0] - 4 * dy, base[1] - 4 * dx)]
    return f'<path class="{f"m-{severity}" if severity else "tip"}" d="M{" L".join(f"{number(a)},{number(b)}" for a, b in corners)} Z"/>'


def _badge(x: float, y: float, notes: Sequence[int], severity: Severity, *, middle: bool = False) -> str:
    """Numbers of problems on a coloured ground that ends at `x`, or has its middle there."""
    shown = ",".join(map(str, notes)) if len(notes) < 4 else f"{notes[0]} +{len(notes) - 1}"
    room = max(width(shown, 10, bold=True) + 8, 2 * BADGE)
    left = x - room / 2 if middle else x - room
    ground = Spot(left, y - BADGE, room, 2 * BADGE)
    at = left + (room - width(shown, 10, bold=True)) / 2
    return f'<g class="badge">{_rect(ground, f"m-{severity}", BADGE)}{text(at, y + 3.6, "mark", shown)}</g>'
