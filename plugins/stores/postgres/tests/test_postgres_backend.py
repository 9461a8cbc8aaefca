# SPDX-License-Identifier: MIT
"""PostgreSQL passes the suite of backends, exact and with an approximate index; tables, metadata, and accounts of every kind."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import uuid
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import Document
from rocketride_store import Collection, Condition, StoreError, VectorStore, Where
from rocketride_store.testing import StoreSuite, chunk, keys, vector

ALL = Where()
MADE = Collection("suite", 3, "model-a")


class TestExact(StoreSuite):
    @pytest.fixture(autouse=True)
    def _where(self, postgres: Any) -> None:
        self.postgres = postgres

    def make(self, folder: Path) -> VectorStore:
        store: VectorStore = self.postgres.store(self.postgres.schema(folder))
        return store


class TestIndexed(StoreSuite):
    @pytest.fixture(autouse=True)
    def _where(self, postgres: Any) -> None:
        self.postgres = postgres

    def make(self, folder: Path) -> VectorStore:
        store: VectorStore = self.postgres.store(self.postgres.schema(folder), index="hnsw")
        return store


@pytest.fixture
def store(postgres: Any, schema: str) -> Iterator[Any]:
    with closing(postgres.store(schema)) as made:
        made.create(MADE)
        yield made


def test_what_jsonb_cannot_hold_comes_back_too(store: Any) -> None:
    odd = {
        "nul": "a\0b",
        "half": "\ud83d",
        "huge": 1e300,
        "whole": 1e16,
        "minus": -0.0,
        "inside": {"deep": [1, {"x": "\0"}]},
        "a\0key": 1,
        "infinite": math.inf,
    }
    even = {"float": 1.0, "tiny": 5e-324, "int": 10**400, "text": "\u2028'\\\"", "nothing": None, "list": [], "third": 1 / 3}
    given = attrs.evolve(chunk("a", 0, **odd, **even), text="NUL \0 and half \udc00", kind="Kind\0")
    store.upsert([given])
    [found] = store.select(ALL)
    assert dict(found.metadata) == dict(given.metadata)
    assert {key: type(value) for key, value in found.metadata.items()} == {k: type(v) for k, v in given.metadata.items()}
    assert math.copysign(1, found.metadata["minus"]) == -1
    assert (found.text, found.kind) == (given.text, given.kind)
    assert keys(store.select(ALL, words=["AND", "half"])) == [("a", 0)]


def test_an_object_id_that_could_not_be_found_again_is_refused(store: Any) -> None:
    with pytest.raises(StoreError, match=r"cannot keep the object id 'a\\x00b'"):
        store.upsert([chunk("fine", 0), chunk("a\0b", 0)])
    assert store.ids(ALL) == []
    assert store.ids(Where.object("a\0b")) == []


def test_a_batch_is_written_whole_or_not_at_all(store: Any) -> None:
    wrong = attrs.evolve(chunk("b", 0), embedding=vector(1, 0))
    with pytest.raises(Exception, match="expected 3 dimensions, not 2") as caught:
        store.upsert([chunk("a", 0), wrong, chunk("c", 0)])
    assert store.explain(caught.value).kind == "invalid"
    assert store.ids(ALL) == []


def test_a_write_that_a_trigger_swallows_is_not_confirmed(postgres: Any, store: Any, schema: str) -> None:
    postgres.do(f"CREATE FUNCTION {schema}.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    postgres.do(f"CREATE TRIGGER t BEFORE INSERT ON {schema}.suite FOR EACH ROW EXECUTE FUNCTION {schema}.swallow()")
    with pytest.raises(StoreError, match="0 of 2 rows were written") as caught:
        store.upsert([chunk("a", 0), chunk("a", 1)])
    assert caught.value.kind == "not-confirmed"


def test_vectors_of_zeros_are_in_the_middle(store: Any) -> None:
    nothing = attrs.evolve(chunk("zero", 0), embedding=vector(0, 0, 0))
    store.upsert([chunk("far", 0, at=180), nothing, chunk("near", 0)])
    found = store.search(vector(1, 0, 0), ALL, 5)
    assert [(one.metadata["objectId"], one.score) for one in found] == [("near", 1.0), ("zero", 0.5), ("far", 0.0)]
    assert keys(store.search(vector(1, 0, 0), ALL, 5, least=0.6)) == [("near", 0)]


def test_ties_are_in_the_order_of_objects_and_chunks(store: Any) -> None:
    store.upsert([chunk(id, number) for number in (10, 9, 0) for id in ("b", "B", "a")])
    wanted = [(id, number) for id in ("B", "a", "b") for number in (0, 9, 10)]
    assert keys(store.search(vector(1, 0, 0), ALL, 9)) == keys(store.select(ALL)) == wanted


def test_long_ids_and_paths_are_found_by_an_index(postgres: Any, store: Any, schema: str) -> None:
    long = "x/" + "wörter " * 2000
    store.upsert([chunk(long, number, parent=long) for number in range(3)] + [chunk(f"o{n}", 0) for n in range(400)])
    assert len(store.ids(Where.object(long))) == len(store.ids(Where((Condition("parent", "eq", long),)))) == 3
    postgres.do(f"ANALYZE {schema}.suite")
    from rocketride_store_postgres.rows import conditions

    clause, values = conditions(Where.object("o7"))
    with postgres.connect() as connection:
        statement = f"EXPLAIN SELECT id FROM {schema}.suite WHERE {clause.as_string(connection)}"
        plan = "\n".join(line for (line,) in connection.execute(statement, values))
    assert "Index" in plan, plan


def test_a_word_is_found_in_any_letter_case_of_any_script(store: Any) -> None:
    store.upsert([chunk("a", 0, "ΟΔΟΣ Straße ЖУК \N{KELVIN SIGN}elvin a.b^c]d İstanbul")])
    for word in ("οδος", "ΟΔΟΣ", "straße", "жук", "kelvin", "A.B^C]D", "İstanbul", "[-]"[1:1]):
        assert keys(store.select(ALL, words=[word])) == [("a", 0)], word
    for word in ("axb", "a.b^c}d", "strasse", ".*", "(", "***=a"):
        assert store.select(ALL, words=[word]) == [], word


def test_an_index_takes_no_huge_vectors_and_says_so(postgres: Any, schema: str) -> None:
    with closing(postgres.store(schema, index="hnsw")) as store:
        with pytest.raises(StoreError, match='up to 2000 numbers, not 2001; write "index": "none"'):
            store.create(Collection("suite", 2001))
        assert store.collection() is None
    with closing(postgres.store(schema)) as store:
        store.create(Collection("suite", 3072, "large"))
        store.upsert([attrs.evolve(chunk("a", 0), embedding=memoryview(array("f", [0.5] * 3072)))])
        assert store.search(memoryview(array("f", [1.0] * 3072)), ALL, 1)[0].score == 1.0


def test_a_search_by_index_uses_it(postgres: Any, schema: str) -> None:
    # So few rows are read faster one by one: the planner is told not to.
    with closing(postgres.store(schema, index="hnsw", options="-c enable_seqscan=off")) as store:
        store.create(MADE)
        store.upsert([chunk("a", number, at=number / 4) for number in range(300)])
        assert keys(store.search(vector(1, 0, 0), ALL, 3)) == [("a", 0), ("a", 1), ("a", 2)]
    scans = f"SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE schemaname = '{schema}' AND indexrelname LIKE '%embedding%'"
    for _ in range(100):
        if postgres.do(scans)[0][0]:
            return
        time.sleep(0.05)  # a connection tells what it counted when it ends
    pytest.fail("no search used the index")


def test_a_table_of_something_else_is_left_alone(postgres: Any, schema: str) -> None:
    postgres.do(f"CREATE TABLE {schema}.suite (id int, embedding text)")
    with closing(postgres.store(schema)) as store:
        for call in (store.collection, lambda: store.create(MADE), lambda: store.upsert([chunk("a", 0)])):
            with pytest.raises(StoreError, match="is not a collection: it has no column `embedding` of type vector"):
                call()
        postgres.do(f"DROP TABLE {schema}.suite")
        postgres.do(f"CREATE TABLE {schema}.suite (id int, embedding vector(3))")
        with pytest.raises(StoreError, match="it lacks content, exact, kind, metadata"):
            store.collection()


@pytest.mark.parametrize("quoted", ['"{}"', "{}"], ids=["quoted", "lower case"])
def test_a_table_of_rocketride_is_searched_and_not_written(postgres: Any, schema: str, quoted: str) -> None:
    types = {"objectId": "text", "nodeId": "text", "parent": "text", "permissionId": "int", "isDeleted": "bool", "chunkId": "int"}
    types |= {"isTable": "bool", "tableId": "int", "vectorSize": "int", "modelName": "text"}
    columns = ", ".join(f"{quoted.format(name)} {type}" for name, type in types.items()) + ", \"100%\" text DEFAULT 'yes'"
    postgres.do(f"CREATE TABLE {schema}.suite (id bigserial PRIMARY KEY, content text, {columns}, embedding vector(3))")
    names = ", ".join(quoted.format(name) for name in types)
    insert = f"INSERT INTO {schema}.suite (content, {names}, embedding) VALUES "
    postgres.do(insert + "('', 'schema', '', '', 0, true, 0, false, 0, 3, 'miniLM', '[0,0,0]')")
    postgres.do(insert + "('old text', 'a', NULL, 'x/a.txt', 0, false, 0, false, 0, NULL, NULL, '[1,0,0]')")
    with closing(postgres.store(schema)) as store:
        assert store.collection() == Collection("suite", 3, "miniLM", "cosine")
        [found] = store.search(vector(1, 0, 0), ALL, 5)
        expected = {"objectId": "a", "parent": "x/a.txt", "permissionId": 0, "isDeleted": False, "chunkId": 0}
        assert (found.text, found.score) == ("old text", 1.0)
        assert dict(found.metadata) == expected | {"isTable": False, "tableId": 0, "100%": "yes"}
        assert keys(store.select(Where.object("a"), words=["OLD"])) == [("a", 0)]
        assert len(store.ids(Where.object("a"))) == 1
        for write in (lambda: store.upsert([chunk("a", 0)]), lambda: store.delete(["x"]), lambda: store.mark(["x"], True)):
            with pytest.raises(StoreError, match="can be searched, not written"):
                write()
    assert postgres.do(f"SELECT count(*) FROM {schema}.suite") == [(2,)]


def test_a_table_without_its_record_is_still_ours(postgres: Any, store: Any, schema: str) -> None:
    for comment in ("NULL", "'kept for the audit'", "'[]'"):
        postgres.do(f"COMMENT ON TABLE {schema}.suite IS {comment}")
        assert store.collection() == Collection("suite", 3, "", "cosine")
    postgres.do(f"""COMMENT ON TABLE {schema}.suite IS '{json.dumps({"rocketride": 2})}'""")
    with pytest.raises(StoreError, match="made by a newer version"):
        store.collection()


def test_a_table_that_is_dropped_meanwhile_is_not_made_again(postgres: Any, store: Any, schema: str) -> None:
    store.upsert([chunk("a", 0)])
    postgres.do(f"DROP TABLE {schema}.suite")
    with pytest.raises(Exception, match="does not exist") as caught:
        store.upsert([chunk("a", 0)])
    assert store.explain(caught.value).kind == "not-found"
    assert store.collection() is None
    with pytest.raises(StoreError, match="does not exist"):
        store.search(vector(1, 0, 0), ALL, 1)


def test_names_are_quoted(postgres: Any) -> None:
    schema, name = 'Odd "schema"; --', "select"
    with postgres.connect() as connection:
        connection.execute('CREATE SCHEMA "Odd ""schema""; --"')
    with closing(postgres.store(schema, name)) as store:
        store.create(Collection(name, 3, 'a model\'s "name" {} %s'))
        store.upsert([chunk("a", 0, **{"x'y\"{}%": 1})])
        assert store.collection() == Collection(name, 3, 'a model\'s "name" {} %s')
        assert keys(store.select(Where((Condition("x'y\"{}%", "eq", 1),)))) == [("a", 0)]


# --- accounts and extensions --------------------------------------------------------------------------------------------


@pytest.fixture
def bare(server: Any) -> Iterator[Any]:
    """A database without the extension, and an account of the same name that may do nothing in it but connect."""
    name = f"rr_bare_{uuid.uuid4().hex[:12]}"
    with server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'guest-password'")
    try:
        yield attrs.evolve(server, database=name)
    finally:
        with server.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.execute(f"DROP ROLE {name}")


def test_the_extension_is_made_where_it_may_be(bare: Any) -> None:
    with closing(bare.store("public")) as store:
        assert store.collection() is None
        assert store.about().version
        assert store.create(MADE) == MADE
    assert bare.do("SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == [(1,)]


def test_an_account_that_may_not_make_the_extension_or_the_table_says_so(bare: Any) -> None:
    with closing(bare.store("public", user=bare.database, password="guest-password")) as store:
        with pytest.raises(StoreError, match="have an administrator run CREATE EXTENSION vector") as caught:
            store.create(MADE)
        assert caught.value.kind == "permission"
        bare.do("CREATE EXTENSION vector")
        with pytest.raises(StoreError, match="may not create tables in schema public; grant it CREATE there"):
            store.create(MADE)
        with closing(bare.store("public")) as owner:
            owner.create(MADE)
        assert store.create(MADE) == MADE
        with pytest.raises(Exception, match="permission denied") as denied:
            store.upsert([chunk("a", 0)])
        assert store.explain(denied.value).kind == "permission"


def test_the_extension_may_be_in_any_schema(bare: Any) -> None:
    bare.do('CREATE SCHEMA "Extensions"')
    bare.do('CREATE EXTENSION vector SCHEMA "Extensions"')
    for index in ("none", "hnsw"):
        with closing(bare.store("public", f"suite_{index}", index=index)) as store:
            store.create(Collection("x", 3, "m", "l2"))
            store.upsert([chunk("a", 0), chunk("b", 0, at=90)])
            assert keys(store.search(vector(1, 0, 0), ALL, 2)) == [("a", 0), ("b", 0)]


def test_a_schema_that_does_not_exist_is_not_found(postgres: Any) -> None:
    with closing(postgres.store("nowhere")) as store:
        assert store.collection() is None
        with pytest.raises(Exception, match='schema "nowhere" does not exist') as caught:
            store.create(MADE)
        assert store.explain(caught.value).kind == "not-found"


def test_a_database_that_cannot_keep_every_text_is_refused(server: Any) -> None:
    name = f"rr_latin_{uuid.uuid4().hex[:12]}"
    server.do(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        with closing(server.store("public", dbname=name)) as store, pytest.raises(StoreError, match="encoding LATIN1"):
            store.about()
    finally:
        server.do(f"DROP DATABASE {name} WITH (FORCE)")


CREATES = """
import sys, threading
from rocketride_store import Collection
from rocketride_store_postgres.backend import PostgresStore
from rocketride_store_postgres.connections import Connections
uri, schema, who = sys.argv[1:]
store = PostgresStore(Connections(uri), schema, "suite")
made = []
threads = [threading.Thread(target=lambda n=n: made.append(store.create(Collection("suite", 3, f"{who}-{n}")))) for n in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
store.close()
assert len(made) == 8 and len(set(made)) == 1, made
print(made[0].model)
"""


def test_two_processes_of_eight_threads_make_one_table_and_one_extension(bare: Any) -> None:
    command = [sys.executable, "-c", CREATES, bare.uri, "public"]
    running = [subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True) for who in ("x", "y")]
    told = [process.communicate(timeout=60)[0].strip() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert told[0] == told[1] != ""


def test_a_document_is_not_changed_by_being_written(store: Any) -> None:
    given = chunk("a", 0, nul="\0")
    store.upsert([given])
    assert given.metadata["nul"] == "\0"
    assert isinstance(given, Document)


def test_a_word_of_any_length_is_found(store: Any) -> None:
    long = "Ünïcödé-ΣΑΣ.*教" * 2000
    store.upsert([chunk("a", 0, f"({long.upper()})"), chunk("b", 0, long[:-1]), chunk("c", 0, "nothing of it")])
    assert keys(store.select(ALL, words=[long])) == keys(store.select(ALL, words=[long.swapcase(), "("])) == [("a", 0)]
    assert sorted(keys(store.select(ALL, words=[long[:-1]]))) == [("a", 0), ("b", 0)]
    assert store.select(ALL, words=[long + "x"]) == []
