# SPDX-License-Identifier: MIT
"""What stands in the graph for a component whose node is not installed, so that all else is checked as if it were there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs

from .controls import Control
from .lanes import Lane
from .manifest import MOST_LANES, Manifest
from .pipefile import Component
from .spec import MANY, NodeSpec

if TYPE_CHECKING:
    from .node import Node

__all__ = ["StandIn", "claims_to_start", "stand_in"]


@attrs.frozen
class StandIn:
    """In place of a node class; it has what compile and diagnostics look at, and agrees to every link that the file has."""

    spec: NodeSpec
    manifest: Manifest
    config_class: None = None


def claims_to_start(component: Component, source: str) -> bool:
    """Whether the file says that the component is a source: by its mode, or by naming it."""
    mode = component.config.get("mode")
    return component.id == source or (isinstance(mode, str) and mode.lower() == "source")


def stand_in(
    component: Component, emits: Iterable[str], calls: Iterable[str], callers: Mapping[str, type[Node[Any]] | None], source: str
) -> type[Node[Any]]:
    """A stand-in for one component.

    Parameters:
        emits: the lanes that others take from it.
        calls: the controls over which others say that it calls them.
        callers: the classes of all components, None where one is missing.
        source: the chosen one.
    """
    needs = dict.fromkeys(calls)
    for link in component.control:
        cls = callers.get(link.caller)
        # A list that names what one calls stands on the wrong side: that shows where the other only serves the control.
        if cls is not None and link.control in cls.manifest.offers and link.control not in {c.name for c in cls.spec.needs}:
            needs[link.control] = None
    lanes = {link.lane: (Lane[Any](link.lane, object), "", ()) for link in component.input}
    outs = tuple(Lane[Any](lane, object) for lane in list(dict.fromkeys(emits))[:MOST_LANES])
    serves = {link.control: "" for link in component.control}
    manifest = Manifest(lanes, outs, serves, {}, "?" if claims_to_start(component, source) else "", frozenset())
    spec = NodeSpec(component.provider, title=component.provider, needs={Control[Any](name): MANY for name in needs})
    return cast("type[Node[Any]]", StandIn(spec, manifest))
