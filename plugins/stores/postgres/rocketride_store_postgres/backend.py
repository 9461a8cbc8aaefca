# SPDX-License-Identifier: MIT
"""One collection in one table of PostgreSQL as a `VectorStore`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types import TypeInfo

from rocketride_core import Document
from rocketride_store import Capabilities, Collection, Distances, Server, StoreError, VectorStore, Where, chunk_uuid

from .connections import Connections, Link, conninfo
from .explaining import explain
from .rows import COLUMNS, Vector, VectorDumper, conditions, document, row
from .tables import Table, extension, find, make

__all__ = ["Connections", "PostgresStore", "conninfo", "explain"]

_MOST = 2**62  # rows; no limit
_REACH = (40, 1000)  # what pgvector takes for hnsw.ef_search: its default, its most
_TELLS = Distances()
_NEAR = "SELECT * FROM ({}) AS found WHERE {} ORDER BY distance, {} LIMIT %s"
_CHUNKS = "SELECT content, metadata, kind, exact, {} AS distance FROM {} AS chunks WHERE {} "
_IN_ORDER = "metadata->>'objectId' COLLATE \"C\", metadata->'chunkId'"


class PostgresStore(VectorStore):
    """A store over connections; closes them.

    Parameters:
        connections: to the database.
        schema, name: of the table.
        metric: of a table that does not record one.
        index: "hnsw" makes an approximate index with the table, and searches by it; "none" compares with every vector.
    """

    def __init__(self, connections: Connections, schema: str, name: str, *, metric: str = "cosine", index: str = "none") -> None:
        self._connections, self._schema, self._name, self._metric, self._index = connections, schema, name, metric, index
        self._table: Table | None = None
        exact = index == "none"
        self._able = Capabilities(exact=exact, persistent=True, threshold=True, minimum="0.5" if exact else "0.8")

    @property
    def capabilities(self) -> Capabilities:
        return self._able

    def about(self) -> Server:
        with self._connections.use() as link:
            asked = "SELECT current_setting('server_version'), current_setting('server_encoding')"
            version, encoding = link.execute(asked).fetchone() or ("", "")
            found = extension(link)
            offered = link.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'").fetchone()
        if encoding != "UTF8":
            said = f"The database has the encoding {encoding}, which cannot keep every text; create one with ENCODING 'UTF8'"
            raise StoreError("version", sentence=said)
        if found is None and offered is None:
            said = "The server has no pgvector; install it there (Debian: postgresql-<version>-pgvector)"
            raise StoreError("version", sentence=said)
        return Server(f"PostgreSQL {version.split()[0]} with pgvector", found.version if found else str(offered and offered[0]))

    def collection(self) -> Collection | None:
        found = self._read()
        return None if found is None else found.collection

    def create(self, wanted: Collection, /) -> Collection:
        with self._connections.use() as link:
            try:
                self._table = made = make(link, self._schema, self._name, wanted, self._index)
            except psycopg.errors.InsufficientPrivilege as error:
                raise self._forbidden(link, error) from error
        return made.collection

    def upsert(self, documents: Sequence[Document], /) -> None:
        table = self._own()
        # In the order of ids, so that two writers of the same chunks wait for each other and never both.
        rows = sorted((row(chunk) for chunk in documents), key=lambda one: one[0])
        statement = sql.SQL(
            "INSERT INTO {} ({}) SELECT * FROM unnest(%s::uuid[], %s::text[], %b::{}[], %s::jsonb[], %s::text[], %s::text[]) "
            "ON CONFLICT (id) DO UPDATE SET ({}) = ({})"
        ).format(
            table.source,
            sql.SQL(", ").join(map(sql.Identifier, COLUMNS)),
            table.extension.named("vector"),
            sql.SQL(", ").join(map(sql.Identifier, COLUMNS[1:])),
            sql.SQL(", ").join(sql.Identifier("excluded", column) for column in COLUMNS[1:]),
        )
        with self._connections.use() as link:
            written = _cursor(link, table).execute(statement, [list(column) for column in zip(*rows, strict=True)]).rowcount
        if written != len(rows):
            raise StoreError(
                "not-confirmed", f"{written} of {len(rows)} rows were written; does a trigger or rule keep some out?"
            )

    def search(self, vector: memoryview, where: Where, limit: int, /, *, least: float = 0.0) -> Sequence[Document]:
        table = self._known()
        with self._connections.use() as link:
            if self._index == "hnsw":
                near = self._near(link, table, vector, where, limit)
                if near is not None:
                    return [one for one in near if one.score is not None and one.score >= least]
            return self._compared(link, table, vector, where, limit, least)

    def _compared(self, link: Link, table: Table, vector: memoryview, where: Where, limit: int, least: float) -> list[Document]:
        metric = table.collection.metric
        # The cosine of a vector of zeros is none; it counts as 0, as in every store.
        distance = sql.SQL("coalesce(nullif(embedding {} %b, 'NaN'), 1)").format(table.extension.distance(metric))
        clause, values = conditions(where)
        greatest = _TELLS.greatest(metric, least)
        cut = sql.SQL("true" if greatest is None else "distance <= %s")
        chunks = sql.SQL(_CHUNKS).format(distance, table.source, clause)
        most = [] if greatest is None else [greatest]
        given = [Vector(vector), *values, *most, min(limit, _MOST)]
        found = _cursor(link, table).execute(sql.SQL(_NEAR).format(chunks, cut, sql.SQL(_IN_ORDER)), given)
        return _scored(metric, found)

    def _near(self, link: Link, table: Table, vector: memoryview, where: Where, limit: int) -> list[Document] | None:
        """By the index; None where it reached fewer chunks than there are."""
        metric, wanted = table.collection.metric, Vector(vector)
        distance = sql.SQL("embedding {} %b").format(table.extension.distance(metric))
        clause, values = conditions(where)
        statement = sql.SQL(_CHUNKS + "ORDER BY {} LIMIT %s").format(distance, table.source, clause, distance)
        reach = str(max(_REACH[0], min(limit, _REACH[1])))
        how = "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'strict_order', true)"
        with link.transaction(), _cursor(link, table) as cursor:
            cursor.execute(how, [reach])
            cursor.execute(statement, [wanted, *values, wanted, min(limit, _MOST)])
            found = _scored(metric, cursor)
            return None if len(found) < limit and _counted(link, table, where) > len(found) else found

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        table = self._known()
        clause, values = conditions(where, words)
        statement = sql.SQL(_CHUNKS + "ORDER BY " + _IN_ORDER + ", id OFFSET %s LIMIT %s")
        page = [min(offset, _MOST), _MOST if limit is None else min(limit, _MOST)]
        with self._connections.use() as link:
            found = link.execute(statement.format(sql.SQL("NULL"), table.source, clause), [*values, *page])
            return [document(*one[:4]) for one in found]

    def ids(self, where: Where, /) -> Sequence[str]:
        table = self._known()
        if not table.ours:
            return [chunk_uuid(chunk) for chunk in self.select(where)]
        clause, values = conditions(where)
        with self._connections.use() as link:
            found = link.execute(sql.SQL("SELECT id::text FROM {} WHERE {}").format(table.source, clause), values)
            return [id for (id,) in found]

    def count(self, where: Where, /) -> int:
        table = self._known()
        with self._connections.use() as link:
            return _counted(link, table, where)

    def delete(self, ids: Sequence[str], /) -> None:
        statement = sql.SQL("DELETE FROM {} WHERE id = ANY(%s::uuid[])").format(self._own().source)
        with self._connections.use() as link:
            link.execute(statement, [list(ids)])

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        statement = sql.SQL(
            "UPDATE {} SET metadata = jsonb_set(metadata, '{{isDeleted}}', to_jsonb(%s::boolean)) WHERE id = ANY(%s::uuid[])"
        ).format(self._own().source)
        with self._connections.use() as link:
            link.execute(statement, [deleted, list(ids)])

    def explain(self, error: Exception, /) -> StoreError | None:
        return explain(error)

    def close(self) -> None:
        self._connections.close()

    def _read(self) -> Table | None:
        with self._connections.use() as link:
            self._table = found = find(link, self._schema, self._name, self._metric)
        return found

    def _known(self) -> Table:
        found = self._table or self._read()
        if found is None:
            raise StoreError("not-found", f"table {self._schema}.{self._name} does not exist")
        return found

    def _own(self) -> Table:
        table = self._known()
        if not table.ours:
            said = f"Table {self._schema}.{self._name} was made by RocketRide's own node: it can be searched, not written"
            raise StoreError("mismatch", sentence=f"{said}; write into another collection")
        return table

    def _forbidden(self, link: Link, error: Exception) -> StoreError:
        said = f"This account may not create tables in schema {self._schema}; grant it CREATE there, or write another schema"
        if extension(link) is None:
            said = "This account may not create the extension `vector`; have an administrator run CREATE EXTENSION vector in the database"
        return StoreError("permission", str(error).partition("\n")[0], sentence=said)


def _counted(link: Link, table: Table, where: Where) -> int:
    clause, values = conditions(where)
    found = link.execute(sql.SQL("SELECT count(*) FROM {} AS chunks WHERE {}").format(table.source, clause), values).fetchone()
    return int(found[0]) if found else 0


def _scored(metric: str, rows: Iterable[Any]) -> list[Document]:
    told = _TELLS.score
    return [document(text, metadata, kind, exact, told(metric, far)) for text, metadata, kind, exact, far in rows]


def _cursor(link: Link, table: Table) -> psycopg.Cursor[Any]:
    """A cursor that knows the type `vector`, whose number differs from database to database."""
    cursor = link.cursor()
    TypeInfo("vector", table.extension.oid, table.extension.array).register(cursor)
    cursor.adapters.register_dumper(Vector, type("Here", (VectorDumper,), {"oid": table.extension.oid}))
    return cursor
