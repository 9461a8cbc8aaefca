# SPDX-License-Identifier: MIT
"""Stores that work on vectors: whether what reaches them has vectors, and whether all of these are of one model.

Core knows no store and no embedder by name. A store of vectors is a node that `stores` and may have an `embedding` bound to
it; an embedder is one of the category `embedding`, or one that serves that control.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from .controls import EMBEDDING
from .errors import Problem
from .lanes import DOCUMENTS, QUESTIONS
from .pipefile import LaneLink
from .profiles import Resolved
from .wires import Wires

if TYPE_CHECKING:
    from .compiler import Part

__all__ = ["embedding_problems"]

# Settings that say which collection is meant, and which model: by the names that stores and embedders have for them.
PLACE = ("mode", "host", "port", "url", "uri", "path", "database", "schema", "table", "index", "namespace", "collection")
MODEL = ("model", "modelName", "model_name", "dimension", "dimensions", "truncate_dim")


@attrs.frozen
class Vectors:
    """Where what flows over a link got its vectors.

    Parameters:
        embedders: ids of the nodes that embedded it.
        bare: id of a node that makes it without vectors, none embedding it on the way; "" where that is not sure.
    """

    embedders: frozenset[str]
    bare: str = ""


def embedding_problems(parts: Sequence[Part], wires: Wires, resolved: Mapping[str, Resolved]) -> list[Problem]:
    stores = [part for part in parts if not part.missing and part.cls.spec.stores and EMBEDDING in part.cls.spec.needs]
    return _Check(wires, resolved).problems(stores) if stores else []


class _Check:
    def __init__(self, wires: Wires, resolved: Mapping[str, Resolved]) -> None:
        self.wires, self.resolved = wires, resolved
        self.known: dict[tuple[str, str], Vectors] = {}

    def problems(self, stores: Sequence[Part]) -> list[Problem]:
        out: list[Problem] = []
        written: dict[tuple[Any, ...], dict[str, str]] = {}
        asked: list[tuple[Part, LaneLink, str]] = []
        bound = {id: self.bound(id) for id in (store.component.id for store in stores)}
        for store in stores:
            told: set[str] = set()
            for link in store.component.input:
                if link.lane not in (DOCUMENTS.name, QUESTIONS.name):
                    continue
                vectors = self.trace(link.source, link.lane)
                if vectors.bare and not bound[store.component.id] and link.lane not in told:
                    told.add(link.lane)
                    out.append(_unembedded(store, link, vectors.bare))
                by = vectors.embedders or (frozenset(bound[store.component.id]) if vectors.bare else frozenset())
                for id in by:
                    if link.lane == DOCUMENTS.name:
                        written.setdefault(self.place(store), {}).setdefault(id, store.component.id)
                    else:
                        asked.append((store, link, id))
        for store, link, id in asked:
            out += self.mixed(store, link, id, written.get(self.place(store), {}))
        return list({(p.path, p.code): p for p in out}.values())

    def bound(self, store: str) -> list[str]:
        called = self.wires.called.get(store, ())
        return [
            id
            for id in called
            if any(link.caller == store and link.control == EMBEDDING.name for link in self.wires.parts[id].component.control)
        ]

    def mixed(self, store: Part, link: LaneLink, id: str, writers: Mapping[str, str]) -> Iterator[Problem]:
        for writer in writers:
            if self.model(writer) != self.model(id):
                message = f"{id} embeds the questions to a collection whose documents {writer} embeds, with another model"
                hint = "vectors of different models cannot be compared: give both the same provider, profile and model"
                yield Problem(link.at, "mixed-embedders", message, hint, store.component.id, "warning")
                return

    def place(self, store: Part) -> tuple[Any, ...]:
        return (store.cls.spec.provider, *self.values(store.component.id, PLACE))

    def model(self, id: str) -> tuple[Any, ...]:
        part, found = self.wires.parts[id], self.resolved.get(id)
        values = self.values(id, MODEL)
        named = any(value != "None" for value in values)
        return (part.cls.spec.provider, *(values if named else [found.profile if found else ""]))

    def values(self, id: str, keys: Sequence[str]) -> list[str]:
        found = self.resolved.get(id)
        return [str(found.values.get(key)) if found is not None else "None" for key in keys]

    def trace(self, id: str, lane: str, seen: frozenset[tuple[str, str]] = frozenset()) -> Vectors:
        if (id, lane) in self.known:
            return self.known[id, lane]
        if (id, lane) in seen:
            return Vectors(frozenset())
        found = self.known[id, lane] = self._traced(id, lane, seen | {(id, lane)})
        return found

    def _traced(self, id: str, lane: str, seen: frozenset[tuple[str, str]]) -> Vectors:
        part = self.wires.parts.get(id)
        if part is None or part.missing or part.cls.spec.stores:
            return Vectors(frozenset())
        spec, manifest = part.cls.spec, part.cls.manifest
        if "embedding" in spec.categories or EMBEDDING.name in manifest.offers:
            return Vectors(frozenset({id}))
        causes = {name for name, (_, _, emits) in manifest.on.items() if any(out.name == lane for out in emits)}
        inputs = [link for link in part.component.input if link.lane in causes]
        through = [self.trace(link.source, lane, seen) for link in inputs if link.lane == lane]
        born = len(through) < len(inputs) or (not causes and any(out.name == lane for out in manifest.outs))
        # A host, or whatever an active source reads from, may send documents that have their vectors already.
        sure = bool(manifest.on) or lane != DOCUMENTS.name
        bare = (id if sure else "") if born else next((one.bare for one in through if one.bare), "")
        return Vectors(frozenset().union(*(one.embedders for one in through)), bare)


def _unembedded(store: Part, link: LaneLink, bare: str) -> Problem:
    id = store.component.id
    message = f"{link.lane} reach {id} without vectors: {bare} makes them, and nothing embeds them on the way"
    hint = f'put an embedding node between, or bind one to it: "control": [{{"classType": "{EMBEDDING.name}", "from": "{id}"}}]'
    # A host may send questions that have vectors already.
    severity = "error" if link.lane == DOCUMENTS.name else "warning"
    return Problem(link.at, "no-embedding", message, hint, id, severity)  # type: ignore[arg-type]
