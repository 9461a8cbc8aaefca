# SPDX-License-Identifier: MIT
"""Data is safe: a crash at any call, lost answers, many writers, sizes of batches, soft delete, group rank, probes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
import pytest

from rocketride_core import (
    DOCUMENTS,
    EMBEDDING,
    QUESTIONS,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Pipeline,
    Question,
    RunError,
    on,
)
from rocketride_core.testing import FakeEmbedder, node_harness
from rocketride_store import (
    Capabilities,
    Collection,
    InMemory,
    Server,
    StoreConfig,
    StoreError,
    StoreNode,
    VectorStore,
    Where,
    by_status,
    chunk_key,
)
from rocketride_store.testing import chunk, keys, vector


class Killed(BaseException):
    """The process ends here."""


class Faulty(InMemory):
    """Fails at the n-th call, before or after the call has its effect."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.sizes: list[int] = []
        self.fail: Callable[[], BaseException] | None = None
        self.at, self.after, self.calls = -1, False, 0

    def _call(self, do: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.fail is None or self.calls != self.at:
            return do()
        if self.after:
            do()
        raise self.fail()

    def collection(self) -> Collection | None:
        return self._call(super().collection)

    def create(self, wanted: Collection, /) -> Collection:
        return self._call(lambda: super(Faulty, self).create(wanted))

    def upsert(self, documents: Sequence[Document], /) -> None:
        self.sizes.append(len(documents))
        self._call(lambda: super(Faulty, self).upsert(documents))

    def delete(self, ids: Sequence[str], /) -> None:
        self._call(lambda: super(Faulty, self).delete(ids))

    def ids(self, where: Where, /) -> Sequence[str]:
        return self._call(lambda: super(Faulty, self).ids(where))


class Kept(StoreNode[StoreConfig]):
    """Its database outlives its pipelines."""

    spec = NodeSpec("kept", title="Kept")
    database: ClassVar[VectorStore]

    @property
    def address(self) -> str:
        return "nowhere:1"

    def connect(self) -> VectorStore:
        return self.database


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[DOCUMENTS, QUESTIONS])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))


def load(database: VectorStore, **config: Any) -> Any:
    Kept.database = database
    components = [
        Component("in", "in"),
        Component(
            "store", "kept", {"retryDelay": 0.001} | config, input=[LaneLink("documents", "in"), LaneLink("questions", "in")]
        ),
        Component("out", "out", input=[LaneLink("documents", "store")]),
    ]
    return Kernel(nodes=[Source, Kept, Sink]).load(PipeFile(components))


def pieces(object_id: str, count: int, text: str) -> list[Document]:
    return [attrs.evolve(chunk(object_id, n, f"{text} {n}"), embedding_model="m") for n in range(count)]


def content(store: InMemory) -> dict[tuple[str, int], str]:
    return {chunk_key(found): found.text for found in InMemory.select(store, Where())}


def ingest(pipeline: Pipeline, text: str) -> None:
    for name, count in (("a", 1100), ("b", 2)):
        pipeline.run(Entry(name), DOCUMENTS(pieces(name, count, text))).checked()


def filled() -> Faulty:
    """What an older ingest of other lengths has left."""
    store = Faulty("c")
    store.create(Collection("c", 3, "m"))
    store.upsert([*pieces("a", 1300, "old"), *pieces("b", 5, "old"), *pieces("other", 3, "other")])
    store.calls, store.sizes = 0, []
    return store


def test_killed_at_any_call_and_run_again_gives_the_same() -> None:
    clean = filled()
    with load(clean) as pipeline:
        ingest(pipeline, "new")
    wanted, calls = content(clean), clean.calls
    assert len(wanted) == 1100 + 2 + 3
    assert calls >= 9
    for at in range(1, calls + 1):
        for after in (False, True):
            store = filled()
            store.fail, store.at, store.after = Killed, at, after
            with pytest.raises((Killed, RunError)), load(store) as pipeline:
                ingest(pipeline, "new")
            partly = content(store)
            assert {key[0] for key in partly} == {"a", "b", "other"}, "an object is always findable"
            store.fail = None
            with load(store) as pipeline:
                ingest(pipeline, "new")
            assert content(store) == wanted, (at, after)


