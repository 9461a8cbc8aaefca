# SPDX-License-Identifier: MIT
"""PowerPoint: slide by slide in the order of the show; each with its title first and its notes last."""

from collections.abc import Iterator

from lxml import etree

from rocketride_parse.parts import Flow, Part, grid, one_line
from rocketride_parse.source import Source, page_range

from .ooxml import Package, children

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TITLES = ("title", "ctrTitle")
# Repeated on every slide by the program, not said by its author.
_FURNITURE = ("sldNum", "dt", "ftr", "hdr", "sldImg")


def read(source: Source) -> Iterator[Part]:
    """One text a slide, its tables apart; the slide's title as a heading of level 2."""
    with Package(source) as package:
        main = package.main()
        relations = package.relations(main)
        slides = [relations[item.get(_ID, "")].target for item in package.part(main).iter(f"{_P}sldId")]
        first, chosen = "", page_range(source.options.pages)
        for slide in (slide for number, slide in enumerate(slides, 1) if chosen(number)):
            flow = Flow()
            shapes = list(_shapes(package.part(slide)))
            for shape in sorted(shapes, key=lambda shape: _role(shape) not in _TITLES):
                if _role(shape) in _TITLES:
                    title = one_line(" ".join(_paragraphs(shape)))
                    first = first or title
                    flow.add(f"## {title}" if title else "")
                else:
                    yield from _shape(shape, flow)
            for relation in package.relations(slide).values():
                if relation.kind == "notesSlide":
                    for shape in _shapes(package.part(relation.target)):
                        yield from _shape(shape, flow)
            yield from flow.end()
            yield from package.media(slide)
        yield package.core(pages=len(slides), title=first)


def _shapes(root: etree._Element) -> Iterator[etree._Element]:
    tree = root.find(f"{_P}cSld/{_P}spTree")
    yield from _flat(tree) if tree is not None else ()


def _flat(tree: etree._Element) -> Iterator[etree._Element]:
    for child in children(tree):
        if child.tag == f"{_P}grpSp":
            yield from _flat(child)
        elif child.tag in (f"{_P}sp", f"{_P}graphicFrame", f"{_P}cxnSp") and _role(child) not in _FURNITURE:
            yield child


def _role(shape: etree._Element) -> str:
    placeholder = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return placeholder.get("type", "body") if placeholder is not None else ""


def _shape(shape: etree._Element, flow: Flow) -> Iterator[Part]:
    table = next(shape.iter(f"{_A}tbl"), None)
    if table is None:
        flow.add("\n".join(_paragraphs(shape)))
        return
    rows = [[" ".join(_paragraphs(cell)) for cell in row.iter(f"{_A}tc")] for row in table.iter(f"{_A}tr")]
    yield from flow.put(grid(rows))


def _paragraphs(root: etree._Element) -> Iterator[str]:
    """The text of each paragraph; fields by their last value, a line break as one."""
    for paragraph in root.iter(f"{_A}p"):
        pieces = [
            "\n" if item.tag == f"{_A}br" else item.text or ""
            for item in paragraph.iter(f"{_A}t", f"{_A}br")
        ]  # fmt: skip
        text = "".join(pieces).strip()
        if text:
            yield text
