# SPDX-License-Identifier: MIT
"""Chunks as rows and conditions as SQL; whatever a column cannot hold travels in the column `exact` and comes back unchanged."""

from __future__ import annotations

import json
import math
import struct
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from psycopg import sql
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from rocketride_core import Document
from rocketride_store import Condition, StoreError, Where, chunk_key, chunk_uuid

__all__ = ["COLUMNS", "INDEXED", "Row", "Vector", "VectorDumper", "conditions", "document", "pattern", "row"]

Row = tuple[str, str, "Vector", str, str, str | None]
COLUMNS = ("id", "content", "embedding", "metadata", "kind", "exact")
# Keys whose chunks are found by an index. It holds hashes, because a B-tree takes no text of more than 2,704 bytes.
INDEXED = ("objectId", "parent")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_LONG = 200  # letters of a word that a pattern has


class Vector:
    """An embedding on its way to the server."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: memoryview | None) -> None:
        self.numbers = array("f", numbers or b"")


class VectorDumper(Dumper):
    """pgvector's binary form; a subclass says the `oid` of the type in its database."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> Buffer:
        numbers = obj.numbers
        if struct.pack("=H", 1) != b"\0\1":
            numbers = array("f", numbers)
            numbers.byteswap()
        return struct.pack(">HH", len(numbers), 0) + numbers.tobytes()


def row(chunk: Document) -> Row:
    """A chunk as COLUMNS.

    Raises:
        StoreError: of kind `invalid`, for an object id that could not be found again.
    """
    object_id, _ = chunk_key(chunk)
    if not _kept(object_id):
        raise StoreError(
            "invalid", sentence=f"PostgreSQL cannot keep the object id {object_id!r}: it has a NUL or half a surrogate pair"
        )
    metadata: dict[str, Any] = dict(chunk.metadata)
    exact: dict[str, Any] = {name: text for name, text in (("text", chunk.text), ("kind", chunk.kind)) if not _kept(text)}
    awkward = {key: metadata.pop(key) for key in list(metadata) if not (_kept(key) and _kept(metadata[key]))}
    if awkward:
        exact["metadata"] = awkward
    content, kind = (text.replace("\0", _REPLACEMENT).encode(errors="replace").decode() for text in (chunk.text, chunk.kind))
    told = json.dumps(metadata, ensure_ascii=False)
    return chunk_uuid(chunk), content, Vector(chunk.embedding), told, kind, json.dumps(exact) if exact else None


def document(content: str, metadata: Mapping[str, Any], kind: str, exact: str | None, score: float | None = None) -> Document:
    """The chunk that a row was made of, without its embedding."""
    told: dict[str, Any] = json.loads(exact) if exact else {}
    values = {**metadata, **told.get("metadata", {})}
    return Document(told.get("text", content), values, score=score, kind=told.get("kind", kind))


def _kept(value: Any) -> bool:
    """jsonb gives back the same value: it has no NUL, no half of a surrogate pair, and its numbers have no exponent."""
    if isinstance(value, str):
        return "\0" not in value and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))
    if isinstance(value, float):
        whole = value.is_integer() and (abs(value) >= 1e16 or math.copysign(1, value) < 0 == value)
        return math.isfinite(value) and not whole
    if isinstance(value, Mapping):
        return all(_kept(key) and _kept(one) for key, one in value.items())
    return not isinstance(value, (list, tuple)) or all(map(_kept, value))


def conditions(where: Where, words: Sequence[str] = ()) -> tuple[sql.Composable, list[Any]]:
    """A WHERE clause over `metadata` and `content`, and its values."""
    clauses: list[sql.Composable] = [sql.SQL("true")]
    values: list[Any] = []
    for one in where:
        clause, given = _condition(one)
        clauses.append(clause)
        values += given
    for word in words:
        begins = pattern(word[:_LONG])
        if len(word) <= _LONG:
            clauses.append(sql.SQL("content ~ %s"))
            values.append(begins)
        else:  # PostgreSQL takes seconds to read a pattern of that length, or refuses it
            clauses.append(sql.SQL("CASE WHEN content ~ %s THEN strpos(translate(content, %s, %s), %s) > 0 ELSE false END"))
            small = _small()
            values += [
                begins,
                "".join(small),
                "".join(small.values()),
                "".join(small.get(letter, letter) for letter in _kept_text(word)),
            ]
    return sql.SQL(" AND ").join(clauses), values


def _condition(one: Condition) -> tuple[sql.Composable, list[Any]]:
    given = list(one.value) if one.operator == "in" else [one.value]
    # What jsonb cannot hold is equal to nothing there.
    told = [json.dumps(value, ensure_ascii=False) for value in given if _kept(value)]
    if not told or not _kept(one.key):
        return sql.SQL("true" if one.operator == "ne" else "false"), []
    if one.operator == "ne":
        return sql.SQL("metadata->%s IS DISTINCT FROM %s::jsonb"), [one.key, *told]
    if one.operator in ("ge", "le"):
        sign = sql.SQL(">=" if one.operator == "ge" else "<=")
        same = sql.SQL("(metadata->%s {} %s::jsonb AND jsonb_typeof(metadata->%s) = jsonb_typeof(%s::jsonb))").format(sign)
        return same, [one.key, *told, one.key, *told]
    equal = sql.SQL("metadata->%s = ANY(%s::jsonb[])")
    if one.key not in INDEXED:
        return equal, [one.key, told]
    hashed = sql.SQL(
        "jsonb_hash_extended(metadata->{}, 0) = ANY(ARRAY(SELECT jsonb_hash_extended(v, 0) FROM unnest(%s::jsonb[]) AS v))"
    ).format(sql.Literal(one.key))
    return sql.SQL("({} AND {})").format(hashed, equal), [told, one.key, told]


def pattern(word: str) -> str:
    """A regular expression for a word in any letter case, whatever the locale of the database knows of letters."""
    return "".join(map(_letter, _kept_text(word)))


def _kept_text(word: str) -> str:
    return word.replace("\0", _REPLACEMENT).encode(errors="replace").decode()


def _letter(letter: str) -> str:
    forms = {letter, *_others().get(letter.lower(), ())}
    if len(forms) > 1:
        return f"[{''.join(sorted(forms))}]"
    return letter if letter.isalnum() or not letter.isascii() else f"\\{letter}"


@cache
def _others() -> Mapping[str, str]:
    """All forms of each letter, by its small form; the two small sigmas are one letter."""
    found: dict[str, str] = {}
    for code in range(0x1EA00):  # no script beyond has letter cases
        letter = chr(code)
        small = letter.lower()
        if small != letter and len(small) == 1:
            found[small] = found.get(small, small) + letter
    found["σ"] = found["ς"] = "σςΣ"
    return found


@cache
def _small() -> dict[str, str]:
    """The letters that have a small form, and that."""
    return {form: small for small, forms in _others().items() if small != "ς" for form in forms if form != small}