@pytest.mark.parametrize("after", [False, True])
def test_a_lost_connection_at_any_call_is_bridged(after: bool) -> None:
    """Also where the server did what it was asked, and only the answer was lost."""
    clean = filled()
    with load(clean) as pipeline:
        ingest(pipeline, "new")
    # The first call of all is at load, where a lost connection is told at once.
    for at in range(2, clean.calls + 1):
        store = filled()
        with load(store) as pipeline:
            store.fail, store.at, store.after = ConnectionResetError, at, after
            ingest(pipeline, "new")
        assert content(store) == content(clean), at
        assert store.calls == clean.calls + 1


def test_a_write_that_is_not_confirmed_is_an_error_with_its_cause() -> None:
    class Refusing(InMemory):
        def upsert(self, documents: Sequence[Document], /) -> None:
            raise StoreError("not-confirmed", "3 of 5 objects failed: disk is read-only")

    with load(Refusing("c")) as pipeline:
        error = pipeline.run(Entry("a"), DOCUMENTS(pieces("a", 5, "x"))).error
    assert error is not None
    assert (error.component, error.__cause__.kind) == ("store", "not-confirmed")  # type: ignore[union-attr]
    assert "Kept did not confirm a write" in str(error)
    assert "disk is read-only" in str(error)


def test_batches_by_count_and_by_bytes_with_vectors() -> None:
    store = Faulty("c")
    with load(store) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS(pieces("a", 1203, "x"))).checked()
    assert store.sizes == [500, 500, 203]
    store = Faulty("c")
    wide = [Document("x", {"objectId": "a", "chunkId": n}, vector(*range(1000)), "m") for n in range(10)]
    with load(store, payloadLimit=13_000) as pipeline:
        pipeline.run(Entry("a"), *(DOCUMENTS([one]) for one in wide)).checked()
    assert store.sizes == [3, 3, 3, 1]
    store = Faulty("c")
    with load(store, payloadLimit=10) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS(wide[:2])).checked()
    assert store.sizes == [1, 1]


def test_two_pipelines_and_eight_workers_lose_and_double_nothing() -> None:
    store = InMemory("c")

    def work(name: str) -> Any:
        for _ in range(2):
            for n in range(60):
                yield Entry(f"{name}{n}"), [DOCUMENTS(pieces(f"{name}{n % 40}", n % 40 % 7 + 1, name))]

    with load(store) as one, load(store) as two:
        running = [one.map(work("x"), workers=8), two.map(work("y"), workers=8)]
        for left, right in zip(*running, strict=True):
            left.checked(), right.checked()
    wanted = {(f"{name}{n}", number) for name in "xy" for n in range(40) for number in range(n % 7 + 1)}
    assert set(content(store)) == wanted


def test_two_versions_of_one_object_at_once_leave_one_of_them_whole() -> None:
    store = InMemory("c")
    versions = [pieces("a", 3 + n % 5, f"version {n}") for n in range(8)]
    with load(store) as one, load(store) as two:
        for _ in range(10):
            work = [(Entry("a"), [DOCUMENTS(version)]) for version in versions]
            running = [pipeline.map(iter(work), workers=8) for pipeline in (one, two)]
            for left, right in zip(*running, strict=True):
                left.checked(), right.checked()
            found = content(store)
            assert [found] == [w for w in ({chunk_key(c): c.text for c in version} for version in versions) if w == found]


def test_documents_of_two_models_make_no_collection() -> None:
    store = InMemory("c")
    mixed = [pieces("a", 1, "x")[0], attrs.evolve(chunk("a", 1), embedding_model="other")]
    with load(store) as pipeline:
        error = pipeline.run(Entry("a"), DOCUMENTS(mixed)).error
    assert "uses m but the document was encoded with other" in str(error)
    assert store.collection() is None


def test_text_that_no_database_takes_is_stored_without_what_cannot_be_kept() -> None:
    store = InMemory("c")
    with load(store) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS([attrs.evolve(pieces("a", 1, "x")[0], text="a\x00b\ud800c")])).checked()
    assert content(store) == {("a", 0): "a\ufffdb\ufffdc"}


@pytest.mark.parametrize("number", [-1, "1", 1.0, True])
def test_a_chunk_number_that_is_none_is_an_error(number: Any) -> None:
    with load(InMemory("c")) as pipeline:
        error = pipeline.run(Entry("a"), DOCUMENTS([chunk("a", number)])).error
    assert "'chunkId' is a number from 0 on" in str(error)


