# SPDX-License-Identifier: MIT
"""Qdrant in a folder: the calls of `QdrantClient` that a store makes, over the engine of `qdrant-edge-py`.

The client's own path mode commits every point by itself, about 9 ms each; this is the engine of the server, in the process.
Each collection is a shard of it: `<folder>/collections/<name>`.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
from qdrant_client import models

from rocketride_store import Folders, engine, in_use, room

__all__ = ["FolderClient"]

# Writes between two flushes: the log of a shard grows until then.
_FLUSH = 50
# Bytes that must be free for a shard to be loaded: it makes a new log, of mapped memory too.
_LOADING = 40 << 20
_DONE = SimpleNamespace(status=models.UpdateStatus.COMPLETED)


@attrs.define
class _Open:
    """A shard that is open in this process, and how often it was told something since it was last flushed."""

    shard: Any
    updates: int = 0

    def close(self) -> None:
        self.shard.flush()
        self.shard.close()


_shards: Folders[_Open] = Folders("Qdrant")


class FolderClient:
    """What `QdrantClient` is to a server, to a folder; its methods let out what the engine raises.

    Parameters:
        folder: made at the first write.

    Attributes:
        point: makes one of its id, vector and payload.

    Raises:
        StoreError: its engine is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self._edge = engine("qdrant_edge", "Qdrant", "qdrant-edge-py", "rocketride-store-qdrant")
        self.point: Any = self._edge.Point
        self._folder = folder.absolute()
        self._mine: dict[str, _Open] = {}

    def info(self) -> Any:
        return SimpleNamespace(version=version("qdrant-edge-py"))

    def collection_exists(self, name: str) -> bool:
        return (self._place(name) / "edge_config.json").is_file()

    def get_collection(self, name: str) -> Any:
        count = self._opened(name).shard.info().points_count
        told = json.loads((self._place(name) / "edge_config.json").read_text())["vectors"][""]
        vectors = models.VectorParams(size=told["size"], distance=models.Distance(told["distance"]))
        return SimpleNamespace(config=SimpleNamespace(params=SimpleNamespace(vectors=vectors)), points_count=count)

    def create_collection(self, name: str, *, vectors_config: models.VectorParams) -> bool:
        edge, place = self._edge, self._place(name)
        distance = getattr(edge.Distance, vectors_config.distance.name.capitalize())
        config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=vectors_config.size, distance=distance))
        # Made aside and moved: a process that is killed here leaves no half of a collection.
        making = self._folder / "making" / uuid.uuid4().hex
        making.mkdir(parents=True)
        place.parent.mkdir(exist_ok=True)
        try:
            room(making)
            edge.EdgeShard.create(str(making), config).close()
            making.rename(place)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return True

    def create_payload_index(self, name: str, *, field_name: str, field_schema: models.PayloadSchemaType, wait: bool) -> Any:
        kind = getattr(self._edge.PayloadSchemaType, field_schema.name.capitalize())
        return self._update(name, self._edge.UpdateOperation.create_field_index(field_name, kind))

    def upsert(self, name: str, *, points: Sequence[Any], wait: bool) -> Any:
        return self._update(name, self._edge.UpdateOperation.upsert_points(points))

    def delete(self, name: str, *, points_selector: models.PointIdsList, wait: bool) -> Any:
        return self._update(name, self._edge.UpdateOperation.delete_points(points_selector.points))

    def set_payload(self, name: str, *, payload: Mapping[str, Any], key: str, points: models.Filter, wait: bool) -> Any:
        return self._update(name, self._edge.UpdateOperation.set_payload_by_filter(self._filter(points), payload, key))

    def query_points(
        self, name: str, *, query: Sequence[float], query_filter: models.Filter, search_params: models.SearchParams, **asked: Any
    ) -> Any:
        edge = self._edge
        request = edge.QueryRequest(
            query=edge.Query.Nearest(query),
            filter=self._filter(query_filter),
            params=edge.SearchParams(exact=bool(search_params.exact)),
            **asked,
        )
        return SimpleNamespace(points=self._opened(name).shard.query(request))

    def scroll(
        self, name: str, *, scroll_filter: models.Filter, with_vectors: bool = False, **asked: Any
    ) -> tuple[list[Any], Any]:
        request = self._edge.ScrollRequest(filter=self._filter(scroll_filter), with_vector=with_vectors, **asked)
        found: tuple[list[Any], Any] = self._opened(name).shard.scroll(request)
        return found

    def count(self, name: str, *, count_filter: models.Filter) -> int:
        return int(self._opened(name).shard.count(self._edge.CountRequest(filter=self._filter(count_filter), exact=True)))

    def close(self) -> None:
        with _shards.lock:
            while self._mine:
                _shards.give(self._place(self._mine.popitem()[0]))

    def _place(self, name: str) -> Path:
        return self._folder / "collections" / name

    def _opened(self, name: str) -> _Open:
        with _shards.lock:
            if name not in self._mine:
                self._mine[name] = _shards.take(self._place(name), self._load, _Open.close)
            return self._mine[name]

    def _load(self, place: Path) -> _Open:
        room(place, _LOADING)
        try:
            return _Open(self._edge.EdgeShard.load(str(place)))
        except Exception as error:
            if "WouldBlock" in str(error):
                raise in_use("Qdrant", self._folder) from error
            raise

    def _update(self, name: str, operation: Any) -> Any:
        room(self._folder)  # where there is none, the engine does not fail: the process dies of SIGBUS
        opened = self._opened(name)
        opened.shard.update(operation)
        with _shards.lock:
            opened.updates = (opened.updates + 1) % _FLUSH
        if not opened.updates:
            opened.shard.flush()
        return _DONE

    def _filter(self, given: models.Filter) -> Any:
        def each(conditions: Any) -> list[Any]:
            return [self._condition(condition) for condition in conditions or ()]

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
        value = given.match.value
        if isinstance(value, bool):  # the binding takes Python's True for the number 1
            from numpy import bool_

            value = bool_(value)
        return edge.FieldCondition(given.key, match=edge.MatchValue(value))
