# SPDX-License-Identifier: MIT
"""One collection in one table of PostgreSQL as a `VectorStore`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types import TypeInfo

from rocketride_core import Document
from rocketride_store import (
    Capabilities,
    Collection,
    Server,
    StoreError,
    VectorStore,
    Where,
    chunk_uuid,
    raw_threshold,
    similarity,
)

from .connections import Connections, Link
from .explaining import explain
from .rows import Vector, VectorDumper, conditions, document, row
from .tables import Table, extension, find, make

__all__ = ["PostgresStore"]

_MOST = 2**62  # rows; no limit
_REACH = (40, 1000)  # what pgvector takes for hnsw.ef_search: its default, its most
_SELECT = "SELECT content, metadata, kind, exact, {} FROM {} AS chunks WHERE {} "


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

    @property
    def capabilities(self) -> Capabilities:
        exact = self._index == "none"
        return Capabilities(exact=exact, persistent=True, threshold=True, minimum="0.5" if exact else "0.8")

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
        with self._connections.use() as link:
            self._table = find(link, self._schema, self._name, self._metric)
        return self._table.collection if self._table else None

    def create(self, wanted: Collection, /) -> Collection:
        with self._connections.use() as link:
            try:
                self._table = make(link, self._schema, self._name, wanted, self._index)
            except psycopg.errors.InsufficientPrivilege as error:
                raise self._forbidden(link, error) from error
        return self._table.collection

    def upsert(self, documents: Sequence[Document], /) -> None:
        table = self._own()
        # In the order of ids, so that two writers of the same chunks wait for each other and never both.
        rows = sorted((row(chunk) for chunk in documents), key=lambda one: one[0])
        if not rows:
            return
        statement = sql.SQL(
            "INSERT INTO {} (id, content, embedding, metadata, kind, exact) "
            "SELECT * FROM unnest(%s::uuid[], %s::text[], %b::{}[], %s::jsonb[], %s::text[], %s::text[]) "
            "ON CONFLICT (id) DO UPDATE SET content = excluded.content, embedding = excluded.embedding, "
            "metadata = excluded.metadata, kind = excluded.kind, exact = excluded.exact"
        ).format(table.source, table.extension.named("vector"))
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
                found = self._near(link, table, vector, where, limit)
                if found is not None:
                    return [one for one in found if one.score is not None and one.score >= least]
            return self._compared(link, table, vector, where, limit, least)

    def _compared(self, link: Link, table: Table, vector: memoryview, where: Where, limit: int, least: float) -> list[Document]:
        metric = table.collection.metric
        # The cosine of a vector of zeros is none; it counts as 0, as in every store.
        distance = sql.SQL("coalesce(nullif(embedding {} %b, 'NaN'), 1)").format(table.extension.distance(metric))
        clause, values = conditions(where)
        raw = raw_threshold(metric, least)
        cut = sql.SQL("true" if raw is None else "distance <= %s")
        statement = sql.SQL(
            "SELECT * FROM (SELECT content, metadata, kind, exact, {} AS distance FROM {} AS chunks WHERE {}) AS found "
            "WHERE {} ORDER BY distance, metadata->>'objectId' COLLATE \"C\", metadata->'chunkId' LIMIT %s"
        ).format(distance, table.source, clause, cut)
        most = [] if raw is None else [raw if metric == "l2" else 1 - raw if metric == "cosine" else -raw]
        rows = _cursor(link, table).execute(statement, [Vector(vector), *values, *most, min(limit, _MOST)])
        return _scored(metric, rows)

    def _near(self, link: Link, table: Table, vector: memoryview, where: Where, limit: int) -> list[Document] | None:
        """By the index; None where it reached fewer chunks than there are."""
        distance = sql.SQL("embedding {} %b").format(table.extension.distance(table.collection.metric))
        clause, values = conditions(where)
        statement = sql.SQL(_SELECT + "ORDER BY {} LIMIT %s").format(distance, table.source, clause, distance)
        reach = max(_REACH[0], min(limit, _REACH[1]))
        with link.transaction(), _cursor(link, table) as cursor:
            cursor.execute(
                "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'strict_order', true)",
                [str(reach)],
            )
            wanted = Vector(vector)
            cursor.execute(statement, [wanted, *values, wanted, min(limit, _MOST)])
            found = _scored(table.collection.metric, cursor)
            if len(found) < limit:
                count = sql.SQL("SELECT count(*) FROM {} AS chunks WHERE {}").format(table.source, clause)
                there = cursor.execute(count, values).fetchone()
                if there and there[0] > len(found):
                    return None
        return found

    def select(
        self, where: Where, /, *, words: Sequence[str] = (), offset: int = 0, limit: int | None = None
    ) -> Sequence[Document]:
        table = self._known()
        clause, values = conditions(where, words)
        order = "ORDER BY metadata->>'objectId' COLLATE \"C\", metadata->'chunkId', id OFFSET %s LIMIT %s"
        statement = sql.SQL(_SELECT + order).format(sql.SQL("NULL"), table.source, clause)
        page = [min(offset, _MOST), _MOST if limit is None else min(limit, _MOST)]
        with self._connections.use() as link:
            return [document(*found[:4]) for found in link.execute(statement, [*values, *page])]

    def ids(self, where: Where, /) -> Sequence[str]:
        table = self._known()
        if not table.ours:
            return [chunk_uuid(chunk) for chunk in self.select(where)]
        clause, values = conditions(where)
        with self._connections.use() as link:
            found = link.execute(sql.SQL("SELECT id::text FROM {} WHERE {}").format(table.source, clause), values)
            return [id for (id,) in found]

    def delete(self, ids: Sequence[str], /) -> None:
        if ids:
            statement = sql.SQL("DELETE FROM {} WHERE id = ANY(%s::uuid[])").format(self._own().source)
            with self._connections.use() as link:
                link.execute(statement, [list(ids)])

    def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
        if ids:
            statement = sql.SQL(
                "UPDATE {} SET metadata = jsonb_set(metadata, '{{isDeleted}}', to_jsonb(%s::boolean)) WHERE id = ANY(%s::uuid[])"
            ).format(self._own().source)
            with self._connections.use() as link:
                link.execute(statement, [deleted, list(ids)])

    def explain(self, error: Exception, /) -> StoreError | None:
        return explain(error)

    def close(self) -> None:
        self._connections.close()

    def _known(self) -> Table:
        if self._table is None and self.collection() is None:
            raise StoreError("not-found", f"table {self._schema}.{self._name} does not exist")
        assert self._table is not None  # noqa: S101 - `collection` has just set it
        return self._table

    def _own(self) -> Table:
        table = self._known()
        if not table.ours:
            said = f"Table {self._schema}.{self._name} was made by RocketRide's own node: it can be searched, not written"
            raise StoreError("mismatch", sentence=f"{said}; write into another collection")
        return table

    def _forbidden(self, link: Link, error: Exception) -> StoreError:
        words = str(error).partition("\n")[0]
        if extension(link) is None:
            said = "This account may not create the extension `vector`; have an administrator run CREATE EXTENSION vector in the database"
            return StoreError("permission", words, sentence=said)
        said = f"This account may not create tables in schema {self._schema}; grant it CREATE there, or write another schema"
        return StoreError("permission", words, sentence=said)


def _cursor(link: Link, table: Table) -> psycopg.Cursor[Any]:
    """A cursor that knows the type `vector`, whose number differs from database to database."""
    cursor = link.cursor()
    TypeInfo("vector", table.extension.oid, table.extension.array).register(cursor)
    cursor.adapters.register_dumper(Vector, type("Here", (VectorDumper,), {"oid": table.extension.oid}))
    return cursor


def _scored(metric: str, rows: Iterable[Any]) -> list[Document]:
    """pgvector's distances are 1 - cosine, the negative inner product, and the Euclidean distance."""
    out = []
    for content, metadata, kind, exact, distance in rows:
        value = distance if metric == "l2" else 1 - distance if metric == "cosine" else -distance
        out.append(document(content, metadata, kind, exact, similarity(metric, value)))
    return out
