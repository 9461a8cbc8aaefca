# SPDX-License-Identifier: MIT
"""The points of the double, in the client's in-memory engine."""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any

from qdrant_client import QdrantClient, models

NO_KEY = "Must provide an API key or an Authorization bearer token"


class Refused(Exception):
    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words


class Engine:
    """Collections; one call at a time, because the client's engine does not lock.

    Attributes:
        version: what the server says of itself.
        status: of every write.
        key: that requests must carry; "" for none.
        indexes: payload indexes, by collection and key.
        asked: keys that were filtered by.
        calls: how often what was called.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """As when it was new."""
        self.version, self.key = "1.15.4", ""
        self.status = models.UpdateStatus.COMPLETED
        self.indexes: dict[str, dict[str, Any]] = {}
        self.asked: set[str] = set()
        self.calls: dict[str, int] = {}
        self.requests: list[dict[str, Any]] = []
        self._client: Any = QdrantClient(":memory:")

    def __call__(self, method: str, name: str, **values: Any) -> Any:
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.calls[method] = self.calls.get(method, 0) + 1
            self.requests.append({"method": method, **values})
            try:
                return getattr(self, method)(name, **values)
            except ValueError as error:
                raise Refused(400, str(error)) from error

    def exists(self, name: str) -> bool:
        return bool(self._client.collection_exists(name))

    def collections(self, name: str) -> list[str]:
        return [found.name for found in self._client.get_collections().collections]

    def info(self, name: str) -> Any:
        self._there(name)
        return self._client.get_collection(name)

    def make(self, name: str, vectors: Any) -> bool:
        if self.exists(name):
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        self.indexes[name] = {}
        return bool(self._client.create_collection(name, vectors_config=vectors))

    def index(self, name: str, field: str, schema: Any) -> Any:
        self._there(name)
        self.indexes[name][field] = schema
        self._client.create_payload_index(name, field_name=field, field_schema=schema)
        return self._done()

    def upsert(self, name: str, points: Any) -> Any:
        self._there(name)
        self._client.upsert(name, points=points)
        return self._done()

    def delete(self, name: str, selector: Any) -> Any:
        self._there(name)
        self._client.delete(name, points_selector=selector)
        return self._done()

    def set_payload(self, name: str, payload: Any, key: str | None, selector: Any) -> Any:
        self._there(name)
        if isinstance(selector, models.PointIdsList):
            missing = set(map(str, selector.points)) - {str(p.id) for p in self._client.retrieve(name, selector.points)}
            if missing:
                raise Refused(404, f"Not found: No point with id {missing.pop()} found")
        self._client.set_payload(name, payload=payload, key=key, points=selector)
        return self._done()

    def scroll(self, name: str, **asked: Any) -> Any:
        self._there(name)
        self._keys(asked["scroll_filter"])
        points, after = self._client.scroll(name, **asked)
        return [point.model_copy(update={"payload": point.payload or {}}) for point in points], after

    def query(self, name: str, exact: bool | None, **asked: Any) -> Any:
        self._there(name)  # `exact` is recorded: the client's engine compares with every vector anyway
        self._keys(asked["query_filter"])
        return self._client.query_points(name, **asked).points

    def _there(self, name: str) -> None:
        if not self.exists(name):
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")

    def _done(self) -> models.UpdateResult:
        return models.UpdateResult(operation_id=1, status=self.status)

    def _keys(self, given: Any) -> None:
        if given is not None:
            for found in re.findall(r"key='([^']+)'", repr(given)):
                self.asked.add(found)
