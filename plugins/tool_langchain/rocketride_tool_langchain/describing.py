# SPDX-License-Identifier: MIT
"""What a model is told of a LangChain tool, and what it must not set. LangChain is imported with this module."""

from __future__ import annotations

import copy
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import attrs
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId
from langchain_core.tools import Tool as SingleInput
from langchain_core.tools.base import get_all_basemodel_annotations
from pydantic import BaseModel
from pydantic.v1 import BaseModel as BaseModelV1

from .importing import Unusable

__all__ = ["Described", "described"]

_INPUT = {"type": "string", "description": "The input of the tool."}


@attrs.frozen
class Described:
    """A LangChain tool as a model meets it.

    Parameters:
        tool: the tool.
        name: of letters, digits, `_` and `-`.
        description: what it does.
        schema: JSON Schema of what a model gives.
        shape: the pydantic model of that, None where the tool has only a JSON Schema.
        hidden: arguments that a model may not set.
        given: those of them that are set for it.
    """

    tool: BaseTool
    name: str
    description: str
    schema: Mapping[str, Any]
    shape: type[Any] | None
    hidden: frozenset[str]
    given: Mapping[str, Any]


def described(tool: BaseTool, injected: Mapping[str, Any]) -> Described:
    """What is known of a tool before it is called.

    Parameters:
        injected: values for its hidden arguments; others among them are not for this tool.

    Raises:
        Unusable: its arguments have no JSON Schema, or a hidden one has no value.
    """
    kinds = _annotations(tool)
    try:
        shape = None if _takes_one_text(tool) else tool.tool_call_schema
        hidden = frozenset(_hidden(tool, kinds, shape))
        schema = _schema(tool, shape, hidden)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise Unusable(f"the arguments of the tool '{tool.name}' cannot be described as JSON Schema: {said}") from error
    given = {name: value for name, value in injected.items() if name in hidden}
    for name in sorted(hidden - given.keys()):
        kind = kinds.get(name)
        if _is_call_id(kind) or _is_config(kind) or not _is_required(tool, name):
            continue
        if "langgraph" in repr(kind):
            raise Unusable(
                f"the tool '{tool.name}' wants '{name}' ({kind!r}), which only a graph of LangGraph has; use another tool, or set "
                f"`injected.{name}`"
            )
        raise Unusable(f"the tool '{tool.name}' wants '{name}', which no model may set; set `injected.{name}`")
    name = re.sub(r"[^A-Za-z0-9_-]", "_", tool.name)
    return Described(tool, name, tool.description, schema, shape if isinstance(shape, type) else None, hidden, given)


def _takes_one_text(tool: BaseTool) -> bool:
    """Is it of the old kind that takes one text, and has no schema for it?"""
    return isinstance(tool, SingleInput) and tool.args_schema is None


def _annotations(tool: BaseTool) -> dict[str, Any]:
    """The types of all arguments, hidden ones included."""
    found: dict[str, Any] = {}
    for fn in (getattr(tool, "func", None), getattr(tool, "coroutine", None), tool._run, tool._arun):
        if fn is not None:
            try:
                found = {**inspect.get_annotations(inspect.unwrap(fn), eval_str=True), **found}
            except Exception:  # noqa: BLE001, S112 - an annotation that cannot be read says nothing of the others
                continue
    if isinstance(tool.args_schema, type):
        found |= get_all_basemodel_annotations(tool.args_schema)
    return found


def _is_config(kind: Any) -> bool:
    return kind is RunnableConfig or RunnableConfig in get_args(kind)


def _hidden(tool: BaseTool, kinds: Mapping[str, Any], shape: Any) -> Iterator[str]:
    yield from (
        name for name, kind in kinds.items() if _is_config(kind) or any(_is(one, InjectedToolArg) for one in get_args(kind)[1:])
    )
    yield from getattr(tool, "_injected_args_keys", ())
    if isinstance(shape, type) and isinstance(tool.args_schema, type):
        yield from get_all_basemodel_annotations(tool.args_schema).keys() - get_all_basemodel_annotations(shape).keys()


def _is(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, kind) or (isinstance(value, type) and issubclass(value, kind))


def _is_call_id(kind: Any) -> bool:
    return any(_is(one, InjectedToolCallId) for one in get_args(kind)[1:])


def _is_required(tool: BaseTool, name: str) -> bool:
    schema = tool.args_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel) and name in schema.model_fields:
        return schema.model_fields[name].is_required()
    if isinstance(schema, type) and issubclass(schema, BaseModelV1) and name in schema.__fields__:
        return bool(schema.__fields__[name].required)
    for fn in (getattr(tool, "func", None), getattr(tool, "coroutine", None), tool._run):
        if fn is not None and name in (parameters := inspect.signature(fn).parameters):
            return parameters[name].default is inspect.Parameter.empty
    return False


def _schema(tool: BaseTool, shape: Any, hidden: frozenset[str]) -> dict[str, Any]:
    if shape is None:
        return {"type": "object", "properties": {"input": dict(_INPUT)}, "required": ["input"], "additionalProperties": False}
    if isinstance(shape, dict):
        made = copy.deepcopy(shape)
    else:
        made = copy.deepcopy(shape.model_json_schema() if issubclass(shape, BaseModel) else shape.schema())
        for part in (made, *made.get("$defs", {}).values(), *made.get("definitions", {}).values()):
            for one in part.get("properties", {}).values():  # pydantic makes them of the names, which models read already
                one.pop("title", None)
    properties = {name: one for name, one in made.pop("properties", {}).items() if name not in hidden}
    required = [name for name in made.pop("required", ()) if name not in hidden]
    made.pop("title", None)
    made.pop("description", None)
    return _used({**made, "type": "object", "properties": properties, **({"required": required} if required else {})})


def _used(schema: dict[str, Any]) -> dict[str, Any]:
    """Without definitions that only hidden arguments had."""
    for word in ("$defs", "definitions"):
        known = schema.pop(word, {})
        text, kept = json.dumps(schema, default=str), dict[str, Any]()
        while found := {name: one for name, one in known.items() if name not in kept and f'#/{word}/{name}"' in text}:
            kept |= found
            text = json.dumps(found, default=str)
        if kept:
            schema[word] = kept
    return schema
