# SPDX-License-Identifier: MIT
"""The indexer node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    QUESTIONS,
    TABLE,
    TEXT,
    Document,
    Instance,
    Json,
    Node,
    NodeSpec,
    Param,
    Problem,
    Question,
    ToolInput,
    hookimpl,
    on,
    setting,
    tool,
)
from rocketride_store import MEMORY, Folders, Request, StoreError, Where
from rocketride_store.probing import unmade
from rocketride_store.results import answered
from rocketride_store.tools import Deleted, Hit, Searched, SearchFilter
from rocketride_store.writing import Pending

from .passages import passages

if TYPE_CHECKING:
    from .asking import Asker
    from .shared import SharedIndex

__all__ = ["Indexer", "IndexerConfig"]

_FOLDERS: Final[Folders[SharedIndex]] = Folders("full-text index")
_KNOWN = ("nodeId", "permissionId")  # of an object's metadata, for filters


@attrs.frozen(kw_only=True)
class IndexerConfig:
    """Where the index is, and in which pieces texts are found."""

    path: str = setting(
        "indexer",
        aliases=["indexOutput"],
        title="Folder",
        doc="Of the index, relative to the working directory; `:memory:` keeps nothing.",
    )
    strlen: int = setting(2000, ge=1, unit="characters", title="Longest passage", doc="Of text and tables; documents stay whole.")
    limit: int = setting(
        25, key="top_k", ge=1, title="Results", doc="For each question text, where the question's filter says no limit."
    )
    interval: float = setting(
        2.0,
        key="commitInterval",
        ge=0,
        unit="s",
        title="Time between commits",
        doc="Until then other processes do not find what was written; 0: it is on the disk before the object's result is there.",
    )
    wait: float = setting(
        60.0, key="maxTime", ge=0, unit="s", title="Wait for other writers", doc="While another process writes into the index."
    )


@attrs.define
class Arrived:
    """What one object has brought so far."""

    texts: list[str] = attrs.field(factory=list)
    tables: int = 0
    documents: list[Document] = attrs.field(factory=list)
    spoken: bool = False


class Indexer(Node[IndexerConfig]):
    """Text, tables and documents in; questions to documents, answers and questions, by their words."""

    spec = NodeSpec(
        "indexer",
        title="Word indexer",
        description="Keeps a full-text index of objects and finds them by their words.",
        categories=["store", "tool"],
        stores=True,
    )
    index: SharedIndex

    # ---- for programs

    def delete(self, object_ids: Sequence[str]) -> int:
        """Remove objects for good; the number of those that were there."""
        there = {id for id in dict.fromkeys(object_ids) if self._asker().select(Where.object(id), limit=1)}
        if there:
            self.index.commit(self.index.replace(dict.fromkeys(there, ()), wait=self.config.wait))
        return len(there)

    def mark_deleted(self, object_ids: Sequence[str]) -> int:
        """Hide objects from every question that does not ask for `isDeleted`; the number of their chunks. Nothing is removed."""
        return self._mark(object_ids, True)

    def mark_active(self, object_ids: Sequence[str]) -> int:
        """Undo `mark_deleted`."""
        return self._mark(object_ids, False)

    # ---- hooks

    @hookimpl
    def prepare_global(self) -> None:
        for module in ("asking", "shared"):
            import_module(f"{__package__}.{module}")

    @hookimpl
    def begin_global(self) -> None:
        self.prepare_global()
        self.index = self.enter(self._opened())

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        try:
            if self.config.path == MEMORY or unmade(Path(self.config.path)):
                return
            with self._opened() as index:
                index.searcher()
        except StoreError as error:
            yield Problem("path", "probe-failed", str(error), component=self.id)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        from .shared import PAUSE

        arrived, pending, entry = instance.state(Arrived), Pending(), instance.entry
        objects: dict[str, list[Document]] = {entry.object_id: []} if arrived.spoken else {}
        text = "".join(piece + "\n" for piece in arrived.texts)
        made = [*arrived.documents, *self._passages(instance, text)]
        for one in made:
            chunk = pending.chunk(attrs.evolve(one, embedding=None, embedding_model="", score=None), entry)
            objects.setdefault(str(chunk.metadata["objectId"]), []).append(chunk)
        if objects:
            interval = self.config.interval
            number = self.index.replace(objects, wait=self.config.wait, pause=interval or PAUSE, gone=lambda: instance.cancelled)
            if not interval:
                self.index.commit(number)

    # ---- lanes

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.state(Arrived).spoken = True
        instance.state(Arrived).texts.append(text)

    @on(TABLE)
    def table(self, instance: Instance, table: str) -> None:
        arrived = instance.state(Arrived)
        arrived.spoken = True
        if table.strip():
            arrived.tables += 1
            arrived.documents += self._passages(instance, table, table=arrived.tables)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.state(Arrived).documents += documents

    @on(QUESTIONS, emits=[DOCUMENTS, ANSWERS, QUESTIONS])
    def ask(self, instance: Instance, question: Question) -> None:
        request = Request.of(question.filter, limit=self.config.limit)
        if request.unknown:
            names = ", ".join(request.unknown)
            instance.warn("unknown-filter", f"{self.id} does not know {names} in the question's filter; it is left out")
        answered(instance, question, self._asker().find(question, request))

    # ---- tools

    @tool(concurrent=True)
    def search(
        self,
        instance: Instance,
        query: Annotated[str, Param("Words to look for; words in double quotes stay together.", min_length=1)],
        top_k: Annotated[int, Param("How many results at most.", ge=1, le=100)] = 10,
        filter: Annotated[SearchFilter | None, Param("Where to look; everywhere if not given.")] = None,
    ) -> Searched:
        """Search the indexed texts for words. Passages with all of them are found, else those with any of them; best first."""
        if not query.strip():
            raise ToolInput("$.query: it must not be empty", path="$.query")
        told = filter or SearchFilter()
        request = Request.of(
            {"objectIds": told.object_id, "nodeId": told.node_id, "parent": told.parent, "limit": top_k}, limit=top_k
        )
        asker = self._asker()
        found = asker.words(query, request, every=True)
        note = ""
        if not found:
            found = asker.words(query, request, every=False)
            note = "no passage has all of these words; these have some of them" if found else ""
        hits: list[Hit] = [{"content": one.text, "score": None, "metadata": one.metadata} for one in found]
        return {"results": hits, "total": len(hits), **({"note": note} if note else {})}  # type: ignore[typeddict-item]

    @tool(name="delete")
    def delete_objects(
        self, instance: Instance, object_ids: Annotated[list[str], Param("The objects to remove; an empty list removes nothing.")]
    ) -> Deleted:
        """Remove everything that is indexed of these objects, for good. The count is of the objects that were there."""
        return {"success": True, "deleted_count": self.delete(object_ids)}

    # ---- parts

    @contextmanager
    def _opened(self) -> Iterator[SharedIndex]:
        from .shared import SharedIndex

        if self.config.path == MEMORY:
            alone = SharedIndex(None)
            try:
                yield alone
            finally:
                alone.close()
            return
        place = Path(self.config.path)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            told = f"The folder {place.absolute()} of the index cannot be made; use another folder"
            raise StoreError("permission", str(error), sentence=told) from error
        index = _FOLDERS.take(place, SharedIndex, SharedIndex.close)
        try:
            yield index
            index.commit()
        finally:
            _FOLDERS.give(place)

    def _asker(self) -> Asker:
        from .asking import Asker

        return Asker(self.index.searcher(), self.id)

    def _passages(self, instance: Instance, text: str, *, table: int = 0) -> list[Document]:
        entry = instance.entry
        known: dict[str, Any] = {key: instance.metadata[key] for key in _KNOWN if instance.metadata.get(key) is not None}
        metadata: dict[str, Json] = {
            **known,
            "objectId": entry.object_id,
            "name": entry.name,
            "parent": entry.path,
            "signature": self.id,
            "isDeleted": False,
            "isTable": table > 0,
            "tableId": table,
        }
        cut = passages(text, self.config.strlen)
        return [Document(text[start:end], {**metadata, "start": start, "end": end}) for start, end in cut]

    def _mark(self, object_ids: Sequence[str], deleted: bool) -> int:
        asker = self._asker()
        there = {id: asker.select(Where.object(id)) for id in dict.fromkeys(object_ids)}
        marked = {
            id: [attrs.evolve(one, metadata={**one.metadata, "isDeleted": deleted}) for one in chunks]
            for id, chunks in there.items()
            if chunks
        }
        if marked:
            self.index.commit(self.index.replace(marked, wait=self.config.wait))
        return sum(map(len, marked.values()))
