# SPDX-License-Identifier: MIT
"""Word: paragraphs and tables as they stand; headers before them, footnotes and footers after them, each once."""

import re
from collections.abc import Iterator

from lxml import etree

from rocketride_parse.parts import Flow, Part, Text, grid, one_line
from rocketride_parse.source import Source

from .ooxml import Package, children

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_VALUE = f"{_W}val"
_HEADING = re.compile(r"(?:heading (\d)|(title))$")
# Deleted and moved-away text, and the instructions of fields, are in the file but not in the document.
_GONE = {f"{_W}{name}" for name in ("del", "moveFrom", "instrText", "delText", "pPr", "rPr", "tblPr", "trPr", "tcPr", "sectPr")}
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read(source: Source) -> Iterator[Part]:
    """Text and tables in order; headings in Markdown's way, list items with a dash."""
    with Package(source) as package:
        main = package.main()
        relations = package.relations(main)
        writer = _Writer(_levels(package, [relation.target for relation in relations.values() if relation.kind == "styles"]))
        body = package.part(main).find(f"{_W}body")
        if body is None:
            raise ValueError("it has no body")
        for kind in ("header", "body", "footnotes", "endnotes", "footer"):
            targets = sorted({relation.target for relation in relations.values() if relation.kind == kind})
            for root in [body] if kind == "body" else map(package.part, targets):
                yield from writer.once(root) if kind in ("header", "footer") else writer.blocks(root)
        yield from writer.flow.end()
        for name in (main, *(relation.target for relation in relations.values() if relation.kind in ("header", "footer"))):
            yield from package.media(name)
        yield package.core()


def _levels(package: Package, targets: list[str]) -> dict[str, int]:
    """Heading levels by style id: the ids are translated in other languages' Word, the names are not."""
    levels = {}
    for style in (item for target in targets for item in package.part(target).iter(f"{_W}style")):
        name = style.find(f"{_W}name")
        match = _HEADING.match(name.get(_VALUE, "").lower()) if name is not None else None
        if match:
            levels[style.get(f"{_W}styleId", "")] = int(match[1] or 1)
    return levels


class _Writer:
    def __init__(self, levels: dict[str, int]) -> None:
        self.flow = Flow()
        self.levels = levels
        self.said: set[str] = set()

    def once(self, root: etree._Element) -> Iterator[Part]:
        """A header or footer, unless an equal one came before (first page, odd and even pages)."""
        text = "\n".join(line for line in map(one_line, self.cell(root).split("\n")) if line)
        if text and text not in self.said:
            self.said.add(text)
            self.flow.add(text)
        return iter(())

    def blocks(self, root: etree._Element) -> Iterator[Part]:
        for element in children(root):
            if element.tag == f"{_W}p":
                boxes: list[etree._Element] = []
                self.flow.add(self.paragraph(element, boxes))
                for box in boxes:
                    yield from self.blocks(box)
            elif element.tag == f"{_W}tbl":
                yield from self.flow.put(grid(self.rows(element)))
            elif element.tag not in _GONE and not self.separator(element):
                yield from self.blocks(element)

    @staticmethod
    def separator(element: etree._Element) -> bool:
        """The rule above the notes is a note of its own, of a special type."""
        return element.tag in (f"{_W}footnote", f"{_W}endnote") and element.get(f"{_W}type", "normal") != "normal"

    def paragraph(self, element: etree._Element, boxes: list[etree._Element]) -> str:
        text = "".join(self.runs(element, boxes)).strip()
        style = element.find(f"{_W}pPr/{_W}pStyle")
        level = self.levels.get(style.get(_VALUE, ""), 0) if style is not None else 0
        if level and text:
            return "#" * min(level, 6) + " " + one_line(text)
        numbered = element.find(f"{_W}pPr/{_W}numPr") is not None or (
            style is not None and style.get(_VALUE, "").startswith("List")
        )
        return f"- {text}" if numbered and text else text

    def runs(self, element: etree._Element, boxes: list[etree._Element]) -> Iterator[str]:
        for child in children(element):
            if child.tag == f"{_W}t":
                yield child.text or ""
            elif child.tag in _BREAKS:
                yield _BREAKS[child.tag]
            elif child.tag == f"{_W}txbxContent":
                boxes.append(child)
            elif child.tag not in _GONE:
                yield from self.runs(child, boxes)

    def rows(self, table: etree._Element) -> Iterator[list[str]]:
        for row in table.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not table or row.find(f"{_W}trPr/{_W}del") is not None:
                continue
            line: list[str] = []
            for cell in (item for item in row.iter(f"{_W}tc") if next(item.iterancestors(f"{_W}tr")) is row):
                span = cell.find(f"{_W}tcPr/{_W}gridSpan")
                width = span.get(_VALUE, "1") if span is not None else "1"
                line += [self.cell(cell), *[""] * (int(width) - 1 if width.isdigit() else 0)]
            yield line

    def cell(self, root: etree._Element) -> str:
        """All text inside, nested tables and boxes included."""
        inner = _Writer({})
        parts = [*inner.blocks(root), *inner.flow.end()]
        return "\n".join(
            part.text if isinstance(part, Text) else "\n".join(" ".join(row) for row in _rows(part)) for part in parts
        )


def _rows(part: Part) -> list[list[str]]:
    return getattr(part, "rows", [])
