# SPDX-License-Identifier: MIT
"""Which chunks the objects of a collection in a folder have: nobody else can write there, so they need not be looked for again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

__all__ = ["Kept"]


class Kept:
    """The ids of chunks, object by object, as this process has written or read them.

    milvus-lite has no index of its fields: to find an object's chunks it goes through the collection, and copies its vectors.
    An object that is not known is asked for once; in a collection that was made here, every object is known.

    Attributes:
        lock: held through each write, so that what is known and what is there change together.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._whole = False
        self._ids: dict[str, set[str]] = {}

    def made(self) -> None:
        """The collection has just been made, under the lock, and is empty."""
        self._whole = True
        self._ids.clear()

    def of(self, objects: Sequence[str], ask: Callable[[Sequence[str]], Mapping[str, Iterable[str]]]) -> list[str]:
        """The ids of these objects' chunks.

        Parameters:
            ask: finds the chunks of objects that are not known in the collection itself, object by object.
        """
        with self.lock:
            unknown = [] if self._whole else [id for id in dict.fromkeys(objects) if id not in self._ids]
            if unknown:
                found = ask(unknown)
                self._ids.update({id: set(found.get(id, ())) for id in unknown})
            return [id for object_id in dict.fromkeys(objects) for id in self._ids.get(object_id, ())]

    @contextmanager
    def writing(self, chunks: Iterable[tuple[str, str]]) -> Iterator[None]:
        """Through the writing of chunks: the id of each and of its object."""
        with self.lock:
            touched: set[str] = set()
            for id, object_id in chunks:
                if self._whole or object_id in self._ids:
                    self._ids.setdefault(object_id, set()).add(id)
                    touched.add(object_id)
            with self._or_forgotten(touched):
                yield

    @contextmanager
    def deleting(self, ids: Iterable[str]) -> Iterator[None]:
        """Through the removal of chunks."""
        with self.lock:
            gone = set(ids)
            touched = [object_id for object_id, known in self._ids.items() if not known.isdisjoint(gone)]
            with self._or_forgotten(touched):
                yield
            for object_id in touched:
                self._ids[object_id] -= gone

    @contextmanager
    def _or_forgotten(self, objects: Collection[str]) -> Iterator[None]:
        try:
            yield
        except BaseException:  # it may have been done all the same
            self._whole = False
            for object_id in objects:
                self._ids.pop(object_id, None)
            raise
