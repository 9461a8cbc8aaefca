# SPDX-License-Identifier: MIT
"""From a `PipeFile` back to JSON, keeping what was read. Public through `rocketride_core.pipefile`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .pipemodel import Component, PipeFile, unwrapped
from .pipereader import VERSION

__all__ = ["merged", "plain"]


def merged(pipe: PipeFile) -> Mapping[str, Any]:
    """The JSON of a pipeline that is not, or no longer, what its `raw` says."""
    body: dict[str, Any] = dict(unwrapped(pipe.raw)[0]) or {"version": VERSION}
    if pipe.source or "source" in body:
        body["source"] = pipe.source
    body["components"] = [_component(c) for c in pipe.components]
    return _rewrapped(pipe.raw, body)


def _rewrapped(root: Mapping[str, Any], body: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = root.get("pipeline")
    if not isinstance(inner, Mapping) or "components" in root:
        return body
    return {**root, "pipeline": _rewrapped(inner, body)}


def _component(component: Component) -> dict[str, Any]:
    out = dict(component.raw)
    out["id"], out["provider"] = component.id, component.provider
    if component.name or "name" in out:
        out["name"] = component.name
    out["config"] = component.config
    if component.input or "input" in out:
        out["input"] = [{**link.raw, "lane": link.lane, "from": link.source} for link in component.input]
    if component.control or "control" in out:
        out["control"] = [{**link.raw, "classType": link.control, "from": link.caller} for link in component.control]
    return out


def plain(value: Any) -> Any:
    """The same with dicts and lists for all mappings and tuples."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
