# SPDX-License-Identifier: MIT
"""A store's tools: what an agent gives them, and what it gets."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import attrs

from rocketride_core import Arguments, Document, Json, ToolInput, setting

from .asking import Asker
from .backend import VectorStore
from .errors import StoreError
from .filters import Request, Where
from .keeper import Keeper
from .texts import storable
from .writing import MOST, Writer

__all__ = ["Deleted", "Hit", "SearchFilter", "Searched", "ToolDocument", "Upserted", "delete", "search", "upsert"]


@attrs.frozen(kw_only=True)
class SearchFilter:
    """Which chunks are searched; what is not given does not matter."""

    object_id: str | None = setting(None, key="objectId", doc="Only chunks of this object.")
    node_id: str | None = setting(None, key="nodeId", doc="Only chunks with this nodeId.")
    parent: str | None = setting(None, doc="Only chunks of the file with this path.")


@attrs.frozen(kw_only=True)
class ToolDocument:
    """A text to store."""

    content: str = setting(doc="The text.")
    object_id: str = setting(doc="Name of what the text belongs to; storing an object again replaces it.")
    metadata: dict[str, Any] = setting({}, doc="What else is known of it.")
    embedding: list[float] | None = setting(None, doc="Its vector; without one the store embeds the text.")
    embedding_model: str = setting("", doc="The model that made the vector.")


class Hit(TypedDict):
    content: str
    score: float | None
    metadata: Mapping[str, Json]


class Searched(TypedDict):
    results: Sequence[Hit]
    total: int
    note: NotRequired[str]


class Upserted(TypedDict):
    success: bool
    count: int
    skipped: int


class Deleted(TypedDict):
    success: bool
    deleted_count: int


def search(asker: Asker, query: str, top_k: int, filter: SearchFilter | None) -> Searched:
    """Semantic search, or keyword search and a note that says why."""
    if not query.strip():
        raise ToolInput("$.query: it must not be empty", path="$.query")
    told = filter or SearchFilter()
    given: Arguments = {"objectIds": told.object_id, "nodeId": told.node_id, "parent": told.parent, "limit": top_k}
    request = Request.of(given)
    if asker.keeper.known() is None:
        return {"results": [], "total": 0, "note": f"nothing is stored in {asker.component} yet"}
    why = ""
    documents: Sequence[Document] = []
    if asker.embedder is None:
        why = "no embedding is bound to it"
    else:
        try:
            [vector] = asker.embedder.embed([storable(query)], query=True)
        except Exception as error:  # noqa: BLE001 - whatever keeps the embedder from its work, words can still be compared
            why = f"its embedding failed: {error}"
        else:
            documents = asker.near(vector, asker.embedder.model, request)
    if why:
        documents = asker.matching_any(query, request)
    hits: list[Hit] = [{"content": one.text, "score": one.score, "metadata": one.metadata} for one in documents]
    found: Searched = {"results": hits, "total": len(hits)}
    if why:
        found["note"] = f"this is keyword search, without scores: {asker.component} cannot search by meaning, because {why}"
    return found


def upsert(writer: Writer, documents: Sequence[ToolDocument]) -> Upserted:
    """Replaces whole objects; texts without content are skipped."""
    chunks: list[Document] = []
    for at, one in enumerate(documents):
        if not one.object_id.strip():
            path = f"$.documents[{at}].object_id"
            raise ToolInput(f"{path}: it must not be empty", path=path)
        if one.content.strip():
            chunks.append(_chunk(at, one))
    bare = any(chunk.embedding is None for chunk in chunks)
    if bare and writer.embedder is None:
        raise StoreError(
            "invalid",
            sentence=f"{writer.component} cannot embed documents, because no embedding is bound to it: give each document an "
            "`embedding`, bind an embedding node to its control `embedding`, or write a block `embedding` in its config",
        )
    writer.add(chunks)
    writer.finish()
    return {"success": True, "count": len(chunks), "skipped": len(documents) - len(chunks)}


def _chunk(at: int, one: ToolDocument) -> Document:
    path = f"$.documents[{at}].metadata.chunkId"
    number = one.metadata.get("chunkId")
    if number is not None and (type(number) is not int or not 0 <= number <= MOST):
        raise ToolInput(f"{path}: a chunk's number is an integer from 0 to {MOST}, not {number!r}", path=path)
    vector = memoryview(array("f", one.embedding)) if one.embedding else None
    return Document(
        one.content, {"parent": "", **one.metadata, "objectId": one.object_id}, vector, one.embedding_model if vector else ""
    )


def delete(store: VectorStore, keeper: Keeper, object_ids: Sequence[str]) -> Deleted:
    """Removes objects for good; `deleted_count` counts those that were there."""
    gone = 0
    if object_ids and keeper.known() is not None:
        for id in dict.fromkeys(object_ids):
            ids = store.ids(Where.object(id))
            store.delete(ids)
            gone += bool(ids)
    return {"success": True, "deleted_count": gone}
