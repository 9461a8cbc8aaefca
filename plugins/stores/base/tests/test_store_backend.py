# SPDX-License-Identifier: MIT
"""The store in memory passes the suite of backends; scores, filters and flat metadata."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from rocketride_core import Document
from rocketride_store import (
    Condition,
    InMemory,
    Request,
    VectorStore,
    Where,
    chunk_id,
    chunk_key,
    chunk_uuid,
    flat,
    from_flat,
    similarity,
)
from rocketride_store.testing import StoreSuite, chunk


class TestInMemory(StoreSuite):
    def make(self, folder: Path) -> VectorStore:
        return InMemory("suite")


def test_similarities() -> None:
    assert [similarity("cosine", value) for value in (1.0000001, 0.0, -1.0)] == [1.0, 0.5, 0.0]
    assert [similarity("l2", value) for value in (0.0, 1.0)] == [1.0, 0.5]
    assert similarity("ip", 0.0) == 0.5
    assert similarity("ip", -10_000.0) == 0.0
    with pytest.raises(ValueError, match="cosine, ip, l2"):
        similarity("manhattan", 1.0)


def test_chunk_ids_are_stable_and_differ() -> None:
    assert chunk_uuid(chunk("a", 1, "x")) == chunk_uuid(chunk("a", 1, "other", at=50)) == "739f8dd2-a2b2-56c7-9d6c-a94b8953c610"
    assert chunk_id("ü#1", 12) == str(uuid.uuid5(uuid.UUID("6f0cf2c6-33c5-5c6e-9b3a-0e6f1d2a7b54"), "ü#1#12"))
    assert len({chunk_uuid(chunk(object_id, number)) for object_id in ("a", "b", "a#1") for number in range(12)}) == 36


def test_a_document_of_elsewhere_has_no_key() -> None:
    assert chunk_key(Document("x")) == ("", -1)
    assert chunk_key(Document("x", {"objectId": "a", "chunkId": None})) == ("a", -1)


def test_a_filter_of_nulls_filters_only_what_is_deleted() -> None:
    request = Request.of({"objectIds": None, "limit": None, "minChunkId": None, "isTable": None})
    assert request.where == Where((Condition("isDeleted", "ne", True),))
    assert (request.offset, request.limit) == (0, 25)


def test_a_filter_takes_one_value_for_a_list() -> None:
    assert Request.of({"objectIds": "a"}).where.accepts({"objectId": "a"})
    assert Request.of({"objectIds": []}).where.impossible


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"objectIds": [3]}, "'objectIds' with 3"),
        ({"minChunkId": "3"}, "'minChunkId' with '3'"),
        ({"isTable": 1}, "'isTable' with 1"),
        ({"limit": 0}, "limit >= 1"),
        ({"offset": -1}, "offset >= 0"),
    ],
)
def test_a_wrong_filter_names_its_key(filter: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Request.of(filter)  # type: ignore[arg-type]


def test_keys_that_a_store_does_not_know_are_listed() -> None:
    assert Request.of({"useQuickRank": True, "useGroupRank": True, "colour": "red", "context": True}).unknown == [
        "colour",
        "useQuickRank",
    ]


def test_flat_metadata_is_flat_and_comes_back() -> None:
    document = Document(
        "t", {"a": 1, "b": None, "c": {"d": [1]}, "rocketride.json": "mine", "chroma:document": "x", "e": True}, kind="Image"
    )
    values = flat(document)
    assert all(isinstance(value, (str, int, float, bool)) for value in values.values())
    assert from_flat("t", values) == document
