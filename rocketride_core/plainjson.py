# SPDX-License-Identifier: MIT
"""Results of tools as JSON values. Plain ones pass as they are; attrs classes, dataclasses, enums, dates … go through cattrs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any, cast

from .payloads import Json
from .settings import Secret

__all__ = ["plain_json"]


class NotJson(TypeError):
    """A value has no JSON form; the text says where in it."""


_ATOMS = (str, bool, int, type(None))


def plain_json(value: Any) -> Json:
    """The value with nothing but None, bool, int, float, str, list and dict.

    Raises:
        TypeError: something in it has no JSON form; the message says where.
    """
    return cast(Json, value if type(value) in _ATOMS else _convert(value, "$"))


def _convert(value: Any, at: str) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is float:
        if not math.isfinite(value):
            raise NotJson(f"{at}: {value} has no JSON form")
        return value
    if isinstance(value, (bytes, bytearray)):
        raise NotJson(f"{at}: {kind.__qualname__} has no JSON form; return a text, such as base64")
    if isinstance(value, Enum):
        return _convert(value.value, at)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {_key(key, at): _convert(item, f"{at}.{key}") for key, item in value.items()}
    if isinstance(value, (Sequence, AbstractSet)) and not isinstance(value, (str, memoryview)):
        return [_convert(item, f"{at}[{n}]") for n, item in enumerate(value)]
    for method in ("to_json", "model_dump", "tolist"):  # our payloads, pydantic's models, numpy's arrays and buffers
        if not isinstance(value, type) and callable(getattr(value, method, None)):
            return _convert(getattr(value, method)(), at)
    made = _unstructure(value)
    if made is value or type(made) is kind:
        raise NotJson(f"{at}: {kind.__qualname__} has no JSON form; return plain values, an attrs class or a TypedDict")
    return _convert(made, at)


def _key(key: Any, at: str) -> str:
    made = key if type(key) in (str, int) else _unstructure(key)
    if not isinstance(made, (str, int)):
        raise NotJson(f"{at}: a JSON object has text keys, not {type(key).__qualname__}")
    return str(made)


def _unstructure(value: Any) -> Any:
    return _converter().unstructure(value)


@cache
def _converter() -> Any:
    from decimal import Decimal
    from uuid import UUID

    from cattrs.preconf.json import make_converter  # 30 ms, wanted only by those who return objects

    converter = make_converter()
    converter.register_unstructure_hook(Secret, lambda secret: "***")
    for kind in (PurePath, UUID, Decimal):
        converter.register_unstructure_hook(kind, str)
    for data in (bytes, bytearray):
        converter.register_unstructure_hook(data, lambda data: data)  # refused by who looks at the result
    return converter
