# SPDX-License-Identifier: MIT
"""HTML: what a reader of the page sees, headings and lists in Markdown's way, data tables apart."""

import re
from collections.abc import Callable, Iterator, Sequence

from lxml import html

from rocketride_parse.media import embedded
from rocketride_parse.parts import Flow, Part, facts, grid, one_line
from rocketride_parse.source import Source

_CHARSET = re.compile(
    rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)|^\s*<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
_SILENT = {
    "script", "style", "template", "noscript", "head", "svg",
    "math", "iframe", "object", "canvas", "select", "datalist", "textarea",
}  # fmt: skip
_INLINE = {
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "input", "ins", "kbd", "label", "mark", "meter", "output", "picture", "progress", "q", "rp", "rt", "ruby", "s",
    "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "button",
    "link", "meta",
}  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def read(source: Source) -> Iterator[Part]:
    """Paragraphs and tables in the order of the page; scripts, styles and hidden elements are left out."""
    declared = [(one or two).decode() for one, two in _CHARSET.findall(source.head)]
    yield from read_text(source.decode(declared), source.options.lanes)


def read_text(text: str, lanes: Sequence[str] = ()) -> Iterator[Part]:
    """The same for a page that is text already, as in a mail. Pictures that are in the page itself come after its text."""
    content = text.lstrip("\ufeff").encode("utf-8", "replace")
    if not content.strip():
        return
    root = html.document_fromstring(
        content, parser=html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    )
    page = _Page()
    body = root.find("body")
    yield from page.block(root if body is None else body)
    yield from page.end()
    for number, element in enumerate(root.iter("img", "audio", "video", "source") if lanes else (), 1):
        found = embedded(element.get("src", ""), element.get("alt", "") or f"{element.tag}-{number}", lanes)
        if found is not None:
            yield found
    named = {str(meta.get("name", "")).lower(): str(meta.get("content", "")) for meta in root.iter("meta")}
    yield facts(
        title=root.findtext(".//title") or named.get("dc.title"),
        author=named.get("author") or named.get("dc.creator"),
        description=named.get("description"),
        language=root.get("lang") or named.get("language"),
    )


class _Page:
    """Walks the elements; `line` is the inline text that the next block boundary ends."""

    def __init__(self) -> None:
        self.flow = Flow()
        self.line: list[str] = []
        self.prefix = ""

    def end(self) -> Iterator[Part]:
        self.close()
        yield from self.flow.end()

    def close(self) -> None:
        pieces = [one_line(piece) for piece in "".join(self.line).split("\n")]
        text = "\n".join(piece for piece in pieces if piece)
        self.line.clear()
        if text:
            self.flow.add(self.prefix + text)
            self.prefix = ""

    def say(self, text: str | None) -> None:
        if text:
            self.line.append(re.sub(r"\s", " ", text))

    def block(self, element: html.HtmlElement) -> Iterator[Part]:
        self.say(element.text)
        for child in element:
            if isinstance(child.tag, str):
                yield from self.child(child)
            self.say(child.tail)

    def child(self, element: html.HtmlElement) -> Iterator[Part]:
        tag = str(element.tag).lower()
        if tag in _SILENT or "hidden" in element.attrib or _HIDDEN.search(element.get("style", "")):
            return
        if tag == "br":
            self.line.append("\n")
        elif tag in _INLINE:
            yield from self.block(element)
        elif tag == "pre":
            self.close()
            self.flow.add("".join(str(piece) for piece in element.itertext()))
        elif tag == "table":
            yield from self.table(element)
        else:
            self.close()
            self.prefix = _HEADINGS.get(tag, "- " if tag == "li" else "" if tag not in ("p", "div") else self.prefix)
            yield from self.block(element)
            self.close()
            self.prefix = ""

    def table(self, element: html.HtmlElement) -> Iterator[Part]:
        self.close()
        rows = [row for row in element.iter("tr") if next(row.iterancestors("table")) is element]
        if any(True for _ in element.iterdescendants("table")) or element.get("role") == "presentation":
            yield from self.block(element)
            self.close()
            return
        for caption in element.iter("caption"):
            self.flow.add(self.inline(caption))
        head = [row for row in rows if row.getparent().tag == "thead"]
        foot = [row for row in rows if row.getparent().tag == "tfoot"]
        body = [row for row in rows if row not in head and row not in foot]
        yield from self.flow.put(grid(_spread([*head, *body, *foot], self.inline)))

    def inline(self, element: html.HtmlElement) -> str:
        inner = _Page()
        for _ in inner.block(element):
            pass
        inner.close()
        return " ".join(part.text for part in inner.flow.end())  # type: ignore[union-attr]


def _spread(rows: list[html.HtmlElement], inline: Callable[[html.HtmlElement], str]) -> Iterator[list[str]]:
    """Cell texts by column: a spanning cell says its text in its first place and leaves the others blank."""
    pending: dict[int, int] = {}
    for row in rows:
        line: list[str] = []
        held, pending = pending, {}
        for cell in row:
            if cell.tag not in ("td", "th"):
                continue
            while held.get(len(line), 0):
                pending[len(line)] = held[len(line)] - 1
                line.append("")
            wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
            for offset in range(wide):
                if high > 1:
                    pending[len(line)] = high - 1
                line.append(inline(cell) if offset == 0 else "")
        for column, count in held.items():
            if column >= len(line) and count > 1:
                pending[column] = count - 1
        yield line


def _span(cell: html.HtmlElement, name: str) -> int:
    value = cell.get(name, "1").strip()
    return min(max(int(value), 1), 1000) if value.isdigit() else 1
