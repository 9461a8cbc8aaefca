# SPDX-License-Identifier: MIT
"""What the parts of StoreSuite share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from rocketride_core import Document

from ..backend import Collection, VectorStore
from ..filters import Where
from ..patience import Patience
from ..patient import Patient

__all__ = ["ALL", "FIRST", "Making", "at_once"]

ALL: Final = Where()
FIRST: Final = Collection("suite", 3, "model-a")
_YOURS = {"make"}


class Making:
    """`make` is the one thing that a subclass says; whatever else it changes of the suite is refused."""

    def make(self, folder: Path) -> VectorStore:
        """The backend over a collection `suite` that does not exist yet, or exists where this folder was used before."""
        raise NotImplementedError

    def opened(self, folder: Path) -> VectorStore:
        """The backend as a node uses it: with what the base does for all of them, and without retries."""
        return Patient(self.make(folder), Patience(store="The store", attempts=1))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith(__name__.rpartition(".")[0] + "."):
            return
        for name in vars(cls):
            inherited = not name.startswith("__") and any(name in vars(base) for base in cls.__mro__[1:])
            if name == "pytestmark" or (inherited and name not in _YOURS):
                raise TypeError(
                    f"{cls.__name__}.{name} overrides a part of StoreSuite: what a store does otherwise it says in its Capabilities"
                )

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[VectorStore]:
        try:
            store = self.opened(tmp_path)
        except pytest.skip.Exception as told:
            pytest.fail(f"a store that cannot be made is a failure, not a skip: {told}")
        yield store
        store.close()

    def test_nothing_of_the_suite_is_skipped(self) -> None:
        names = [name for name in dir(type(self)) if name.startswith("test_")]
        for place in (type(self), *(getattr(type(self), name) for name in names)):
            marks = {mark.name for mark in getattr(place, "pytestmark", [])}
            assert not marks & {"skip", "skipif", "xfail"}, f"{place.__name__} is marked {marks}: differences are Capabilities"

    @staticmethod
    def fill(store: VectorStore, *chunks: Document) -> None:
        store.create(FIRST)
        store.upsert(chunks)


def at_once(work: Callable[[int], object], workers: int = 8) -> None:
    """`work(0)`, `work(1)`, … on as many threads; raises the first failure."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
