# SPDX-License-Identifier: MIT
"""What Word, PowerPoint and Excel files share: a ZIP package of XML parts that point at each other (ECMA-376, part 2)."""

import posixpath
import zipfile
from collections.abc import Iterator
from typing import NamedTuple, Self

from lxml import etree

from rocketride_parse.errors import Encrypted
from rocketride_parse.media import media
from rocketride_parse.parts import Media, Meta, facts
from rocketride_parse.source import Source

_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
ALTERNATE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
CHOICE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Choice"

_STRICT = (
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"),
    (b"http://purl.oclc.org/ooxml/presentationml/main", b"http://schemas.openxmlformats.org/presentationml/2006/main"),
    (b"http://purl.oclc.org/ooxml/drawingml/main", b"http://schemas.openxmlformats.org/drawingml/2006/main"),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
)


class Relation(NamedTuple):
    """Where a part points: the last word of the relation's type, and the name of the target part."""

    kind: str
    target: str


class Package:
    """An open package. The strict and the transitional flavour differ in namespaces only; parts are read as transitional."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._shown: set[str] = set()
        self._archive = zipfile.ZipFile(source.path)
        self._names = {name.lower(): name for name in self._archive.namelist()}
        if any(info.flag_bits & 1 for info in self._archive.infolist()):
            self._archive.close()
            raise Encrypted(f"{source.name}: encrypted with a password; save a copy without one")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._archive.close()

    def part(self, name: str) -> etree._Element:
        """The root element of a part. KeyError when the package lacks it."""
        stored = self._names.get(name.lstrip("/").lower())
        if stored is None:
            raise KeyError(f"its part {name} is missing")
        content = self._archive.read(stored)
        for strict, transitional in _STRICT:
            content = content.replace(strict, transitional)
        return etree.fromstring(
            content, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True, remove_comments=True)
        )

    def relations(self, name: str = "") -> dict[str, Relation]:
        """The internal relations of a part by their id; of the package itself without a name."""
        folder, base = posixpath.split(name.lstrip("/"))
        path = posixpath.join(folder, "_rels", f"{base}.rels")
        if path.lower() not in self._names:
            return {}
        found = {}
        for item in self.part(path).iter(_RELATION):
            if item.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, item.get("Target", "")))
                found[item.get("Id", "")] = Relation(posixpath.basename(item.get("Type", "")), target.lstrip("/"))
        return found

    def main(self) -> str:
        """The name of the main part."""
        for relation in self.relations().values():
            if relation.kind == "officeDocument":
                return relation.target
        raise KeyError("it names no main part")

    def media(self, name: str) -> Iterator[Media]:
        """What a part shows and plays, in its order, each file of the package once; nothing for lanes nobody listens to."""
        if not self._source.options.lanes or name.lower() not in self._names:
            return
        relations = {
            id: one.target for id, one in self.relations(name).items() if one.kind in ("image", "media", "audio", "video")
        }
        for element in self.part(name).iter() if relations else ():
            for id in element.attrib.values():
                if str(id) in relations:
                    yield from self.file(relations[str(id)])

    def file(self, name: str) -> Iterator[Media]:
        """A media file of the package, unless it came before."""
        stored = self._names.get(name.lower())
        if stored is None or stored in self._shown:
            return
        self._shown.add(stored)
        self._source.budget.add(self._archive.getinfo(stored).file_size)
        found = media(self._archive.read(stored), posixpath.basename(stored), self._source.options.lanes)
        if found is not None:
            yield found

    def folder(self, name: str) -> Iterator[Media]:
        """The media files in a folder of the package, in the order of their numbers."""
        inside = [stored for low, stored in self._names.items() if low.startswith(name)] if self._source.options.lanes else []
        for stored in sorted(inside, key=lambda stored: (len(stored), stored)):
            yield from self.file(stored)

    def core(self, **more: object) -> Meta:
        """Title, author, language and dates from the core properties, and `more`."""
        names = {
            "title": "title",
            "creator": "author",
            "language": "language",
            "created": "created",
            "modified": "modified",
            "subject": "subject",
        }
        found: dict[str, object] = {}
        for relation in self.relations().values():
            if relation.kind == "core-properties" and relation.target.lower() in self._names:
                for child in self.part(relation.target):
                    key = names.get(etree.QName(child).localname) if isinstance(child.tag, str) else None
                    if key and child.text:
                        found[key] = child.text
        return facts(**{**more, **found})


def children(element: etree._Element) -> Iterator[etree._Element]:
    """Child elements; of alternative contents the first choice only, so that a shape and its fallback picture come once."""
    for child in element:
        if child.tag == ALTERNATE:
            choice = child.find(CHOICE)
            yield from children(choice if choice is not None else child[-1]) if len(child) else ()
        elif isinstance(child.tag, str):
            yield child
