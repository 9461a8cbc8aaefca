# SPDX-License-Identifier: MIT
"""An index as all pipelines of this process share it: one writer, commits for many objects at once, and readers of what is committed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from rocketride_core import Document
from rocketride_store import StoreError

from .layout import document, open_index, whole

if TYPE_CHECKING:
    import tantivy

__all__ = ["PAUSE", "SharedIndex", "explain", "is_index"]

HEAP = 50_000_000  # bytes of a writer's memory; what is more goes to the disk
LONGEST_ID = 16_000
PAUSE = 2.0
ATTEMPT = 0.05  # seconds between two looks whether another process is done


@attrs.frozen
class _Lost:
    """Writes that a commit did not keep: those after `low`, up to `high`."""

    low: int
    high: int
    error: StoreError


class SharedIndex:
    """Safe on any number of threads. Writes are numbered; `commit(number)` comes back when that one is on the disk.

    tantivy has one writer a folder. It is held as long as there is something to write, and given back when nothing came
    for a while, or at the end: so another process gets its turn. Everybody reads at any time what was committed last.

    Parameters:
        place: the index's folder, which exists; None is memory.

    Raises:
        StoreError: there is no index in it that can be used, and none can be made.
    """

    def __init__(self, place: Path | None) -> None:
        self.place = place
        try:
            if place is not None and not is_index(place) and any(not one.name.startswith(".") for one in place.iterdir()):
                told = f"The folder {place} has other files and no index; use a folder of its own"
                raise StoreError("invalid", sentence=told)
            self._index = open_index(None if place is None else str(place))
        except (OSError, ValueError) as error:
            raise explain(error, place) from error
        self._lock = threading.Lock()
        self._writer: tantivy.IndexWriter | None = None
        self._added = self._committed = 0
        self._lost: list[_Lost] = []
        self._unsaid: StoreError | None = None
        self._ticking: threading.Thread | None = None
        self._stop = threading.Event()
        self._pause = PAUSE

    def replace(
        self,
        objects: Mapping[str, Sequence[Document]],
        *,
        wait: float,
        pause: float = PAUSE,
        gone: Callable[[], bool] = lambda: False,
    ) -> int:
        """Take these chunks in place of all that the objects had; an object without chunks is removed. All of it or nothing.

        Parameters:
            wait: seconds for another process to finish.
            pause: seconds after which it is committed without being asked.
            gone: true when nobody wants it any more.

        Returns:
            The number of this write.

        Raises:
            StoreError: another process is writing; or something that was written before got lost meanwhile.
            ValueError: an object's id is too long.
        """
        for id in objects:
            if len(id) > LONGEST_ID:
                raise ValueError(f"an object's id has at most {LONGEST_ID} characters in an index, not {len(id)}: {id[:80]}…")
        made = {
            whole(id): [document(chunk) for chunk in chunks] for id, chunks in objects.items()
        }  # takes time, so before the lock
        ends = time.monotonic() + wait
        while True:
            with self._lock:
                self._say()
                self._pause = pause
                if self._writer is not None or self._open():
                    return self._add(made)
            if gone() or time.monotonic() >= ends:
                told = f"The index in {self.place} is being written by another process, which did not finish in {wait:g} s; wait for it, "
                raise StoreError("unavailable", sentence=told + "or use another folder")
            time.sleep(ATTEMPT)

    def commit(self, number: int | None = None) -> None:
        """Put everything, or everything up to this write, on the disk; one commit serves all who wait for it.

        Raises:
            StoreError: it could not be, and is lost.
        """
        with self._lock:
            if number is None:
                self._say()
            if self._committed < (self._added if number is None else number):
                self._commit()
            for lost in self._lost:
                if number is not None and lost.low < number <= lost.high:
                    raise lost.error

    def searcher(self) -> tantivy.Searcher:
        """Sees all that was committed by anybody, and all that was written in this process."""
        self.commit()
        try:
            with self._lock:
                self._index.reload()
            return self._index.searcher()
        except (OSError, ValueError) as error:
            raise explain(error, self.place) from error

    def close(self) -> None:
        """Commit, and give the writer back.

        Raises:
            StoreError: something that was written is lost.
        """
        self._stop.set()
        ticking = self._ticking
        if ticking is not None:
            ticking.join()
        with self._lock:
            try:
                self._commit()
                self._say()
            finally:
                self._release()

    def _open(self) -> bool:
        try:
            self._writer = self._index.writer(HEAP, 1)
        except (OSError, ValueError) as error:
            if "LockBusy" in str(error):
                return False
            raise explain(error, self.place) from error
        if self._ticking is None:
            self._ticking = threading.Thread(target=self._tick, name=f"index {self.place}", daemon=True)
            self._ticking.start()
        return True

    def _add(self, objects: Mapping[str, Sequence[tantivy.Document]]) -> int:
        assert self._writer is not None  # noqa: S101 - held by the caller
        try:
            for id, chunks in objects.items():
                self._writer.delete_documents_by_term("objectId", id)
                for chunk in chunks:
                    self._writer.add_document(chunk)
        except (OSError, ValueError) as error:
            self._forget(error)
            raise self._lost[-1].error from error
        self._added += 1
        return self._added

    def _commit(self) -> None:
        if self._writer is None or self._committed == self._added:
            return
        try:
            self._writer.commit()
        except (OSError, ValueError) as error:
            self._forget(error)
            raise self._lost[-1].error from error
        self._committed = self._added

    def _forget(self, error: Exception) -> None:
        """The writer has failed, and with it what is not committed."""
        told = explain(error, self.place)
        count = self._added - self._committed
        if count:
            told.sentence += f" ({count} objects that were not on the disk yet are lost: index them again)"
        self._lost.append(_Lost(self._committed, self._added, told))
        self._committed = self._added
        self._writer = None

    def _say(self) -> None:
        """Raise what the ticking thread could tell nobody."""
        error, self._unsaid = self._unsaid, None
        if error is not None:
            raise error

    def _release(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.wait_merging_threads()

    def _tick(self) -> None:
        while not self._stop.wait(self._pause):
            with self._lock:
                if self._committed == self._added:
                    self._release()
                    self._ticking = None
                    return
                try:
                    self._commit()
                except StoreError as error:
                    self._unsaid = error


def is_index(place: Path) -> bool:
    """Whether a folder, which exists, has an index in it."""
    return (place / "meta.json").is_file()


def explain(error: Exception, place: Path | None) -> StoreError:
    """What an error of tantivy means."""
    words = str(error)
    if "No space left" in words or "quota" in words.lower():
        return StoreError("full", words, sentence=f"There is no room left for the index in {place}")
    if "ermission" in words or "Read-only" in words:
        return StoreError("permission", words, sentence=f"The folder {place} of the index cannot be written")
    if "schema does not match" in words:
        told = f"The folder {place} has an index that something else made, or another version; use another folder, or remove it"
        return StoreError("mismatch", sentence=told)
    if "corrupt" in words.lower():
        told = f"The index in {place} is damaged; remove the folder, and index again"
        return StoreError("invalid", words, sentence=told)
    return StoreError("invalid", words, sentence=f"The full-text index in {place} cannot be used")
