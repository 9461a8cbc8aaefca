# SPDX-License-Identifier: MIT
"""JSON Schema (draft 2020-12) of the `.pipe` file and of config classes, for editors and forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .configschema import VARIABLE, config_schema
from .payloads import Json
from .spec import NodeSpec

__all__ = ["DRAFT", "config_schema", "pipe_schema"]

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def pipe_schema(nodes: Iterable[tuple[NodeSpec, type[Any] | None]]) -> dict[str, Any]:
    """The schema of a `.pipe` file in which these nodes are installed: bare or wrapped in `{"pipeline": …}`.

    `provider` offers their ids (and `default`, an editor's note on the canvas); `config` is checked by provider, flat,
    by profile, or both. Keys that nobody knows are allowed, as they are when a file is loaded.

    Parameters:
        nodes: the spec of each node and its config class, None where it has none.
    """
    known = sorted(nodes, key=lambda node: node[0].provider)
    providers: list[Json] = []
    described: list[dict[str, Any]] = []
    rules: list[dict[str, Any]] = []
    configs: dict[str, Any] = {}
    for spec, cls in known:
        for provider in (spec.provider, *spec.aliases):
            providers.append(provider)
            described.append({"const": provider, "title": spec.title, "description": spec.description})
        configs[spec.provider] = _config(spec, cls)
        same = {"properties": {"provider": {"enum": [spec.provider, *spec.aliases]}}, "required": ["provider"]}
        rules.append({"if": same, "then": {"properties": {"config": {"$ref": f"#/$defs/configs/{_pointer(spec.provider)}"}}}})
    definitions = _definitions([*providers, "default"], described, rules)
    return {
        "$schema": DRAFT,
        "title": "RocketRide pipeline",
        "type": "object",
        "if": {"required": ["components"]},
        "then": {"$ref": "#/$defs/pipeline"},
        "else": {"required": ["pipeline"], "properties": {"pipeline": {"$ref": "#"}}},
        "$defs": {**definitions, "configs": configs},
    }


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1").replace("%", "%25").replace("+", "%2B")


def _config(spec: NodeSpec, cls: type[Any] | None) -> dict[str, Any]:
    out = config_schema(cls, lenient=True)
    settings = out.setdefault("properties", {})
    if spec.profiles:
        block = {
            "type": ["object", "null"],
            "properties": {key: {k: v for k, v in s.items() if k != "default"} for key, s in settings.items()},
        }
        ids = [profile.id for profile in spec.profiles]
        listed = [
            {
                "const": p.id,
                "title": p.title or p.id,
                **({"deprecated": True, "description": p.deprecated} if p.deprecated else {}),
            }
            for p in spec.profiles
        ]
        variable = {"type": "string", "pattern": VARIABLE}
        out["properties"] = {
            **{id: block for id in ids if id not in settings},
            **settings,
            "profile": {"anyOf": [*listed, variable, {"type": "null"}], "default": ids[0]},
        }
    return {"title": spec.title, **({"description": spec.description} if spec.description else {}), **out}


def _definitions(providers: list[Json], described: list[dict[str, Any]], rules: list[dict[str, Any]]) -> dict[str, Any]:
    word = {"type": "string", "minLength": 1}

    def links(name: str, doc: str) -> dict[str, Any]:
        item = {"type": "object", "properties": {name: word, "from": word}, "required": [name, "from"]}
        return {"type": ["array", "null"], "description": doc, "items": item}

    component = {
        "type": "object",
        "properties": {
            "id": word,
            "provider": {"enum": providers, "x-providers": described},
            "name": {"type": ["string", "null"]},
            "config": {"type": "object"},
            "input": links("lane", "what flows in: lane, and the component it comes from"),
            "control": links("classType", "who calls this component, and as what"),
        },
        "required": ["id", "provider", "config"],
        "allOf": rules,
    }
    pipeline = {
        "type": "object",
        "properties": {
            "components": {"type": "array", "items": {"$ref": "#/$defs/component"}},
            "source": {"type": ["string", "null"], "description": "the component that starts the pipeline"},
            "version": {"anyOf": [{"const": 1}, {"type": "null"}]},
        },
        "required": ["components"],
    }
    return {"pipeline": pipeline, "component": component}
