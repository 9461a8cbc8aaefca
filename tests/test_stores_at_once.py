# SPDX-License-Identifier: MIT
"""Two pipelines, eight workers each, one collection: nothing is lost, nothing doubled, nothing mixed up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from store_kit import EMBEDDED, Place, content, opened

from rocketride_core import DOCUMENTS, Document, Entry, Packet, Pipeline
from rocketride_store.testing import chunk

OBJECTS, WORKERS = 40, 8


@pytest.fixture(params=[*EMBEDDED, "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with opened(request.param, tmp_path) as made:
        yield made


def documents(object_id: str, version: int) -> list[Document]:
    """Longer in the first version, so that a second one leaves a stale tail."""
    count = (7, 4)[version]
    return [chunk(object_id, number, f"{object_id} v{version} {number}", at=5.0 * number) for number in range(count)]


def texts(object_id: str, version: int) -> dict[tuple[str, int], str]:
    return {(object_id, number): one.text for number, one in enumerate(documents(object_id, version))}


def work(names: list[str], version: int) -> Iterator[tuple[Entry, tuple[Packet, ...]]]:
    """Each object in payloads of its own, cut at another place each."""
    for at, name in enumerate(names):
        chunks = documents(name, version)
        cuts = sorted({0, at % len(chunks), len(chunks)})
        yield Entry(name, object_id=name), tuple(DOCUMENTS(chunks[a:b]) for a, b in pairwise(cuts))


def together(*jobs: tuple[Pipeline, list[str], int]) -> None:
    failures: list[BaseException] = []

    def run(pipeline: Pipeline, names: list[str], version: int) -> None:
        try:
            done = [result.checked().entry.name for result in pipeline.map(work(names, version), workers=WORKERS)]
            assert sorted(done) == sorted(names)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.slow
def test_two_pipelines_write_into_one_collection(place: Place) -> None:
    mine = [f"mine {n}" for n in range(OBJECTS)]
    yours = [f"yours {n}" for n in range(OBJECTS)]
    ours = [f"ours {n}" for n in range(OBJECTS // 4)]
    with place.load() as one, place.load() as other:
        # The collection itself is made by whoever comes first; `ours` come from both, with the same content.
        together((one, [*mine, *ours], 0), (other, [*ours, *yours], 0))
        first = {key: text for name in [*mine, *yours, *ours] for key, text in texts(name, 0).items()}
        assert content(one) == content(other) == first
        # Half of each pipeline's objects come again, shorter, through the other one.
        together((one, yours[::2], 1), (other, mine[::2], 1))
        second = {key: text for key, text in first.items() if key[0] not in {*yours[::2], *mine[::2]}}
        second |= {key: text for name in [*yours[::2], *mine[::2]] for key, text in texts(name, 1).items()}
        assert content(one) == content(other) == second
    with place.load() as later:
        assert content(later) == second
