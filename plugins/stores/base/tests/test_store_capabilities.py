# SPDX-License-Identifier: MIT
"""No capability is a matter of trust: a store that says of one what is not so fails the suite, and by a test that asks for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import Document
from rocketride_store import Capabilities, InMemory, Server, StoreError, VectorStore, Where, ranked
from rocketride_store.testing import StoreSuite


class Told(InMemory):
    """Says of itself what `able` has; the subclasses do otherwise."""

    able: Capabilities = InMemory.capabilities

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return self.able


class Approximate(Told):
    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        """As an index that has lost its way: what it finds of many is what it knew first."""
        found = super().search(vector, where, 10_000, least=least)
        return found if len(found) < 300 else [one for one in found if one.metadata["objectId"] != "other"][:limit]


class Uncut(Told):
    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        return super().search(vector, where, limit)


class AlwaysCosine(Told):
    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        made = self._collection
        self._collection = made and attrs.evolve(made, metric="cosine")
        try:
            return ranked(super().search(vector, where, limit, least=least))
        finally:
            self._collection = made


class Few(Told):
    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        return super().search(vector, where, min(limit, 1000), least=least)


class Old(Told):
    able = attrs.evolve(InMemory.capabilities, minimum="2.0")

    def about(self) -> Server:
        return Server("Old", "1.9")


class Hundred(Told):
    def upsert(self, documents: Sequence[Document], /) -> None:
        if len(documents) > 100:
            raise StoreError("invalid", "at most 100 chunks")
        super().upsert(documents)


class Megabytes(Told):
    def upsert(self, documents: Sequence[Document], /) -> None:
        if sum(len(one.text) for one in documents) > 4 << 20:
            raise StoreError("too-large", "at most 4 MiB")
        super().upsert(documents)


class Changing(Told):
    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        self.able = attrs.evolve(self.able, number=self.able.number + 1)
        return self.able


LIES: dict[str, tuple[Callable[[], Told], str]] = {
    "exact": (lambda: Approximate("suite"), "test_equal_vectors_hide_nothing"),
    "persistent": (lambda: saying(Told, persistent=True), "test_what_is_written_stays"),
    "threshold": (lambda: Uncut("suite"), "test_the_threshold_is_the_servers_where_it_can_cut"),
    "metrics": (lambda: AlwaysCosine("suite"), "test_other_metrics"),
    "largest": (lambda: Few("suite"), "test_as_many_results_as_it_says_it_gives"),
    "minimum": (lambda: Old("suite"), "test_it_says_who_it_is"),
    "batch": (lambda: Hundred("suite"), "test_a_whole_batch_is_there_when_the_call_is_back"),
    "request": (lambda: Megabytes("suite"), "test_a_write_of_megabytes_comes_as_large_as_it_says_it_takes"),
    "number": (lambda: Changing("suite"), "test_its_capabilities_are_possible"),
}
IMPOSSIBLE: tuple[dict[str, Any], ...] = (
    {"metrics": ("cosine", "manhattan")},
    {"largest": 100},
    {"batch": 0},
    {"batch": 501},
    {"request": 100},
    {"number": 0},
)


def saying(kind: type[Told], **able: Any) -> Told:
    made = kind("suite")
    made.able = attrs.evolve(made.able, **able)
    return made


def failed(make: Callable[[], VectorStore], name: str, folder: Path) -> list[BaseException]:
    """How this test of the suite fails for a store, with each of its parameters."""

    class Lying(StoreSuite):
        def make(self, folder: Path) -> VectorStore:
            return make()

    suite, out = Lying(), list[BaseException]()
    for given in parameters(getattr(suite, name)):
        store = suite.opened(folder)
        wanted = inspect.signature(getattr(suite, name)).parameters
        try:
            getattr(suite, name)(**{"store": store, **({"tmp_path": folder} if "tmp_path" in wanted else {}), **given})
        except (AssertionError, StoreError) as error:
            out.append(error)
    return out


def parameters(test: Any) -> Iterator[dict[str, Any]]:
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    if not marks:
        yield {}
    for names, rows in (mark.args for mark in marks):
        for row in rows:
            yield {names: row} if isinstance(names, str) else dict(zip(names, row, strict=True))


def test_every_capability_has_its_lie() -> None:
    assert list(LIES) == [field.name for field in attrs.fields(Capabilities)]


@pytest.mark.parametrize("capability", LIES)
def test_a_store_that_says_what_is_not_so_fails(capability: str, tmp_path: Path) -> None:
    make, test = LIES[capability]
    assert failed(make, test, tmp_path)
    assert failed(lambda: InMemory("suite"), test, tmp_path) == []


@pytest.mark.parametrize("able", IMPOSSIBLE, ids=str)
def test_a_capability_that_cannot_be_fails(able: dict[str, Any], tmp_path: Path) -> None:
    assert failed(lambda: saying(Told, **able), "test_its_capabilities_are_possible", tmp_path)


@pytest.mark.parametrize(
    ("make", "capability", "value"),
    [(Hundred, "batch", 100), (Megabytes, "request", 4 << 20), (Few, "largest", 1000), (Uncut, "threshold", False)],
)
def test_a_store_that_says_what_it_does_otherwise_passes(make: type[Told], capability: str, value: Any, tmp_path: Path) -> None:
    assert failed(lambda: saying(make, **{capability: value}), LIES[capability][1], tmp_path) == []
