# SPDX-License-Identifier: MIT
"""XML: records as `name: value` lines, running text as paragraphs."""

import re
from collections.abc import Iterator

from lxml import etree

from rocketride_parse.parts import Part, Text, facts, one_line, tidy
from rocketride_parse.source import Source

_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read(source: Source) -> Iterator[Part]:
    """All texts and attribute values in document order; entities beyond the document are never fetched."""
    declared = _DECLARED.match(source.head)
    text = source.decode([declared[1].decode()] if declared else ())
    content = _DECLARATION.sub("", text.lstrip("\ufeff"), count=1).strip().encode("utf-8", "replace")
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities="internal", no_network=True, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(content, parser)
    outline = tidy("\n".join(_outline(root, 0)))
    if outline.strip():
        yield Text(outline)
    by_name = {_name(child): child.text for child in root if isinstance(child.tag, str) and not len(child)}
    yield facts(title=by_name.get("title"), author=by_name.get("author"), language=root.get(_LANG) or by_name.get("language"))


def _name(element: etree._Element) -> str:
    return str(etree.QName(element).localname)


def _outline(element: etree._Element, depth: int) -> Iterator[str]:
    pad = "  " * depth
    attributes = ", ".join(
        f"{etree.QName(str(key)).localname} {one_line(str(value))}" for key, value in element.attrib.items() if str(value).strip()
    )
    label = _name(element) + (f" ({attributes})" if attributes else "")
    children = [child for child in element if isinstance(child.tag, str)]
    own = [element.text, *(child.tail for child in element)]
    if any(piece and piece.strip() for piece in own) or not children:
        text = one_line("".join(str(piece) for piece in element.itertext()))
        inner = "; ".join(
            one_line(str(value)) for child in element.iterdescendants() for value in child.attrib.values() if str(value).strip()
        )
        if text or attributes:
            yield f"{pad}{label}: {text}".rstrip(": ") + (f" [{inner}]" if inner else "")
        return
    yield f"{pad}{label}:"
    for child in children:
        yield from _outline(child, depth + 1)