@pytest.mark.parametrize("id", ["a\x00", "a\ud83d"])
def test_an_object_id_that_no_database_keeps_is_an_error(id: str) -> None:
    with load(InMemory("c")) as pipeline:
        error = pipeline.run(Entry("a"), DOCUMENTS([chunk(id, 0)])).error
    assert "'objectId' has a NUL or half of a surrogate pair" in str(error)


@pytest.mark.parametrize("number", [2**63, 2**70])
def test_a_chunk_number_that_no_database_keeps_is_an_error(number: int) -> None:
    store = InMemory("c")
    with load(store) as pipeline:
        error = pipeline.run(Entry("a"), DOCUMENTS([chunk("a", number)])).error
        assert f"'chunkId' is at most {2**63 - 1}" in str(error)
        last = [attrs.evolve(chunk("a", 2**63 - 1), embedding_model="m")]
        pipeline.run(Entry("a"), DOCUMENTS(last)).checked()
        assert "'chunkId' is at most" in str(pipeline.run(Entry("a"), DOCUMENTS(last * 2)).error)
    assert keys(InMemory.select(store, Where())) == [("a", 2**63 - 1)]


def test_what_is_left_of_more_objects_than_are_asked_for_at_once_is_removed() -> None:
    store = InMemory("c")
    with load(store) as pipeline:
        for count in (2, 1):
            many = [piece for number in range(250) for piece in pieces(f"o{number}", count, "x")]
            pipeline.run(Entry("all"), DOCUMENTS(many)).checked()
    assert sorted(content(store)) == sorted((f"o{number}", 0) for number in range(250))


def test_many_chunks_without_numbers_are_quick() -> None:
    bare = [Document("x", {"objectId": "a"}, vector(1, 0, 0), "m")] * 20_000
    store = InMemory("c")
    with load(store) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS(bare), timeout=20).checked()
    assert len(store.ids(Where())) == 20_000


def asked(pipeline: Pipeline, **filter: Any) -> list[Document]:
    question = Question(("alpha beta",), embeddings=(vector(1, 0, 0),), embedding_model="m", filter=filter)
    [found] = pipeline.run(Entry("ask"), QUESTIONS(question)).checked()[DOCUMENTS]
    return list(found)


def test_marked_objects_are_hidden_until_they_are_active_again() -> None:
    store = InMemory("c")
    Kept.database = store
    with node_harness(Kept) as harness:
        node: Any = harness.node
        assert node.mark_deleted(["a"]) == 0
        harness.run({"documents": [[*pieces("a", 3, "x"), *pieces("b", 1, "y")]]})
        assert node.mark_deleted([]) == 0
        assert node.mark_deleted(["a", "a", "never"]) == 3
        question = Question(("?",), embeddings=(vector(1, 0, 0),), embedding_model="m")
        assert keys(harness.run({"questions": [question]})["documents"][0]) == [("b", 0)]
        also = attrs.evolve(question, filter={"isDeleted": True})
        assert len(harness.run({"questions": [also]})["documents"][0]) == 4
        assert node.mark_active(["a"]) == 3
        assert len(harness.run({"questions": [question]})["documents"][0]) == 4


def test_group_rank_gives_objects_together_the_one_with_the_words_first() -> None:
    documents = [
        attrs.evolve(chunk("near", 0, "nothing of it", at=0), embedding_model="m"),
        attrs.evolve(chunk("words", 0, "gamma", at=30), embedding_model="m"),
        attrs.evolve(chunk("near", 1, "nothing more", at=40), embedding_model="m"),
        attrs.evolve(chunk("words", 1, "Alpha, beta", at=60), embedding_model="m"),
    ]
    with load(InMemory("c")) as pipeline:
        pipeline.run(Entry("a"), DOCUMENTS(documents)).checked()
        assert keys(asked(pipeline)) == [("near", 0), ("words", 0), ("near", 1), ("words", 1)]
        assert keys(asked(pipeline, useGroupRank=True)) == [("words", 0), ("words", 1), ("near", 0), ("near", 1)]
        assert asked(pipeline, useGroupRank=True)[0].score == pytest.approx(0.933, abs=1e-3)


