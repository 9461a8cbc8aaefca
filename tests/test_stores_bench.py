# SPDX-License-Identifier: MIT
"""The loops that benchmarks compare stores with leave the same records as the pipeline does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from store_kit import EMBEDDED, ask, embedded

from rocketride_core import Question
from rocketride_store import chunk_key

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import by_hand
from benchmarks.ingesting import MODEL, NAME, batches, through_a_pipeline
from benchmarks.measuring import Options, Unmeasured
from benchmarks.rows.stores import NEEDED, ROWS, Pairs

COUNT = 620


@pytest.mark.slow
@pytest.mark.parametrize("store", EMBEDDED)
def test_a_loop_by_hand_leaves_the_same_records(store: str, tmp_path: Path) -> None:
    place = embedded(store, tmp_path)  # skips where it is not installed
    [first, _] = batches(COUNT)
    asked = Question(("?",), embeddings=(first.vectors[7],), embedding_model=MODEL, filter={"limit": 20})
    seen = []
    for how, work in (("pipeline", lambda *told: through_a_pipeline(store, *told)), ("hand", by_hand.LOOPS[store])):
        folder = tmp_path / f"{how}.db"
        work(COUNT, folder, lambda: None)
        config = {**place.config, "path": str(folder), "collection": NAME}
        with type(place)(place.node, config).load() as pipeline:
            everything = ask(pipeline, Question((), type="get", filter={"limit": 10_000}))
            found = ask(pipeline, asked)
        records = {chunk_key(one): (one.text, dict(one.metadata), one.kind) for one in everything}
        assert len(records) == len(everything) == COUNT
        seen.append((records, [(chunk_key(one), round(one.score or 0, 4)) for one in found]))
    assert seen[0] == seen[1]
    assert seen[0][1][0] == ((first.entry.object_id, 7), 1.0)


def test_each_store_has_two_rows_that_look_at_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(ROWS) == 2 * len(NEEDED)
    pairs = Pairs("store_memory", 10)
    cost = {"pipeline": {"cpu": 3.0, "wall": 8.0, "grown": 5}, "hand": {"cpu": 2.0, "wall": 2.0, "grown": 4}}
    run: list[str] = []

    def sample(how: str) -> dict[str, float]:
        run.append(how)
        return cost[how]

    monkeypatch.setattr(pairs, "_sample", sample)
    assert (pairs.take("cpu"), pairs.take("wall"), pairs.all("grown")) == (1.5, 4.0, 1.25)
    assert run == ["hand", "pipeline"]
    assert pairs.take("more") == 0.1 * 1e9
    assert (pairs.take("wall"), pairs.take("cpu")) == (4.0, 1.5)
    assert run == ["hand", "pipeline", "pipeline", "hand"]


def test_a_store_that_is_not_installed_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDED, "qdrant", {"no_such_module_here": "no-such-distribution"})  # type: ignore[arg-type]
    [row] = [row for row in ROWS if row.name == "qdrant_write"]
    with pytest.raises(Unmeasured, match="no-such-distribution is not installed"), row.setup(Options(1, quick=True)):
        pass
