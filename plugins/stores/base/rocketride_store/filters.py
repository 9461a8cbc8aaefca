# SPDX-License-Identifier: MIT
"""RocketRide's DocFilter, read once and turned into conditions that every backend translates the same way.

`parent`, `nodeId` and `name` are compared whole: a part of a path, as some databases match it, is a question that others
cannot answer. `minChunkId` and `maxChunkId` are both inclusive. A list takes any of its values; an empty one finds nothing, and no
backend is asked. `isDeleted: true` finds deleted chunks too, not only them. `followUpQuestions` and `context` mean
something to other nodes, and nothing to a store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs

from rocketride_core import Arguments

from .texts import encodes, whole

__all__ = ["Condition", "Request", "Where"]

Operator = Literal["eq", "ne", "in", "ge", "le"]

_SCALARS: dict[str, tuple[str, Operator, type]] = {
    "nodeId": ("nodeId", "eq", str),
    "parent": ("parent", "eq", str),
    "name": ("name", "eq", str),
    "isTable": ("isTable", "eq", bool),
    "minChunkId": ("chunkId", "ge", int),
    "maxChunkId": ("chunkId", "le", int),
}
_LISTS: dict[str, tuple[str, type]] = {
    "objectIds": ("objectId", str),
    "chunkIds": ("chunkId", int),
    "tableIds": ("tableId", int),
    "permissions": ("permissionId", int),
}
_FLAGS = ("isDeleted", "fullTables", "fullDocuments", "useQuickRank", "useGroupRank")
_OTHERS = {"offset", "limit", "followUpQuestions", "context", *_FLAGS}
_BIGGEST = 2**63  # numbers of a database have 64 bits
_MOST = 2**31 - 1  # some count results in 32


@attrs.frozen
class Condition:
    """One condition on a chunk's metadata; a missing key fulfils `ne` only."""

    key: str
    operator: Operator
    value: Any

    def holds(self, metadata: Mapping[str, Any]) -> bool:
        value = metadata.get(self.key)
        match self.operator:
            case "eq":
                return _same(value, self.value)
            case "ne":
                return not _same(value, self.value)
            case "in":
                return value in self.value and any(_same(value, one) for one in self.value)
            case "ge":
                return _number(value) and bool(value >= self.value)
            case "le":
                return _number(value) and bool(value <= self.value)


def _same(one: Any, other: Any) -> bool:
    """Equal as databases compare: true is not 1, though Python says so."""
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@attrs.frozen
class Where:
    """Conditions that all hold; iterate over them, or ask `accepts(metadata)`."""

    conditions: Sequence[Condition] = ()

    def __iter__(self) -> Iterator[Condition]:
        return iter(self.conditions)

    def accepts(self, metadata: Mapping[str, Any]) -> bool:
        return all(condition.holds(metadata) for condition in self.conditions)

    @property
    def impossible(self) -> bool:
        """True where a list is empty: nothing can be in it, and some databases refuse the question."""
        return any(c.operator == "in" and not c.value for c in self.conditions)

    def and_in(self, key: str, values: Sequence[Any]) -> Where:
        return Where((*self.conditions, Condition(key, "in", tuple(values))))

    def keeping(self, *keys: str) -> Where:
        """Only the conditions on these keys."""
        return Where(tuple(c for c in self.conditions if c.key in keys))

    @staticmethod
    def object(object_id: str) -> Where:
        """Every chunk of one object, also those marked as deleted."""
        return Where((Condition("objectId", "in", (object_id,)),))


@attrs.frozen(kw_only=True)
class Request:
    """A DocFilter as the stores use it.

    Parameters:
        where: the conditions; chunks marked as deleted are left out unless the filter says `isDeleted: true`.
        offset, limit: which of the results, for each question text.
        full_tables, full_documents: give whole tables or objects in place of the chunks that were found.
        group_rank: give the results object by object, the one first that shares most words with the question.
        unknown: keys of the filter that mean nothing to a store.
    """

    where: Where
    offset: int = 0
    limit: int = 25
    full_tables: bool = False
    full_documents: bool = False
    group_rank: bool = False
    unknown: Sequence[str] = ()

    @staticmethod
    def of(filter: Arguments, *, limit: int = 25) -> Request:
        """Reads a DocFilter; None means "not set". A value of the wrong type raises a ValueError that names its key.

        Parameters:
            filter: keys in RocketRide's spelling.
            limit: used where the filter sets none.
        """
        asked = {key: value for key, value in filter.items() if value is not None}
        flags = {name: _one(name, asked.get(name, False), bool) for name in _FLAGS}
        conditions = [] if flags["isDeleted"] else [Condition("isDeleted", "ne", True)]
        for name, (key, operator, kind) in _SCALARS.items():
            if name in asked:
                conditions.append(Condition(key, operator, _one(name, asked[name], kind)))
        for name, (key, kind) in _LISTS.items():
            if name in asked:
                given = asked[name]
                values = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
                conditions.append(Condition(key, "in", tuple(_one(name, value, kind) for value in values)))
        offset, size = _one("offset", asked.get("offset", 0), int), _one("limit", asked.get("limit", limit), int)
        if offset < 0 or size < 1:
            raise ValueError(f"a question's filter takes offset >= 0 and limit >= 1; it has offset {offset} and limit {size}")
        return Request(
            where=Where(tuple(conditions)),
            offset=min(offset, _MOST // 2),
            limit=min(size, _MOST // 2),
            full_tables=flags["fullTables"],
            full_documents=flags["fullDocuments"],
            group_rank=flags["useGroupRank"],
            unknown=sorted(
                [key for key in asked if key not in _OTHERS | _SCALARS.keys() | _LISTS.keys()]
                + (["useQuickRank"] if flags["useQuickRank"] else [])
            ),
        )


def _one(name: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"a question's filter has {name!r} with {value!r}; a store expects {kind.__name__} there")
    if isinstance(value, int) and name not in ("offset", "limit") and not -_BIGGEST <= value < _BIGGEST:
        raise ValueError(f"a question's filter has {name!r} with {value}; a store expects a number of 64 bits there")
    # As it is stored: no chunk has halves of surrogate pairs, and not every database can be asked for them.
    return whole(value) if isinstance(value, str) and not encodes(value) else value