def test_pages_are_the_same_whoever_cuts_at_the_threshold() -> None:
    class Plain(InMemory):
        capabilities = Capabilities(exact=True, persistent=False)

        def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
            return super().search(vector, where, limit)

    documents = [attrs.evolve(chunk("a", n, at=angle), embedding_model="m") for n, angle in enumerate((0, 10, 20, 120, 130))]
    for kind in (InMemory, Plain):
        with load(kind("c")) as pipeline:
            pipeline.run(Entry("a"), DOCUMENTS(documents)).checked()
            assert keys(asked(pipeline, offset=1, limit=2)) == [("a", 1), ("a", 2)], kind
            assert keys(asked(pipeline, offset=2, limit=5)) == [("a", 2)], kind


def test_what_comes_without_a_vector_is_embedded_by_the_bound_embedder() -> None:
    store = InMemory("c")
    Kept.database = store
    with node_harness(Kept, controls={EMBEDDING: FakeEmbedder()}) as harness:
        harness.run({"documents": [[Document("red fox", {"objectId": "a"}), Document("blue fish", {"objectId": "b"})]]})
        assert store.collection() == Collection("ROCKETRIDE", 8, "fake-hash")
        [found] = harness.run({"questions": [Question.of("red fox")]})["documents"]
        assert (found[0].text, found[0].score) == ("red fox", pytest.approx(1.0, abs=1e-5))


# ---- opening and probing


class Sick(InMemory):
    def __init__(self, *errors: Exception) -> None:
        super().__init__("c")
        self.errors, self.asked = list(errors), 0

    def about(self) -> Server:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return Server("Kept", "1.7")


def test_a_server_that_is_not_there_fails_the_load_at_once_and_names_the_address() -> None:
    sick = Sick(ConnectionRefusedError("refused"))
    with (
        pytest.raises(RunError, match="Kept cannot be reached at nowhere:1; is it running, and is its address right") as caught,
        load(sick),
    ):
        pass
    assert (caught.value.component, sick.asked) == ("store", 1)


def test_a_server_that_is_starting_is_waited_for() -> None:
    sick = Sick(by_status(503), by_status(503))
    with load(sick):
        pass
    assert sick.asked == 3


def test_an_old_server_fails_the_load_with_both_versions() -> None:
    class Old(Sick):
        capabilities = Capabilities(exact=True, persistent=False, minimum="1.8")

    with pytest.raises(RunError, match="Kept 1.7 is too old: 1.8 or newer is needed"), load(Old()):
        pass


def probed(database: VectorStore, **config: Any) -> list[str]:
    Kept.database = database
    pipe = PipeFile([Component("in", "in"), Component("store", "kept", config, input=[LaneLink("documents", "in")])])
    found = Kernel(nodes=[Source, Kept]).check(pipe, probe=True)
    assert all((problem.code, problem.component) == ("probe-failed", "store") for problem in found)
    return [problem.message for problem in found]


def test_a_probe_says_what_is_wrong_and_nothing_when_all_is_well() -> None:
    assert probed(Sick()) == []
    assert probed(Sick(ConnectionRefusedError("refused"))) == [
        "Kept cannot be reached at nowhere:1; is it running, and is its address right?: refused"
    ]
    assert probed(Sick(by_status(401))) == ["Kept refused the key or password of the config (HTTP 401)"]
    made = InMemory("c")
    made.create(Collection("c", 3, "m", "l2"))
    [told] = probed(made)
    assert told.startswith("The collection compares by l2 but the config says cosine")
    assert probed(made, similarity="l2") == []


def test_what_a_store_is_is_added_to_its_spec() -> None:
    assert list(Kept.spec.categories) == ["store", "tool"]
    assert Kept.spec.stores
    assert EMBEDDING in Kept.spec.needs


def test_a_cancelled_entry_does_not_wait_for_a_server_that_is_away() -> None:
    """A wait of half a minute ends with the entry's time limit, and each attempt is told."""

    class Away(InMemory):
        def upsert(self, documents: Sequence[Document], /) -> None:
            raise ConnectionResetError("gone")

    Kept.database = Away("c")
    with node_harness(Kept, config={"retryDelay": 0.05, "maxAttempts": 1000, "maxTime": 60}) as harness:
        started = time.monotonic()
        outputs = harness.run({"documents": [pieces("a", 1, "x")]}, timeout=0.4, check=False)
        assert time.monotonic() - started < 5
    assert outputs.error is not None
    told = [event.data for event in outputs.events if event.kind == "retry"]
    assert [data["attempt"] for data in told] == list(range(1, len(told) + 1))
    assert len(told) >= 2
    assert "cannot be reached at nowhere:1" in str(told[0]["error"])
