# SPDX-License-Identifier: MIT
"""What a tool returned, as the JSON text that a model reads."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

import attrs
from pydantic import BaseModel, SecretBytes
from pydantic_core import PydanticSerializationError, to_jsonable_python

from rocketride_core import Secret

__all__ = ["JsonText", "NotJson", "json_text"]

_ATOMS = (str, bool, int, type(None))
_SURROGATE = re.compile("[\ud800-\udfff]")


class NotJson(TypeError):
    """A value has no JSON form; the text says where in it, and what to return instead."""


class JsonText(str):
    """A text that is JSON already."""

    __slots__ = ()


def json_text(value: object) -> str:
    """A value as JSON text, not ASCII-escaped, valid JSON and valid UTF-8 whatever is in it.

    Beside JSON's own types: attrs classes, dataclasses, pydantic models, enums, dates, times and durations (ISO 8601), UUID, paths,
    Decimal (a text), named tuples and other sequences, sets (sorted), numpy scalars and arrays, and the payloads of rocketride-core.
    NaN and infinities are null, as pydantic and JavaScript write them; a secret is `***`.

    Raises:
        NotJson: something in it has no JSON form: bytes, generators, objects of other classes, a value inside itself.
    """
    text = json.dumps(_plain(value, "$", ()), ensure_ascii=False, allow_nan=False)
    if text.isascii():
        return text
    # Half a surrogate pair is legal in a str and in JSON's escapes, but no vendor's client can send it as UTF-8.
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any, at: str, around: tuple[int, ...]) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, Enum):
        return _plain(value.value, at, around)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Secret | SecretBytes):
        return "***"
    if isinstance(value, bytes | bytearray):
        raise NotJson(f"{at}: {kind.__name__} has no JSON form; return a text, such as base64")
    if id(value) in around:
        raise NotJson(f"{at}: the value contains itself")
    return _composed(value, at, (*around, id(value)))


def _composed(value: Any, at: str, around: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return _object(((_key(key, at), item) for key, item in value.items()), at, around)
    if isinstance(value, AbstractSet):
        made = [_plain(item, f"{at}[]", around) for item in value]
        return sorted(made, key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, Sequence) and not isinstance(value, memoryview):
        return [_plain(item, f"{at}[{n}]", around) for n, item in enumerate(value)]
    if isinstance(value, PurePath):
        return str(value)
    kind = type(value)
    if isinstance(value, type) or inspect.isgenerator(value):
        raise NotJson(f"{at}: {kind.__name__} has no JSON form; return plain values")
    if isinstance(value, BaseModel):
        return _plain(_leaf(value, at), at, around)
    if attrs.has(kind):
        if callable(getattr(value, "to_json", None)):
            return _plain(value.to_json(), at, around)
        return _object(((field.name, getattr(value, field.name)) for field in attrs.fields(kind)), at, around)
    if is_dataclass(value):
        return _object(((field.name, getattr(value, field.name)) for field in fields(value)), at, around)
    if isinstance(value, memoryview) or (hasattr(value, "dtype") and callable(getattr(value, "tolist", None))):
        return _plain(value.tolist(), at, around)
    return _leaf(value, at)


def _leaf(value: Any, at: str) -> Any:
    try:
        return to_jsonable_python(value)
    except (PydanticSerializationError, ValueError) as error:
        kind = type(value).__name__
        why = f" ({error})" if isinstance(value, BaseModel) else ""
        raise NotJson(f"{at}: {kind} has no JSON form{why}; return plain values, a dataclass or a pydantic model") from error


def _object(items: Iterable[tuple[str, Any]], at: str, around: tuple[int, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in items:
        if key in out:
            raise NotJson(f"{at}: two keys are {key!r} as text")
        out[key] = _plain(item, f"{at}.{key}", around)
    return out


def _key(key: Any, at: str) -> str:
    made = key if type(key) is str else _plain(key, at, ())
    if isinstance(made, str):
        return made
    if made is None or isinstance(made, bool | int | float):
        return json.dumps(made)
    raise NotJson(f"{at}: a JSON object has text keys, not {type(key).__name__}")
