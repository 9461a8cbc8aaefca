# SPDX-License-Identifier: MIT
"""What agents send as arguments, in all the shapes that they send it in, as `{"data": text}`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import attrs

from rocketride_core import ToolInput

__all__ = ["NEEDS_DATA", "normalised"]

NEEDS_DATA = "tool_pipe: tool requires a non-empty `data` parameter"


def normalised(arguments: object) -> dict[str, str]:
    """The arguments of `run_pipe`.

    Taken are None, an object, an instance of a model class (pydantic, attrs, a dataclass), any of these in an envelope
    `{"input": …}`, an object as JSON in a text, and any other text, which is the data itself. Other keys than `data` are
    ignored, `security_context` among them.

    Raises:
        ToolInput: there is no data, or it is no text; also a ValueError. `path` is `$` or `$.data`.
    """
    if type(arguments) is dict and len(arguments) == 1 and type(arguments.get("data")) is str and arguments["data"]:
        return arguments
    opened = _object(arguments)
    if isinstance(opened, str):
        opened = {"data": opened}
    if not isinstance(opened, Mapping):
        raise ToolInput(f"{NEEDS_DATA}: the arguments are an object or a text, not {_named(opened)}", path="$")
    if "input" in opened:
        inner = _object(opened["input"])
        if isinstance(inner, Mapping):  # what stands beside the envelope is meant for this tool, too
            opened = {**inner, **{key: value for key, value in opened.items() if key != "input"}}
    data = opened.get("data")
    if data is None or data == "":
        raise ToolInput(NEEDS_DATA, path="$.data")
    if not isinstance(data, str):
        raise ToolInput(f"{NEEDS_DATA}: it is a text, not {_named(data)}", path="$.data")
    return {"data": data}


def _object(value: Any) -> Any:
    """A mapping, where it is one in any of its disguises; anything else as it is."""
    if value is None:
        return {}
    if isinstance(value, str):
        return _read(value)
    if isinstance(value, Mapping | list | tuple):
        return value
    if callable(getattr(value, "model_dump", None)):
        return value.model_dump()
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value


def _read(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


def _named(value: object) -> str:
    names = {bool: "a truth value", int: "a number", float: "a number", list: "a list", tuple: "a list"}
    return names.get(type(value), "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}")
