# SPDX-License-Identifier: MIT
"""The types that settings may have, and how messages speak of them and of values."""

from __future__ import annotations

import enum
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import attrs

from .settings import ProviderRef, Secret
from .variables import Filled

__all__ = ["LISTS", "describe", "name_of", "plain", "supported"]

LISTS = {list: list, tuple: tuple, Sequence: list, set: set, frozenset: frozenset, AbstractSet: frozenset}
_NAMES: dict[Any, str] = {
    Path: "str",
    Secret: "str",
    ProviderRef: "an object with a provider",
    Any: "anything",
    object: "anything",
}
_SHOWN = 60  # characters of a value in a message


def describe(value: Any, *, hidden: bool = False) -> str:
    """What a value is, for messages: `str 'local'`, `int 3`, `null`, `an object`; `str ***` for a hidden one."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    kind = "str" if isinstance(value, str) else type(value).__name__
    if hidden or isinstance(value, Filled | Secret):
        return f"{kind} ***"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"{kind} {text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}"


def name_of(kind: Any) -> str:
    """What a type is called in messages."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return name_of(args[0])
    if origin in (Union, types.UnionType):
        if str in args and any((get_origin(a) or a) is Mapping for a in args):
            return "a JSON value"
        return " or ".join(dict.fromkeys(name_of(a) for a in args if a is not type(None)))
    if origin is Literal:
        return f"one of {', '.join(map(repr, args))}"
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return f"one of {', '.join(repr(member.value) for member in kind)}"
    if (origin or kind) in LISTS:
        items = [a for a in args if a is not Ellipsis]
        return f"a list of {' and '.join(map(name_of, items))}" if items else "a list"
    if (origin or kind) in (dict, Mapping) or attrs.has(kind):
        return _NAMES.get(kind, "an object")
    return _NAMES.get(kind) or str(getattr(kind, "__name__", kind))


def supported(kind: Any) -> bool:
    """Whether values of that type can be read from a file."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return supported(args[0])
    if origin is Literal or kind in (Any, object, None, type(None), int, float, bool, str, Path, Secret, ProviderRef):
        return True
    if origin in (Union, types.UnionType) or (origin or kind) in LISTS or (origin or kind) in (dict, Mapping):
        return all(a is Ellipsis or supported(a) for a in args)
    return isinstance(kind, type) and (issubclass(kind, enum.Enum) or attrs.has(kind))


def plain(value: Any) -> Any:
    """The same without marks: a node sees ordinary texts, dicts and lists."""
    if isinstance(value, str):
        return "".join(value) if type(value) is not str else value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
