# SPDX-License-Identifier: MIT
"""Qdrant in a folder: the calls of `QdrantClient` that a store makes, over the engine of `qdrant-edge-py`.

The client's own path mode commits every point by itself, about 9 ms each; this is the engine of the server, in the process.
Each collection is a shard of it: `<folder>/collections/<name>`.
"""

from __future__ import annotations

import json
import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
from qdrant_client import models

from rocketride_store import StoreError

__all__ = ["FolderClient"]


@attrs.define
class _Open:
    """A shard that is open in this process, by how many clients, and what it was told since it was last flushed."""

    shard: Any
    users: int = 0
    updates: int = 0


# Writes between two flushes: the log of a shard grows until then.
_FLUSH = 50

_opening = threading.Lock()
_open: dict[Path, _Open] = {}


@attrs.frozen
class _Parameters:
    vectors: models.VectorParams


@attrs.frozen
class _Config:
    params: _Parameters


@attrs.frozen
class _Info:
    config: _Config
    points_count: int


@attrs.frozen
class _Points:
    points: Sequence[Any]


@attrs.frozen
class _Result:
    status: models.UpdateStatus = models.UpdateStatus.COMPLETED


@attrs.frozen
class _About:
    version: str


class FolderClient:
    """What `QdrantClient` is to a server, to a folder.

    Parameters:
        folder: made at the first write.

    Raises:
        StoreError: its engine is not installed; of every call, what the engine says.
    """

    def __init__(self, folder: Path) -> None:
        from numpy import bool_

        try:
            import qdrant_edge
        except ImportError as error:
            told = "Qdrant in a folder needs the package qdrant-edge-py; pip install 'rocketride-store-qdrant[embedded]'"
            raise StoreError("invalid", sentence=told) from error
        self._edge: Any = qdrant_edge
        self._bool = bool_
        self._folder = folder.absolute()
        self._mine: dict[str, _Open] = {}

    def info(self) -> _About:
        return _About(version("qdrant-edge-py"))

    def collection_exists(self, name: str) -> bool:
        return (self._place(name) / "edge_config.json").is_file()

    def get_collection(self, name: str) -> _Info:
        shard = self._shard(name)
        told = json.loads((self._place(name) / "edge_config.json").read_text())["vectors"][""]
        vectors = models.VectorParams(size=told["size"], distance=models.Distance(told["distance"]))
        return _Info(_Config(_Parameters(vectors)), shard.info().points_count)

    def create_collection(self, name: str, *, vectors_config: models.VectorParams) -> bool:
        edge, place = self._edge, self._place(name)
        vectors = edge.EdgeVectorParams(
            size=vectors_config.size, distance=getattr(edge.Distance, vectors_config.distance.name.capitalize())
        )
        # Made aside and moved: a process that is killed here leaves no half of a collection.
        making = self._folder / "making" / uuid.uuid4().hex
        with _said():
            making.mkdir(parents=True)
            place.parent.mkdir(exist_ok=True)
            try:
                edge.EdgeShard.create(str(making), edge.EdgeConfig(vectors=vectors)).close()
                making.rename(place)
            finally:
                shutil.rmtree(making, ignore_errors=True)
        return True

    def create_payload_index(self, name: str, *, field_name: str, field_schema: Any, wait: bool) -> _Result:
        edge = self._edge
        if isinstance(field_schema, models.TextIndexParams):
            schema = edge.TextIndexParams(
                tokenizer=edge.TokenizerType.Word,
                min_token_len=field_schema.min_token_len,
                max_token_len=field_schema.max_token_len,
                lowercase=field_schema.lowercase,
            )
        else:
            schema = getattr(edge.PayloadSchemaType, field_schema.name.capitalize())
        return self._update(name, edge.UpdateOperation.create_field_index(field_name, schema))

    def upsert(self, name: str, *, points: Sequence[models.PointStruct], wait: bool) -> _Result:
        made = [self._edge.Point(point.id, point.vector, point.payload) for point in points]
        return self._update(name, self._edge.UpdateOperation.upsert_points(made))

    def delete(self, name: str, *, points_selector: models.PointIdsList, wait: bool) -> _Result:
        return self._update(name, self._edge.UpdateOperation.delete_points(points_selector.points))

    def set_payload(self, name: str, *, payload: Mapping[str, Any], key: str, points: models.Filter, wait: bool) -> _Result:
        return self._update(name, self._edge.UpdateOperation.set_payload_by_filter(self._filter(points), payload, key))

    def query_points(
        self,
        name: str,
        *,
        query: Sequence[float],
        query_filter: models.Filter,
        limit: int,
        with_payload: Sequence[str],
        score_threshold: float | None,
        search_params: models.SearchParams,
    ) -> _Points:
        edge = self._edge
        asked = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(query),
            filter=self._filter(query_filter),
            score_threshold=score_threshold,
            params=edge.SearchParams(exact=bool(search_params.exact)),
            with_payload=with_payload,
        )
        shard = self._shard(name)
        with _said():
            return _Points(shard.query(asked))

    def scroll(
        self,
        name: str,
        *,
        scroll_filter: models.Filter,
        limit: int,
        offset: Any = None,
        with_payload: Sequence[str] | bool = True,
        with_vectors: bool = False,
    ) -> tuple[list[Any], Any]:
        asked = self._edge.ScrollRequest(
            limit=limit, offset=offset, filter=self._filter(scroll_filter), with_payload=with_payload, with_vector=with_vectors
        )
        shard = self._shard(name)
        with _said():
            found, after = shard.scroll(asked)
        return found, after

    def count(self, name: str, *, count_filter: models.Filter) -> int:
        shard = self._shard(name)
        with _said():
            return int(shard.count(self._edge.CountRequest(filter=self._filter(count_filter), exact=True)))

    def close(self) -> None:
        with _opening:
            while self._mine:
                name, _ = self._mine.popitem()
                place = self._place(name)
                shared = _open[place]
                shared.users -= 1
                if not shared.users:
                    del _open[place]
                    shared.shard.flush()
                    shared.shard.close()

    def _place(self, name: str) -> Path:
        return self._folder / "collections" / name

    def _shard(self, name: str) -> Any:
        with _opening:
            if name not in self._mine:
                place = self._place(name)
                if place not in _open:
                    with _said(self._folder):
                        _open[place] = _Open(self._edge.EdgeShard.load(str(place)))
                _open[place].users += 1
                self._mine[name] = _open[place]
            return self._mine[name].shard

    def _update(self, name: str, operation: Any) -> _Result:
        shard = self._shard(name)
        with _said():
            shard.update(operation)
            with _opening:
                shared = self._mine[name]
                shared.updates = (shared.updates + 1) % _FLUSH
                full = shared.updates == 0
            if full:
                shard.flush()
        return _Result()

    def _filter(self, given: models.Filter) -> Any:
        def each(conditions: Any) -> list[Any] | None:
            return [self._condition(condition) for condition in conditions] if conditions else None

        return self._edge.Filter(must=each(given.must), must_not=each(given.must_not))

    def _condition(self, given: Any) -> Any:
        edge = self._edge
        if isinstance(given, models.Filter):
            return self._filter(given)
        if isinstance(given, models.HasIdCondition):
            return edge.HasIdCondition(set(given.has_id))
        if given.range is not None:
            return edge.FieldCondition(given.key, range=edge.RangeFloat(gte=given.range.gte, lte=given.range.lte))
        if isinstance(given.match, models.MatchAny):
            return edge.FieldCondition(given.key, match=edge.MatchAny(given.match.any))
        if isinstance(given.match, models.MatchText):
            return edge.FieldCondition(given.key, match=edge.MatchText(given.match.text))
        value = given.match.value
        # The binding takes Python's True for the number 1.
        return edge.FieldCondition(given.key, match=edge.MatchValue(self._bool(value) if isinstance(value, bool) else value))


@contextmanager
def _said(folder: Path | None = None) -> Iterator[None]:
    """The engine knows one exception; its words say what happened."""
    try:
        yield
    except Exception as error:
        words = str(error)
        if "WouldBlock" in words:
            told = f"The folder {folder} is in use by another process; run a Qdrant server to share it, or use another folder"
            raise StoreError("invalid", sentence=told) from error
        raise StoreError("full" if "No space left" in words else "invalid", words) from error
