# SPDX-License-Identifier: MIT
"""A process that is killed while it writes leaves nothing that the next run does not put right, and nothing unfindable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_kit import EMBEDDED, Place, content, opened
from store_victim import OBJECTS, POINTS, documents, ingest

from rocketride_store import chunk_key

TESTS = Path(__file__).parent
pytestmark = pytest.mark.slow


@pytest.fixture(params=[*EMBEDDED, "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, tmp_path: Path) -> Iterator[Place]:
    with opened(kind, tmp_path) as made:
        yield made


def killed(place: Place, where: str) -> None:
    told = {"module": place.node.__module__, "name": place.node.__name__, "config": place.config, "where": where}
    done = subprocess.run(
        [sys.executable, str(TESTS / "store_victim.py")],
        input=json.dumps(told),
        text=True,
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def version(number: int) -> dict[tuple[str, int], str]:
    return {chunk_key(one): one.text for object_id in OBJECTS for one in documents(object_id, number)}


@pytest.mark.parametrize("where", POINTS)
def test_a_killed_ingest_that_runs_again_ends_the_same(place: Place, where: str) -> None:
    """Objects of an older version are there at every moment, and none of their chunks twice."""
    old = version(0) if "collection" not in where else {}
    if old:
        with place.load() as pipeline:
            ingest(pipeline, 0)
            assert content(pipeline) == old
    killed(place, where)
    with place.load() as pipeline:
        between = content(pipeline)
        for object_id, (before, _) in OBJECTS.items():
            if old and before:
                numbers = {number for id, number in between if id == object_id}
                assert numbers >= set(range(OBJECTS[object_id][1])), f"{object_id} is not whole"
        assert all(text in (old.get(key), version(1).get(key)) for key, text in between.items())
        ingest(pipeline, 1)
        assert content(pipeline) == version(1)
    with place.load() as pipeline:
        assert content(pipeline) == version(1)
