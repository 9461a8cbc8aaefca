# SPDX-License-Identifier: MIT
"""A collection's table: found and understood, or made. Nothing here changes a table that exists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import attrs
from psycopg import sql

from rocketride_store import Collection, StoreError

from .connections import Link
from .rows import COLUMNS, INDEXED

__all__ = ["Extension", "Table", "extension", "find", "make"]

# One lock of a database for whoever makes extensions and tables in it; any number will do.
_LOCK: Final = 0x726F636B65747269
_LAYOUT: Final = 1
# RocketRide's own node keeps each of these in a column; what a user added to its tables becomes metadata too.
_FOREIGN: Final = ("objectId", "nodeId", "parent", "permissionId", "isDeleted", "chunkId", "isTable", "tableId")
_NO_METADATA: Final = frozenset({"id", "content", "embedding", "vectorsize", "modelname"})
_CONTROL: Final = "schema"
_FAMILIES: Final[Mapping[str, tuple[str, str]]] = {
    "cosine": ("<=>", "vector_cosine_ops"),
    "ip": ("<#>", "vector_ip_ops"),
    "l2": ("<->", "vector_l2_ops"),
}
_INDEXABLE: Final = 2000  # numbers of a vector in an HNSW index


@attrs.frozen
class Extension:
    """pgvector in this database; its names are written with their schema, which need not be on the search path."""

    version: str
    schema: str
    oid: int
    array: int

    def named(self, name: str) -> sql.Composable:
        return sql.Identifier(self.schema, name)

    def distance(self, metric: str) -> sql.Composable:
        """The operator: cosine distance, negative inner product, or Euclidean distance."""
        operator = _FAMILIES[metric][0]
        return sql.SQL("OPERATOR({}.{})").format(sql.Identifier(self.schema), sql.SQL(operator))


@attrs.frozen
class Table:
    """A table that is a collection.

    Parameters:
        source: what to select id, content, embedding, metadata, kind and exact from.
        ours: made by this package; one of RocketRide's own node can be searched and not written.
    """

    extension: Extension
    collection: Collection
    source: sql.Composable
    ours: bool


def extension(link: Link) -> Extension | None:
    """pgvector, None where this database does not have it."""
    found = link.execute(
        "SELECT e.extversion, n.nspname, t.oid, t.typarray FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = 'vector' WHERE e.extname = 'vector'"
    ).fetchone()
    return None if found is None else Extension(*found)


def find(link: Link, schema: str, name: str, metric: str) -> Table | None:
    """The table of a collection, None where it does not exist.

    Parameters:
        metric: for a table that does not say what it is compared by.

    Raises:
        StoreError: of kind `mismatch` for a table that is something else.
    """
    vectors = extension(link)
    found = link.execute(
        "SELECT c.oid, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s",
        [schema, name],
    ).fetchone()
    if found is None:
        return None
    table, comment = found
    columns = {
        column: (type, width)
        for column, type, width in link.execute(
            "SELECT attname, atttypid, atttypmod FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped",
            [table],
        )
    }
    type, width = columns.get("embedding", (0, 0))
    if vectors is None or type != vectors.oid:
        raise _other(schema, name, "it has no column `embedding` of type vector")
    target = sql.Identifier(schema, name)
    if columns.keys() >= {*COLUMNS}:
        told = _record(comment)
        if told.get("rocketride", _LAYOUT) != _LAYOUT:
            said = f"Table {schema}.{name} was made by a newer version of rocketride-store-postgres; update it"
            raise StoreError("version", sentence=said)
        recorded = Collection(name, max(width, 0), str(told.get("model", "")), str(told.get("metric", metric)))
        return Table(vectors, recorded, target, ours=True)
    names = {column.lower(): column for column in columns}
    if not names.keys() >= {"content", "objectid", "chunkid"}:
        raise _other(schema, name, f"it lacks {', '.join(sorted({*COLUMNS} - columns.keys()))}")
    return _foreign(link, vectors, Collection(name, max(width, 0), "", metric), target, names)


def make(link: Link, schema: str, name: str, wanted: Collection, index: str) -> Table:
    """Make the table where it does not exist, all or nothing; of many who do so at once one is first."""
    if index == "hnsw" and wanted.dimension > _INDEXABLE:
        said = f'an HNSW index takes vectors of up to {_INDEXABLE} numbers, not {wanted.dimension}; write "index": "none"'
        raise StoreError("invalid", sentence=said)
    with link.transaction():
        link.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        found = find(link, schema, name, wanted.metric)
        if found is not None:
            return found
        if extension(link) is None:
            link.execute("CREATE EXTENSION IF NOT EXISTS vector")
        vectors = extension(link)
        if vectors is None:
            raise StoreError("version", sentence="The extension `vector` of this database is not pgvector")
        target = sql.Identifier(schema, name)
        link.execute(
            sql.SQL(
                "CREATE TABLE {} (id uuid PRIMARY KEY, content text NOT NULL, embedding {}({}) NOT NULL, "
                "metadata jsonb NOT NULL, kind text NOT NULL, exact text)"
            ).format(target, vectors.named("vector"), sql.Literal(wanted.dimension))
        )
        for key in INDEXED:
            hashed = sql.SQL("CREATE INDEX ON {} (jsonb_hash_extended(metadata->{}, 0))")
            link.execute(hashed.format(target, sql.Literal(key)))
        if index == "hnsw":
            family = vectors.named(_FAMILIES[wanted.metric][1])
            link.execute(sql.SQL("CREATE INDEX ON {} USING hnsw (embedding {})").format(target, family))
        told = json.dumps({"rocketride": _LAYOUT, "model": wanted.model, "metric": wanted.metric}, ensure_ascii=False)
        link.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(target, sql.Literal(told)))
        return Table(vectors, attrs.evolve(wanted, name=name), target, ours=True)


def _foreign(link: Link, vectors: Extension, bare: Collection, target: sql.Composable, names: Mapping[str, str]) -> Table:
    known = {key.lower(): key for key in _FOREIGN}
    pairs = [
        part
        for lower, column in names.items()
        if lower not in _NO_METADATA
        # Statements with values take %% for %.
        for part in (sql.Literal(known.get(lower, column).replace("%", "%%")), sql.Identifier(column.replace("%", "%%")))
    ]
    source = sql.SQL(
        "(SELECT id::text AS id, content, embedding, jsonb_strip_nulls(jsonb_build_object({})) AS metadata, 'Document' AS kind, "
        "NULL::text AS exact FROM {} WHERE {} IS DISTINCT FROM {})"
    ).format(sql.SQL(", ").join(pairs), target, sql.Identifier(names["objectid"]), sql.Literal(_CONTROL))
    if not names.keys() >= {"vectorsize", "modelname"}:
        return Table(vectors, bare, source, ours=False)
    control = link.execute(
        sql.SQL("SELECT {}, {} FROM {} WHERE {} = %s LIMIT 1").format(
            *(sql.Identifier(names[column]) for column in ("vectorsize", "modelname")), target, sql.Identifier(names["objectid"])
        ),
        [_CONTROL],
    ).fetchone()
    size, model = control or (0, "")
    recorded = attrs.evolve(bare, dimension=bare.dimension or int(size or 0), model=str(model or ""))
    return Table(vectors, recorded, source, ours=False)


def _record(comment: str | None) -> Mapping[str, Any]:
    try:
        told = json.loads(comment or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _other(schema: str, name: str, why: str) -> StoreError:
    return StoreError(
        "mismatch", sentence=f"Table {schema}.{name} is not a collection: {why}; choose another collection or schema"
    )
