# SPDX-License-Identifier: MIT
"""What goes wrong between the store and its server: the right error or the right retry, no lost and no doubled chunk."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from rocketride_core import DOCUMENTS, Component, Entry, Kernel, LaneLink, Node, NodeSpec, PipeFile, RunError
from rocketride_store import Collection, Patience, Patient, StoreError, Where
from rocketride_store.testing import FaultProxy, chunk, keys, vector
from rocketride_store_postgres import Postgres

ALL = Where()
CHUNKS = [chunk("a", number) for number in range(300)]
QUICK = Patience(store="PostgreSQL", component="store", address="there", attempts=4, delay=0.05, seconds=30)


@pytest.fixture
def proxy(postgres: Any) -> Iterator[FaultProxy]:
    with FaultProxy(postgres.host, postgres.port) as proxy:
        yield proxy


@pytest.fixture
def store(postgres: Any, schema: str, proxy: FaultProxy) -> Iterator[Patient]:
    with closing(postgres.store(schema, port=proxy.port, timeout=5)) as backend:
        patient = Patient(backend, QUICK)
        patient.create(Collection("suite", 3, "m"))
        yield patient


def error_of(postgres: Any, **place: Any) -> StoreError:
    with closing(postgres.store("public", **place)) as backend, pytest.raises(StoreError) as caught:
        Patient(backend, Patience(store="PostgreSQL", attempts=1)).about()
    return caught.value


@pytest.mark.parametrize("fault", ["cut", "lose"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_batch_that_was_reset_is_written_again(store: Patient, proxy: FaultProxy, fault: str, times: int) -> None:
    getattr(proxy, fault)(b"INSERT INTO", times=times)
    store.upsert(CHUNKS)
    assert proxy.hits == times
    assert sorted(keys(store.select(ALL))) == [("a", number) for number in range(300)]


@pytest.mark.parametrize("what", ["DELETE FROM", "UPDATE ", "SELECT "])
def test_every_other_call_is_repeated_too(store: Patient, proxy: FaultProxy, what: str) -> None:
    store.upsert(CHUNKS)
    proxy.lose(what.encode())
    store.mark(store.ids(ALL)[:100], True)
    store.delete(store.ids(ALL)[:100])
    assert len(store.search(vector(1, 0, 0), ALL, 300)) == len(store.select(ALL)) == 200
    assert proxy.hits == 1


def test_a_creation_whose_answer_is_lost_is_repeated(postgres: Any, schema: str, proxy: FaultProxy) -> None:
    with closing(postgres.store(schema, "other", port=proxy.port)) as backend:
        proxy.lose(b"COMMIT")
        assert Patient(backend, QUICK).create(Collection("other", 3, "m")) == Collection("other", 3, "m")
        assert proxy.hits == 1


def test_a_server_that_is_away_is_a_clear_error_and_then_found_again(store: Patient, proxy: FaultProxy) -> None:
    store.upsert(CHUNKS[:3])
    proxy.refuse()
    with pytest.raises(StoreError, match=r"PostgreSQL cannot be reached at there; is it running.*asked 4 times") as caught:
        store.ids(ALL)
    assert caught.value.kind == "connection"
    proxy.accept()
    assert len(store.ids(ALL)) == 3


@pytest.mark.parametrize("at", [b"INSERT INTO", b"\0\3\0\0user"], ids=["write", "connect"])
def test_a_silent_server_is_waited_for_no_longer_than_the_time_limit(
    postgres: Any, schema: str, proxy: FaultProxy, at: bytes
) -> None:
    with closing(postgres.store(schema, port=proxy.port, timeout=0.3, connect_timeout=2)) as backend:
        if b"INSERT" in at:
            backend.create(Collection("suite", 3, "m"))
        proxy.stall(at)
        started = time.monotonic()
        with pytest.raises(StoreError) as caught:
            store = Patient(backend, Patience(store="PostgreSQL", attempts=1))
            store.upsert(CHUNKS) if b"INSERT" in at else store.about()
        assert caught.value.kind == "timeout"
        assert time.monotonic() - started < 6
        proxy.clear()
        if b"INSERT" in at:
            backend.upsert(CHUNKS)
            assert len(backend.ids(ALL)) == 300


def test_no_statement_outlives_its_call(postgres: Any, schema: str, proxy: FaultProxy) -> None:
    with closing(postgres.store(schema, port=proxy.port, timeout=20)) as backend:
        backend.create(Collection("suite", 3, "m"))
        proxy.stall(b"DELETE FROM")
        started = time.monotonic()
        with pytest.raises(StoreError, match="did not answer in time"):
            Patient(backend, attrs.evolve(QUICK, attempts=1, seconds=0.3)).delete(["00000000-0000-4000-8000-000000000000"])
        assert time.monotonic() - started < 8


def test_a_statement_that_takes_too_long_is_stopped_at_the_server(postgres: Any, schema: str) -> None:
    with closing(postgres.store(schema, timeout=0.3)) as backend, backend._connections.use() as link:
        with pytest.raises(Exception, match="statement timeout") as caught:
            link.execute("SELECT pg_sleep(20)")
        assert backend.explain(caught.value).kind == "timeout"
        assert link.execute("SELECT 1").fetchone() == (1,)


def test_a_free_connection_is_waited_for(postgres: Any, schema: str) -> None:
    with closing(postgres.store(schema, timeout=0.2)) as backend:
        held = [backend._connections.use() for _ in range(8)]
        for one in held:
            one.__enter__()
        with pytest.raises(StoreError, match="its 8 connections were all in use; set a greater poolSize"):
            backend.collection()
        for one in held:
            one.__exit__(None, None, None)
        assert backend.collection() is None


def test_a_server_that_has_no_room_twice_and_then_has(postgres: Any, schema: str) -> None:
    """An account may have no connection, until the second retry is told of."""
    postgres.do(f"CREATE ROLE {schema} LOGIN SUPERUSER PASSWORD 'a-guest' CONNECTION LIMIT 0")
    postgres.do(f"ALTER ROLE {schema} NOSUPERUSER")  # whom no limit holds
    postgres.do(f"GRANT ALL ON SCHEMA {schema} TO {schema}")
    told = list[str]()

    def event(kind: str, *, error: str, **_: Any) -> None:
        told.append(f"{kind}: {error}")
        if len(told) == 2:
            postgres.do(f"ALTER ROLE {schema} CONNECTION LIMIT -1")

    entry: Any = SimpleNamespace(remaining=None, cancelled=False, event=event)
    with closing(postgres.store(schema, user=schema, password="a-guest")) as backend:
        store = Patient(backend, QUICK).within(entry)
        store.create(Collection("suite", 3, "m"))
        store.upsert(CHUNKS)
        assert sorted(keys(store.select(ALL))) == [("a", number) for number in range(300)]
    postgres.do(f"REASSIGN OWNED BY {schema} TO CURRENT_USER; DROP OWNED BY {schema}; DROP ROLE {schema}")
    assert len(told) == 2
    assert all("cannot serve requests now" in one and "too many connections for role" in one for one in told)


@pytest.mark.parametrize(("index", "found", "needed"), [("none", "0.4.4", "0.5"), ("hnsw", "0.7.4", "0.8")])
def test_an_old_pgvector_is_refused_with_both_versions(postgres: Any, schema: str, index: str, found: str, needed: str) -> None:
    def version(told: str) -> None:
        postgres.do("UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'", told)

    [(own,)] = postgres.do("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version(found)
    try:
        store = Component("store", "postgres", postgres.config(schema=schema, index=index), input=[LaneLink("documents", "in")])
        pipe = PipeFile([Component("in", "in"), store])
        said = rf"pgvector {found} is too old: {needed} or newer is needed; update the server"
        with pytest.raises(RunError, match=said), Kernel(nodes=[Source, Postgres]).load(pipe):
            pass
    finally:
        version(own)


def test_a_wrong_password_is_no_matter_of_retries_and_not_shown(postgres: Any) -> None:
    error = error_of(postgres, password="wrong-secret")
    assert (error.kind, error.passing) == ("authentication", False)
    assert "wrong-secret" not in str(error)
    assert error_of(postgres, user="nobody_knows").kind == "authentication"


def test_a_database_that_is_missing_is_named(postgres: Any) -> None:
    error = error_of(postgres, dbname="nowhere")
    assert error.kind == "not-found"
    assert str(error) == (
        'The server has no such database; create it, or write another in the config: database "nowhere" does not exist'
    )


def test_nobody_there_no_such_host_no_encryption(postgres: Any) -> None:
    assert error_of(postgres, port=1).kind == "connection"
    assert error_of(postgres, host="nowhere.invalid").kind == "connection"
    error = error_of(postgres, sslmode="require")
    assert (error.kind, "SSL" in str(error)) == ("connection", True)


STATES = {
    "28P01": "authentication",
    "3D000": "not-found",
    "42501": "permission",
    "57P03": "unavailable",
    "53300": "unavailable",
    "53100": "full",
    "08006": "connection",
    "57P01": "connection",
    "57014": "timeout",
    "40P01": "unavailable",
    "54000": "too-large",
    "22000": "invalid",
    "42883": "invalid",
}


@pytest.mark.parametrize(("state", "kind"), STATES.items())
def test_errors_by_state(postgres: Any, state: str, kind: str) -> None:
    from rocketride_store_postgres.explaining import explain

    with pytest.raises(Exception, match="told") as caught:
        postgres.do(f"DO $$ BEGIN RAISE EXCEPTION 'told' USING ERRCODE = '{state}'; END $$")
    told = explain(caught.value)
    assert told is not None
    assert (told.kind, told.detail) == (kind, "told")


WORDS = {
    'FATAL:  password authentication failed for user "x"': "authentication",
    'FATAL:  no pg_hba.conf entry for host "1.2.3.4", user "x", database "y", no encryption': "authentication",
    'FATAL:  role "x" does not exist': "authentication",
    "fe_sendauth: no password supplied": "authentication",
    'FATAL:  database "x" does not exist': "not-found",
    "FATAL:  the database system is starting up": "unavailable",
    "FATAL:  the database system is not yet accepting connections": "unavailable",
    "FATAL:  sorry, too many clients already": "unavailable",
    "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute": "unavailable",
    'FATAL:  permission denied for database "x"': "permission",
    "connection timeout expired": "timeout",
    "Connection refused": "connection",
    "server closed the connection unexpectedly": "connection",
    "FATAL:  Passwort-Authentifizierung für Benutzer »x« fehlgeschlagen": "connection",
}


@pytest.mark.parametrize(("words", "kind"), WORDS.items())
def test_errors_by_words_where_there_is_no_state(postgres: Any, words: str, kind: str) -> None:
    from psycopg import OperationalError

    from rocketride_store_postgres.explaining import explain

    told = explain(OperationalError(f'connection failed: connection to server at "127.0.0.1", port 1 failed: {words}'))
    assert told is not None
    assert (told.kind, told.detail) == (kind, words.removeprefix("FATAL:  "))


def test_a_mistake_of_the_program_is_not_explained(postgres: Any) -> None:
    from rocketride_store_postgres.explaining import explain

    assert explain(KeyError("x")) is None


def test_connections_that_the_server_ends_are_replaced(postgres: Any, schema: str) -> None:
    with closing(postgres.store(schema, application_name=f"x {schema}")) as backend:
        backend.create(Collection("suite", 3, "m"))
        for _ in range(3):
            ended = postgres.do(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", f"x {schema}"
            )
            assert ended == [(True,)]
            time.sleep(0.1)
            backend.upsert(CHUNKS)  # without a retry
        assert len(backend.ids(ALL)) == 300


def test_many_writers_while_the_server_ends_their_connections(postgres: Any, schema: str) -> None:
    ending = threading.Event()
    ended = 0

    def end() -> None:
        nonlocal ended
        while not ending.wait(0.02):
            ended += len(
                postgres.do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", f"y {schema}")
            )

    with closing(postgres.store(schema, application_name=f"y {schema}")) as backend:
        patient = Patient(backend, Patience(store="PostgreSQL", attempts=50, delay=0.01, seconds=60))
        patient.create(Collection("suite", 3, "m"))
        thread = threading.Thread(target=end)
        thread.start()
        try:
            with ThreadPoolExecutor(8) as workers:
                list(workers.map(lambda n: patient.upsert([chunk(f"o{n}", c) for c in range(20)]), range(64)))
        finally:
            ending.set()
            thread.join()
        assert ended > 0
        assert len(patient.ids(ALL)) == 64 * 20


class Source(Node[None]):
    spec = NodeSpec("in", title="In", categories=["source"], emits=[DOCUMENTS])


def ingest(config: dict[str, Any]) -> None:
    """Two objects of 620 chunks."""
    store = Component("store", "postgres", config, input=[LaneLink("documents", "in")])
    with Kernel(nodes=[Source, Postgres]).load(PipeFile([Component("in", "in"), store])) as pipeline:
        for id in ("a", "b"):
            chunks = [attrs.evolve(chunk(id, n, f"{id} {n} v1"), embedding_model="m") for n in range(620)]
            pipeline.run(Entry(id), DOCUMENTS(chunks)).checked()


@pytest.mark.parametrize("at", [b"INSERT INTO", b"b 610 v1", b"DELETE FROM"])
def test_a_killed_process_leaves_nothing_that_the_next_one_does_not_put_right(
    postgres: Any, schema: str, proxy: FaultProxy, at: bytes
) -> None:
    config = postgres.config(schema=schema, host="127.0.0.1", port=proxy.port)
    program = f"import runpy; runpy.run_path({__file__!r})['ingest']({config!r})"

    def contents() -> list[str]:
        return sorted(content for (content,) in postgres.do(f"SELECT content FROM {schema}.rocketride"))

    with closing(postgres.store(schema, "rocketride")) as before:
        before.create(Collection("rocketride", 3, "m"))
        for id in ("a", "b"):
            for first in (0, 450):
                before.upsert([chunk(id, n, f"{id} {n} v0") for n in range(first, first + 450)])
    proxy.stall(at)
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        while not proxy.hits:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
    proxy.clear()
    # What was there can still be found, each chunk once, in its old or its new version.
    assert len({text.rpartition(" ")[0] for text in contents()}) == len(contents()) >= 1240
    ingest(postgres.config(schema=schema))
    assert contents() == sorted(f"{id} {n} v1" for id in ("a", "b") for n in range(620))
